package dataplane

import (
	"fmt"
	"slices"
	"time"

	"pfcswitch/dataplane/port"
)

// steer makes the port's rings follow its lossless priorities. Where only PAUSE is on, every frame is lossless. The kernel
// takes some 10 ms to replace a program, so it is not asked in vain, and not while the workers stand still.
func (r *Runner) steer(t *portTask) error {
	program, err := Steering(&t.cfg)
	if err != nil || slices.Equal(program, t.program) {
		return err
	}
	if err := t.port.Steer(program); err != nil {
		return err
	}
	t.program = program
	return nil
}

// regret notes what failed when the configuration was in force already: that cannot be taken back, so it is no error of
// the change.
func (r *Runner) regret(t *portTask, what string, err error) {
	if err != nil {
		r.Note(Event{Kind: EventPort, Port: t.cfg.Name, Priority: -1, Text: fmt.Sprintf("%s: %v", what, err)})
	}
}

// SetMAC gives port number i, whose interface has another address now, that address.
func (r *Runner) SetMAC(i int, mac [6]byte) error {
	return r.Do(func(sw *Switch) error {
		_, err := sw.SetMAC(i, mac, Now())
		if t := r.tasks[i]; t != nil && err == nil {
			t.cfg.MAC = mac
		}
		return err
	})
}

// How long the lossless ring of a port may take to run empty before it is replaced, and how often it is looked at.
const (
	drainPatience = 200 * time.Millisecond
	drainPeriod   = 2 * time.Millisecond
)

// A Prepared is a port that receives nothing before Start.
type Prepared interface {
	port.Port
	Start() error
}

// Replace gives port number i, which has sockets, others that are open already. The port stays up and keeps what it has
// learned and queued. Its peer is held until the lossless ring has run empty; what still waits in the rings then is forwarded before
// anything from the new ones. Frames that have no room in the buffer even then are counted as lost in their ring, and lossless ones
// returned. Where Replace fails, the sockets of before stay.
func (r *Runner) Replace(i int, p Prepared) (lost int, err error) {
	r.change.Lock()
	defer r.change.Unlock()
	t := r.tasks[i]
	if t == nil {
		return 0, fmt.Errorf("port number %d has no sockets to replace", i)
	}
	program, err := Steering(&t.cfg)
	if err != nil {
		return 0, err
	}
	t.follow(p, new(port.Look))
	r.drain(t)
	old := t.port
	err = r.still(func() error {
		left, err := t.takeOver(p)
		r.mu.Lock()
		defer r.mu.Unlock()
		t.draining = false
		t.freeRing(r.sw)
		if err != nil {
			return fmt.Errorf("port %s: %w", t.cfg.Name, err)
		}
		t.obeyLast(r.sw)
		r.sw.ReadLosses(i, t.losses(), Now())
		r.sw.ports[i].losses = RingLosses{} // the new sockets count from 0
		r.sw.abandonWaits(r.sw.ports[i])
		for c, n := range left {
			r.sw.RingLost(i, port.Class(c), n, Now())
		}
		lost = left[port.Lossless]
		t.port, t.program = p, program
		t.blocked, t.pieces = [port.NumClasses]bool{}, [port.NumClasses]int{}
		r.assign(r.sw)
		return nil
	})
	if err != nil {
		return 0, err
	}
	r.regret(t, "closing the sockets that were replaced", old.Close())
	return lost, nil
}

// takeOver makes p receive, and forwards what the sockets of before have received and p has not. It returns how many frames could not
// be forwarded, and where p cannot start, the error. The workers stand still.
func (t *portTask) takeOver(p Prepared) (left [port.NumClasses]int, err error) {
	for c := range port.NumClasses {
		t.rx.takeLast(t, c, t.port.Backlog(c).Frames)
	}
	if err := p.Start(); err != nil {
		return left, err
	}
	for c := range port.NumClasses {
		t.rx.takeLast(t, c, unshared(t.port, p, c))
		left[c] = unshared(t.port, p, c)
	}
	return left, nil
}

// unshared counts the frames that wait in a ring of the sockets of before, and not in that of p, which began later. As long as frames come,
// they come to both: it counts again until none has come meanwhile, or as often as that is worth.
func unshared(before, p port.Port, c port.Class) int {
	const tries = 100
	only := 0
	for range tries {
		both := p.Backlog(c).Frames
		only = max(0, before.Backlog(c).Frames-both)
		if p.Backlog(c).Frames == both {
			break
		}
	}
	return only
}

// Drain holds the peers of all ports, so that the buffer drains and a configuration fits for which it is too full, or lets
// them go on.
func (r *Runner) Drain(on bool) error {
	return r.Do(func(sw *Switch) error {
		for _, t := range r.tasks {
			if t != nil {
				t.draining = on
				t.freeRing(sw)
			}
		}
		r.holdDraining(sw)
		return nil
	})
}

// holdDraining holds the peers of ports that are being drained. The workers stand still, so that no peer is told of a hold
// that was given up and begun again meanwhile.
func (r *Runner) holdDraining(sw *Switch) {
	for _, t := range r.tasks {
		if t != nil && t.draining && !t.ringHeld {
			t.ringHeld = true
			sw.RingHold(t.index, true, Now())
		}
	}
}

// obeyLast takes the MAC Control frames that have come to sockets that are about to be closed.
func (t *portTask) obeyLast(sw *Switch) {
	now, wall := ClockPair()
	for b, stamp := t.port.Control(); b != nil; b, stamp = t.port.Control() {
		sw.Control(t.index, b, now-(wall-stamp), now)
		t.port.ControlDone()
	}
}

// drain holds the peer of a port and waits until nothing is on its way from it, and nothing waits in the lossless ring.
func (r *Runner) drain(t *portTask) {
	least := drainPeriod + 2*time.Duration(t.cfg.Delay)
	var told time.Time // when XOFF had left
	for begun := time.Now(); time.Since(begun) < least+drainPatience; time.Sleep(drainPeriod) {
		empty := false
		_ = r.do(func(sw *Switch) error {
			if !t.ringHeld {
				t.ringHeld = true
				sw.RingHold(t.index, true, Now())
			}
			t.draining = true
			if told.IsZero() && sw.told(t.index) {
				told = time.Now()
			}
			empty = t.port.Backlog(port.Lossless).Frames == 0
			return nil
		})
		if empty && !told.IsZero() && time.Since(told) > least {
			return
		}
	}
}
