package daemon

import (
	"errors"
	"log/slog"
	"slices"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/assist"
	"pfcswitch/dataplane/runner"
)

// Why a port has no programs where the system would allow them. The words before the colon, as those of package assist,
// are what show ports has room for.
var (
	errAssistOff = errors.New("configuration: assist is off")
	errAssistTAP = errors.New("a TAP: the programs help at interfaces that the switch did not make")
)

// assistState is the value of the key assist.
func assistState(off bool) string {
	if off {
		return "off"
	}
	return "auto"
}

// openAssist makes the maps of the programs that help from inside the kernel, unless the configuration or the system
// does not want them. Then the switch works without.
func (d *Daemon) openAssist(c *config.Config) {
	if d.noAssist = errAssistOff; !c.Assist.Off {
		d.assist, d.noAssist = assist.Open()
	}
}

// reportNoAssist reports, once, that the system allows no programs.
func (d *Daemon) reportNoAssist() {
	if d.noAssist != nil && d.noAssist != errAssistOff {
		d.report(slog.LevelInfo, dataplane.EventConfig, "", "no help from inside the kernel (assist): "+
			d.noAssist.Error()+". The switch works without")
	}
}

// openPins finds the place for programs that outlive a killed switch, and removes there what has no port any more.
func (d *Daemon) openPins(c *config.Config) {
	if d.assist == nil {
		return
	}
	var err error
	if d.pins, err = assist.PinsOf(c.Name); err == nil {
		err = d.pins.Sweep(func(port string) bool {
			return slices.ContainsFunc(c.Ports, func(p config.Port) bool { return p.Name == port })
		})
	}
	if err != nil {
		d.log.Warn("the programs in the kernel end with a killed switch", "error", err)
	}
}

// closeAssist gives the maps back. The ports are closed.
func (d *Daemon) closeAssist() error {
	if d.assist == nil {
		return nil
	}
	return d.assist.Close()
}

// attachAssist attaches the programs at the interface of a port, before the sockets are its own. It returns nil where
// no program helps, and gives o deep rings there.
func (d *Daemon) attachAssist(p *portLink, o *stagedPort) (*runner.Assist, error) {
	s, ok := o.socket.(*port.AFPacket)
	if !ok {
		p.noAssist = errAssistTAP
		return nil, nil
	}
	if d.attachesLater(p) {
		p.noAssist = errAssistStarting
		return nil, nil
	}
	if a := d.attachPrograms(p, s, o.at); a != nil {
		s.UseFilter(a.Filter())
		return p.assistOf(a), nil
	}
	want, err := socketConfig(d.cfg, p.cfg, o.at, false, p.used)
	if err != nil || ringsSuffice(o.opened, want) {
		return nil, err
	}
	deep, err := d.openAFPacket(want)
	if err != nil {
		return nil, err
	}
	d.warn(p.cfg.Name, "closing the sockets with rings that are too small", s.Close())
	o.socket, o.opened = deep, want
	return nil, nil
}

// assistOf returns what the runner needs to know of the programs at the interface of a port.
func (p *portLink) assistOf(a *assist.Port) *runner.Assist {
	return &runner.Assist{Port: a, Index: p.at.link.Index, Netns: p.at.home, Why: p.whySlow(), First: p.first()}
}

// attachPrograms attaches the programs at the interface of a port with these sockets, and reports why there are none.
func (d *Daemon) attachPrograms(p *portLink, s *port.AFPacket, at place) *assist.Port {
	if p.noAssist = d.noAssist; p.noAssist != nil {
		return nil
	}
	var a *assist.Port
	p.noAssist = port.InNetns(p.cfg.Netns, func() (err error) {
		a, err = d.assist.Attach(p.number, at.link.Index, d.pins, p.cfg.Name, runner.Now())
		return err
	})
	if p.noAssist == nil {
		if p.noAssist = a.TakeOver(); p.noAssist != nil {
			p.noAssist = errors.Join(p.noAssist, a.Close())
		}
	}
	switch err := p.noAssist; {
	case (errors.Is(err, assist.ErrNotAllowed) || errors.Is(err, assist.ErrOldKernel)) && s.Bound():
		// so it is at each port
		d.noAssist = err
		d.reportNoAssist()
	case err != nil:
		d.report(slog.LevelWarn, dataplane.EventPort, p.cfg.Name, "no help from inside the kernel (assist): "+
			err.Error()+". The port works without")
	default:
		p.besideAnother, p.detached, p.missed = false, false, a.Missed()
		return a
	}
	return nil
}

