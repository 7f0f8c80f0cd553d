package daemon

import (
	"testing"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// While something captures on the switch's end of a link, frames leave where it sees them, and afterwards as before.
func TestPortMakesWayForCapture(t *testing.T) {
	r := newRig(t, 2, lab.LinkOptions{})
	r.start(setup{})
	express := func() port.Way { p := r.snapshot(1); return p.Way }
	if !express().Express {
		t.Skipf("NOT TESTED: a port that sends by an AF_XDP socket: %s", express().Why)
	}
	s, err := porttest.OpenSocket(r.sw.Path(), "p1")
	must(t, err)
	eventually(t, "the port sends by its packet socket", func() bool {
		return express() == port.Way{Why: "another program captures on the interface"}
	})
	r.passes(2, 1)
	must(t, s.Close())
	eventually(t, "the port sends by its AF_XDP socket", func() bool { return express().Express })
	r.passes(2, 1)
}
