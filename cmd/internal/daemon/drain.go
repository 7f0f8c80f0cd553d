package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
)

// A change that the buffer is too full for is looked at drainPeriod after the last look. It is given up where the next
// look would come later than drainTime since the buffer has drained by a sixteenth of what is too much, or since the
// wait began: so the answer comes in time, however long looks take. On a machine that is slower than that, peers were
// held at least once.
const (
	drainPeriod = 10 * time.Millisecond
	drainTime   = 100 * time.Millisecond
	// freeLooks are the looks before any peer is held, so that what leaves by itself costs nobody anything.
	freeLooks = 3
)

// busyTimeout is how long a change of the switch's own waits. It holds nobody, other changes wait meanwhile, and it is
// retried later.
const busyTimeout = freeLooks*drainPeriod - drainPeriod/2

// A drainWait is a change that waits for the buffer to drain.
type drainWait struct {
	looks  int           // all
	since  time.Duration // when excess had last shrunk by a sixteenth
	excess int64         // bytes that were too much then
	held   bridge.PortSet
}

// look takes over what is too much now, so long after the wait began. It reports whether the change is to be given up,
// and whether held has changed: the ports whose frames have to leave, and no others.
func (w *drainWait) look(busy *buffer.BusyError, now time.Duration) (giveUp, hold bool) {
	if w.looks++; w.looks == 1 {
		w.excess = busy.Excess
	} else if busy.Excess <= w.excess-w.excess/16 {
		w.since, w.excess = now, busy.Excess
	}
	if giveUp = now+drainPeriod > w.since+drainTime && w.looks > freeLooks+1; giveUp || w.looks <= freeLooks {
		return giveUp, false
	}
	before := w.held
	for _, port := range busy.Ports {
		w.held.Add(port)
	}
	return false, w.held != before
}

// configure hands a configuration to the data plane. If the buffer is too full for it, configure waits while the buffer
// drains and until ctx ends. It holds the peers of the ports whose frames have to leave.
func (d *Daemon) configure(ctx context.Context, c dataplane.Config, ports map[int]dataplane.PortConfig,
	statics []dataplane.Static) (err error) {
	begun := time.Now()
	var w drainWait
	defer func() {
		if !w.held.Empty() {
			err = errors.Join(err, d.runner.Drain(bridge.PortSet{}))
		}
	}()
	for {
		d.watchdog.save(d.numbers, ports)
		err := d.runner.Configure(c, ports, statics)
		var busy *buffer.BusyError
		if !errors.As(err, &busy) {
			return err
		}
		giveUp, hold := w.look(busy, time.Since(begun))
		if giveUp || ctx.Err() != nil {
			return fmt.Errorf("%w (waited %v)", err, time.Since(begun).Round(drainPeriod))
		}
		if hold {
			if err := d.runner.Drain(w.held); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(drainPeriod):
		}
	}
}
