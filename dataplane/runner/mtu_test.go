package runner

import (
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// A frame that the port carries waits while its interface has just shrunk, and leaves once the interface has grown
// again. Where the interface is known to be too small, the loss of such a frame is a fault. A frame that is too long
// for the port is oversize. A delay line does the same.
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
		l.r.SetLinkMTU(1, 482)
		l.losesFrames = true // which is counted
		a.send(data(0, 1, lossless, 2, 918), data(0, 1, lossless, 3, 919), data(0, 1, lossless, 4, 60))
		arrive(3)
		c := l.snapshotOf(0).Counters
		if c.Drops[lossless][dataplane.DropSend] != 1 || c.Drops[lossless][dataplane.DropOversize] != 1 ||
			c.LosslessDrops[lossless] != 1 || c.LosslessDiscarded[lossless][dataplane.DropOversize] != 1 ||
			c.LosslessDiscarded[lossless][dataplane.DropSend] != 0 {
			t.Errorf("delay %d: dropped by reason %v, %d lossless, discarded %v; want one send, a fault, and one "+
				"oversize, which is discarded", delay, c.Drops[lossless], c.LosslessDrops[lossless],
				c.LosslessDiscarded[lossless])
		}
	}
}
