package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// Workers that sleep are alive, and one that hangs in a send call is not, until it is through.
func TestWorkersAreAlive(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(2), unshaped(0), unshaped(1))
		entered, leave := make(chan struct{}), make(chan struct{})
		var hang atomic.Bool
		l.withGate(1, func(near *porttest.End, b *port.Batch) (int, error) {
			if hang.Swap(false) {
				close(entered)
				<-leave
			}
			return near.Send(b)
		})
		within := func(d time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			return l.r.Alive(ctx)
		}
		time.Sleep(10 * time.Millisecond) // nothing to do: they sleep
		l.must(within(10 * time.Second))
		hang.Store(true)
		l.stations[0].send(several(0, 1, lossless, 1, 60)...)
		<-entered
		err := within(20 * time.Millisecond)
		assert.True(t, errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "has done no round"),
			"a worker that hangs: %v", err)
		leave <- struct{}{}
		l.must(within(10 * time.Second))
	})
}

// Threads answers while every lock is taken, and says that the workers wait for another thread.
func TestThreadsWaitForNoLock(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(2), unshaped(0), unshaped(1))
		eventually(t, "all look", func() bool { return silentOf(l.r.Threads()) == 0 })
		l.r.change.Lock()
		l.r.tasksMu.Lock()
		l.r.mu.Lock()
		eventually(t, "Threads says that the workers wait", func() bool {
			all := l.r.Threads()
			return silentOf(all) == len(l.r.workers) &&
				!slices.ContainsFunc(all, func(w WorkerThread) bool { return !w.Pulse.Waits })
		})
		l.r.mu.Unlock()
		l.r.tasksMu.Unlock()
		l.r.change.Unlock()
		eventually(t, "all look again", func() bool { return silentOf(l.r.Threads()) == 0 })
	})
}

// A worker that sleeps is behind with nothing, however long it sleeps, until it is woken.
func TestSleepIsNoGap(t *testing.T) {
	var l lookout
	at := func(now, behind, longest int64) {
		t.Helper()
		assert.True(t, l.behind(now) == behind && l.longest.Load() == longest,
			"at %d: behind by %d, at most %d; want %d, %d", now, l.behind(now), l.longest.Load(), behind, longest)
	}
	l.look(10)
	at(15, 5, 0)
	l.look(20)
	at(20, 0, 10)
	l.rest()
	at(1000, 0, 10)
	l.begin(1000) // it is woken
	l.begin(1007) // and its sleep ends
	at(1030, 30, 10)
	l.look(1040)
	at(1040, 0, 40)
	for _, tt := range []struct{ slept, most, want int64 }{{30, -1, 130}, {30, 20, 120}, {10, 20, 110}} {
		assert.Equal(t, dueAfter(100, tt.slept, time.Duration(tt.most)), tt.want, "%+v", tt)
	}
}
