package buffer

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// A wire is a flow controller that remembers its bits and complains about a call that does not change one.
type wire struct {
	tb       assert.TB
	held     map[QueueID]bool
	holds    int
	releases int
}

func newWire(tb assert.TB) *wire { return &wire{tb: tb, held: map[QueueID]bool{}} }

func (w *wire) Hold(port int, queue uint8) {
	id := QueueID{port, queue}
	assert.True(w.tb, !w.held[id], "Hold(%v) twice", id)
	w.held[id] = true
	w.holds++
}

func (w *wire) Release(port int, queue uint8) {
	id := QueueID{port, queue}
	assert.True(w.tb, w.held[id], "Release(%v) without Hold", id)
	delete(w.held, id)
	w.releases++
}

// quiet is a flow controller for what is measured.
type quiet struct{}

func (quiet) Hold(int, uint8)    {}
func (quiet) Release(int, uint8) {}

const (
	cell = 100 // of the tables: easy to count in
	pgA  = 3   // the priority that the tables use
)

// newTable builds a Manager from one queue per port, priority pgA, ports numbered from 0, and the size of the shared
// segment that they leave.
func newTable(t *testing.T, shared int64, c Config, queues ...QueueConfig) (*Manager, *wire) {
	t.Helper()
	c.Cell = cell
	c.Lossless.Size = shared
	for _, q := range queues {
		c.Lossless.Size += q.Private + q.Headroom
	}
	c.Lossless.Alpha, c.Lossy.Alpha = 1, 1
	w := newWire(t)
	m := assert.Got(New(c, w)).Must(t)
	for port, q := range queues {
		assert.MustNoError(t, m.SetPort(port, onePriority(q)), "SetPort(%d)", port)
	}
	return m, w
}

// setQueue changes the ingress queue that a priority of a port has.
func (m *Manager) setQueue(port int, prio uint8, c QueueConfig) error {
	pc := m.configs[port]
	pc.Queues[prio&pc.queueMask()] = c
	return m.SetPort(port, pc)
}

func onePriority(q QueueConfig) PortConfig {
	pc := PortConfig{Mode: macctl.ModePFC, Lossless: 1 << pgA, MTU: cell}
	pc.Queues[pgA] = q
	return pc
}

func mustAdmit(t *testing.T, m *Manager, port int, prio uint8, n int, want Verdict) {
	t.Helper()
	assert.MustEqual(t, m.Admit(port, prio, n), want, "Admit(%d, %d, %d)", port, prio, n)
}

func wantHeld(t *testing.T, m *Manager, port int, queue uint8, want segmentBytes) {
	t.Helper()
	assert.MustEqual(t, m.ports[port].ingress[queue].used.bytes(), want, "port %d queue %d holds", port, queue)
}

func wantOff(t *testing.T, m *Manager, w *wire, port int, queue uint8, want bool) {
	t.Helper()
	id := QueueID{port, queue}
	if off := m.Off(port)>>queue&1 == 1; off != want || w.held[id] != want {
		t.Fatalf("queue %v: OFF %v, held %v, want %v", id, off, w.held[id], want)
	}
}

func (s segmentBytes) total() int64 { return s.private + s.shared + s.headroom }

// wantSound checks what has to hold at any moment: no count below zero or above its size, every sum the sum of its
// parts, and the controller's bits those of the queues.
func wantSound(tb assert.TB, m *Manager, w *wire) {
	tb.Helper()
	var sum segmentBytes
	var lossy, charged int64
	off := 0
	for _, p := range m.ports {
		if p == nil {
			continue
		}
		var inPort segmentBytes
		for k := range p.ingress {
			inPort = inPort.plus(1, p.ingress[k].used.bytes())
		}
		if m.dynamic && (inPort != p.used.bytes() || inPort.headroom > p.config.insurance()) {
			tb.Fatalf("port %d holds %+v, counts %+v, its insurance is %d", p.number, inPort, p.used.bytes(),
				p.config.insurance())
		}
		for k := range p.ingress {
			q := &p.ingress[k]
			h := q.used.bytes()
			assert.MustBeTrue(tb, !m.dynamic || inPort.headroom <= 0 || !q.lossless || q.off,
				"queue %v: ON with %d B in its port's insurance", q.id, inPort.headroom)
			assert.MustBeTrue(tb, min(h.private, h.shared, h.headroom, p.charged[k], p.egress[k].used.now) >= 0,
				"queue %v: negative: %+v", q.id, h)
			assert.MustBeTrue(tb, h.private <= q.config.Private && h.headroom <= q.config.Headroom,
				"queue %v: %+v exceeds %+v", q.id, h, q.config)
			assert.MustBeTrue(tb, h.headroom <= 0 || q.off, "queue %v: ON with %d B in headroom", q.id, h.headroom)
			assert.MustBeTrue(tb, q.off == w.held[q.id] && (!q.off || q.lossless),
				"queue %v: OFF %v, held %v, lossless %v", q.id, q.off, w.held[q.id], q.lossless)
			if q.off {
				off++
			}
			sum = sum.plus(1, h)
			charged += p.charged[k]
			lossy += p.egress[k].used.now
		}
	}
	if got := m.lossless.used.bytes(); got != sum || sum.total() != charged {
		tb.Fatalf("lossless pool holds %+v, its queues %+v, its priorities %d", got, sum, charged)
	}
	limit := m.lossless.limit
	assert.MustBeTrue(tb, (sum.shared <= limit.shared || m.config.Headroom.pooled()) &&
		sum.shared+sum.headroom <= limit.shared+limit.headroom,
		"shared segment and headroom hold %d and %d of %d and %d B", sum.shared, sum.headroom, limit.shared,
		limit.headroom)
	assert.MustEqual(tb, m.lossy.used.now, lossy, "bytes in the lossy pool, want those of its queues")
	assert.MustEqual(tb, m.OffCount(), off, "OffCount, want what was counted")
	assert.MustEqual(tb, m.unbalanced, 0, "unbalanced releases")
}

// wantEmpty checks that everything is back where it began.
func wantEmpty(tb assert.TB, m *Manager, w *wire) {
	tb.Helper()
	wantSound(tb, m, w)
	assert.MustEqual(tb, m.lossless.used.bytes().total()+m.lossy.used.now, 0, "B still held")
	assert.MustBeTrue(tb, m.OffCount() == 0 && len(w.held) == 0, "%d queues OFF, %d bits held in an empty buffer",
		m.OffCount(), len(w.held))
}
