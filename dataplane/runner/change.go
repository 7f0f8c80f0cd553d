package runner

import (
	"fmt"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/macctl"
)

// steer makes the port's rings follow its lossless priorities. Under PAUSE every frame is lossless. The kernel may take
// its time, so the workers go on meanwhile.
func (t *portTask) steer() error { return t.steerBy(&t.cfg) }

func (t *portTask) steerBy(cfg *dataplane.PortConfig) error {
	program, err := dataplane.Steering(cfg)
	if err != nil {
		return err
	}
	return t.port.Steer(program)
}

// steerNext lets the lossless rings also take what the next configuration makes lossless, before it is in force: from
// then on the peer is held for these rings alone. Where that is refused, steer reports it.
func (r *Runner) steerNext(next map[int]dataplane.PortConfig) {
	for t := range r.attached() {
		both := t.cfg
		if c, stays := next[t.index]; stays && c.LosslessPriorities()&^both.LosslessPriorities() != 0 {
			if both.Lossless |= c.LosslessPriorities(); both.Mode == macctl.ModeOff {
				both.Mode = c.Mode
			}
			_ = t.steerBy(&both)
		}
	}
}

// warn adds an event about a failure after the configuration came in force. The configuration stays, so this is no
// error of the change.
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
			t.protect(sw, r)
		}
		return err
	})
}

// Drain holds the peers of these ports, so that the buffer drains until a configuration fits, and ends the holds of
// other ports, except where a ring needs one.
func (r *Runner) Drain(ports bridge.PortSet) error {
	return r.Do(func(sw *dataplane.Switch) error {
		for t := range r.attached() {
			t.draining = ports.Has(t.index)
		}
		r.holdPeersForRings(sw, bridge.PortSet{})
		return nil
	})
}

// releasePeersForRings ends the holds for rings, because the lossless priorities may change, and returns the ports that
// had one. The switch learns first what the Refresher and the programs have sent by the configuration of before: it may
// not hold those priorities again, and has to free them.
func (r *Runner) releasePeersForRings(sw *dataplane.Switch) (held bridge.PortSet) {
	for t := range r.attached() {
		t.rx.takeKernelHold(t)
		t.rx.count(t, r.refresher.Disarm(t.index))
		if t.releasePeerForRing(sw) {
			held.Add(t.index)
		}
	}
	return held
}

// holdPeersForRings holds the peers of the ports that are being drained, and of the ports in held: their rings may be
// as full as before, and are measured only with the next burst. The workers stand still, so no XON leaves between
// releasePeersForRings and holdPeersForRings.
func (r *Runner) holdPeersForRings(sw *dataplane.Switch, held bridge.PortSet) {
	for t := range r.attached() {
		if t.draining || held.Has(t.index) {
			t.holdPeerForRing(sw)
		}
	}
}
