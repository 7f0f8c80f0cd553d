package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// A portLink is a configured port and the interface behind it.
type portLink struct {
	cfg     *config.Port
	number  int
	socket  *port.AFPacket // nil while there is no usable interface
	opened  port.Config    // how socket was opened
	home    port.NetnsID   // where the interface is
	index   int            // of the interface
	up      bool
	state   string // what a person should know, empty when all is well
	restore func() error
}

// A watch follows the interfaces of one namespace.
type watch struct {
	id   port.NetnsID
	stop chan struct{}
}

// rescanPeriod is how often namespaces are looked at, of which no event tells that they come, go, or are replaced.
const rescanPeriod = 500 * time.Millisecond

// Run follows the interfaces until ctx ends.
func (d *Daemon) Run(ctx context.Context) {
	scan := time.NewTicker(rescanPeriod)
	defer scan.Stop()
	for {
		d.mu.Lock()
		complete := d.reconcile()
		d.mu.Unlock()
		for idle := true; idle; {
			select {
			case <-ctx.Done():
				return
			case <-d.events:
				idle = false
			case <-scan.C:
				idle = complete && !d.strayed()
			}
		}
	}
}

// strayed tells whether the name of a namespace stands for another one now, or for none.
func (d *Daemon) strayed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ns, w := range d.watched {
		if id, err := port.IdentifyNetns(ns); err != nil || id != w.id {
			return true
		}
	}
	return false
}

// poke makes Run look at the interfaces again.
func (d *Daemon) poke() {
	select {
	case d.events <- struct{}{}:
	default:
	}
}

// followConfig drops the links of ports that are gone or have to be opened anew, and knows the new ones.
func (d *Daemon) followConfig() error {
	var errs []error
	old := d.ports
	d.ports = map[string]*portLink{}
	for i := range d.cfg.Ports {
		c := &d.cfg.Ports[i]
		p := old[c.Name]
		delete(old, c.Name)
		if p == nil {
			p = &portLink{state: "not looked at yet"}
		}
		p.cfg, p.number = c, d.numbers[c.Name]
		d.ports[c.Name] = p
		if p.socket != nil && d.reopen(p) {
			errs = append(errs, d.lose(p))
		}
	}
	for _, p := range old {
		errs = append(errs, d.forget(p))
	}
	d.reconcile()
	return errors.Join(errs...)
}

// reopen tells whether a port's sockets no longer fit its configuration.
func (d *Daemon) reopen(p *portLink) bool {
	want, err := d.socketConfig(p)
	return err != nil || want.Interface != p.opened.Interface || want.Netns != p.opened.Netns ||
		want.LosslessSlots != p.opened.LosslessSlots || want.OtherSlots != p.opened.OtherSlots || want.FrameSize != p.opened.FrameSize
}

func (d *Daemon) socketConfig(p *portLink) (port.Config, error) {
	pc, err := portConfig(d.cfg, p.cfg)
	if err != nil {
		return port.Config{}, err
	}
	return sockets(p.cfg, &pc)
}

// reconcile makes every port follow its interface. It returns false where it has to be tried again without an event: no
// event tells of a namespace that comes, nor of most things that make an interface usable.
func (d *Daemon) reconcile() bool {
	d.unwatchStrayed()
	complete := d.watchAll()
	for _, p := range d.ports {
		err := d.revisit(p)
		complete = complete && (p.socket != nil || errors.Is(err, port.ErrNoInterface))
	}
	return complete
}

// revisit makes a port follow its interface, and returns why there is none.
func (d *Daemon) revisit(p *portLink) error {
	home, err := port.IdentifyNetns(p.cfg.Netns)
	if err != nil {
		d.gone(p, err)
		return err
	}
	l, err := port.Inspect(p.cfg.Netns, p.cfg.Interface)
	if err != nil {
		d.gone(p, err)
		return err
	}
	if p.socket != nil && (p.home != home || p.index != l.Index || !p.socket.Bound()) {
		d.gone(p, fmt.Errorf("interface %s was replaced", l.Name))
	}
	if p.socket == nil {
		p.home = home
		d.open(p, l)
	} else {
		d.follow(p, l)
	}
	return nil
}

