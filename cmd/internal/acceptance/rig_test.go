package acceptance

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/web"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/runner"
)

// ServeControl answers on a control socket of its own, and returns a client.
func (r *Rig) ServeControl() *api.Client {
	r.T.Helper()
	path := filepath.Join(r.Dir, "control.sock")
	l := assert.Got(net.Listen("unix", path)).Must(r.T)
	s := web.NewLocalServer(api.NewServer(r.Source(), time.Now(), runner.Now()), slog.New(slog.DiscardHandler))
	go func() { _ = s.Serve(l) }()
	r.T.Cleanup(func() { _ = s.Close() })
	return api.NewClient(path)
}

// StartProcess runs the switch as a process in its own namespace, and waits until its ports are open.
func (r *Rig) StartProcess(s Setup, env ...string) *lab.Process {
	r.T.Helper()
	p := r.Launch(s, nil, env...)
	all := []string{started + "\n"}
	for n := range r.Hosts {
		all = append(all, fmt.Sprintf(`msg="port is open" port=%s `, PortName(n+1)))
	}
	for _, want := range all {
		eventually(r.T, "the switch says "+want, func() bool {
			if ended(p) {
				r.T.Fatal(p.Wait())
			}
			return strings.Contains(p.Output(), want)
		})
	}
	return p
}

// Write writes the configuration to a file and returns its path.
func (r *Rig) Write(s Setup) string {
	r.T.Helper()
	path := filepath.Join(r.Dir, "switch.yaml")
	must(r.T, os.WriteFile(path, []byte(s.YAML(r, len(r.Hosts))), 0o600))
	return path
}

// Launch starts the switch as a process, by a command that becomes the switch, such as without.
func (r *Rig) Launch(s Setup, by []string, env ...string) *lab.Process {
	r.T.Helper()
	self := assert.Got(os.Executable()).Must(r.T)
	c := SwitchCommand(r.Write(s), env...)
	c.Argv = append(by, self)
	return assert.Got(r.Node.Start(c)).Must(r.T)
}

// without is a command that becomes another one, which lacks a capability.
func without(capability string) []string { return []string{"setpriv", "--bounding-set=-" + capability} }

// GoesOn waits until so many more frames of priority 3 have come from a host.
func (s *Station) GoesOn(host int, frames uint64) {
	s.t.Helper()
	s.goesOn(host, 3, frames)
}

// goesOn is GoesOn for any priority.
func (s *Station) goesOn(host int, prio uint8, frames uint64) {
	s.t.Helper()
	want := s.Tally(host, prio).Frames + frames
	what := fmt.Sprintf("frames of priority %d from h%d go on", prio, host)
	eventually(s.t, what, func() bool { return s.Tally(host, prio).Frames >= want })
}
