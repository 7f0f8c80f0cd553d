package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// rootfs makes the file system of the last image: its stage's copies of what the build stage made.
func rootfs(t *testing.T) string {
	t.Helper()
	out, fs := labtest.TempDir(t), labtest.TempDir(t)
	for _, i := range dockerfile() {
		switch {
		case i.stage == "build" && i.op == "RUN" && strings.Contains(i.args, "go build"):
			must(t, inBuildStage("cp "+program(t)+" /out/pfcswitch", out)) // that command's result
		case i.stage == "build" && i.op == "RUN" && strings.Contains(i.args, "/out"):
			must(t, inBuildStage(i.args, out))
		case i.stage == "" && i.op == "COPY":
			m := regexp.MustCompile(`^--from=build (?:--chown=(\d+:\d+) )?/out(/\S+) (/\S+)$`).FindStringSubmatch(
				i.args)
			assert.MustBeTrue(t, m != nil, "COPY %s: this test does not know how", i.args)
			command := fmt.Sprintf("mkdir -p $(dirname %[2]s) && cp -a %[1]s %[2]s", out+m[2], fs+m[3])
			if m[1] != "" {
				command += " && chown -R " + m[1] + " " + fs + m[3]
			}
			must(t, inBuildStage(command, out))
		}
	}
	must(t, os.Mkdir(filepath.Join(fs, "proc"), 0o755))
	return fs
}

// The image runs as a container would: nothing but its own files and a /proc, as its user, with the capabilities of the
// program's file; and its health check says when it is well.
func TestContainer(t *testing.T) {
	requireUsers(t)
	fs := rootfs(t)
	l := labtest.New(t, "container")
	sw, h1, h2 := labtest.Node(t, l, "sw"), labtest.Node(t, l, "h1"), labtest.Node(t, l, "h2")
	inside := func(argv []string) []string {
		return append([]string{"unshare", "--mount", "sh", "-ec",
			`mount -t proc proc "$0/proc" && exec chroot --userspec="$1" "$0" "${@:2}"`, fs, last(t, "USER")}, argv...)
	}
	shell := inside(nil)
	shell[2] = "bash" // for the slice of arguments
	start := append(shell, append(words(t, last(t, "ENTRYPOINT")), words(t, last(t, "CMD"))...)...)
	container, err := sw.Start(lab.Command{Name: "container", Argv: start, Env: []string{"CLAB_INTFS=2"}})
	must(t, err)
	check := append(shell[1:len(shell):len(shell)], words(t, last(t, "HEALTHCHECK"))...)
	health := func() (string, bool) {
		out, err := exec.Command(shell[0], check...).CombinedOutput()
		return string(out), err == nil
	}
	out, ok := health()
	assert.True(t, !ok, "it is healthy before it has a link: %s", out)
	cable(t, l, h1, "eth1", sw, "eth1")
	cable(t, l, h2, "eth1", sw, "eth2")
	waitUntil(t, container, func() bool { _, ok := health(); return ok })
	uid, _, _ := strings.Cut(last(t, "USER"), ":")
	assert.Equal(t, strings.Fields(status(t, container.Pid(), "Uid"))[1], uid, "it runs")
	got, err := strconv.ParseUint(status(t, container.Pid(), "CapEff"), 16, 64)
	assert.True(t, err == nil && got == netRaw|netAdmin|capBPF, "its capabilities are %x, %v", got, err)
	checkTraffic(t, h2, "eth1", 0.5, map[*lab.Node]string{h1: "eth1"})
	stop(t, container)
}

// The health check of the image of labs is well in a host, which has no switch, and not where a switch has ended.
func TestLabImageHealth(t *testing.T) {
	labtest.Require(t)
	var check []string
	for _, i := range dockerfile() {
		if i.stage == "lab" && i.op == "HEALTHCHECK" {
			check = words(t, i.args)
		}
	}
	assert.MustEqual(t, len(check), 3, "%q", check)
	command := strings.ReplaceAll(check[2], "/usr/bin/pfcswitch", program(t))
	for _, c := range []struct {
		is, before string
		well       bool
	}{{"a host", "", true}, {"a switch that has ended", "mkdir /run/pfcswitch", false}} {
		out, err := exec.Command("unshare", "--mount", "sh", "-ec",
			"mount -t tmpfs tmpfs /run\n"+c.before+"\nexec "+check[0]+` -c "$0"`, command).CombinedOutput()
		assert.Equal(t, err == nil, c.well, "%s: %v: %s", c.is, err, out)
	}
}
