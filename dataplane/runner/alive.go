package runner

import (
	"context"
	"fmt"
	"time"
)

// alivePoll is how often Alive looks whether a worker has begun another round.
const alivePoll = time.Millisecond

// Alive wakes every worker and waits until each has begun another round. The error names a worker that has not when ctx
// ends: a worker that hangs moves no frames.
func (r *Runner) Alive(ctx context.Context) error {
	for !r.change.TryLock() {
		if !pause(ctx) {
			return fmt.Errorf("a change does not come to its end: %w", ctx.Err())
		}
	}
	workers := append([]*worker(nil), r.workers...)
	r.change.Unlock()
	for _, w := range workers {
		for w.aliveAsked.Store(true); w.aliveAsked.Load(); {
			w.wake()
			if !pause(ctx) {
				return fmt.Errorf("worker %d has done no round: %w", w.id, ctx.Err())
			}
		}
	}
	return nil
}

// pause waits for alivePoll. It returns false where ctx has ended.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(alivePoll):
		return true
	}
}
