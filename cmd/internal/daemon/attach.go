package daemon

import (
	"context"
	"errors"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/port"
)

// errAssistStarting is why a port has no programs yet. See attachRest.
var errAssistStarting = errors.New(api.AssistStarting + ": the switch forwards already, and attaches its programs " +
	"within seconds")

// starting reports whether a port is in service without its programs, which attachRest is going to attach.
func (p *portLink) starting() bool { return p.socket != nil && p.noAssist == errAssistStarting }

// attachesLater reports whether a port goes into service without its programs: at the start of the switch. What a
// killed switch may have left holds the peer: such a port waits for its own.
func (d *Daemon) attachesLater(p *portLink) bool {
	return d.starts() && d.noAssist == nil && !d.leftPrograms(p)
}

func (d *Daemon) leftPrograms(p *portLink) (left bool) {
	err := port.InNetns(p.cfg.Netns, func() error {
		left = d.pins.Left(p.cfg.Name)
		return nil
	})
	return left || err != nil
}

// attachRest attaches the programs of the ports that have started without, until ctx ends. It attaches one at a time:
// for each, the kernel holds the lock of all interfaces until it has waited for all CPUs, and whoever else needs that
// lock has its turn in between.
func attachRest(ctx context.Context, switches []*Daemon) {
	for _, d := range switches {
		for ctx.Err() == nil && d.attachNext() {
		}
	}
}

// attachNext attaches the programs of one port that has started without, and reports whether there was one.
func (d *Daemon) attachNext() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.cfg.Ports {
		if p := d.ports[d.cfg.Ports[i].Name]; p != nil && p.starting() {
			d.attachStarted(p)
			d.publish()
			return true
		}
	}
	return false
}

// attachStarted attaches the programs of a port that has started without. The one at the interface comes first. Until
// the runner has configured it, it holds nobody, and every frame comes to the rings.
func (d *Daemon) attachStarted(p *portLink) {
	s := p.socket.(*port.AFPacket)
	a := d.attachPrograms(p, s, p.at)
	if a == nil {
		d.enlargeRings()
		return
	}
	if err := s.Filter(a.Filter()); err != nil {
		d.warn(p.cfg.Name, "detaching the program from the interface", a.Close())
		d.interfaceGone(p, err) // Run opens the port again
		d.kick()
		return
	}
	d.setAssist(p, p.assistOf(a))
}
