package topology

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
)

// One switch of a lab starts again alone, in one process with others and in its own: the others lose nothing, and it
// carries traffic again. A file with an error changes nothing.
func oneRestarts(r *rig) {
	for _, inProcess := range []bool{true, false} {
		path, name := r.file(`name: x
switches: {s1: {preset: roce}, s2: {preset: roce}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}, h5: {}, h6: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 100M}
  l2: {ends: [h2, "s1:p2"], speed: 100M}
  l3: {ends: [h3, "s1:p3"], speed: 100M}
  l4: {ends: [h4, "s2:p1"], speed: 100M}
  l5: {ends: [h5, "s2:p2"], speed: 100M}
  l6: {ends: [h6, "s2:p3"], speed: 100M}
`)
		r.run("lab", "up", fmt.Sprintf("--in-process=%v", inProcess), path)
		s := r.state(name)
		must(r.t, s.AwaitPrograms(r.t.Context()))
		running := len(r.processes(name))
		s1, s2 := r.started(s, "s1"), r.started(s, "s2")

		stop, restarts, failed := make(chan struct{}), 0, make(chan error, 1)
		go func() {
			for {
				out, err := r.command("lab", "restart", path, "s2").CombinedOutput()
				if restarts++; err != nil || !strings.Contains(string(out), "s2 of lab "+name+" forwards again") {
					failed <- fmt.Errorf("%s: %w", out, cmp.Or(err, errors.New("not what a restart says")))
					return
				}
				select {
				case <-stop:
					failed <- nil
					return
				default:
				}
			}
		}()
		r.checkTraffic(path, []flow{{"h1", "h3", ""}, {"h2", "h3", ""}})
		close(stop)
		must(r.t, <-failed)
		r.t.Logf("%d restarts beside the traffic", restarts)
		r.checkLossless(*s.Node("s1"))
		must(r.t, s.AwaitPrograms(r.t.Context()))
		r.checkTraffic(path, []flow{{"h4", "h6", ""}, {"h5", "h6", ""}})
		r.checkLossless(*s.Node("s2"))
		assert.Equal(r.t, len(r.processes(name)), running, "processes")
		assert.True(r.t, r.started(s, "s1").Equal(s1) && r.started(s, "s2").After(s2),
			"s1 has started again, or s2 has not")

		s2 = r.started(s, "s2")
		file := filepath.Join(configFolder(name), "s2.yaml")
		must(r.t, os.WriteFile(file, []byte("name: s2\nprots: {}\n"), 0o600))
		r.runRefused("s2.yaml:2: prots: unknown key", "lab", "restart", path, "s2")
		must(r.t, os.WriteFile(file, []byte("name: s2\napi: {socket: "+s.socket("s2")+"}\n"+
			"ports: {x: {interface: lo, speed: 1G}}\n"), 0o600))
		// which only the running switch can know
		r.runRefused("interface lo has the address", "lab", "restart", path, "s2")
		r.runRefused("has no switch h1: there are s1, s2", "lab", "restart", path, "h1")
		assert.True(r.t, r.started(s, "s2").Equal(s2), "s2 has started again with a file that has an error")
		r.run("lab", "down", path)
		r.checkNothingLeft(name)
	}
}

// started is when a switch of a lab started.
func (r *rig) started(s State, node string) time.Time {
	r.t.Helper()
	h := assert.Got(healthOf(r.t.Context(), api.NewClient(s.socket(node)))).Must(r.t)
	return h.Started
}

// A switch that was killed is started again. In a lab of one process that goes for all its switches, and lab restart
// says so. lab down says what had ended, and why.
func killedRestarts(r *rig) {
	for _, inProcess := range []bool{true, false} {
		path, name := r.file(`name: x
switches: {s1: {preset: roce}, s2: {preset: roce}}
hosts: {h1: {}, h2: {}, h3: {}, h4: {}}
links:
  l1: {ends: [h1, "s1:p1"], speed: 100M}
  l2: {ends: [h2, "s1:p2"], speed: 100M}
  l3: {ends: [h3, "s2:p1"], speed: 100M}
  l4: {ends: [h4, "s2:p2"], speed: 100M}
`)
		r.run("lab", "up", fmt.Sprintf("--in-process=%v", inProcess), path)
		s := r.state(name)
		s1 := r.started(s, "s1")
		want := "the process of s2 of lab " + name + " had ended: it forwards again after"
		if inProcess {
			want = "had ended, and with it all switches of the lab"
		}
		for range 2 {
			must(r.t, s.AwaitPrograms(r.t.Context()))
			pid := assert.Got(api.NewClient(s.socket("s2")).PID(r.t.Context())).Must(r.t)
			must(r.t, unix.Kill(pid, unix.SIGKILL))
			said := r.run("lab", "restart", path, "s2")
			assert.Contains(r.t, said, want, "lab restart")
		}
		assert.Equal(r.t, r.started(s, "s1").Equal(s1), !inProcess, "s1 has gone on")
		must(r.t, s.AwaitPrograms(r.t.Context()))
		r.checkTraffic(path, []flow{{"h3", "h4", ""}, {"h1", "h2", ""}})
		r.checkLossless(*s.Node("s2"))
		said := r.run("lab", "down", path)
		assert.True(r.t, strings.Count(said, "ended: ") == 2 && strings.Count(said, "signal: killed") == 2 &&
			strings.Count(said, "started again, because lab restart asked for it") == 2, "lab down said: %s", said)
		r.checkNothingLeft(name)
	}
}

// A lab that another version keeps is refused where the keeper has to help, or to have told what it needs to be known.
func otherVersion(r *rig) {
	path, name := r.file("name: x\nfabric: {dumbbell: {hosts: 1}, links: {speed: 100M}, switches: {preset: roce}}\n" +
		"traffic: {f1: {from: h1, to: h2, duration: 100ms}}\n")
	s := r.up(path, name)
	f := assert.Got(os.OpenFile(r.statePath(name), os.O_WRONLY, 0)).Must(r.t)
	defer func() { _ = f.Close() }()
	s.Version, s.Scale = "", 0 // as before keepers told them
	must(r.t, s.write(f))
	want := "lab " + name + " was brought up by another version of pfcswitch: pfcswitch lab down " + name
	said, err := r.command("lab", "run", path).CombinedOutput()
	assert.True(r.t, err != nil && strings.Contains(string(said), want), "lab run: %v, %s; want %q", err, said, want)
	pid := assert.Got(api.NewClient(s.socket("left")).PID(r.t.Context())).Must(r.t)
	must(r.t, unix.Kill(pid, unix.SIGKILL))
	r.runRefused(want, "lab", "restart", path, "left")
	r.run("lab", "down", path)
}
