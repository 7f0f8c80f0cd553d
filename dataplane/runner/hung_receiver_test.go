package runner

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// A hungReader reads no frame while it is told to hang.
type hungReader struct {
	*porttest.End
	hang    *atomic.Bool
	entered chan struct{}
	leave   chan struct{}
}

func (h *hungReader) Receive(c port.Class, dst []port.Frame, octets int) int {
	if c == port.Lossless && h.hang.Swap(false) {
		close(h.entered)
		<-h.leave
	}
	return h.End.Receive(c, dst, octets)
}

// The peer of a receive thread that hangs is held while the transmit thread of the same port lives and sends, until the
// thread has hung for holdMost. Alive names it, and Threads says that it alone has not looked, and for how long. It
// loses nothing once it goes on.
func TestReceiveThreadHangsBesideALiveTransmitThread(t *testing.T) {
	l := newTestbed(t, executor{name: "per port", cpus: 2, perPort: true}, roomy(3), unshapedPorts(3)...)
	var hang atomic.Bool
	h := &hungReader{hang: &hang, entered: make(chan struct{}), leave: make(chan struct{})}
	l.must(l.r.Detach(0))
	l.attach(0, func(near *porttest.End) port.Port { h.End = near; return h })
	task := l.r.tasks[0]
	assert.MustBeTrue(t, task.rx != task.tx, "one worker reads and sends at port 0")
	a, b, f := l.stations[0], l.stations[1], &l.r.refresher.ports[0]
	hang.Store(true)
	a.send(several(0, 1, lossless, 1, 60)...)
	<-h.entered
	from := time.Now()
	a.send(several(0, 1, lossless, 20, 60)[1:]...)
	eventually(t, "the peer is held", func() bool { return f.hold.late() && a.paused() == 1<<lossless })
	t.Logf("held after %v", time.Since(from))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := l.r.Alive(ctx)
	assert.True(t, err != nil && strings.Contains(err.Error(), "has done no round"), "a worker that hangs: %v", err)
	sent := 0
	for time.Since(from) < time.Second { // the transmit thread of port 0 lives
		b.send(data(1, 0, lossless, sent, 60))
		sent++
		eventually(t, "frames leave by port 0", func() bool { return len(a.received(1, lossless)) == sent })
		held := f.hold.late() && a.paused() == 1<<lossless
		after := time.Since(from)
		assert.True(t, held || after >= holdMost, "after %v the peer is free", after)
		time.Sleep(10 * time.Millisecond)
	}
	hung := task.rx.id
	var all []WorkerThread
	eventually(t, "Threads says that one thread has not looked", func() bool {
		all = l.r.Threads()
		return len(all) == 6 && silentOf(all) == 1 && !all[hung].Looked
	})
	assert.True(t, all[hung].Behind >= int64(lookPatience) && slices.Equal(all[hung].Receives, []string{"p0"}) &&
		len(all[hung].Sends) == 0 && all[hung].Pulse.Thread > 0, "the thread that hangs: %+v", all[hung])
	close(h.leave)
	eventually(t, "all frames arrive", func() bool { return len(b.received(0, lossless)) == 20 })
	eventually(t, "the peer is free", func() bool { return a.paused() == 0 })
	l.balanced()
	eventually(t, "Threads says that all threads look again", func() bool {
		all = l.r.Threads()
		return silentOf(all) == 0
	})
	assert.True(t, all[hung].Longest >= int64(lookPatience), "the thread that has hung: %+v", all[hung])
}

// silentOf counts those that have not looked at their ports.
func silentOf(all []WorkerThread) (n int) {
	for _, w := range all {
		if !w.Looked {
			n++
		}
	}
	return n
}
