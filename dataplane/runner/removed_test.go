package runner

import (
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// What RemovedCounters returns is what a port, or a trunk, that comes back goes on from, and does not change any more.
func TestRetired(t *testing.T) {
	cfg := testConfig(2)
	r := assert.Got(New(cfg, Options{})).Must(t)
	t.Cleanup(func() { _ = r.Close() })
	put := func(ports map[int]dataplane.PortConfig) {
		t.Helper()
		assert.Must(t, r.Configure(cfg, ports, nil))
	}
	put(asMap(testPort(0), testPort(1)))
	v := r.RemovedCounters()
	assert.True(t, len(v.Ports)+len(v.Buffer.Ports)+len(v.Trunks) == 0, "nothing was gone before: %+v", v)
	r.View(func(sw *dataplane.Switch) {
		rig := &rig{tb: t, sw: sw, now: Now(), batch: port.NewBatch()}
		for i := range 2 {
			sw.SetUp(i, true, rig.now)
		}
		rig.offer(0, data(0, 1, 0, 0, small)) // teaches where host 0 is
		rig.offer(1, data(1, 0, lossless, 0, small))
		rig.offer(0, several(0, 1, lossless, 6, small)...)
		rig.drain(1, rig.now+second)
		rig.drain(0, rig.now+second)
	})
	cfg.Trunks = []dataplane.TrunkConfig{{Name: "up", Uplink: 1, Members: []int{0}}}
	put(asMap(testPort(0), testPort(1)))
	cfg.Trunks = nil
	put(asMap(testPort(0)))
	old := r.RemovedCounters()
	assert.MustBeTrue(t, len(old.Ports) == 1 && len(old.Buffer.Ports) == 1 && len(old.Trunks) == 1,
		"%d ports, %d in the buffer, %d trunks, want 1 each", len(old.Ports), len(old.Buffer.Ports), len(old.Trunks))
	near, far, err := porttest.Pair(porttest.Options{Now: wallClock, Slots: 16})
	assert.Must(t, err)
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	task := &portTask{port: near}
	task.reaction.Record(1000)
	r.View(func(sw *dataplane.Switch) {
		task.cfg.Name = "p0" // its sockets go, and it stays
		task.keepMeasurements(sw)
		task.cfg.Name = "p1"
		task.keepMeasurements(sw)
	})
	both := r.RemovedCounters()
	n := both.Ports
	assert.True(t, len(n) == 2 && n[0].Config.Name == "p0" && n[0].Reaction.Count == 1 && n[1].Reaction.Count == 1,
		"%d ports, want p0 and p1 with a reaction each", len(n))
	put(asMap(testPort(0), testPort(1)))
	var now dataplane.Snapshot
	r.Snapshot(&now)
	p, b := &old.Ports[0], &old.Buffer.Ports[0]
	assert.True(t, p.Config.Name == "p1" && p.Counters.SentFrames == 7 && p.Reaction.Count == 0 &&
		now.Ports[1].Counters.SentFrames == 7, "%s sent %d frames and goes on from %d, want 7", p.Config.Name,
		p.Counters.SentFrames, now.Ports[1].Counters.SentFrames)
	assert.True(t, b.Name == "p1" && b.Ingress[lossless].Admitted == 1 &&
		now.Buffer.Ports[1].Ingress[lossless].Admitted == 1, "%s admitted %d frames and goes on from %d, want 1",
		b.Name, b.Ingress[lossless].Admitted, now.Buffer.Ports[1].Ingress[lossless].Admitted)
}
