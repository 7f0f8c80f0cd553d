// Package daemon assembles a running switch: configuration, data plane, ports on Linux interfaces, API and metrics.
//
//	daemon.go              Daemon: start, apply, stop
//	assist.go              programs that help from inside the kernel
//	attach.go              those that come behind the start
//	drain.go               changes that wait for the buffer
//	build.go               configuration → settings of the data plane, of its ports and trunks
//	check.go               interfaces that must not become ports
//	ports.go               ports that follow their interfaces
//	staged.go              sockets that are opened before a configuration comes in force
//	rings.go               how large the receive rings of a port are, before it is in use and then
//	tap.go                 ports towards the host's stack
//	link.go                changes of speed, address and MTU of a link
//	speaker.go             LLDP and DCBX on one port
//	exchange.go            what a port tells by LLDP and DCBX, and what follows: in virtual time, too
//	negotiate.go           settings that neighbours ask for, and events about them
//	prober.go              the headroom.Probe of a port, for the data plane
//	headroom.go            the measured headroom, in force
//	linkcheck_headroom.go  a check of the headroom by experiment
//	watchdog.go            the deadlock watchdog and its events
//	source.go              what the API reads
//	serve.go               the control socket and the metrics address, with its page
//	flight_recorder.go     the last seconds before a lossless frame was lost, as a file
//	journal.go             a log that never blocks
//	mtu.go                 an interface whose MTU another program lowers
//	host.go                one or many switches in a process
//	process.go             nice value, rights that are given up, wake-up delays, systemd
//	offline.go             a switch without interfaces, for explain
package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/assist"
	"pfcswitch/dataplane/runner"
	"pfcswitch/headroom"
)

// A Daemon is a running switch.
type Daemon struct {
	log             *slog.Logger // the journal
	journal         journal
	netns           string // at home; empty: that of the process
	runner          *runner.Runner
	watchdog        *watchdog
	identity        bridge.Identity
	started         time.Time
	startedAt       int64 // by the switch's clock
	inspect         func(ns, name string) (port.Link, error)
	openAFPacket    func(port.Config) (*port.AFPacket, error)
	openLarger      func(*port.AFPacket, port.Config) (*port.Larger, error)
	controlListener net.Listener         // what makes this switch the only one of its name
	metricsListener net.Listener         // nil where there are no metrics
	published       atomic.Pointer[view] // what readers get, who must not wait for a change

	renegotiate   atomic.Bool                      // a neighbour may ask for other settings
	ringStopped   atomic.Bool                      // the kernel has stopped a receive ring
	keeps         atomic.Bool                      // there is a flight recorder
	precision     time.Duration                    // of this machine's stamps
	assist        *assist.Maps                     // nil where no program helps from inside the kernel
	noAssist      error                            // why not
	pins          assist.Pins                      // what outlives a killed switch
	restart       func() (begin func(), err error) // of the host; nil: there is none
	confinedAll   <-chan struct{}                  // likewise: closed when its process has given up rights
	headroomKick  chan struct{}                    // wakes runHeadroom
	headroomAlarm *runner.Alarm                    // likewise
	scanAlarm     *runner.Alarm                    // makes Run look after rescanPeriod
	background    sync.WaitGroup                   // runHeadroom, followHangups
	mtus          guardedMTUs
	checking      sync.Mutex // one check of a headroom at a time

	mu              sync.Mutex // guards what follows; held for a whole change
	closed          bool
	cfg             *config.Config
	numbers         map[string]int               // port numbers by name
	ports           map[string]*portLink         // by name
	probers         map[string]*Prober           // by name
	retiredCounters map[string]headroom.Counters // of probers that are gone, by name of the port
	watched         map[string]*watch            // by namespace
	losses          []string                     // losses that the running change has caused
	speedChanged    bool                         // the speed of a link differs from its port's
	chassis         [6]byte                      // chassis ID of LLDP; zero until a port exists
	noNamespaces    bool                         // this process gave up the right to enter network namespaces
	events          chan struct{}                // something changed at an interface
	scans           chan struct{}                // it is time to look at what no event tells of
	flight          *flightRecorder              // nil while nothing is kept
	firstLoss       string                       // file of this run's first loss; of the flight recorder's goroutine
}

// New starts a switch with configuration c. Run makes its ports follow their interfaces. The control socket and the
// metrics address are taken first, so that a second start fails before it touches an interface.
func New(c *config.Config, log *slog.Logger) (*Daemon, error) { return NewIn("", c, log) }

