package topology

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

var must, eventually = assert.Must, labtest.Eventually

// A rig is the real program, and whose process runs it.
type rig struct {
	t       *testing.T
	program string
	user    *syscall.SysProcAttr // nil: the own
	env     []string
	enter   []string          // the command before the program, into the network of another machine
	partOf  map[string]string // of each node, where the lab has parts
	octets  int               // of the frames of checkTraffic; 0: as many as send has
}

func newRig(t *testing.T) *rig {
	t.Helper()
	labtest.Require(t)
	return &rig{t: t, program: labtest.Program(t)}
}

// withTest is the same rig for a part of the test.
func (r *rig) withTest(t *testing.T) *rig {
	part := *r
	part.t = t
	return &part
}

func (r *rig) command(args ...string) *exec.Cmd {
	argv := slices.Concat(r.enter, []string{r.program}, args)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = r.user
	cmd.Env = append(os.Environ(), r.env...)
	return cmd
}

// run runs the program, which has to succeed, and returns what it prints.
func (r *rig) run(args ...string) string {
	r.t.Helper()
	cmd := r.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	assert.MustBeTrue(r.t, err == nil, "pfcswitch %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.String())
	return string(out)
}

// runRefused runs the program, which has to fail with status 1 and say what is wanted.
func (r *rig) runRefused(want string, args ...string) {
	r.t.Helper()
	out, err := r.command(args...).CombinedOutput()
	status, ok := err.(*exec.ExitError)
	assert.True(r.t, ok && status.ExitCode() == 1 && strings.Contains(string(out), want),
		"pfcswitch %s: %v, %s; want status 1 and %q", strings.Join(args, " "), err, out, want)
}

// file writes a topology, whose name is the test's own: labs of others stay out of it.
func (r *rig) file(text string) (path, name string) {
	r.t.Helper()
	name = fmt.Sprintf("t%d.%s", os.Getpid(), regexp.MustCompile(`[^a-z]`).ReplaceAllString(
		strings.ToLower(filepath.Base(r.t.Name())), ""))
	path = filepath.Join(filepath.Dir(r.program), name+".yaml")
	text = regexp.MustCompile(`(?m)^name: .*$`).ReplaceAllString(text, "name: "+name)
	must(r.t, os.WriteFile(path, []byte(text), 0o644))
	r.t.Cleanup(func() {
		_ = r.command("lab", "down", path).Run() // where the test ended early
		r.checkNothingLeft(name)
	})
	return path, name
}

// up brings a lab up and returns what is written down of it.
func (r *rig) up(path, name string) State {
	r.t.Helper()
	r.run("lab", "up", path)
	return r.state(name)
}

func (r *rig) state(name string) (s State) {
	r.t.Helper()
	b := assert.Got(os.ReadFile(r.statePath(name))).Must(r.t)
	must(r.t, json.Unmarshal(b, &s))
	return s
}

func (r *rig) statePath(name string) string {
	for _, e := range r.env {
		if dir, ok := strings.CutPrefix(e, "XDG_RUNTIME_DIR="); ok {
			return filepath.Join(dir, "pfcswitch", "topologies", name+".json")
		}
	}
	return filepath.Join(lab.Folder, "topologies", name+".json")
}

// checkNothingLeft looks for what a lab consists of.
func (r *rig) checkNothingLeft(name string) {
	r.t.Helper()
	for _, pattern := range []string{"/run/netns/pfcsw-*-" + name + "-*", lab.Folder + "/" + name + "-*",
		lab.Folder + "/lab-" + name + "*", lab.Folder + "/locks/*-" + name + ".lock", r.statePath(name) + "*"} {
		left := assert.Got(filepath.Glob(pattern)).Must(r.t)
		assert.True(r.t, len(left) == 0, "left behind: %s", strings.Join(left, " "))
	}
	r.waitProcessesEnded(name)
}

// waitProcessesEnded waits until no process of a lab is left.
func (r *rig) waitProcessesEnded(name string) {
	r.t.Helper()
	eventually(r.t, "all processes of lab "+name+" have ended", func() bool { return len(r.processes(name)) == 0 })
}

// processes returns the /proc folders of a lab's processes.
func (r *rig) processes(name string) (all []string) {
	r.t.Helper()
	lines := assert.Got(filepath.Glob("/proc/[0-9]*/cmdline")).Must(r.t)
	for _, path := range lines {
		b, err := os.ReadFile(path)
		if err == nil && bytes.HasPrefix(b, []byte(r.program)) && bytes.Contains(b, []byte(name)) {
			all = append(all, filepath.Dir(path))
		}
	}
	return all
}

func (s State) socket(node string) string {
	for _, n := range s.Nodes {
		if n.Name == node {
			return n.Socket
		}
	}
	return ""
}
