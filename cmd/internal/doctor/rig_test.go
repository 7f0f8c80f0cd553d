package doctor

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

var must, eventually = assert.Must, labtest.Eventually

// A rig is a namespace sw for a switch with a link to a host, which is h:
//
//	sw:p1 ── dr0:h
type rig struct {
	t      *testing.T
	lab    *lab.Lab
	sw, h  *lab.Node
	file   string // configuration with port p1
	socket string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	l := labtest.New(t, "doctor")
	r := &rig{t: t, lab: l, sw: labtest.Node(t, l, "sw"), h: labtest.Node(t, l, "h")}
	must(t, l.Link(r.sw, "p1", r.h, "dr0", lab.LinkOptions{}))
	dir := t.TempDir()
	r.file, r.socket = filepath.Join(dir, "switch.yaml"), filepath.Join(dir, "s.sock")
	r.write("preset: roce\nports: {p1: {netns: " + r.sw.Path() + "}}\n")
	return r
}

// write makes the configuration, whose nice value may be had everywhere: in a user namespace no other may.
func (r *rig) write(yaml string) { must(r.t, os.WriteFile(r.file, []byte("nice: 0\n"+yaml), 0o600)) }

func runIn(t *testing.T, n *lab.Node, command string) {
	t.Helper()
	labtest.Run(t, n, strings.Fields(command)...)
}

func (r *rig) ofFile() *api.Doctor {
	r.t.Helper()
	f := assert.Got(OfFile(r.file)).Must(r.t)
	return judgeHere(f)
}

func (r *rig) ofSwitch() *api.Doctor {
	r.t.Helper()
	f := assert.Got(OfSwitch(context.Background(), r.socket)).Must(r.t)
	return judgeHere(f)
}

// judgeHere leaves out what the machine's backlog drops of whatever else runs.
func judgeHere(f *Facts) *api.Doctor {
	f.BacklogDrops = 0
	return Judge(f)
}

// find returns the finding of that name, nil where there is none.
func find(r *api.Doctor, trap string) *api.Finding {
	for i := range r.Findings {
		if r.Findings[i].Trap == trap {
			return &r.Findings[i]
		}
	}
	return nil
}

// checkRemedy wants a finding, runs its command as it is printed, and wants doctor to be silent about it afterwards. It
// returns when the command goes on too: that is then ended with the test.
func checkRemedy(t *testing.T, trap string, look func() *api.Doctor) {
	t.Helper()
	f := find(look(), trap)
	if f == nil {
		t.Fatalf("%s is not found:\n%s", trap, look().Text())
	}
	assert.MustBeTrue(t, f.Command != nil && f.Effect != "" && f.Seen != "", "%s: %+v", trap, f)
	t.Logf("%s: %s", trap, *f.Command)
	shell(t, *f.Command)
	eventually(t, "doctor is silent about "+trap, func() bool { return find(look(), trap) == nil })
}

// shell runs a command and waits for its end, but not for long: one that goes on is ended with the test.
func shell(t *testing.T, command string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "exec 2>&1; "+command)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(labtest.Program(t))+string(os.PathListSeparator)+
		os.Getenv("PATH"))
	cmd.SysProcAttr = group()
	labtest.Start(t, cmd)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		assert.MustBeTrue(t, err == nil, "%s: %v\n%s", command, err, out.String())
	case <-time.After(3 * time.Second):
		t.Cleanup(func() {
			terminate(cmd.Process.Pid)
			t.Logf("ended: %v", <-ended) // by the signal
		})
	}
}
