package runner

import (
	"fmt"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// A Larger is larger receive rings for a port. See port.Larger.
type Larger interface {
	Join() error  // makes the port's Receive look at them too
	Steer() error // makes frames come to them alone
	Leave() bool  // makes Receive look no more at the rings of before, and returns false while they hold frames
}

var _ Larger = (*port.Larger)(nil)

// Enlarge gives port number i larger receive rings while frames come. Nobody is held, and no frame is lost. On error
// the rings of before stay in use.
func (r *Runner) Enlarge(i int, l Larger) error {
	r.change.Lock()
	defer r.change.Unlock()
	t := r.tasks[i]
	if t == nil {
		return fmt.Errorf("port number %d has no sockets with receive rings", i)
	}
	if err := r.do(func(sw *dataplane.Switch) error { return r.join(sw, t, l) }); err != nil {
		return fmt.Errorf("port %s: %w", t.cfg.Name, err)
	}
	if err := l.Steer(); err != nil {
		return fmt.Errorf("port %s: %w", t.cfg.Name, err)
	}
	r.awaitLeave(t, l)
	return nil
}

// join lets the port's worker, and who watches it, read larger rings too. The workers stand still.
func (r *Runner) join(sw *dataplane.Switch, t *portTask, l Larger) error {
	if err := l.Join(); err != nil {
		return err
	}
	r.ringsChanged(sw, t)
	return sw.SetRoom(t.index, t.port.Octets(port.Lossless))
}

func (r *Runner) ringsChanged(sw *dataplane.Switch, t *portTask) {
	t.rx.pollSetChanged = true
	t.protect(sw, r)
}

// awaitLeave waits until the rings of before are empty. Where they hold frames for long, they stay in use.
func (r *Runner) awaitLeave(t *portTask, l Larger) {
	for range drainPatience / drainPeriod {
		left := false
		_ = r.do(func(sw *dataplane.Switch) error {
			left = l.Leave()
			r.ringsChanged(sw, t)
			return nil
		})
		if left {
			return
		}
		time.Sleep(drainPeriod)
	}
}

// noteUse remembers that a port is in use: it carries data frames, and a lossless one has come or a burst that filled
// its bound. ringsUsed is told once. The switch is locked.
func (w *worker) noteUse(t *portTask, c port.Class) {
	if !t.used.Load() && (c == port.Lossless || t.left[c]) && w.r.sw.Carries(t.index) {
		t.used.Store(true)
		if w.r.ringsUsed != nil {
			w.r.ringsUsed()
		}
	}
}

// Used reports whether port number i is in use since it got its sockets. See Options.RingsUsed.
func (r *Runner) Used(i int) bool {
	r.tasksMu.Lock()
	defer r.tasksMu.Unlock()
	return r.tasks[i] != nil && r.tasks[i].used.Load()
}
