package daemon

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// guardedMTUs raises the MTU of interfaces again that another program lowers below that of their ports: a port promises
// to carry such frames, and who wants it to carry less writes so into the configuration. It has a lock of its own,
// since a change holds the Daemon's for as long as the buffer drains, and frames that are too long wait meanwhile.
type guardedMTUs struct {
	sync.Mutex
	ports map[int]*guardedMTU // by number
}

type guardedMTU struct {
	netns   string
	link    port.Link
	want    int
	lowered int   // what another program has set, until it is reported; 0: nothing
	err     error // of raising it again
}

// changed takes over that an interface of a namespace has an MTU now.
func (g *guardedMTUs) changed(netns string, index, mtu int) {
	g.Lock()
	defer g.Unlock()
	for _, p := range g.ports {
		if p.netns == netns && p.link.Index == index && mtu < p.want {
			p.raise()
		}
	}
}

// raise raises the MTU, unless that was done since it was seen to be too low.
func (p *guardedMTU) raise() {
	if l, err := port.Inspect(p.netns, p.link.Name); err == nil && l.Index == p.link.Index && l.MTU < p.want {
		p.lowered, p.err = l.MTU, port.SetMTU(p.netns, l, p.want)
	}
}

// follow replaces what is guarded at a port: its interface, if that takes frames as long as want. It returns what
// another program has set since the last call, and why the MTU was not raised again; 0 for nothing.
func (g *guardedMTUs) follow(number int, netns string, l *port.Link, want int) (lowered int, err error) {
	g.Lock()
	defer g.Unlock()
	if p := g.ports[number]; p != nil && p.netns == netns && p.link.Index == l.Index {
		if l.MTU < p.want {
			p.raise()
		}
		if lowered, err = p.lowered, p.err; lowered > 0 && err == nil {
			l.MTU = p.want
		}
	}
	delete(g.ports, number)
	if l.MTU >= want {
		g.ports[number] = &guardedMTU{netns: netns, link: *l, want: want}
	}
	return lowered, err
}

// forget ends what is done for a port.
func (g *guardedMTUs) forget(number int) {
	g.Lock()
	defer g.Unlock()
	delete(g.ports, number)
}

// followMTU compares the MTU of a port's interface with that of the port, and reports what was done about it.
func (d *Daemon) followMTU(p *portLink) {
	l, want := &p.at.link, p.cfg.MTU
	if p.tap == nil {
		switch lowered, err := d.mtus.follow(p.number, p.cfg.Netns, l, want); {
		case err != nil:
			d.warn(p.cfg.Name, fmt.Sprintf("raising the MTU of interface %s again", l.Name), err)
		case lowered > 0:
			d.report(slog.LevelWarn, dataplane.EventPort, p.cfg.Name, fmt.Sprintf(
				"interface %s got an MTU of %d from another program, below the port's mtu of %d: the switch has set "+
					"the MTU to %d again (write ports.%s.mtu: %d for a lower one). Longer frames that the far end "+
					"sent meanwhile, its kernel dropped", l.Name, lowered, want, l.MTU, p.cfg.Name, lowered))
		}
	}
	d.runner.SetLinkMTU(p.number, l.MTU)
	d.reportMTU(p)
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
