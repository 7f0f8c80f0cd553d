package daemon

import (
	"errors"
	"slices"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A socket moves the frames of a port: AF_PACKET sockets on an existing interface, or a TAP.
type socket interface {
	port.Port
	Start() error
	Bound() bool
}

// openTAP creates the TAP of a port, and with it the interface.
func (d *Daemon) openTAP(p *portLink) error {
	t, err := port.OpenTAP(port.TAPConfig{Interface: p.cfg.Interface, Netns: p.cfg.Netns,
		TAPSettings: d.tapSettings(p.cfg), Held: heldPriorities})
	if err != nil {
		return err
	}
	at, err := d.locate(p.cfg)
	if err != nil {
		return errors.Join(err, t.Close())
	}
	if why := t.Shared(); why != nil {
		d.warn(p.cfg.Name, "frames of all priorities wait in one queue, so that a pause of one stops all, and the "+
			"priority of a socket (SO_PRIORITY) counts for nothing", why)
	}
	p.tap = t
	o := &stagedPort{socket: t, at: at, restore: func() error { return nil }}
	if err = d.install(installation{p, o})[0]; err != nil {
		p.tap = nil
	}
	return err
}

// tuneTAP applies the configuration to the TAP of a port.
func (d *Daemon) tuneTAP(p *portLink) {
	if p.tap != nil {
		d.warn(p.cfg.Name, "changing the TAP", p.tap.Configure(d.tapSettings(p.cfg)))
	}
}

// disableHostStack keeps received frames from the host's own stack if that has a TAP to get them through.
func (d *Daemon) disableHostStack(p *portLink) {
	want := p.tap == nil && slices.ContainsFunc(d.cfg.Ports, func(o config.Port) bool {
		return o.Kind == config.KindTAP && o.Netns == p.cfg.Netns
	})
	switch {
	case want && p.restoreHostStack == nil:
		var err error
		p.restoreHostStack, err = port.DisableHostStack(p.cfg.Netns, p.at.link)
		d.warn(p.cfg.Name, "programs may get frames twice", err)
	case !want && p.restoreHostStack != nil:
		d.warn(p.cfg.Name, "giving the interface back to the host's stack", p.restoreHostStack())
		p.restoreHostStack = nil
	}
}

// tapSettings translates the host's side of a port. The MAC address follows from that of the wire, so that a restart
// does not change it. The two addresses differ, so that the host's stack never takes the wire's frames for its own.
func (d *Daemon) tapSettings(p *config.Port) port.TAPSettings {
	s := port.TAPSettings{MTU: p.MTU, Addresses: p.Addresses, Queues: queueRule(d.cfg, p)}
	if w := d.ports[p.Wire]; w != nil {
		s.MAC = tapMAC(w.at.link.MAC)
	}
	return s
}

// tapMAC returns a locally administered address that follows from another one.
func tapMAC(mac [6]byte) [6]byte {
	if mac == [6]byte{} {
		return mac
	}
	mac[0] |= 2
	for i, b := range []byte("pfc") {
		mac[3+i] ^= b
	}
	return mac
}

// queueRule says which priority a frame of the host has, as the port will classify it. With trust pcp the TAP adds a
// missing tag.
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

// heldPriorities returns the priorities that are held after a MAC Control frame, if those in was were held before. The
// duration does not matter, because the switch ends each hold itself.
func heldPriorities(b []byte, was uint8) uint8 {
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
