package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pfcswitch/cmd/internal/lab"
)

// A phase is one run in a lab of its own: switches, hosts that send and receive, and the checks of what came of it.
type phase struct {
	name, title string
	control     bool          // the run has to lose frames
	lockUp      bool          // the lossless priority is locked up for good, or frames of it are dropped to end that
	stuck       bool          // what is locked up stays in the buffers
	off         bool          // flow control at the switches
	ignorePFC   bool          // by the senders
	seconds     time.Duration // of the load; 0: every sender has its own
	lasts       time.Duration // the longest of those
	lead        time.Duration // for senders to find their sinks
	speed       int64         // of hosts' ports, bit/s
	noSpeed     bool          // they have none, and speed is what buffers are made for

	build   func(*phase)
	prepare func(context.Context) error         // after the switches have started, before the hosts do
	during  func(*phase, context.Context) error // while frames flow
	trial   func(*phase, context.Context) error // the load of a calibration, in the place of senders
	judge   func(*phase)                        // adds the phase's checks to the report
	enter   func(ctx context.Context, commands []string)
	course  *course // nil: nobody wants plots

	report   *Report
	lab      *lab.Lab
	dir      string // of configurations and sockets
	buildErr error  // after which nothing more is built
	switches []*switchNode
	senders  []*endpoint
	sinks    []*endpoint
	storms   []*endpoint // hosts that pause without end

	start     time.Time // of the load
	usage     usage     // of the machine, while the load lasted
	flows     []flow
	transfers []Transfer // of demo host
	held      [2][]hold  // of demo deadlock: after the senders, and later
}

// Times of a phase around its load.
const (
	startDelay   = 1500 * time.Millisecond // for senders to find the sink
	warmUp       = 500 * time.Millisecond  // of the load, before rates are measured
	coolDown     = 100 * time.Millisecond
	startTimeout = 30 * time.Second // until all switches are up
	phaseTimeout = 30 * time.Second // beyond the load
)

// performPhases runs phases one after the other, until one breaks. Results come as they are there.
func performPhases(ctx context.Context, o Options, phases []*phase, r *Report) error {
	s := &schedule{phases: phases}
	for i, p := range phases {
		s.begin(i, time.Now())
		stop := o.show(s)
		if enter := p.enter; enter != nil {
			p.enter = func(ctx context.Context, commands []string) {
				stop()
				enter(ctx, commands)
			}
		}
		if o.Record {
			p.course = &course{}
		}
		whole, err := p.perform(ctx, r)
		stop()
		if err == nil {
			err = o.result(func(out io.Writer) error { return r.phaseText(out, r.Phases[len(r.Phases)-1]) })
		}
		if err != nil {
			return fmt.Errorf("phase %s: %w", p.name, err)
		}
		if !whole {
			return nil
		}
	}
	r.whole = true
	return nil
}

// keepLast moves the phase that the user wants to enter to the end.
func (o *Options) keepLast(name string, phases []*phase) []*phase {
	if o.Enter == nil {
		return phases
	}
	at := slices.IndexFunc(phases, func(p *phase) bool { return p.name == name })
	phases[at].enter = o.Enter
	return slices.Concat(phases[:at], phases[at+1:], phases[at:at+1])
}

// perform builds the phase's lab, runs the load and adds the results to the report. whole tells whether no process
// failed. An error means that the phase could not begin, or that ctx ended.
func (p *phase) perform(ctx context.Context, r *Report) (whole bool, err error) {
	p.report = r
	if err := p.open(ctx, r.Demo+"."+p.name); err != nil {
		return false, err
	}
	defer func() { r.checkLeftovers(p.name, p.close()) }()
	if err := p.begin(ctx); err != nil {
		if isRefusal(err) || ctx.Err() != nil || p.buildErr != nil {
			return false, err
		}
		return false, &programError{p.name, err}
	}
	broken := p.run(ctx)
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("interrupted: %w", err)
	}
	r.Phases = append(r.Phases, p.result())
	if broken == nil {
		p.addResults()
		p.judge(p)
	}
	if p.enter != nil {
		p.enter(ctx, p.enterCommands())
	}
	if err := p.stop(); broken == nil {
		broken = err
	}
	if broken != nil {
		r.addFailure(p.name, broken)
	}
	return broken == nil, nil
}

// open makes the lab and builds what the phase has.
func (p *phase) open(ctx context.Context, name string) (err error) {
	if p.lab, err = lab.New(ctx, name); err != nil {
		return err
	}
	if p.dir, err = os.MkdirTemp("", "pfcswitch-demo-"); err != nil {
		return errors.Join(err, p.lab.Close())
	}
	p.build(p)
	return nil
}

// close ends what still runs and makes sure that no namespace of the lab is left.
func (p *phase) close() error {
	nodes := p.lab.Nodes()
	errs := []error{p.lab.Close(), os.RemoveAll(p.dir)}
	for _, n := range nodes {
		if _, err := os.Lstat(n.Path()); err == nil {
			errs = append(errs, fmt.Errorf("namespace %s is still there", n.Namespace()))
		}
	}
	return errors.Join(errs...)
}

// begin starts the switches, and the hosts, whose load begins a little later.
func (p *phase) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.startSwitches(ctx); err != nil {
		return err
	}
	if p.prepare != nil {
		if err := p.prepare(ctx); err != nil {
			return err
		}
	}
	return p.startHosts()
}

