package daemon

import (
	"fmt"
	"log/slog"
	"slices"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// followMTU compares the MTU of a port's interface with that of the port. was is the interface's MTU at the last look.
func (d *Daemon) followMTU(p *portLink, was int) {
	if l, want := &p.at.link, p.cfg.MTU; p.tap == nil && l.MTU < want && was >= want {
		d.raiseMTU(p)
	}
	d.runner.SetLinkMTU(p.number, p.at.link.MTU)
	d.reportMTU(p)
}

// raiseMTU raises the MTU of an interface again that another program has lowered below that of its port: the port
// promises to carry such frames. Who wants it to carry less writes so into the configuration.
func (d *Daemon) raiseMTU(p *portLink) {
	l, want := &p.at.link, p.cfg.MTU
	if err := port.SetMTU(p.cfg.Netns, *l, want); err != nil {
		d.warn(p.cfg.Name, fmt.Sprintf("raising the MTU of interface %s again", l.Name), err)
		return
	}
	d.report(slog.LevelWarn, dataplane.EventPort, p.cfg.Name, fmt.Sprintf(
		"interface %s got an MTU of %d from another program, below the port's mtu of %d: the switch has set the MTU "+
			"to %d again (write ports.%s.mtu: %d for a lower one). Longer frames that the far end sent meanwhile, "+
			"its kernel dropped", l.Name, l.MTU, want, want, p.cfg.Name, l.MTU))
	l.MTU = want
}

// reportMTU reports an MTU that does not suit the port, and when it suits again.
func (d *Daemon) reportMTU(p *portLink) {
	l, want, text := &p.at.link, p.cfg.MTU, d.mtuMismatch(p)
	if text == p.mtuReport {
		return
	}
	p.mtuReport = text
	level := slog.LevelWarn
	if text == "" {
		level, text = slog.LevelInfo, fmt.Sprintf("interface %s has an MTU of %d now, enough for the port's mtu of %d",
			l.Name, l.MTU, want)
	}
	d.report(level, dataplane.EventPort, p.cfg.Name, text)
}

// mtuMismatch says that an interface takes shorter frames than its port, or that the wire of a host NIC takes longer
// ones. Stations often use the MTU of such a wire. A TAP gets the MTU of its port.
func (d *Daemon) mtuMismatch(p *portLink) string {
	l, want := &p.at.link, p.cfg.MTU
	command := port.CommandIn(p.cfg.Netns, fmt.Sprintf("ip link set dev %s mtu %d", port.ShellWord(l.Name), want))
	wire := slices.ContainsFunc(d.cfg.Ports, func(o config.Port) bool { return o.Wire == p.cfg.Name })
	switch {
	case p.tap == nil && l.MTU < want:
		return fmt.Sprintf("interface %s has an MTU of %d, below the port's mtu of %d: longer frames cannot leave by "+
			"it (%s, at the far end too, or write mtu: %d)", l.Name, l.MTU, want, command, l.MTU)
	case wire && l.MTU > want && segmentsGSO(d.cfg):
		return fmt.Sprintf("interface %s has an MTU of %d, above the port's mtu of %d: longer frames that stations "+
			"with that MTU send are dropped (%s, at the far end too, or write mtu: %d for this port and its TAP: "+
			"pfcswitch nic --mtu %d)", l.Name, l.MTU, want, command, l.MTU, l.MTU)
	}
	return ""
}
