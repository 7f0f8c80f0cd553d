package topology

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane/assert"
)

// Root's labs trust nothing that another user can have written: under systemd the folder of the sockets belongs to the
// user of the service. Nor does root follow a symbolic link, or remove the namespace of a lab whose lock is elsewhere.
func TestPlantedFiles(t *testing.T) {
	r := newRig(t)
	if os.Geteuid() != 0 {
		t.Skip("NO ROOT: files of another user need root to make them")
	}
	for _, folder := range []string{"/run/pfcswitch/topologies", lab.Folder + "/topologies"} {
		must(r.t, os.MkdirAll(r.dir(), 0o755))
		state, err := os.Create(filepath.Join(r.dir(), "x.json")) // somebody has the lock of the lab, as if it were up
		must(r.t, err)
		must(r.t, unix.FcntlFlock(state.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}))
		out := r.runPlanted(`
mkdir -p $folder /run/pfcswitch/labs /run/netns
touch $folder/x.json; mount --bind $dir/x.json $folder/x.json
echo '{"schema":1,"name":"x","pid":1,"nodes":[{"name":"h1","enter":["touch","'$dir'/run"]}]}' >$folder/x.json
chown -R 65534 $(echo $folder | cut -d/ -f1-3)
$program lab exec x h1 $dir/argument 2>&1
`, "folder="+folder)
		assert.True(t, strings.Contains(out, "no lab of this name is up") || strings.Contains(out, "are not trusted"),
			"a state in %s: lab exec says %q", folder, out)
		_, err = os.Stat(filepath.Join(r.dir(), "run"))
		assert.True(t, err != nil, "root ran a program that a state in %s names", folder)
		must(r.t, state.Close())
	}
	out := r.runPlanted(`
mkdir -p /run/pfcswitch-labs/topologies /run/netns
printf keep >$dir/victim; ln -s $dir/victim /run/pfcswitch-labs/topologies/pair.json.log
touch /run/netns/pfcsw-1-elsewhere-h1
printf 'name: pair\nswitches: {s1: {}}\nhosts: {h1: {}}\nlinks: {l1: {ends: [h1, "s1:p1"]}}\n' >$dir/pair.yaml
$program lab up $dir/pair.yaml 2>&1
ls /run/netns
`)
	assert.Contains(t, out, "is a symbolic link", "lab up with a planted link says")
	assert.Contains(t, out, "pfcsw-1-elsewhere-h1", "a namespace without a lock was removed")
	b, err := os.ReadFile(filepath.Join(r.dir(), "victim"))
	assert.True(t, string(b) == "keep", "root wrote through a link: %q, %v", b, err)
}

// dir is where the planted scripts write.
func (r *rig) dir() string { return filepath.Join(filepath.Dir(r.program), "planted") }

// runPlanted runs a script as root, in a mount namespace with an empty /run.
func (r *rig) runPlanted(script string, env ...string) string {
	r.t.Helper()
	must(r.t, os.MkdirAll(r.dir(), 0o755))
	r.t.Cleanup(func() { _ = os.RemoveAll(r.dir()) })
	cmd := exec.CommandContext(r.t.Context(), "sh", "-c", "mount -t tmpfs tmpfs /run\n"+script)
	cmd.Env = append(append(os.Environ(), "program="+r.program, "dir="+r.dir()), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, _ := cmd.CombinedOutput() // the program fails, as it should
	return string(out)
}
