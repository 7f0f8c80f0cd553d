package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/port"
)

// A portLink is a configured port and the interface behind it.
type portLink struct {
	cfg     *config.Port
	number  int
	socket  socket      // nil while there is no usable interface
	tap     *port.TAP   // socket, where that is a TAP
	opened  port.Config // how socket was opened, where it is not
	at      place       // the interface as it was last seen
	up      bool
	tried   int64  // speed of the link that the port was asked to follow, 0 where it does
	late    int64  // the same, where the buffer has been too full for it
	state   string // what a person should know, empty when all is well
	misfit  string // what was said of the interface's MTU, empty where that is as large as the port's
	restore func() error
	unhush  func() error // lets the host's stack have what the port receives; nil where it does

	speaker  *speaker // nil where there is no LLDP
	stubborn bool     // the port could not have what its neighbour asked for, and is not willing
	waits    bool     // what DCBX has changed waits for buffer to drain
	prober   *prober  // nil where there is no flow control
	headroom int64    // octets in force of the queues that follow what is found
	found    int64    // the same, where it was found; 0 where it is calculated
	swallows bool     // the link keeps MAC Control frames: the port is lossy
	refused  int64    // octets that were found and that the pool is too small for
	xon      int64    // resume threshold that was found and is in force, 0: another is
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
	d.following.Add(1)
	go d.runHeadroom(ctx)
	defer d.following.Wait()
	scan := time.NewTicker(rescanPeriod)
	defer scan.Stop()
	for {
		d.mu.Lock()
		complete := d.reconcile()
		if d.retune {
			d.adapt(ctx)
		}
		if d.renegotiate.Swap(false) {
			d.negotiate(ctx)
		}
		d.mu.Unlock()
		for idle := true; idle; {
			select {
			case <-ctx.Done():
				return
			case <-d.events:
				idle = false
			case <-scan.C:
				idle = complete && !d.restless() && !d.renegotiate.Load()
			}
		}
	}
}

// restless tells whether the speed of a link waits for buffer to drain, or the name of a namespace stands for another one now, or
// for none.
func (d *Daemon) restless() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.retune {
		return true
	}
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

// followConfig makes the ports those of the configuration that came in force, with the sockets that were opened for it.
func (d *Daemon) followConfig(staged map[string]*opening) {
	for _, o := range staged {
		o.inherit()
	}
	old := d.ports
	d.ports = map[string]*portLink{}
	for i := range d.cfg.Ports {
		c := &d.cfg.Ports[i]
		p := old[c.Name]
		if p == nil || p.number != d.numbers[c.Name] {
			p = &portLink{state: "not looked at yet"}
		} else {
			delete(old, c.Name)
		}
		p.cfg, p.number = c, d.numbers[c.Name]
		d.ports[c.Name] = p
		if o := staged[c.Name]; o != nil && !p.has(o.at) {
			d.regret(c.Name, "closing the sockets of before", d.lose(p))
		}
	}
	for name, p := range old {
		d.regret(name, "giving back the interface of a port that is gone", d.forget(p))
	}
	for name, o := range staged {
		d.settle(d.ports[name], o)
	}
	d.reconcile()
	for _, p := range d.ports {
		d.speak(p)
	}
	d.publish()
}

// settle gives a port the sockets that were opened for it, in the place of those that it has for the same interface.
func (d *Daemon) settle(p *portLink, o *opening) {
	if p.socket != nil {
		err := d.replace(p, o)
		if err == nil {
			return
		}
		d.regret(p.cfg.Name, "replacing the receive rings", err)
		d.regret(p.cfg.Name, "closing the sockets of before", d.lose(p))
	}
	if err := d.install(p, o); err != nil {
		d.fail(p, err)
	}
}

// reconcile makes every port follow its interface. It returns false where it has to be tried again without an event: no
// event tells of a namespace that comes, nor of most things that make an interface usable.
func (d *Daemon) reconcile() bool {
	d.unwatchStrayed()
	complete := d.watchAll()
	for _, kind := range []config.Kind{config.KindEthernet, config.KindTAP} { // a TAP's address follows from its wire's
		for _, p := range d.ports {
			if p.cfg.Kind == kind {
				err := d.revisit(p)
				complete = complete && (p.socket != nil || kind == config.KindEthernet && errors.Is(err, port.ErrNoInterface))
			}
		}
	}
	d.publish()
	return complete
}

// revisit makes a port follow its interface, and returns why there is none.
func (d *Daemon) revisit(p *portLink) error {
	tap := p.cfg.Kind == config.KindTAP
	if p.socket != nil && (p.tap != nil) != tap {
		d.gone(p, errors.New("what is behind the port has changed"))
	}
	if tap && p.socket == nil {
		err := d.openTAP(p)
		if err != nil {
			d.fail(p, err)
		}
		return err
	}
	at, err := d.locate(p.cfg)
	if err != nil {
		d.gone(p, err)
		return err
	}
	if p.socket != nil && !p.has(at) {
		d.gone(p, fmt.Errorf("interface %s was replaced", at.link.Name))
	}
	if p.socket != nil {
		d.follow(p, at.link)
		return nil
	}
	if err := d.open(p, at); err != nil {
		d.fail(p, err)
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
		if err := port.Watch(ns, w.stop, d.poke, failed); err != nil {
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
func (d *Daemon) open(p *portLink, at place) error {
	if err := at.link.Usable(p.cfg.Netns); err != nil && !p.cfg.Force {
		return err
	}
	want, err := socketConfig(d.cfg, p.cfg)
	if err != nil {
		return err
	}
	o, err := d.prepare(want, at)
	if err != nil {
		return err
	}
	return d.install(p, o)
}

// follow takes over whether the link is up, and what else has changed.
func (d *Daemon) follow(p *portLink, l port.Link) {
	d.notice(p, l)
	d.measureMTU(p)
	d.tuneTAP(p)
	d.hush(p)
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
	if p.speaker != nil {
		p.speaker.setLink(l.Up)
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
	if waitable(why) {
		state += ": waiting for it"
	}
	if p.state == state {
		return
	}
	p.state = state
	d.log.Warn("port is down", "port", p.cfg.Name, "reason", state)
	d.note(p.cfg.Name, state)
}

// lose closes a port's sockets and gives the interface back. The port stays configured.
func (d *Daemon) lose(p *portLink) error {
	if p.socket == nil {
		return nil
	}
	err := errors.Join(p.goodbye(), d.runner.Detach(p.number))
	d.renegotiate.Store(true)
	p.socket, p.tap, p.up = nil, nil, false
	return errors.Join(err, p.giveBack())
}

// loseAll loses every port. The kernel takes some 20 ms to close a socket, of which a port has eight: ports that go one after the
// other would take seconds, where all of them at once take no longer than one.
func (d *Daemon) loseAll() error {
	var all sync.WaitGroup
	errs := make(chan error, len(d.ports))
	for _, p := range d.ports {
		all.Go(func() { errs <- d.lose(p) })
	}
	all.Wait()
	close(errs)
	var joined error
	for err := range errs {
		joined = errors.Join(joined, err)
	}
	return joined
}

// forget gives the interface of a port back that the configuration no longer has; the runner has closed its sockets.
func (d *Daemon) forget(p *portLink) error {
	if p.socket == nil {
		return nil
	}
	err := p.goodbye()
	p.socket, p.tap, p.up = nil, nil, false
	return errors.Join(err, p.giveBack())
}
