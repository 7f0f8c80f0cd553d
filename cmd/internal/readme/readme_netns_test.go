package readme

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

func TestMain(m *testing.M) { labtest.Main(m) }

const patience = time.Minute // of a block

// setUp makes hosts and cables in the namespaces of a block. What the machine has in /run is out of sight, and what a
// reader writes with sudo needs none here.
const setUp = `
await() { for i in $(seq 200); do "$@" >/dev/null 2>&1 && return; sleep 0.05; done; "$@"; }
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
await pfcswitch show ports -s leaf1 || { cat switch.log; exit 1; }
`

// Every command of the READMEs runs and ends well.
func TestCommands(t *testing.T) {
	labtest.Require(t)
	all := read(t)
	project, programs := copyProject(t, all)
	var here []*Block
	var elsewhere []string
	for _, b := range all {
		switch b.kind() {
		case "sh", "console":
			if why := b.elsewhere(t); why != "" {
				elsewhere = append(elsewhere, fmt.Sprintf("%s: %s", b.at(), why))
				continue
			}
			here = append(here, &b)
		case "yaml":
			switch strings.Join(b.Info, " ") {
			case "yaml lab":
				here = append(here, b.upAndDown())
			case "yaml lab sim":
				here = append(here, b.simulated())
			}
		}
	}
	t.Run("blocks", func(t *testing.T) {
		for _, b := range here {
			t.Run(b.at(), func(t *testing.T) {
				t.Parallel() // most of them wait most of the time
				b.run(t, project, programs)
			})
		}
	})
	t.Logf("%d BLOCKS OF COMMANDS RUN, %d NOT HERE:\n  %s", len(here), len(elsewhere), strings.Join(elsewhere, "\n  "))
	assert.True(t, len(here) != 0, "no block was run, so nothing is shown")
}

// elsewhere returns why a block is not run here. Where another file runs it, that file has to.
func (b *Block) elsewhere(t *testing.T) string {
	for _, m := range b.marks {
		if why, ok := strings.CutPrefix(m, "not here: "); ok {
			return why
		}
		if by, ok := strings.CutPrefix(m, "by "); ok {
			path, text, _ := strings.Cut(by, ": ")
			data, err := os.ReadFile(filepath.Join(root, path))
			assert.True(t, err == nil && text != "" && strings.Contains(string(data), text),
				"%s: is to be run by %s, which has no %q (%v)", b.at(), path, text, err)
			return "run by " + by
		}
		name, _, _ := strings.Cut(m, " ")
		if !slices.Contains([]string{"switch", "forever", "output", "before", "aside", "terminal", "status", "verdict"},
			name) {
			t.Errorf("%s: there is no mark %q", b.at(), m)
		}
	}
	return ""
}

// upAndDown are the commands that bring a lab up, see hosts h1 and h2 reach each other, and take it down.
func (b *Block) upAndDown() *Block {
	return &Block{file: b.file, line: b.line, Text: "cat >lab.yaml <<'END'\n" + b.Text + "END\n" + `
pfcswitch lab up lab.yaml
pfcswitch lab exec lab.yaml h2 pfcswitch sink eth0 --expect 1 &
pfcswitch lab exec lab.yaml h1 pfcswitch send eth0 --speed 200M --seconds 0.2 -j | grep '"lost": 0'
wait
pfcswitch lab down lab.yaml
`}
}

// simulated runs a lab in virtual time.
func (b *Block) simulated() *Block {
	return &Block{file: b.file, line: b.line,
		Text: "cat >lab.yaml <<'END'\n" + b.Text + "END\npfcswitch sim lab.yaml\n"}
}

// script returns the shell script of a block, each of whose commands writes into a file of its own.
func (b *Block) script() string {
	var s strings.Builder
	s.WriteString("set -e\n" + setUp)
	if name := b.value("before"); name != "" {
		fmt.Fprintf(&s, ". cmd/internal/readme/testdata/%s.sh\n", name)
	}
	if b.has("switch") {
		s.WriteString(withSwitch)
	}
	all := b.commands()
	for i, c := range all {
		text := c.text
		if i == 0 && b.has("aside") {
			text += " &\nawait ready"
		}
		if i == len(all)-1 {
			text = b.last(text)
		}
		fmt.Fprintf(&s, "out=out.%d\nexec >$out 2>&1\n%s\n", i, text)
	}
	return s.String()
}

