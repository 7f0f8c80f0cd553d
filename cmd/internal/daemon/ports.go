package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
)

// A portLink is a configured port and the interface behind it.
type portLink struct {
	cfg              *config.Port
	number           int
	socket           socket      // nil while there is no usable interface
	tap              *port.TAP   // equals socket if the port is a TAP
	opened           port.Config // settings of socket if the port is no TAP
	at               place       // the interface at the last look
	up               bool
	replaceAt        time.Time      // its rings are replaced not before: stopped ones, or ones that are to be larger
	notLarger        string         // why the last attempt at larger rings failed; empty: it did not
	used             bool           // frames have come: see runner.Options.RingsUsed
	triedSpeed       int64          // link speed that the port was asked to follow; 0: the port follows
	pendingSpeed     int64          // link speed that waits for buffer to drain
	state            string         // what a person should know; empty: all is well
	mtuReport        string         // the last report on the interface's MTU; empty: the MTU suits
	assist           *runner.Assist // nil where no program helps
	noAssist         error          // why not, where the port has sockets
	besideAnother    bool           // a program of somebody else stands beside, by the last look
	detached         bool           // somebody has detached the program, which does not come back
	passedBy         uint64         // frames that had passed the switch by until then
	missed           uint64         // frames that had passed the program by until then
	restore          func() error
	restoreHostStack func() error // lets the host's stack receive again; nil: the stack receives

	speaker         *speaker // nil where there is no LLDP
	neighbour       [6]byte  // address of the LLDP neighbour that the bridge knows
	unwilling       bool     // the neighbour's settings did not fit: the port no longer follows them
	dcbxPending     bool     // a change by DCBX waits for buffer to drain
	prober          *Prober  // nil where there is no flow control
	headroom        int64    // bytes of the buffer in force at the queues that follow the measurement
	measured        int64    // likewise, if the headroom in force was measured; else 0
	discardsControl bool     // the link discards MAC Control frames: the port is lossy
	refusedHeadroom int64    // likewise: what was measured and the pool is too small for
	xon             int64    // measured resume threshold in force, in octets; 0: another one is in force
}

// A watch follows the interfaces of one namespace.
type watch struct {
	id   port.NetnsID
	stop chan struct{}
}

// rescanPeriod is how often is looked at what no event tells of: a namespace that appears, vanishes or is replaced, and
// programs of others at an interface. Where there is nothing of that, only each tick of the runner looks.
const rescanPeriod = 500 * time.Millisecond

// Run follows the interfaces until ctx ends.
func (d *Daemon) Run(ctx context.Context) {
	d.background.Add(1)
	go d.runHeadroom(ctx)
	defer d.background.Wait()
	for {
		d.mu.Lock()
		complete := d.reconcile()
		if d.ringStopped.Swap(false) {
			d.replaceStopped()
		}
		d.enlargeRings()
		if d.speedChanged {
			d.applyLinkSpeeds(ctx)
		}
		if d.renegotiate.Swap(false) {
			d.negotiate(ctx)
		}
		d.mu.Unlock()
		d.scanSoon()
		for idle := true; idle; {
			select {
			case <-ctx.Done():
				return
			case <-d.events:
				idle = false
				continue
			case <-d.scans:
			}
			needed, soon := d.rescanNeeded()
			idle = !needed && complete && !d.renegotiate.Load()
			if soon {
				d.scanSoon()
			}
		}
	}
}

// scanSoon makes Run look at a whole multiple of rescanPeriod, when the other switches of the process do.
func (d *Daemon) scanSoon() {
	now := runner.Now()
	d.scanAlarm.Set(now - now%int64(rescanPeriod) + int64(rescanPeriod))
}

// rescanNeeded tells whether a changed link speed waits for the buffer to drain, the name of a namespace now stands for
// another namespace or none, programs at an interface have come or gone, or a port waits for larger rings. soon says
// that it is to be asked again after rescanPeriod.
func (d *Daemon) rescanNeeded() (needed, soon bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	changed, passing := d.programsChanged()
	needed = changed || d.speedChanged || len(d.replacedNetns()) > 0
	for _, p := range d.ports {
		if d.tooSmall(p) {
			passing, needed = true, needed || !time.Now().Before(p.replaceAt)
		}
	}
	return needed, passing || slices.ContainsFunc(d.cfg.Ports, inNamespace)
}

