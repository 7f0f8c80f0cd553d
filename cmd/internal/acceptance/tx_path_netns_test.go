package acceptance

import (
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// While something captures on the switch's end of a link, frames leave where it sees them, and afterwards as before.
func TestPortMakesWayForCapture(t *testing.T) {
	r := Start(t, 2, Setup{})
	txPath := func() port.TxPath { p := r.Snapshot(1); return p.TxPath }
	porttest.RequireXDP(t, txPath())
	s := assert.Got(porttest.OpenSocket(r.Node.Path(), "p1")).Must(t)
	eventually(t, "the port sends by its packet socket", func() bool {
		return txPath() == port.TxPath{Why: "another program captures on the interface"}
	})
	r.Passes(2, 1)
	must(t, s.Close())
	eventually(t, "the port sends by its AF_XDP socket", func() bool { return txPath().XDP })
	r.Passes(2, 1)
}

// A port that is to send by its packet socket never does otherwise: not when it is new, nor when its rings are replaced
// or the configuration has come back to that.
func TestPortSendsAsConfigured(t *testing.T) {
	r := NewRig(t, 2)
	keys := func(p1 string) Setup { return Setup{Ports: map[int]string{1: p1}} }
	way := func(want port.TxPath) {
		t.Helper()
		p := r.Snapshot(1)
		assert.True(t, p.TxPath == want, "%+v, want %+v", p.TxPath, want)
	}
	asked := port.TxPath{Why: "the configuration says so"}
	r.Start(keys("send: packet"))
	porttest.RequireXDP(t, r.Snapshot(2).TxPath)
	way(asked)
	must(t, r.Apply(keys("send: packet, ring: {outage: 500ms}"), 2))
	way(asked)
	must(t, r.Apply(keys("ring: {outage: 500ms}"), 2))
	eventually(t, "the port sends by its AF_XDP socket", func() bool { return r.Snapshot(1).TxPath.XDP })
	must(t, r.Apply(keys("send: packet, ring: {outage: 500ms}"), 2))
	for until := time.Now().Add(1500 * time.Millisecond); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		way(asked)
	}
}
