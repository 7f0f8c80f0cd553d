package buffer

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// fullSwitch is 32 ports with eight lossless queues each, all in use.
func fullSwitch(tb testing.TB) *Manager {
	tb.Helper()
	c := Config{Cell: 256, RingHold: true,
		Lossless: PoolConfig{Size: 64 << 20, Alpha: 1.0 / 16}, Lossy: PoolConfig{Size: 4 << 20, Alpha: 1}}
	ports := map[int]PortConfig{}
	for port := range 32 {
		pc := PortConfig{Mode: macctl.ModePFC, Lossless: 0xFF, MTU: 1518}
		for k := range pc.Queues {
			pc.Queues[k] = QueueConfig{Private: 4 << 10, Headroom: 64 << 10, Xon: 16 << 10, XonOffset: 4 << 10}
		}
		ports[port] = pc
	}
	m := assert.Got(New(c, quiet{})).Must(tb)
	assert.Must(tb, m.Apply(c, ports))
	for port := range 32 {
		for prio := range uint8(Priorities) {
			for range 4 {
				m.Admit(port, prio, 1514)
			}
		}
	}
	return m
}

// drive admits and releases one frame in each queue, and pushes one queue through its headroom and back.
func drive(m *Manager, wantAccepted func(Verdict)) {
	for port := range 32 {
		for prio := range uint8(Priorities) {
			wantAccepted(m.Admit(port, prio, 1514))
			m.WouldExceedThreshold(port, prio, 10000)
			m.AdmitLossy(port, prio, 1514)
			m.ReleaseLossy(port, prio, 1514)
			m.Release(port, prio, 1514)
		}
	}
	n := 0
	for m.OffCount() == 0 && n < 10000 {
		wantAccepted(m.Admit(5, 5, 1514))
		n++
	}
	for range n {
		m.Release(5, 5, 1514)
	}
	m.Resume()
}

func TestNoAllocations(t *testing.T) {
	for _, h := range []Config{{}, {Headroom: HeadroomSharing{Ratio: 2}}, {Headroom: HeadroomSharing{Dynamic: true}},
		{Active: true}} {
		m := fullSwitch(t)
		m.share(t, h.Headroom, h.Active)
		n := testing.AllocsPerRun(5, func() {
			drive(m, func(v Verdict) {
				if !v.Accepted() {
					t.Fatalf("verdict %v", v)
				}
			})
		})
		assert.True(t, n == 0, "%+v: %v allocations", h, n)
		assert.True(t, m.OffCount() == 0 && m.unbalanced == 0, "%+v: OffCount %d, unbalanced %d", h, m.OffCount(),
			m.unbalanced)
		q := m.ports[5].ingress[5].count
		assert.True(t, q.Xoff != 0 && q.Xoff == q.Xon, "%+v: the queue did not turn OFF and ON: %+v", h, q)
	}
}

// share changes how headroom and thresholds are shared.
func (m *Manager) share(tb testing.TB, h HeadroomSharing, active bool) {
	tb.Helper()
	c := m.config
	c.Headroom, c.Active = h, active
	assert.Must(tb, m.Apply(c, m.configs))
}

// All queues OFF at once: the list of them was made long enough beforehand.
func TestAllOff(t *testing.T) {
	m := fullSwitch(t)
	before := cap(m.off)
	for port := range 32 {
		for prio := range uint8(Priorities) {
			m.turnOff(&m.ports[port].ingress[prio])
		}
	}
	assert.True(t, m.OffCount() == 256 && cap(m.off) == before, "OffCount = %d, want 256; the list grew from %d to %d",
		m.OffCount(), before, cap(m.off))
	m.Resume()
	assert.Equal(t, m.OffCount(), 0, "OffCount after Resume")
}

func BenchmarkAdmitRelease(b *testing.B) { benchmarkAdmitRelease(b, HeadroomSharing{}, false) }

func BenchmarkAdmitReleaseActive(b *testing.B) { benchmarkAdmitRelease(b, HeadroomSharing{}, true) }

func BenchmarkAdmitReleaseDynamic(b *testing.B) {
	benchmarkAdmitRelease(b, HeadroomSharing{Dynamic: true}, false)
}

func benchmarkAdmitRelease(b *testing.B, h HeadroomSharing, active bool) {
	m := fullSwitch(b)
	m.share(b, h, active)
	b.ReportAllocs()
	for i := range b.N {
		port, prio := i>>3&31, uint8(i&7)
		assert.MustBeTrue(b, m.Admit(port, prio, 1514).Accepted(), "refused")
		m.Release(port, prio, 1514)
	}
}

func BenchmarkLossy(b *testing.B) {
	m := fullSwitch(b)
	b.ReportAllocs()
	for i := range b.N {
		port, queue := i>>3&31, uint8(i&7)
		if !m.AdmitLossy(port, queue, 1514) {
			b.Fatal("refused")
		}
		m.ReleaseLossy(port, queue, 1514)
	}
}

func BenchmarkResumeNoneOff(b *testing.B) {
	m := fullSwitch(b)
	b.ReportAllocs()
	for b.Loop() {
		m.Resume()
	}
}

func BenchmarkSnapshot(b *testing.B) {
	m := fullSwitch(b)
	var s Snapshot
	b.ReportAllocs()
	for b.Loop() {
		m.Snapshot(&s)
	}
}
