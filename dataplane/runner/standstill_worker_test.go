package runner

import (
	"sync/atomic"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// A sticky is a port whose worker does something else first when it wants to read the lossless ring.
type sticky struct {
	*porttest.End
	first atomic.Pointer[func()]
}

func (p *sticky) Receive(c port.Class, frames []port.Frame, octets int) int {
	if c == port.Lossless {
		if f := p.first.Swap(nil); f != nil {
			(*f)()
		}
	}
	return p.End.Receive(c, frames, octets)
}

// whileItReads makes a worker do first when it wants to read the frames that the test sends it, and calls during
// meanwhile.
func whileItReads(t *testing.T, e executor, first func(f *refresh), during func(f *refresh)) {
	l := newTestbed(t, e, roomy(2), unshapedPorts(2)...)
	f, p := &l.r.refresher.ports[0], (*sticky)(nil)
	begun, done := make(chan struct{}), make(chan struct{})
	l.must(l.r.Detach(0))
	l.attach(0, func(near *porttest.End) port.Port {
		p = &sticky{End: near}
		return p
	})
	work := func() {
		close(begun)
		first(f)
		close(done)
	}
	p.first.Store(&work)
	const n = 20
	l.stations[0].send(several(0, 1, lossless, n, 60)...)
	<-begun
	during(f)
	<-done
	eventually(t, "all frames arrive", func() bool { return len(l.stations[1].received(0, lossless)) == n })
	eventually(t, "the peer is free", func() bool {
		l.r.mu.Lock()
		defer l.r.mu.Unlock()
		return f.free() && l.r.sw.XoffSent(0)
	})
}

func peerHeld(f *refresh) bool { return f.hold.late() && f.due.Load() != noDeadline }

// A worker that does get on, however slowly, holds its peer for longer than one may hang.
func TestSlowWorkerIsNoHungOne(t *testing.T) {
	t.Parallel()
	forExecutors(t, func(t *testing.T, e executor) {
		t.Parallel()
		whileItReads(t, e, func(f *refresh) {
			eventually(t, "the peer is held", func() bool { return peerHeld(f) })
			for until := time.Now().Add(holdMost + 2*time.Second); time.Now().Before(until); {
				for from := time.Now(); time.Since(from) < time.Millisecond; {
				}
				time.Sleep(20 * time.Millisecond)
			}
			assert.Equal(t, peerHeld(f), true, "the peer is held for a slow worker")
		}, func(*refresh) {})
	})
}

// A worker that hangs lets its peer go after a while, and takes part again when it comes back.
func TestHungWorkerLetsGo(t *testing.T) {
	t.Parallel()
	forExecutors(t, func(t *testing.T, e executor) {
		t.Parallel()
		leave, from := make(chan struct{}), time.Now()
		whileItReads(t, e, func(*refresh) { <-leave }, func(f *refresh) {
			eventually(t, "the peer is held", func() bool { return peerHeld(f) })
			eventually(t, "the peer is let go", func() bool {
				f.Lock()
				defer f.Unlock()
				return f.late && f.due.Load() == noDeadline
			})
			took := time.Since(from)
			assert.True(t, took >= holdMost, "let go after %v", took)
			close(leave)
		})
	})
}
