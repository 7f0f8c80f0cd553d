package dataplane

import (
	"testing"

	"pfcswitch/dataplane/port/porttest"
)

// What Retired returns is what a port, or a trunk, that comes back goes on from, and does not change any more.
func TestRetired(t *testing.T) {
	cfg := testConfig(2)
	r, err := NewRunner(cfg, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	put := func(ports map[int]PortConfig) {
		t.Helper()
		if err := r.Configure(cfg, ports, nil); err != nil {
			t.Fatal(err)
		}
	}
	put(asMap(testPort(0), testPort(1)))
	if v := r.Retired(); len(v.Ports)+len(v.Buffer.Ports)+len(v.Trunks) != 0 {
		t.Errorf("nothing was gone before: %+v", v)
	}
	r.View(func(sw *Switch) {
		sw.ports[1].count.SentFrames = 7
		sw.buffer.Admit(1, lossless, small)
		sw.buffer.Release(1, lossless, small)
		sw.retiredTrunks["up"] = &TrunkSnapshot{Config: TrunkConfig{Name: "up"}}
	})
	put(asMap(testPort(0)))
	old := r.Retired()
	if len(old.Ports) != 1 || len(old.Buffer.Ports) != 1 || len(old.Trunks) != 1 {
		t.Fatalf("%d ports, %d in the buffer, %d trunks, want 1 each", len(old.Ports), len(old.Buffer.Ports), len(old.Trunks))
	}
	near, far, err := porttest.Pair(porttest.Options{Now: wallClock, Slots: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	task := &portTask{port: near}
	task.reaction.Record(1000)
	r.View(func(sw *Switch) {
		sw.retireTask("p0", task) // its sockets go, and it stays
		sw.retireTask("p1", task)
	})
	both := r.Retired()
	if n := both.Ports; len(n) != 2 || n[0].Config.Name != "p0" || n[0].Reaction.Count != 1 || n[1].Reaction.Count != 1 {
		t.Errorf("%d ports, want p0 and p1 with a reaction each", len(n))
	}
	put(asMap(testPort(0), testPort(1)))
	var now Snapshot
	r.Snapshot(&now)
	p, b := &old.Ports[0], &old.Buffer.Ports[0]
	if p.Config.Name != "p1" || p.Counters.SentFrames != 7 || p.Reaction.Count != 0 || now.Ports[1].Counters.SentFrames != 7 {
		t.Errorf("%s sent %d frames and goes on from %d, want 7", p.Config.Name, p.Counters.SentFrames, now.Ports[1].Counters.SentFrames)
	}
	if b.Name != "p1" || b.Ingress[lossless].Admitted != 1 || now.Buffer.Ports[1].Ingress[lossless].Admitted != 1 {
		t.Errorf("%s admitted %d frames and goes on from %d, want 1", b.Name, b.Ingress[lossless].Admitted, now.Buffer.Ports[1].Ingress[lossless].Admitted)
	}
}
