package runner

import (
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// A frame that the port carries waits while its interface has just shrunk, and leaves once the interface has grown
// again. Where it is known to have become too small, the loss of such a frame is a fault. A frame that is too long for
// the port is oversize, and so is one for which the interface is too small since the port has its MTU. A delay line
// does the same.
func TestLinkMTU(t *testing.T) {
	for _, delay := range []int64{0, 100_000} {
		ports := unshapedPorts(2)
		ports[1].Delay, ports[1].Classify.MTU = delay, 900
		l := newTestbed(t, executors[0], roomy(2), ports...)
		var limit, refused atomic.Int64
		limit.Store(500)
		l.withGate(1, func(near *porttest.End, b *port.Batch) (int, error) {
			for i := range b.Len() {
				f := b.Frame(i, nil)
				if int64(len(f)) > limit.Load() {
					refused.Add(1)
					return i, unix.EMSGSIZE
				}
				pass(near, f)
			}
			return b.Len(), nil
		})
		a, b := l.stations[0], l.stations[1]
		arrive := func(n int) {
			t.Helper()
			eventually(t, "frames arrive", func() bool { return len(b.received(0, lossless)) == n })
		}
		a.send(data(0, 1, lossless, 0, 900), data(0, 1, lossless, 1, 60))
		eventually(t, "the long frame is offered again and again", func() bool { return refused.Load() > 5 })
		limit.Store(1500)
		arrive(2)
		l.balanced()

		limit.Store(500)
		l.losesFrames = true // which is counted
		sent, lost := 2, uint64(0)
		loses := func(what string, fault uint64) {
			t.Helper()
			a.send(data(0, 1, lossless, sent, 918), data(0, 1, lossless, sent+1, 919), data(0, 1, lossless, sent+2, 60))
			sent, lost = sent+3, lost+fault
			arrive(2 + (sent-2)/3)
			c, all := l.snapshotOf(0).Counters, uint64(sent-2)/3*2
			if c.Drops[lossless][dataplane.DropSend] != lost || c.LosslessDrops[lossless] != lost ||
				c.LosslessDiscarded[lossless][dataplane.DropOversize] != all-lost {
				t.Errorf("delay %d, %s: dropped by reason %v, %d lossless, discarded %v; want %d send, which are "+
					"faults, and %d oversize, which are discarded", delay, what, c.Drops[lossless],
					c.LosslessDrops[lossless], c.LosslessDiscarded[lossless], lost, all-lost)
			}
		}
		l.r.SetLinkMTU(1, 482)
		loses("too small from the start", 0)
		l.r.SetLinkMTU(1, 900)
		l.r.SetLinkMTU(1, 482)
		loses("lowered", 1)
		for _, mtu := range []int{901, 900} { // the configuration asks for more than there is
			l.r.tasks[1].mtu.setPort(mtu)
		}
		loses("too small since another configuration", 0)
	}
}

// The MTUs of the port and of its interface come at the same time, and both count.
func TestMTUsComeTogether(t *testing.T) {
	all := make([]linkMTU, 20_000)
	var at atomic.Int64 // which one is next
	var both sync.WaitGroup
	each := func(set func(*linkMTU)) {
		for i := range all {
			for at.Add(1); at.Load() < int64(2*i+2); { // until the other one is here too
			}
			set(&all[i])
		}
	}
	both.Go(func() { each(func(m *linkMTU) { m.setPort(1500) }) })
	both.Go(func() { each(func(m *linkMTU) { m.setLink(1500) }) })
	both.Wait()
	for i := range all {
		assert.MustBeTrue(t, all[i].fitted, "try %d: the interface is as large as the port, and does not count so", i)
	}
}
