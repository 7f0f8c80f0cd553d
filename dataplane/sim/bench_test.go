package sim

import (
	"pfcswitch/dataplane/assert"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// leafSpine is what addLeafSpine adds, with links of 1G. Host i sends to the host half the way round, at 60 % of its
// link, in the lossless priority or in the lossy one.
func leafSpine(tb reporter, leaves, spines, hosts int, prio uint8) *rig {
	r := newRig(tb, gigabit, 500)
	r.addLeafSpine(leaves, spines, hosts, r.delay, false)
	first, n := leaves+spines, leaves*hosts
	for h := range n {
		r.load(FlowConfig{From: first + h, To: first + (h+n/2)%n, Priority: prio, Octets: mtu, Rate: gigabit * 6 / 10,
			Stop: never / 2})
	}
	return r
}

// cpuTime is the CPU time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	assert.Must(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// advance measures how fast a run goes that has warmed up, in steps of 100 µs of its time.
func advance(b *testing.B, r *rig) {
	r.start()
	until := int64(20 * ms)
	r.Advance(until)
	hops, events := r.Hops(), r.Events()
	b.ReportAllocs()
	begun := cpuTime(b)
	for b.Loop() {
		until += ms / 10
		r.Advance(until)
	}
	took := (cpuTime(b) - begun).Seconds()
	b.ReportMetric(float64(r.Hops()-hops)/took, "hops/CPU-s")
	b.ReportMetric(float64(r.Events()-events)/took, "events/CPU-s")
	assert.True(b, r.Hops() != hops, "nothing moved")
}

// An incast in which the senders are held all the time, and a fabric like a fat tree of k = 4 at 60 % load.
func BenchmarkIncast(b *testing.B) {
	r, _ := incast(b, 3, gigabit, 500, mtu, never/2)
	advance(b, r)
}

func BenchmarkLeafSpine(b *testing.B) {
	b.Run("lossless", func(b *testing.B) { advance(b, leafSpine(b, 8, 4, 2, lossless)) })
	b.Run("lossy", func(b *testing.B) { advance(b, leafSpine(b, 8, 4, 2, 0)) })
}

// What a run allocates once its queues have grown to what they need: nothing.
func TestNoAllocationPerEvent(t *testing.T) {
	for _, build := range []func() *rig{
		func() *rig { r, _ := incast(t, 3, gigabit, 500, mtu, never/2); return r },
		func() *rig { return leafSpine(t, 4, 2, 2, lossless) },
		func() *rig { r, _ := controlled(t, 4, true, never/2); return r },
		func() *rig { r, _, _ := halfIncast(t, ForcedCollision, 3, 500, mtu, never/2); return r },
		func() *rig { r, _, _ := halfIncast(t, FalseCarrier, 3, 500, mtu, never/2); return r },
		func() *rig {
			r, _, _, to := pairOn(t, FlowConfig{Priority: lossless, Octets: mtu, Stop: never / 2, Window: 20})
			assert.Must(t, r.AddFault(FaultConfig{Kind: Slow, At: End{to, 0}, Rate: gigabit / 3, Stop: never / 2}))
			return r
		},
	} {
		r := build()
		r.start()
		until := int64(50 * ms)
		r.Advance(until)
		n := testing.AllocsPerRun(20, func() {
			until += ms
			r.Advance(until)
		})
		assert.True(t, n == 0, "%v allocations in a millisecond", n)
	}
}
