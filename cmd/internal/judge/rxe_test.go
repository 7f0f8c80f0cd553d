package judge

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

// rxe runs rxe.sh where there are only these programs, each a line of a shell script. It returns what they wrote into
// the file $LOG.
func rxe(t *testing.T, programs map[string]string, args ...string) (status int, says, log string) {
	t.Helper()
	dir := t.TempDir()
	for _, program := range []string{"bash", "sh", "sed", "uname"} {
		path, err := exec.LookPath(program)
		assert.Must(t, errors.Join(err, os.Symlink(path, filepath.Join(dir, program))))
	}
	for name, line := range programs {
		install(t, filepath.Join(dir, name), "#!/bin/sh\n"+line+"\n")
	}
	c := exec.Command("../../../scripts/rxe.sh", args...)
	c.Env = []string{"PATH=" + dir, "LOG=" + filepath.Join(dir, "log")}
	out, err := c.CombinedOutput()
	_, ok := err.(*exec.ExitError)
	assert.MustBeTrue(t, err == nil || ok, "%v", err)
	b, err := os.ReadFile(filepath.Join(dir, "log"))
	assert.MustBeTrue(t, err == nil || errors.Is(err, os.ErrNotExist), "%v", err)
	return c.ProcessState.ExitCode(), string(out), string(b)
}

// rxePrograms are what rxe.sh needs, and a module that is there.
func rxePrograms() map[string]string {
	const logged = `echo "${0##*/} $*" >>"$LOG"`
	return map[string]string{"rdma": logged, "ib_write_bw": logged, "modprobe": "", "id": "echo 0",
		"ip": `[ "$*" = "link show dev host0" ]`}
}

// Where something is missing, rxe.sh says what in one line, with a status of its own, and has made nothing.
func TestSoftRoCERefusal(t *testing.T) {
	for _, tt := range []struct {
		program, line string // "": the program is missing
		args          string
		status        int
		says          string
	}{
		{"rdma", "", "host0", 77, "there is no program rdma: install iproute2"},
		{"ib_write_bw", "", "host0", 77, "there is no program ib_write_bw: install perftest"},
		{"modprobe", "exit 1", "host0", 77, " has no module rdma_rxe (CONFIG_RDMA_RXE)"},
		{"modprobe", "", "host0", 77, " has no module rdma_rxe (CONFIG_RDMA_RXE)"},
		{"id", "echo 1000", "host0", 77, "only root makes RDMA devices"},
		{"ip", "exit 1", "host1", 77, "there is no interface host1: pfcswitch nic"},
		{"id", "echo 0", "", 2, "scripts/rxe.sh INTERFACE SERVER"},
		{"id", "echo 0", "--help", 2, "scripts/rxe.sh INTERFACE SERVER"},
	} {
		if _, err := os.Stat("/sys/module/rdma_rxe"); err == nil && tt.program == "modprobe" {
			t.Log("NOT TESTED that a missing module is found: this kernel has rdma_rxe")
			continue
		}
		programs := rxePrograms()
		if programs[tt.program] = tt.line; tt.line == "" {
			delete(programs, tt.program)
		}
		if tt.line == "echo 1000" {
			programs["modprobe"] = "exit 1" // only root may
		}
		status, says, log := rxe(t, programs, strings.Fields(tt.args)...)
		if lines := strings.Count(says, "\n"); status != tt.status || !strings.Contains(says, tt.says) || log != "" ||
			status == 77 && (lines != 1 || !strings.HasPrefix(says, "rxe.sh did not run: ")) {
			t.Errorf("%s %q: status %d, %q, it ran %q, want status %d, %q", tt.program, tt.line, status, says, log,
				tt.status, tt.says)
		}
	}
}

// Where all is there, the device is made, measured and removed, also where perftest fails. Its status is the script's.
func TestSoftRoCERun(t *testing.T) {
	const device, perftest = "type rxe netdev host0\n", "ib_write_bw -R -d rxe_host0 -T 104 -D 5 --report_gbits"
	for _, tt := range []struct{ args, want, ends string }{
		{"host0", perftest, "0"},
		{"host0 10.0.0.1 -q 4", perftest + " 10.0.0.1 -q 4", "0"},
		{"host0 10.0.0.1", perftest + " 10.0.0.1", "3"},
	} {
		programs := rxePrograms()
		programs["ib_write_bw"] += "; exit " + tt.ends
		status, says, log := rxe(t, programs, strings.Fields(tt.args)...)
		want := "rdma link add rxe_host0 " + device + tt.want + "\nrdma link delete rxe_host0\n"
		assert.True(t, log == want && (status == 0) == (tt.ends == "0") && (status == 0 || status == 3),
			"%s: status %d, %q, it ran %q, want %q", tt.args, status, says, log, want)
	}
}