// last is the last command as the marks of the block want it.
func (b *Block) last(text string) string {
	if b.has("forever") {
		// else a second signal may come when the first was obeyed
		text = "timeout --foreground --preserve-status -s INT 3 " + text
	}
	if b.has("terminal") {
		text = "(until grep -q 'q quit' $out; do sleep 0.1; done; sleep 0.5; printf q) | script -qefc " +
			strconv.Quote(text) + " /dev/null"
	}
	if status := b.value("status"); status != "" {
		text = "status=0\n" + text + " || status=$?\n[ $status -eq " + status + " ]"
	}
	if b.has("verdict") {
		text += " || [ $? -eq 2 ]" // inconclusive; also where it could not run, which prints no verdict
	}
	return text
}

// run runs the commands of a block, each in the shell that ran the one before. It shares the programs with others.
func (b *Block) run(t *testing.T, project, programs string) {
	dir := t.TempDir()
	if out, err := exec.Command("sh", "-c", `cp -a "$0/." "$2" && cp -al "$1/." "$2"`, project, programs,
		dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"sh", "-c", b.script())
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), once...), "PATH="+dir+"/bin:"+os.Getenv("PATH"), "TERM=xterm", "COLUMNS=160")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = errors.Join(err, fmt.Errorf("not through after %v", patience))
	}
	all := b.commands()
	for i, c := range all {
		printed, readErr := os.ReadFile(fmt.Sprintf("%s/out.%d", dir, i))
		last := readErr != nil || i == len(all)-1 || !exists(fmt.Sprintf("%s/out.%d", dir, i+1))
		assert.MustBeTrue(t, err == nil || !last, "%s:%d: %s: %v\n%s%s", b.file, c.line, c.text, err, out, printed)
		if b.has("verdict") {
			printed = inconclusive.ReplaceAll(printed, []byte("PASS: what came after XOFF fits the headroom in force"))
		}
		if line := missing(c.output, string(printed)); b.has("output") && line != "" {
			t.Errorf("%s:%d: %s does not print\n%s\nbut\n%s", b.file, c.line, c.text, line, printed)
		}
		if testing.Verbose() {
			t.Logf("$ %s\n%s", c.text, printed)
		}
	}
}

// inconclusive is the verdict of a check that was passed on a machine which is too busy, with other tests, to fill the
// link.
var inconclusive = regexp.MustCompile(`(?m)^INCONCLUSIVE: what came fits the headroom in force, but .*$`)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// once are flags by which what is compiled in a copy of the project is the same as what is compiled here, and for the
// image, so that it is not done again.
var once = []string{"GOFLAGS=-trimpath", "CGO_ENABLED=0"}

// copyProject makes folders with what a reader has who has cloned and built the project: a copy of it, with the first
// configuration of README.md at the top as switch.yaml, and the program.
func copyProject(t *testing.T, all []Block) (project, programs string) {
	project, programs = t.TempDir(), t.TempDir()
	for _, args := range [][]string{
		{"sh", "-c", `tar -C "$0" --exclude=./.git -cf - . | tar -C "$1" -xf -`, root, project},
		{"mkdir", programs + "/bin"},
		{"cp", labtest.Program(t), programs + "/pfcswitch"},
		{"ln", programs + "/pfcswitch", programs + "/bin/pfcswitch"},
	} {
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		assert.MustBeTrue(t, err == nil, "%v: %v\n%s", args, err, out)
	}
	const sudo = "#!/bin/sh\nexec \"$@\"\n"
	assert.Must(t, os.WriteFile(programs+"/bin/sudo", []byte(sudo), 0o755))
	first := slices.IndexFunc(all, func(b Block) bool {
		return b.file == "README.md" && slices.Equal(b.Info, []string{"yaml"})
	})
	assert.MustBeTrue(t, first >= 0, "README.md at the top has no configuration")
	assert.Must(t, os.WriteFile(project+"/switch.yaml", []byte(all[first].Text), 0o600))
	return project, programs
}