// replacedNetns returns the watched names that now stand for another namespace or none.
func (d *Daemon) replacedNetns() (names []string) {
	for ns, w := range d.watched {
		if id, err := port.IdentifyNetns(ns); err != nil || id != w.id {
			names = append(names, ns)
		}
	}
	return names
}

// kick makes Run look at the interfaces again.
func (d *Daemon) kick() { wake(d.events) }

// wake tells the reader of a channel that there is something to do. It never blocks.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// followConfig makes the ports follow the configuration in force, with the staged sockets.
func (d *Daemon) followConfig(staged map[string]*stagedPort) {
	for _, o := range staged {
		o.takeOver()
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
		if o := staged[c.Name]; o != nil && !p.bound(o.at) {
			d.warn(c.Name, "closing the old sockets", d.closePort(p))
		}
	}
	for name, p := range old {
		d.mtus.forget(p.number)
		d.warn(name, "giving back the interface of a port that is gone", p.release())
	}
	d.installStaged(staged)
	d.reconcile()
	for _, p := range d.ports {
		d.configureLLDP(p)
	}
	d.publish()
}

// installStaged gives ports their staged sockets. Sockets on the same interface are replaced without a gap.
func (d *Daemon) installStaged(staged map[string]*stagedPort) {
	var fresh []installation
	for name, o := range staged {
		p := d.ports[name]
		if p.socket != nil {
			err := d.replace(p, o)
			if err == nil {
				continue
			}
			d.warn(p.cfg.Name, "replacing the receive rings", err)
			d.warn(p.cfg.Name, "closing the old sockets", d.closePort(p))
		}
		fresh = append(fresh, installation{p, o})
	}
	for i, err := range d.install(fresh...) {
		if err != nil {
			d.reportDown(fresh[i].link, err)
		}
	}
}

// reconcile makes every port follow its interface. It returns false if it has to be repeated without an event: no event
// tells that a namespace appears, and few tell that an interface becomes usable.
func (d *Daemon) reconcile() bool {
	for _, ns := range d.replacedNetns() {
		d.unwatch(ns)
	}
	complete := d.watchAll()
	for _, kind := range []config.Kind{config.KindEthernet, config.KindTAP} { // a TAP's address follows from its wire's
		for _, p := range d.ports {
			if p.cfg.Kind == kind {
				err := d.followInterface(p)
				complete = complete && (p.socket != nil && err == nil || kind == config.KindEthernet &&
					errors.Is(err, port.ErrNoInterface))
			}
		}
	}
	d.publish()
	return complete
}

// followInterface makes a port follow its interface, and returns why there is none.
func (d *Daemon) followInterface(p *portLink) error {
	tap := p.cfg.Kind == config.KindTAP
	if p.socket != nil && (p.tap != nil) != tap {
		d.interfaceGone(p, errors.New("what is behind the port has changed"))
	}
	if tap && p.socket == nil {
		err := d.openTAP(p)
		if err != nil {
			d.reportDown(p, err)
		}
		return err
	}
	at, err := d.locate(p.cfg)
	if err != nil {
		if p.socket != nil && p.socket.Bound() && !waitable(err) {
			d.log.Warn("looking at the interface of a port", "port", p.cfg.Name, "error", err)
			return err // whatever keeps the kernel from telling, the port works
		}
		d.interfaceGone(p, err)
		return err
	}
	if p.socket != nil && !p.bound(at) {
		d.interfaceGone(p, fmt.Errorf("interface %s was replaced", at.link.Name))
	}
	if p.socket != nil {
		d.followLink(p, at.link)
		return nil
	}
	if err := d.open(p, at); err != nil {
		d.reportDown(p, err)
	}
	return nil
}