// holds reports whether a program in the kernel holds the peer of a port that has sockets, or is about to, wherever
// something is lossless, so that the port needs no deep rings.
func (p *portLink) holds() bool {
	return p.starting() || p.assist != nil && p.first()
}

// first reports whether no program of somebody else may keep frames from the switch's.
func (p *portLink) first() bool { return !p.besideAnother && !p.detached }

// anotherProgram is why no frame takes the fast path that a program of somebody else may want to see.
const anotherProgram = "another program"

// whySlow says why the programs cannot hand frames over to the far end of an interface, or must not; empty: they can.
func (p *portLink) whySlow() string {
	switch l := &p.at.link; {
	case !p.first():
		return anotherProgram
	case l.Kind != "veth":
		return "no veth"
	case !l.FarAway:
		return "far end in the same namespace"
	}
	return ""
}

func (d *Daemon) setAssist(p *portLink, a *runner.Assist) {
	p.assist = a
	d.warn(p.cfg.Name, "using the programs in the kernel", d.runner.SetAssist(p.number, a))
}

// followAssist follows an interface whose far end has moved to another namespace, or where programs of others have come
// or gone.
func (d *Daemon) followAssist(p *portLink) {
	if !p.assistChanged() {
		return
	}
	was, next := p.assist.Why, *p.assist
	next.Why, next.First = p.whySlow(), p.first()
	d.setAssist(p, &next)
	switch {
	case next.Why == was:
	case next.Why == anotherProgram:
		d.report(slog.LevelWarn, dataplane.EventPort, p.cfg.Name, "a program of somebody else was attached at the "+
			"interface's tcx ingress (\"bpftool net\" shows it): until it is gone, no frame passes the switch by "+
			"(assist)")
	case was == anotherProgram:
		d.report(slog.LevelInfo, dataplane.EventPort, p.cfg.Name, "the program of somebody else at the interface's "+
			"tcx ingress is gone (assist)")
	}
}

// assistChanged reports whether the programs of a port are to be told something.
func (p *portLink) assistChanged() bool {
	if p.assist == nil {
		return false
	}
	lossy, lossless := p.assist.Lost()
	return p.assist.Why != p.whySlow() || lossy+lossless > 0
}

// programsChanged looks for programs of others at the ports' interfaces, of which no event tells, and reports whether
// some have come or gone. passing says that frames pass the switch by, so that this is to be asked again soon.
func (d *Daemon) programsChanged() (changed, passing bool) {
	byNetns := map[string][]*portLink{}
	for _, p := range d.ports {
		if p.assist != nil && d.passesBy(p) {
			byNetns[p.cfg.Netns] = append(byNetns[p.cfg.Netns], p)
			passing = true
		}
	}
	for netns, ports := range byNetns {
		_ = port.InNetns(netns, func() error { // without it, the interfaces are gone, of which events tell
			for _, p := range ports {
				others, err := p.assist.Beside()
				if p.detached = err != nil; !p.detached {
					p.besideAnother = others
				}
				changed = changed || p.assistChanged()
			}
			return nil
		})
	}
	return changed, passing
}

// passesBy reports whether frames have passed the switch or the program by since the last look, or the port is waiting
// for the program to work again: an idle switch asks the kernel nothing.
func (d *Daemon) passesBy(p *portLink) bool {
	missed := p.missed
	p.missed = p.assist.Missed()
	lossy, lossless := p.assist.Lost()
	now := lossy + lossless
	for _, c := range d.assist.Counts(p.number) {
		now += c.RxFrames
	}
	before := p.passedBy
	p.passedBy = now
	return now != before || p.missed != missed || p.besideAnother || p.detached
}

// closeAssist detaches the programs of a port that the runner has taken out of service.
func (p *portLink) closeAssist() error {
	if p.assist == nil {
		return nil
	}
	err := p.assist.Close()
	p.assist = nil
	return err
}
