package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
)

// A stagedPort is an interface with open sockets that do not receive yet. Every step that can fail is done, so the
// configuration that needs the port can come in force.
type stagedPort struct {
	socket  socket
	opened  port.Config
	at      place
	restore func() error
	from    *portLink // the port that has the interface now and hands restore over; nil: the interface was made quiet
}

// stage opens sockets for ports that are new, change their interface or need larger rings. Interfaces that do not
// exist, are down or are in use are left to reconcile, as are TAPs. stage returns the first error in the order of the
// ports.
func (d *Daemon) stage(c *config.Config) (map[string]*stagedPort, error) {
	openings, errs := make([]*stagedPort, len(c.Ports)), make([]error, len(c.Ports))
	var failed atomic.Bool
	inTurns(len(c.Ports), d.openAtOnce(), func(i int) {
		if failed.Load() {
			return
		}
		if openings[i], errs[i] = d.stagePort(c, &c.Ports[i]); errs[i] != nil {
			failed.Store(true)
		}
	})
	staged := map[string]*stagedPort{}
	for i, o := range openings {
		if o != nil {
			staged[c.Ports[i].Name] = o
		}
	}
	for i, err := range errs {
		if err != nil {
			return nil, errors.Join(c.Errorf("ports."+c.Ports[i].Name, "%v", err), discardStaged(staged))
		}
	}
	return staged, nil
}

// openAtOnce is how many ports are opened at the same time. Opening mostly waits for the kernel, but ring memory costs
// CPU time. A switch that forwards already opens one port at a time.
func (d *Daemon) openAtOnce() int {
	if d.starts() {
		return 32
	}
	return 1
}

// starts reports whether no configuration is in force yet.
func (d *Daemon) starts() bool { return d.published.Load() == nil }

// inTurns calls f for 0 to n−1, up to most of them at the same time, and returns when all have returned.
func inTurns(n, most int, f func(i int)) {
	var all sync.WaitGroup
	turns := make(chan struct{}, most)
	for i := range n {
		turns <- struct{}{}
		all.Go(func() {
			f(i)
			<-turns
		})
	}
	all.Wait()
}

func (d *Daemon) stagePort(c *config.Config, p *config.Port) (*stagedPort, error) {
	if p.Kind == config.KindTAP {
		return nil, nil // it is made once the configuration is in force
	}
	at, err := d.locate(p)
	if waitable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, held, used := d.ports[p.Name], d.noAssist == nil, false
	if r != nil {
		used = r.used
	}
	if r != nil && r.bound(at) {
		held = r.holds()
	}
	want, err := socketConfig(c, p, at, held, used)
	if err != nil {
		return nil, err
	}
	if r != nil && r.bound(at) && ringsSuffice(r.opened, want) && !d.changesInterface(p) {
		return nil, nil
	}
	if serves := r != nil && r.socket != nil; !serves && (!at.link.Up || d.usable(p, at) != nil) {
		return nil, nil // later: kernels before 6.13 refuse a fanout group on an interface that is down
	}
	o, err := d.openSockets(want, at)
	if err != nil {
		if _, again := d.locate(p); waitable(again) {
			return nil, nil
		}
	}
	return o, err
}

// openSockets makes an interface quiet and opens its sockets.
func (d *Daemon) openSockets(want port.Config, at place) (*stagedPort, error) {
	o := &stagedPort{opened: want, at: at}
	for _, p := range d.ports {
		if p.bound(at) {
			o.from, o.restore = p, p.restore
		}
	}
	var err error
	if o.from == nil {
		if o.restore, err = port.SilenceLink(want.Netns, at.link); err != nil {
			return nil, err
		}
	}
	if o.socket, err = d.openAFPacket(want); err != nil {
		return nil, errors.Join(err, o.restoreInterface())
	}
	return o, nil
}

// restoreInterface restores the interface, unless a port uses it.
func (o *stagedPort) restoreInterface() error {
	if o.from != nil {
		return nil
	}
	return o.restore()
}

// discardStaged closes the sockets of a configuration that does not come in force.
func discardStaged(staged map[string]*stagedPort) error {
	var errs []error
	for _, o := range staged {
		errs = append(errs, o.socket.Close(), o.restoreInterface())
	}
	return errors.Join(errs...)
}

// takeOver takes the interface over from the port that has it: that port will not restore it.
func (o *stagedPort) takeOver() {
	if o.from != nil {
		o.from.restore = func() error { return nil }
		o.from = nil
	}
}

// An installation is a port and the sockets that it gets.
type installation struct {
	link   *portLink
	staged *stagedPort
}