// NewIn is New for a switch at home in a network namespace (see port.InNetns), where its metrics address is, and each
// port for which the configuration names no other. So one process may have switches in many namespaces.
func NewIn(netns string, c *config.Config, log *slog.Logger) (*Daemon, error) {
	d, err := newIn(netns, c, log)
	if err == nil {
		attachRest(context.Background(), []*Daemon{d})
	}
	return d, err
}

// newIn is NewIn, and leaves the programs in the kernel to attachRest.
func newIn(netns string, c *config.Config, log *slog.Logger) (*Daemon, error) {
	j := newJournal(log.Handler())
	log = slog.New(j)
	d := &Daemon{log: log, journal: j, netns: netns, watchdog: newWatchdog(log),
		started: time.Now(), startedAt: runner.Now(),
		inspect: port.Inspect, openAFPacket: port.Prepare, openLarger: (*port.AFPacket).Larger,
		numbers: map[string]int{},
		ports:   map[string]*portLink{}, probers: map[string]*Prober{}, retiredCounters: map[string]headroom.Counters{},
		watched: map[string]*watch{}, mtus: guardedMTUs{ports: map[int]*guardedMTU{}}, events: make(chan struct{}, 1),
		scans: make(chan struct{}, 1), precision: clockPrecision(), headroomKick: make(chan struct{}, 1)}
	if err := d.start(c.In(netns)); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Daemon) start(c *config.Config) error {
	for _, b := range [][]byte{d.identity.Public[:], d.identity.Secret[:]} {
		if _, err := rand.Read(b); err != nil {
			return err
		}
	}
	if err := d.openListeners(c); err != nil {
		return err
	}
	resolved, err := d.resolve(c)
	if err != nil {
		return err
	}
	sc, err := d.switchConfig(resolved)
	if err != nil {
		return err
	}
	if d.headroomAlarm, err = runner.NewAlarm(d.kickHeadroom); err != nil {
		return err
	}
	if d.scanAlarm, err = runner.NewAlarm(func() { wake(d.scans) }); err != nil {
		return err
	}
	d.openAssist(c)
	d.openPins(c)
	if d.runner, err = runner.New(sc, runner.Options{PerPort: c.Workers == config.WorkersPerPort,
		Assist:      runner.AssistOptions{Maps: d.assist, Freeze: c.Assist.Freeze, Hold: c.Assist.Hold},
		RingStopped: func() { d.ringStopped.Store(true); d.kick() }, RingsUsed: d.kick,
		Ticked: func() { wake(d.scans) }}); err != nil {
		return err
	}
	d.reportNoAssist()
	d.watchdog.start(d.runner)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.putInForce(context.Background(), resolved)
}

// switchConfig translates what concerns the whole switch, which calls the watchdog.
func (d *Daemon) switchConfig(c *config.Config) (dataplane.Config, error) {
	sc, err := switchConfig(c, d.identity)
	sc.Suspect = d.watchdog.suspect
	return sc, err
}

// resolve fills in the values that follow from link speeds, and refuses interfaces that must not become ports.
func (d *Daemon) resolve(c *config.Config) (*config.Config, error) {
	places, err := d.locateAll(c)
	if err != nil {
		return nil, err
	}
	if err := d.refuseUnusable(c, places); err != nil {
		return nil, err
	}
	d.chooseChassis(c, places)
	return c.WithNegotiated(d.negotiated(c)).Resolve(linkSpeeds(places))
}

// Apply puts a new configuration in force while the switch runs. On error nothing changes. Apply returns the losses
// that the change has caused.
func (d *Daemon) Apply(ctx context.Context, c *config.Config) (lost []string, err error) {
	o, err := d.change(ctx, c, false)
	return o.lost, err
}

// An outcome is what a new configuration changes.
type outcome struct {
	before, after *config.Config
	reset         []string // ports whose sockets are opened again
	lost          []string // losses that the change has caused
}

// errClosed answers a request that came while the switch ended.
var errClosed = errors.New("the switch has ended, or starts again: nothing has changed")

