package runner

import (
	"fmt"
	"slices"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
)

// steer makes the port's rings follow its lossless priorities. Where only PAUSE is on, every frame is lossless. The
// kernel takes some 10 ms to replace a program, so it is not asked in vain, and not while the workers stand still.
func (r *Runner) steer(t *portTask) error {
	program, err := dataplane.Steering(&t.cfg)
	if err != nil || slices.Equal(program, t.program) {
		return err
	}
	if err := t.port.Steer(program); err != nil {
		return err
	}
	t.program = program
	return nil
}

// warn notes what failed when the configuration was in force already: that cannot be taken back, so it is no error of
// the change.
func (r *Runner) warn(t *portTask, what string, err error) {
	if err != nil {
		r.Note(dataplane.Event{Kind: dataplane.EventPort, Port: t.cfg.Name, Priority: -1,
			Text: fmt.Sprintf("%s: %v", what, err)})
	}
}

// SetMAC gives port number i, whose interface has another address now, that address.
func (r *Runner) SetMAC(i int, mac [6]byte) error {
	return r.Do(func(sw *dataplane.Switch) error {
		_, err := sw.SetMAC(i, mac, Now())
		if t := r.tasks[i]; t != nil && err == nil {
			t.cfg.MAC = mac
		}
		return err
	})
}

// Drain holds the peers of all ports, so that the buffer drains and a configuration fits for which it is too full, or
// lets those go on whose rings bear it.
func (r *Runner) Drain(on bool) error {
	return r.Do(func(sw *dataplane.Switch) error {
		for t := range r.attached() {
			t.draining = on
		}
		r.holdRings(sw, bridge.PortSet{})
		return nil
	})
}

// freeRings ends the holds for rings, whose priorities may be others now, and returns the ports that had one.
func (r *Runner) freeRings(sw *dataplane.Switch) (held bridge.PortSet) {
	for t := range r.attached() {
		if t.ringHeld {
			held.Add(t.index)
			t.freeRing(sw)
		}
	}
	return held
}

// holdRings holds the peers of the ports that are being drained, and of those that had a hold: their rings may be as
// full as before, and are looked at only with the next burst. The workers stand still, so that no peer is told of a
// hold that was given up and begun again meanwhile.
func (r *Runner) holdRings(sw *dataplane.Switch, held bridge.PortSet) {
	for t := range r.attached() {
		if t.draining || held.Has(t.index) {
			t.holdRing(sw)
		}
	}
}
