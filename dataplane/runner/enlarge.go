package runner

import (
	"fmt"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// A Larger is larger receive rings for a port. See port.Larger.
type Larger interface {
	Octets(class port.Class) int // of their memory
	Join()                       // makes the port's Receive look at them too
	Steer() error                // makes frames come to them alone
	Leave()                      // undoes Join
}

var _ Larger = (*port.Larger)(nil)

// Enlarge gives port number i larger receive rings while frames come. Nobody is held, and no frame is lost. On error
// the rings of before stay in use, and the larger ones have to be closed.
func (r *Runner) Enlarge(i int, l Larger) error {
	r.change.Lock()
	defer r.change.Unlock()
	t := r.tasks[i]
	if t == nil {
		return fmt.Errorf("port number %d has no sockets with receive rings", i)
	}
	err := r.do(func(sw *dataplane.Switch) error {
		if err := sw.SetRoom(i, t.port.Octets(port.Lossless)+l.Octets(port.Lossless)); err != nil {
			return err
		}
		l.Join()
		r.ringsChanged(sw, t)
		return nil
	})
	if err != nil {
		return fmt.Errorf("port %s: %w", t.cfg.Name, err)
	}
	if err = l.Steer(); err != nil {
		_ = r.do(func(sw *dataplane.Switch) error {
			l.Leave()
			r.ringsChanged(sw, t)
			return nil
		})
		return fmt.Errorf("port %s: %w", t.cfg.Name, err)
	}
	return nil
}

// ringsChanged tells the port's worker, and who watches it, of other rings. The workers stand still.
func (r *Runner) ringsChanged(sw *dataplane.Switch, t *portTask) {
	t.rx.pollSetChanged = true
	t.protect(sw, r)
}

// wholeFrames is the number of data frames from which on a port is in use without a lossless one.
const wholeFrames = 256

// noteUse remembers that a port is in use: a lossless data frame has come, or so many others. From then on the
// Refresher watches it, and ringsUsed is told once. The switch is locked.
func (w *worker) noteUse(t *portTask, c port.Class) {
	if t.used.Load() {
		return
	}
	n := w.r.sw.DataFrames(t.index)
	if n >= wholeFrames || c == port.Lossless && n != t.dataFrames {
		t.used.Store(true)
		t.watch(w.r.sw, w.r)
		if w.r.ringsUsed != nil {
			w.r.ringsUsed()
		}
	}
	t.dataFrames = n
}

// Used reports whether port number i is in use since it got its sockets. See Options.RingsUsed.
func (r *Runner) Used(i int) bool {
	r.tasksMu.Lock()
	defer r.tasksMu.Unlock()
	return r.tasks[i] != nil && r.tasks[i].used.Load()
}
