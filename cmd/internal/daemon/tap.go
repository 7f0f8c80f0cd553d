package daemon

import (
	"errors"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A socket is what moves the frames of a port: AF_PACKET sockets on an interface that exists, or a TAP.
type socket interface {
	port.Port
	Start() error
	Bound() bool
}

// openTAP makes the TAP of a port, and with it its interface.
func (d *Daemon) openTAP(p *portLink) error {
	t, err := port.OpenTAP(port.TAPConfig{Interface: p.cfg.Interface, Netns: p.cfg.Netns, TAPSettings: d.tapSettings(p.cfg), Held: held})
	if err != nil {
		return err
	}
	at, err := d.locate(p.cfg)
	if err != nil {
		return errors.Join(err, t.Close())
	}
	if why := t.Shared(); why != nil {
		d.regret(p.cfg.Name, "frames of all priorities wait in one queue, so that a pause of one stops all", why)
	}
	p.tap = t
	return d.install(p, &opening{socket: t, at: at, restore: func() error { return nil }})
}

// tuneTAP gives the TAP of a port the settings of its configuration.
func (d *Daemon) tuneTAP(p *portLink) {
	if p.tap != nil {
		d.regret(p.cfg.Name, "changing the TAP", p.tap.Configure(d.tapSettings(p.cfg)))
	}
}

// tapSettings translates what the host's side of a port needs. It has the address of its wire, which then is the host's as it
// would be a NIC's.
func (d *Daemon) tapSettings(p *config.Port) port.TAPSettings {
	s := port.TAPSettings{MTU: p.MTU, Addresses: p.Addresses, Queues: queueRule(d.cfg, p)}
	if w := d.ports[p.Wire]; w != nil {
		s.MAC = w.at.link.MAC
	}
	return s
}

// queueRule says which priority a frame of the host has, as the port will classify it. Where it is to stand in the tag, the TAP
// adds the tag that a program did not.
func queueRule(c *config.Config, p *config.Port) port.QueueRule {
	r := port.QueueRule{Default: p.DefaultPriority}
	switch p.Trust {
	case config.TrustPCP:
		r.Tags, r.DSCP = true, &c.Priorities.DSCP
	case config.TrustDSCP:
		r.DSCP = &c.Priorities.DSCP
	}
	return r
}

// held returns which priorities a MAC Control frame holds, if those in was were held before. How long does not matter: the
// switch says when the hold is over.
func held(b []byte, was uint8) uint8 {
	f, reason := macctl.Parse(b, macctl.GroupAddress)
	switch {
	case reason != macctl.ReasonNone:
		return was
	case f.Opcode == macctl.OpcodePause && f.Pause > 0:
		return 0xff
	case f.Opcode == macctl.OpcodePause:
		return 0
	}
	for q, time := range f.Time {
		bit := uint8(1) << q
		switch {
		case f.Vector&bit == 0:
		case time > 0:
			was |= bit
		default:
			was &^= bit
		}
	}
	return was
}
