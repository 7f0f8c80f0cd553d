package runner

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// A lookout records when a worker looks at its ports, which it does in each round.
type lookout struct {
	at      atomic.Int64 // when it last looked
	due     atomic.Int64 // since when it has had to look again; 0 while it sleeps
	longest atomic.Int64 // time from due to a look
}

func (l *lookout) look(now int64) {
	l.at.Store(now)
	if due := l.due.Swap(now); due != 0 {
		l.longest.Store(max(l.longest.Load(), now-due))
	}
}

// rest says that the worker need not look before begin is called: at the end of its sleep, or by who wakes it.
func (l *lookout) rest()           { l.due.Store(0) }
func (l *lookout) begin(now int64) { l.due.CompareAndSwap(0, now) }

// behind is for how long, at time now, the worker has had to look and has not.
func (l *lookout) behind(now int64) int64 {
	if due := l.due.Load(); due != 0 {
		return max(0, now-due)
	}
	return 0
}

// A member is a worker with the names of its ports. It never changes.
type member struct {
	*worker
	receives, sends []string
}

// muster publishes who serves which ports. The workers stand still.
func (r *Runner) muster() {
	crew := make([]member, 0, len(r.workers))
	for _, w := range r.workers {
		crew = append(crew, member{w, portNames(w.receivers), portNames(w.transmitters)})
	}
	r.crew.Store(&crew)
}

func portNames(tasks []*portTask) (names []string) {
	for _, t := range tasks {
		names = append(names, t.cfg.Name)
	}
	return names
}

func (r *Runner) members() []member {
	if crew := r.crew.Load(); crew != nil {
		return *crew
	}
	return nil
}

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
	crew := r.members()
	r.change.Unlock()
	for _, m := range awaitLooks(ctx, crew) {
		return fmt.Errorf("worker %d (thread %d; receives %s; sends %s) has done no round for %v: %w", m.id,
			m.self.Pulse().Thread, strings.Join(m.receives, ", "), strings.Join(m.sends, ", "),
			time.Duration(m.lookout.behind(Now())).Round(time.Millisecond), ctx.Err())
	}
	return nil
}

// awaitLooks wakes workers until each has looked at its ports. It returns those that have not when ctx ends.
func awaitLooks(ctx context.Context, crew []member) (silent []member) {
	from := Now()
	for {
		silent = silent[:0]
		for _, m := range crew {
			if m.lookout.at.Load() < from {
				m.wake()
				silent = append(silent, m)
			}
		}
		if len(silent) == 0 || !pause(ctx) {
			return silent
		}
	}
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

// A WorkerThread is what can be seen of a worker, and of its thread.
type WorkerThread struct {
	Worker          int
	Receives, Sends []string // ports
	Looked          bool     // at them, since it was asked
	Behind          int64    // ns for which it has had to look, and has not
	Longest         int64    // the longest such time since the start
	Pulse           Pulse
	Ran             int64 // ns that the thread has run since it was asked
}

// lookPatience is how long a worker may not look before Threads says so. A busy machine keeps a thread from its CPU for
// a tenth of that.
const lookPatience = time.Second

// Threads wakes every worker, and says which have looked at their ports. It takes no lock: a worker that hangs, and a
// change that waits for it, may have each.
func (r *Runner) Threads() []WorkerThread {
	if r.quit.Load() {
		return nil
	}
	crew := r.members()
	ran := make([]int64, len(crew))
	for i, m := range crew {
		ran[i] = m.self.Pulse().CPU
	}
	asked := Now()
	ctx, cancel := context.WithTimeout(context.Background(), lookPatience)
	defer cancel()
	awaitLooks(ctx, crew)
	all := make([]WorkerThread, 0, len(crew))
	for i, m := range crew {
		p, behind := m.self.Pulse(), m.lookout.behind(Now())
		all = append(all, WorkerThread{Worker: m.id, Receives: m.receives, Sends: m.sends,
			Looked: m.lookout.at.Load() >= asked, Behind: behind, Longest: max(behind, m.lookout.longest.Load()),
			Pulse: p, Ran: p.CPU - ran[i]})
	}
	return all
}