// install gives ports their sockets, and returns an error for each, in order. See Runner.Attach. Attaching a program
// takes the kernel a while, so a port with one does not wait for the others.
func (d *Daemon) install(all ...installation) []error {
	errs := make([]error, len(all))
	var without []int
	var attachments []runner.Attachment
	for i, n := range all {
		n.staged.takeOver()
		n.link.at = n.staged.at
		switch a, err := d.attachAssist(n.link, n.staged); {
		case err != nil:
			errs[i] = errors.Join(err, n.staged.socket.Close(), n.staged.restore())
		case a != nil:
			errs[i] = d.begin(n, a, d.runner.Attach(n.attachment(a))[0])
		default:
			without, attachments = append(without, i), append(attachments, n.attachment(nil))
		}
	}
	for k, err := range d.runner.Attach(attachments...) {
		errs[without[k]] = d.begin(all[without[k]], nil, err)
	}
	return errs
}

func (n *installation) attachment(a *runner.Assist) runner.Attachment {
	return runner.Attachment{Index: n.link.number, Port: n.staged.socket, MAC: n.staged.at.link.MAC, Assist: a}
}

// begin puts a port in service whose sockets the runner has, unless err says why it has not.
func (d *Daemon) begin(n installation, a *runner.Assist, err error) error {
	p, o := n.link, n.staged
	if err != nil {
		if a != nil {
			err = errors.Join(err, a.Close())
		}
		return errors.Join(err, o.socket.Close(), o.restore())
	}
	p.socket, p.opened, p.restore, p.up, p.state, p.assist = o.socket, o.opened, o.restore, false, "", a
	if err := o.socket.Start(); err != nil {
		return errors.Join(err, d.closePort(p))
	}
	d.log.Info("port is open", "port", p.cfg.Name, "interface", o.at.link.Name, "mac",
		net.HardwareAddr(o.at.link.MAC[:]).String())
	d.configureLLDP(p)
	d.followLink(p, o.at.link)
	return nil
}

// replace gives a port larger rings without taking it out of service.
func (d *Daemon) replace(p *portLink, o *stagedPort) error {
	if s, ok := o.socket.(*port.AFPacket); ok && p.assist != nil {
		s.UseFilter(p.assist.Filter())
	}
	lost, err := d.runner.Replace(p.number, o.socket)
	if err != nil {
		return err
	}
	p.socket, p.opened, p.restore = o.socket, o.opened, o.restore
	if lost > 0 {
		text := fmt.Sprintf("%d frames waited in the lossless ring when it was replaced, and are lost", lost)
		d.log.Warn(text, "port", p.cfg.Name)
		d.losses = append(d.losses, "port "+p.cfg.Name+": "+text)
	}
	return nil
}

// replacePause is the least time between two replacements of a port's sockets, and replaceShare the least share of the
// time of a replacement: a host that stops a ring again and again costs the other ports little, and changes have their
// turn.
const (
	replacePause = time.Second
	replaceShare = 4
)

// replaceStopped replaces the sockets of each port of which the kernel has stopped a receive ring.
func (d *Daemon) replaceStopped() {
	for _, p := range d.ports {
		s, ok := p.socket.(interface{ Stopped(c port.Class) bool })
		if !ok || !s.Stopped(port.Lossless) && !s.Stopped(port.Other) || time.Now().Before(p.replaceAt) {
			continue
		}
		if err := d.renewSockets(p); err != nil {
			d.warn(p.cfg.Name, "replacing the sockets of a receive ring that the kernel has stopped", err)
			continue
		}
		d.report(slog.LevelWarn, dataplane.EventPort, p.cfg.Name, "the kernel had stopped a receive ring at a GSO "+
			"frame that it cannot describe to a packet socket (a fault of Linux): the sockets are replaced. Switch "+
			"UDP fragmentation and SCTP segmentation off at the station that sends such frames")
	}
}

func (d *Daemon) renewSockets(p *portLink) error {
	began := time.Now()
	defer func() { p.replaceAt = time.Now().Add(max(replacePause, replaceShare*time.Since(began))) }()
	want, err := socketConfig(d.cfg, p.cfg, p.at, p.holds(), p.used)
	if err != nil {
		return err
	}
	o, err := d.openSockets(want, p.at)
	if err != nil {
		return err
	}
	if err := d.replace(p, o); err != nil {
		return errors.Join(err, o.socket.Close())
	}
	return nil
}

// bound tells whether the port has this interface.
func (p *portLink) bound(at place) bool {
	return p.socket != nil && p.at.home == at.home && p.at.link.Index == at.link.Index && p.socket.Bound()
}