// unwatchStrayed stops following namespaces whose names stand for others now.
func (d *Daemon) unwatchStrayed() {
	for ns, w := range d.watched {
		if id, err := port.IdentifyNetns(ns); err != nil || id != w.id {
			d.unwatch(ns)
		}
	}
}

// watchAll follows the namespaces of all ports. It returns false where one does not exist.
func (d *Daemon) watchAll() bool {
	complete := true
	for _, p := range d.ports {
		ns := p.cfg.Netns
		if d.watched[ns] != nil {
			continue
		}
		id, err := port.IdentifyNetns(ns)
		if err != nil {
			complete = false
			continue
		}
		w := &watch{id: id, stop: make(chan struct{})}
		failed := func(error) { d.rewatch(ns, w) }
		if err := port.Watch(ns, w.stop, func(port.LinkEvent) { d.poke() }, failed); err != nil {
			complete = false
			continue
		}
		d.watched[ns] = w
	}
	return complete
}

// unwatch stops following a namespace. One that is gone is forgotten: one of the same name may come, and is another.
func (d *Daemon) unwatch(ns string) {
	if w := d.watched[ns]; w != nil {
		close(w.stop)
		delete(d.watched, ns)
	}
}

// rewatch begins anew where the kernel's queue of link changes overflowed, or the namespace went away.
func (d *Daemon) rewatch(ns string, w *watch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watched[ns] == w {
		d.unwatch(ns)
	}
	d.poke()
}

// open makes a port of an interface.
func (d *Daemon) open(p *portLink, l port.Link) {
	if err := d.tryOpen(p, l); err != nil {
		d.fail(p, err)
		return
	}
	d.log.Info("port is open", "port", p.cfg.Name, "interface", l.Name, "mac", fmt.Sprintf("% x", l.MAC))
	d.follow(p, l)
}

func (d *Daemon) tryOpen(p *portLink, l port.Link) error {
	if err := l.Usable(); err != nil && !p.cfg.Force {
		return err
	}
	sc, err := d.socketConfig(p)
	if err != nil {
		return err
	}
	restore, err := port.Quiet(p.cfg.Netns, l)
	if err != nil {
		return err
	}
	socket, err := port.Open(sc)
	if err != nil {
		return errors.Join(err, restore())
	}
	if err := d.runner.Attach(p.number, socket, l.MAC, int(p.cfg.Ring.Frame)); err != nil {
		return errors.Join(err, socket.Close(), restore())
	}
	p.socket, p.opened, p.index, p.restore, p.up, p.state = socket, sc, l.Index, restore, false, ""
	return nil
}

// follow takes over whether the link is up.
func (d *Daemon) follow(p *portLink, l port.Link) {
	if p.up == l.Up {
		return
	}
	p.up, p.state = l.Up, ""
	if !l.Up {
		p.state = "the link is down"
	}
	if err := d.runner.SetUp(p.number, l.Up); err != nil {
		d.log.Error("link change", "port", p.cfg.Name, "error", err)
	}
}

// gone takes note that a port has no interface.
func (d *Daemon) gone(p *portLink, why error) {
	if p.socket == nil {
		d.fail(p, why)
		return
	}
	if err := d.lose(p); err != nil {
		d.log.Warn("closing a port whose interface went away", "port", p.cfg.Name, "error", err)
	}
	d.fail(p, why)
}

// fail says once why a port cannot work.
func (d *Daemon) fail(p *portLink, why error) {
	state := why.Error()
	if errors.Is(why, port.ErrNoInterface) || errors.Is(why, port.ErrNoNetns) {
		state += ": waiting for it"
	}
	if p.state == state {
		return
	}
	p.state = state
	d.log.Warn("port is down", "port", p.cfg.Name, "reason", state)
	d.runner.Note(dataplane.Event{Kind: dataplane.EventPort, Port: p.cfg.Name, Priority: -1, Text: state})
}

// lose closes a port's sockets and gives the interface back. The port stays configured.
func (d *Daemon) lose(p *portLink) error {
	if p.socket == nil {
		return nil
	}
	err := d.runner.Detach(p.number)
	p.socket, p.up = nil, false
	return errors.Join(err, p.restore())
}

// forget gives the interface of a port back that the configuration no longer has; the runner has closed its sockets.
func (d *Daemon) forget(p *portLink) error {
	if p.socket == nil {
		return nil
	}
	p.socket, p.up = nil, false
	return p.restore()
}