// change is Apply, or with dry only tells what Apply would change.
func (d *Daemon) change(ctx context.Context, c *config.Config, dry bool) (o outcome, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return o, errClosed
	}
	c = c.KeepMetrics(d.cfg).In(d.netns)
	if err := d.checkRestartKeys(c); err != nil {
		return o, err
	}
	resolved, err := d.resolve(c)
	if err != nil {
		return o, err
	}
	if err := d.translates(resolved); err != nil {
		return o, err
	}
	o = outcome{before: d.cfg, after: resolved, reset: d.resetPorts(resolved)}
	if dry {
		return o, nil
	}
	d.losses = nil
	if err := d.putInForce(ctx, resolved); err != nil {
		return outcome{}, err
	}
	d.retryNegotiation(ctx)
	d.addEvent(dataplane.EventConfig, "", "a new configuration is in force")
	d.kick()
	o.lost = d.losses
	return o, nil
}

// startsWith returns what another start with a configuration would refuse, as far as it can be told now.
func (d *Daemon) startsWith(c *config.Config) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errClosed
	}
	resolved, err := d.resolve(c.In(d.netns))
	if err != nil {
		return err
	}
	return d.translates(resolved)
}

// translates returns what putInForce would refuse before it opens anything.
func (d *Daemon) translates(c *config.Config) error {
	numbers, err := d.number(c)
	if err != nil {
		return err
	}
	if _, err := d.switchConfig(c); err != nil {
		return err
	}
	_, err = portConfigs(c, numbers)
	return err
}

// resetPorts returns the ports that have sockets and need others for a configuration.
func (d *Daemon) resetPorts(c *config.Config) (names []string) {
	for i := range c.Ports {
		p := &c.Ports[i]
		r := d.ports[p.Name]
		if r == nil || r.socket == nil {
			continue
		}
		reset := d.changesInterface(p)
		if r.tap == nil && !reset {
			reset = !ringsSuffice(r.opened, ringSizes(c, p, r.at, r.holds(), r.used))
		}
		if reset {
			names = append(names, p.Name)
		}
	}
	return names
}

// checkRestartKeys refuses changes that need a restart, before anything is touched.
func (d *Daemon) checkRestartKeys(c *config.Config) error {
	for _, k := range []struct {
		key      string
		old, new any
	}{
		{"name", d.cfg.Name, c.Name},
		{"workers", d.cfg.Workers, c.Workers},
		{"nice", d.cfg.Nice, c.Nice},
		{"assist", assistState(d.cfg.Assist.Off), assistState(c.Assist.Off)},
		{"assist.freeze", d.cfg.Assist.Freeze, c.Assist.Freeze},
		{"assist.hold", d.cfg.Assist.Hold, c.Assist.Hold},
		{"buffer.cell", d.cfg.Buffer.Cell, c.Buffer.Cell},
		{"metrics.listen", d.cfg.Metrics.Listen, c.Metrics.Listen},
		{"metrics.web_config", d.cfg.Metrics.WebConfig, c.Metrics.WebConfig},
		{"metrics.hosts", fmt.Sprint(d.cfg.Metrics.Hosts), fmt.Sprint(c.Metrics.Hosts)},
		{"api.socket", d.cfg.API.Socket, c.API.Socket},
		{"capture.directory", d.cfg.Capture.Directory, c.Capture.Directory},
	} {
		if k.old != k.new {
			return c.Errorf(k.key, "%v: cannot change while the switch runs (it is %v): restart the switch, or keep "+
				"the value", asWritten(k.new), asWritten(k.old))
		}
	}
	if i := slices.IndexFunc(c.Ports, inNamespace); i >= 0 && d.noNamespaces {
		return c.Errorf("ports."+c.Ports[i].Name+".netns", "%s: the switch started without ports in other network "+
			"namespaces and gave up the right to enter them: restart it", c.Ports[i].Netns)
	}
	return nil
}

// asWritten writes a value as the configuration does.
func asWritten(v any) any {
	if v == "" {
		return "off"
	}
	return v
}