func (p *phase) startSwitches(ctx context.Context) error {
	if p.buildErr != nil {
		return p.buildErr
	}
	return each(p.switches, func(s *switchNode) error { return s.start(ctx, p.dir) })
}

func each(switches []*switchNode, do func(*switchNode) error) error {
	return concurrently(len(switches), func(i int) error { return do(switches[i]) })
}

func concurrently(n int, do func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// run waits for the load, lets the switches settle and observes them. It ends early where a switch does.
func (p *phase) run(ctx context.Context) error {
	limit := p.seconds + phaseTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it had %v", limit))
	defer cancel()
	ctx, ended := context.WithCancelCause(ctx)
	defer ended(nil)
	for _, s := range p.switches {
		go s.runWatch(ctx, ended)
	}
	if err := p.wait(ctx, 0); err != nil {
		return err
	}
	if p.course != nil {
		recording, end := context.WithCancel(ctx)
		var recorded sync.WaitGroup
		recorded.Go(func() { p.record(recording) })
		defer recorded.Wait()
		defer end()
	}
	m, err := startMeter(p.processes())
	if err != nil {
		return err
	}
	if p.during != nil {
		if err := p.during(p, ctx); err != nil {
			return err
		}
	}
	if err := p.collect(ctx); err != nil {
		return err
	}
	if p.usage, err = m.read(cmp.Or(p.seconds, time.Since(p.start))); err != nil {
		return err
	}
	for _, e := range p.senders {
		if e.sent.Behind > p.usage.behind {
			p.usage.behind, p.usage.slowestSender = e.sent.Behind, e.name
		}
	}
	if !p.stuck {
		if err := each(p.switches, func(s *switchNode) error { return s.waitDrained(ctx) }); err != nil {
			return err
		}
	}
	return p.observe(ctx)
}

// wait sleeps until a moment of the load.
func (p *phase) wait(ctx context.Context, after time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(p.start.Add(after))):
		return nil
	}
}

// observe asks every switch.
func (p *phase) observe(ctx context.Context) error {
	return each(p.switches, func(s *switchNode) error { return s.observe(ctx) })
}

// stop ends all started processes. Its error names those that failed.
func (p *phase) stop() error {
	var errs []error
	for _, e := range p.endpoints() {
		errs = append(errs, e.stop(time.Second))
	}
	return errors.Join(append(errs, each(p.switches, (*switchNode).stop))...)
}

func (p *phase) endpoints() []*endpoint { return slices.Concat(p.senders, p.sinks, p.storms) }

// processes are those that the machine has to give their CPU time. A storm is not judged.
func (p *phase) processes() (all []*lab.Process) {
	for _, s := range p.switches {
		all = append(all, s.process)
	}
	for _, e := range slices.Concat(p.senders, p.sinks) {
		all = append(all, e.process)
	}
	return all
}

func (p *phase) result() PhaseResult {
	u := &p.usage
	result := PhaseResult{Phase: p.name, Title: p.title, LockUp: p.lockUp, Control: p.control,
		RunQueueDelay: u.runQueueDelay, Steal: u.steal, CPUs: u.cores, Behind: u.behind, course: p.course}
	for _, e := range p.senders {
		result.LongestStall = max(result.LongestStall, e.sent.LongestStall)
	}
	return result
}

// enterCommands say how a user gets into the lab.
func (p *phase) enterCommands() (all []string) {
	for _, n := range p.lab.Nodes() {
		all = append(all, fmt.Sprintf("%s: %s", n.Name(), n.EnterCommand()))
	}
	for _, s := range p.switches {
		all = append(all, fmt.Sprintf("%s: pfcswitch show pfc -s %s", s.name, s.socket))
	}
	return all
}

// addSwitch makes a switch with settings for the whole of it, whose ports come with its links.
func (p *phase) addSwitch(name, settings string) *switchNode {
	s := &switchNode{name: name, node: p.addNode(name), socket: filepath.Join(p.dir, name+".sock")}
	s.config = func() string { return s.head() + settings + s.portLines(p.flowControl(p.off)) }
	p.switches = append(p.switches, s)
	return s
}

func (p *phase) flowControl(off bool) string {
	if off {
		return "off"
	}
	return "pfc"
}

func (p *phase) addNode(name string) (n *lab.Node) {
	if p.buildErr == nil {
		n, p.buildErr = p.lab.Node(name)
	}
	return n
}

// addHost makes a host at a port of a switch. mac is that of the host; nil is a random one.
func (p *phase) addHost(name string, s *switchNode, port string, speed int64, mac net.HardwareAddr) station {
	h := station{name: name, node: p.addNode(name), speed: speed}
	p.link(s, port, speed, h.node, hostInterface, mac)
	return h
}

func (p *phase) joinSwitches(a *switchNode, aPort string, b *switchNode, bPort string, speed int64) {
	p.link(a, aPort, speed, b.node, bPort, nil)
	b.ports = append(b.ports, switchPort{name: bPort, speed: speed, peer: a.node, peerInterface: aPort})
}

func (p *phase) link(s *switchNode, port string, speed int64, peer *lab.Node, peerInterface string,
	mac net.HardwareAddr) {
	s.ports = append(s.ports, switchPort{name: port, speed: speed, peer: peer, peerInterface: peerInterface})
	if p.buildErr == nil {
		o := lab.LinkOptions{MACs: [2]net.HardwareAddr{nil, mac}}
		p.buildErr = p.lab.Link(s.node, port, peer, peerInterface, o)
	}
}