// watchAll watches the namespaces of all ports. It returns false if one does not exist.
func (d *Daemon) watchAll() bool {
	complete := true
	for _, p := range d.ports {
		ns := p.cfg.Netns
		if d.watched[ns] != nil {
			continue
		}
		id, err := port.IdentifyNetns(ns)
		w := &watch{id: id, stop: make(chan struct{})}
		if err == nil {
			err = port.Watch(ns, w.stop, func(index, mtu int) {
				d.mtus.changed(ns, index, mtu)
				d.kick()
			}, func(error) { d.rewatch(ns, w) })
		}
		if err != nil {
			complete = false
			continue
		}
		d.watched[ns] = w
	}
	return complete
}

// unwatch stops watching a namespace. A later namespace of the same name is a different one.
func (d *Daemon) unwatch(ns string) {
	if w := d.watched[ns]; w != nil {
		close(w.stop)
		delete(d.watched, ns)
	}
}

// rewatch starts again after the kernel's queue of link changes overflowed, or the namespace vanished.
func (d *Daemon) rewatch(ns string, w *watch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watched[ns] == w {
		d.unwatch(ns)
	}
	d.kick()
}

// open makes an interface a port.
func (d *Daemon) open(p *portLink, at place) error {
	if err := d.usable(p.cfg, at); err != nil {
		return err
	}
	want, err := socketConfig(d.cfg, p.cfg, at, d.noAssist == nil, p.used)
	if err != nil {
		return err
	}
	o, err := d.openSockets(want, at)
	if err != nil {
		return err
	}
	return d.install(installation{p, o})[0]
}

// followLink takes over the state of the link, and what else has changed.
func (d *Daemon) followLink(p *portLink, l port.Link) {
	d.updateLink(p, l)
	d.followMTU(p)
	d.followAssist(p)
	d.tuneTAP(p)
	d.disableHostStack(p)
	if p.up == l.Up {
		return
	}
	p.up, p.state = l.Up, ""
	if !l.Up {
		p.state = "the link is down"
	}
	d.warn(p.cfg.Name, "the change of the link", d.runner.SetUp(p.number, l.Up))
	if p.speaker != nil {
		p.speaker.setLink(l.Up)
	}
}

// interfaceGone handles a port whose interface has vanished.
func (d *Daemon) interfaceGone(p *portLink, why error) {
	if err := d.closePort(p); err != nil {
		d.log.Warn("closing a port whose interface went away", "port", p.cfg.Name, "error", err)
	}
	d.reportDown(p, why)
}

// reportDown reports once why a port cannot work.
func (d *Daemon) reportDown(p *portLink, why error) {
	state := why.Error()
	if waitable(why) {
		state += ": waiting for it"
	}
	if p.state == state {
		return
	}
	p.state = state
	d.log.Warn("port is down", "port", p.cfg.Name, "reason", state)
	d.addEvent(dataplane.EventPort, p.cfg.Name, state)
}

// closePort closes the sockets of a port and restores the interface. The port stays configured.
func (d *Daemon) closePort(p *portLink) error {
	if p.socket == nil {
		return nil
	}
	d.mtus.forget(p.number)
	err := errors.Join(p.stopLLDP(), d.runner.Detach(p.number, p.closeAssist))
	d.renegotiate.Store(true)
	return errors.Join(err, p.release())
}

// closeAllPorts closes all ports at the same time. The kernel takes some 20 ms for each of the eight sockets of a port,
// so closing them in turn would take seconds.
func (d *Daemon) closeAllPorts() error {
	var all sync.WaitGroup
	ports := slices.Collect(maps.Values(d.ports))
	errs := make([]error, len(ports))
	for i, p := range ports {
		all.Go(func() { errs[i] = d.closePort(p) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// release stops LLDP and restores the interface of a port. The runner has closed the sockets.
func (p *portLink) release() error {
	if p.socket == nil {
		return nil
	}
	p.socket, p.tap, p.up, p.noAssist = nil, nil, false, nil
	err := errors.Join(p.stopLLDP(), p.closeAssist(), p.restore())
	if p.restoreHostStack != nil {
		err = errors.Join(err, p.restoreHostStack())
		p.restoreHostStack = nil
	}
	return err
}
