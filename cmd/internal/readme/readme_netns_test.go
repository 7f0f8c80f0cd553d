package readme

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }

const patience = time.Minute // of a block

// setUp makes hosts and cables in the namespaces of a block. What the machine has in /run is out of sight, and what a
// reader writes with sudo needs none here.
const setUp = `
mount -t tmpfs tmpfs /run
mkdir -p /run/netns
ip link set lo up
for n in 1 2 3; do
  ip netns add h$n
  ip link add eth$n type veth peer name eth0 netns h$n
  ip link set eth$n up
  ip -n h$n addr add 10.0.0.$n/24 dev eth0
  ip -n h$n link set lo up
  ip -n h$n link set eth0 up
done
`

// withSwitch starts the switch that a block asks for.
const withSwitch = `
pfcswitch run -c switch.yaml 2>switch.log &
for i in $(seq 100); do [ -S /run/pfcswitch/leaf1.sock ] && break; sleep 0.1; done
pfcswitch show ports >/dev/null || { cat switch.log; exit 1; }
`

// Every command of the README runs and ends well.
func TestCommands(t *testing.T) {
	labtest.Require(t)
	all := read(t)
	project := copyProject(t, all)
	var run int
	var elsewhere []string
	for _, b := range all {
		switch b.kind() {
		case "sh", "console":
			if why := b.elsewhere(t); why != "" {
				elsewhere = append(elsewhere, fmt.Sprintf("README.md:%d: %s", b.line, why))
				continue
			}
			run++
			t.Run(fmt.Sprintf("line_%d", b.line), func(t *testing.T) { b.run(t, project) })
		}
	}
	t.Logf("%d BLOCKS OF COMMANDS RUN, %d NOT HERE:\n  %s", run, len(elsewhere), strings.Join(elsewhere, "\n  "))
	if run == 0 {
		t.Error("no block was run, so nothing is shown")
	}
}

// elsewhere returns why a block is not run here. Where another file runs it, that file has to.
func (b *block) elsewhere(t *testing.T) string {
	for _, m := range b.marks {
		if why, ok := strings.CutPrefix(m, "not here: "); ok {
			return why
		}
		if by, ok := strings.CutPrefix(m, "by "); ok {
			path, text, _ := strings.Cut(by, ": ")
			data, err := os.ReadFile(filepath.Join(root, path))
			if err != nil || text == "" || !strings.Contains(string(data), text) {
				t.Errorf("README.md:%d: is to be run by %s, which has no %q (%v)", b.line, path, text, err)
			}
			return "run by " + by
		}
		if !slices.Contains([]string{"switch", "forever", "output"}, m) {
			t.Errorf("README.md:%d: there is no mark %q", b.line, m)
		}
	}
	return ""
}

// run runs the commands of a block, each in the shell that ran the one before.
func (b *block) run(t *testing.T, project string) {
	dir := t.TempDir()
	if out, err := exec.Command("cp", "-a", project+"/.", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var script strings.Builder
	script.WriteString("set -e\n" + setUp)
	if b.has("switch") {
		script.WriteString(withSwitch)
	}
	all := b.commands()
	for i, c := range all {
		if b.has("forever") && i == len(all)-1 {
			c.text = "timeout --preserve-status -s INT 3 " + c.text
		}
		fmt.Fprintf(&script, "exec >out.%d 2>&1\n%s\n", i, c.text)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+"/bin:"+os.Getenv("PATH"), "TERM=xterm", "COLUMNS=160")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = errors.Join(err, fmt.Errorf("not through after %v", patience))
	}
	for i, c := range all {
		printed, readErr := os.ReadFile(fmt.Sprintf("%s/out.%d", dir, i))
		last := readErr != nil || i == len(all)-1 || !exists(fmt.Sprintf("%s/out.%d", dir, i+1))
		if err != nil && last {
			t.Fatalf("README.md:%d: %s: %v\n%s%s", c.line, c.text, err, out, printed)
		}
		if line := missing(c.output, string(printed)); b.has("output") && line != "" {
			t.Errorf("README.md:%d: %s does not print\n%s\nbut\n%s", c.line, c.text, line, printed)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// copyProject makes a folder with what a reader has who has cloned and built the project: a copy of it, the program, and the
// first configuration of the README as switch.yaml.
func copyProject(t *testing.T, all []block) string {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"sh", "-c", `tar -C "$0" --exclude=./.git -cf - . | tar -C "$1" -xf -`, root, dir},
		{"go", "build", "-C", root, "-o", dir + "/bin/pfcswitch", "./cmd/pfcswitch"},
		{"cp", dir + "/bin/pfcswitch", dir + "/pfcswitch"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	const sudo = "#!/bin/sh\nexec \"$@\"\n"
	if err := os.WriteFile(dir+"/bin/sudo", []byte(sudo), 0o755); err != nil {
		t.Fatal(err)
	}
	first := slices.IndexFunc(all, func(b block) bool { return slices.Equal(b.info, []string{"yaml"}) })
	if first < 0 {
		t.Fatal("the README has no configuration")
	}
	if err := os.WriteFile(dir+"/switch.yaml", []byte(all[first].text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
