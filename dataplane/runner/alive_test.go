package runner

import (
	"context"
	"errors"
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