// putInForce opens the sockets that the configuration needs, hands the configuration to the data plane, and makes the
// ports follow. On error the old configuration and its sockets stay. After the data plane has accepted the new one,
// nothing can fail any more.
func (d *Daemon) putInForce(ctx context.Context, c *config.Config) (err error) {
	known := maps.Clone(d.probers)
	defer func() {
		for name := range d.probers {
			if err != nil && known[name] == nil {
				d.retireProber(name)
			}
		}
	}()
	numbers, err := d.number(c)
	if err != nil {
		return err
	}
	sc, err := d.switchConfig(c)
	if err != nil {
		return err
	}
	ports, err := d.portConfigs(c, numbers, true)
	if err != nil {
		return err
	}
	recorder, err := d.newFlightRecorder(c)
	if err != nil {
		return err
	}
	staged, err := d.stage(c)
	if err != nil {
		return errors.Join(err, recorder.discard())
	}
	sc.Trunks = trunkConfigs(c, numbers)
	err = d.configure(ctx, sc, ports, statics(c, numbers))
	if errors.Is(err, buffer.ErrConfig) { // perhaps because of the measured headroom: the calculated one may fit
		if ports, err = d.portConfigs(c, numbers, false); err == nil {
			err = d.configure(ctx, sc, ports, statics(c, numbers))
		}
	}
	if err != nil {
		return errors.Join(err, recorder.discard(), discardStaged(staged))
	}
	gone := d.removedNumbers(numbers)
	d.cfg, d.numbers = c, numbers
	if err := d.watchdog.configure(c, numbers, ports, gone); err != nil {
		d.warn("", "the watchdog keeps its old settings", err)
	}
	d.followConfig(staged)
	d.updateProbers(ports)
	d.installFlightRecorder(recorder)
	return nil
}

// portConfigs translates every port, by number. keep says whether ports keep their measured headroom.
func (d *Daemon) portConfigs(c *config.Config, numbers map[string]int, keep bool) (map[int]dataplane.PortConfig,
	error) {
	ports, err := portConfigs(c, numbers)
	for i := range c.Ports {
		n := numbers[c.Ports[i].Name]
		if pc, ok := ports[n]; ok {
			d.attachProber(&pc, c, &c.Ports[i], keep)
			ports[n] = pc
		}
	}
	return ports, err
}

// number gives each port a number. A port that stays keeps its number. A new port never gets the number of a port that
// leaves in the same change, because it would inherit sockets, counters and FDB entries.
func (d *Daemon) number(c *config.Config) (map[string]int, error) {
	numbers, taken := map[string]int{}, map[int]bool{}
	for _, n := range d.numbers {
		taken[n] = true
	}
	for i := range c.Ports {
		if n, ok := d.numbers[c.Ports[i].Name]; ok && !d.changesInterface(&c.Ports[i]) {
			numbers[c.Ports[i].Name] = n
		}
	}
	next := 0
	for i := range c.Ports {
		if _, ok := numbers[c.Ports[i].Name]; ok {
			continue
		}
		for taken[next] {
			next++
		}
		numbers[c.Ports[i].Name], taken[next] = next, true
	}
	if n := len(taken); n > dataplane.MaxPorts {
		return nil, c.Errorf("ports", "%d ports, those that go counted in: a switch has at most %d at a time, so "+
			"apply it in two steps, the first without the ports that go or change their interface", n,
			dataplane.MaxPorts)
	}
	return numbers, nil
}

// changesInterface tells whether a running port gets another interface, or another kind of interface. The data plane
// treats it as a new port: frames of the old interface must never count as frames of the new one.
func (d *Daemon) changesInterface(p *config.Port) bool {
	r := d.ports[p.Name]
	switch {
	case r == nil || r.socket == nil:
		return false
	case r.cfg.Kind != p.Kind:
		return true
	case r.cfg.Interface == p.Interface && r.cfg.Netns == p.Netns:
		return false
	}
	at, err := d.locate(p)
	return err != nil || !r.bound(at) // else it is the same by another name
}

// removedNumbers returns the numbers of ports that the new configuration does not have.
func (d *Daemon) removedNumbers(numbers map[string]int) (gone []int) {
	for name, n := range d.numbers {
		if next, stays := numbers[name]; !stays || next != n {
			gone = append(gone, n)
		}
	}
	return gone
}

// Close stops the switch and restores its interfaces.
func (d *Daemon) Close() error {
	defer d.journal.close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for ns := range d.watched {
		d.unwatch(ns)
	}
	errs := []error{d.flight.end()}
	if d.runner != nil {
		d.runner.Stop()
	}
	errs = append(errs, d.closeAllPorts())
	d.watchdog.close()
	if d.runner != nil {
		errs = append(errs, d.runner.Close())
	}
	for _, a := range []*runner.Alarm{d.headroomAlarm, d.scanAlarm} {
		if a != nil {
			errs = append(errs, a.Close())
		}
	}
	errs = append(errs, d.closeAssist())
	return errors.Join(append(errs, d.closeListeners())...)
}
