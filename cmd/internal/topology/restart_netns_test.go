package topology

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

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
