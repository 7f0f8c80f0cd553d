package demo

import (
	"context"
	"fmt"
	"time"

	"pfcswitch/cmd/internal/lab"
)

// Options of a demo.
type Options struct {
	Seconds float64 // of load in each lossless phase
	Speed   int64   // bit/s of the hosts' ports; 0: the highest that the machine carries
	Quick   bool    // demo headroom: some lengths and speeds only, one run each
	// Enter, if set, is called when the load of phase (b) is over, while its switches still run, with the commands that
	// enter its nodes and ask its switches; the lab stays until it returns. Then phase (b) is the last one.
	Enter func(ctx context.Context, commands []string)
	// Progress, if set, gets messages about the progress.
	Progress func(text string)
}

func (o *Options) progress(text string) {
	if o.Progress != nil {
		o.Progress(text)
	}
}

// frameOctets is the length of a sender's frames, without FCS.
const frameOctets = 1514

// The priorities of the demo, and how many senders there are.
const (
	losslessPriority = 3
	lossyPriority    = 0
	senders          = 3
)

// Limits of what is judged, as shares.
const (
	fillLimit     = 0.95 // of the lossless share of the bottleneck
	fairnessLimit = 0.10 // between senders
	lossLimit     = 0.10 // difference to the loss that the weights say
	overLimit     = 0.05 // by which a bottleneck may seem to carry more than its speed
)

// Incast runs the phases of demo incast: (a) three saturated senders, one receiver, one switch; (b) two switches in
// line; (c) control runs without flow control, which have to lose lossless frames, else the demo proves nothing. It
// returns an error where a phase could not begin, or ctx ended; what breaks later is a failed check, and no further
// phase begins.
func Incast(ctx context.Context, o Options) (*Report, error) {
	r := newReport("incast", o)
	if err := r.calibrate(ctx, &o, (&phase{name: "b", build: buildIncast}).topologyOf); err != nil {
		return r.finish(err)
	}
	return performPhases(ctx, o, incastPhases(o), r)
}

// performPhases runs phases one after the other, until one breaks.
func performPhases(ctx context.Context, o Options, phases []*phase, r *Report) (*Report, error) {
	for _, a := range phases {
		whole, err := perform(ctx, o, a, r)
		if err != nil {
			return r.finish(err)
		}
		if !whole {
			break
		}
	}
	return r.finish(nil)
}

// addTo adds the results of the phase to the report.
func (a *phase) addTo(r *Report) {
	if a.verdict != nil {
		a.verdict(r)
		return
	}
	a.report(r)
	a.judge(a, r)
}

func newReport(name string, o Options) *Report {
	return &Report{Schema: 1, Demo: name, Seconds: o.Seconds, Speed: o.Speed, Checks: []Check{}, Flows: []Flow{},
		Switches: []SwitchResult{}, Phases: []PhaseResult{}}
}

// perform announces a phase and runs it.
func perform(ctx context.Context, o Options, a *phase, r *Report) (whole bool, err error) {
	o.progress(fmt.Sprintf("act %s: %s (%v)", a.name, a.title, a.seconds))
	if whole, err = runPhase(ctx, a, r); err != nil {
		return false, fmt.Errorf("act %s: %w", a.name, err)
	}
	return whole, nil
}

// incastPhases returns the phases in the order in which they run.
func incastPhases(o Options) []*phase {
	seconds := time.Duration(o.Seconds * float64(time.Second))
	control := max(2*time.Second, seconds/2)
	all := []*phase{
		{name: "a", title: "three senders, one receiver, one switch", obey: true, flowControl: "pfc", seconds: seconds},
		{name: "b", title: "two switches in line: the pause spreads to every sender", obey: true, flowControl: "pfc",
			seconds: seconds},
		{name: "c1", title: "control: as (a), but the senders do not obey PFC", control: true, flowControl: "pfc",
			seconds: control},
		{name: "c2", title: "control: as (a), but flow control is off", control: true, obey: true, flowControl: "off",
			seconds: control},
	}
	for _, a := range all {
		a.speed, a.build, a.judge = o.Speed, buildIncast, judgeIncast
	}
	if o.Enter != nil {
		all[1].enter = o.Enter
		all = append(append(all[:1:1], all[2:]...), all[1])
	}
	return all
}

// runPhase builds the phase's lab, runs it and adds its results to the report. whole tells whether no process failed.
func runPhase(ctx context.Context, a *phase, r *Report) (whole bool, err error) {
	if a.lab, err = lab.New(ctx, r.Demo+"."+a.name); err != nil {
		return false, err
	}
	defer func() { r.checkLeftovers(a.name, closeLab(a.lab)) }()
	if err := a.build(a); err != nil {
		return false, err
	}
	if err := a.startSwitches(ctx); err != nil {
		_ = a.stop() // err is the cause
		if isRefusal(err) || ctx.Err() != nil {
			return false, err
		}
		return false, &programError{a.name, err}
	}
	broken := a.run(ctx)
	if err := ctx.Err(); err != nil {
		_ = a.stop()
		return false, fmt.Errorf("interrupted: %w", err)
	}
	if broken == nil {
		a.addTo(r)
	} else {
		r.Phases = append(r.Phases, PhaseResult{Phase: a.name, Title: a.title, Control: a.control})
	}
	if a.enter != nil {
		a.enter(ctx, a.enterCommands())
	}
	if err := a.stop(); broken == nil {
		broken = err
	}
	if broken != nil {
		r.addFailure(a.name, broken)
	}
	return broken == nil, nil
}

// buildIncast makes the nodes and links: hosts h1, h2, … at switch s1, and the receiver there too, or at s2 in phase
// (b), behind a link three times as fast.
func buildIncast(a *phase) error {
	s1, err := a.addSwitch("s1")
	if err != nil {
		return err
	}
	s1.extraConfig = a.pools()
	last := s1
	if a.name == "b" {
		if last, err = a.addSwitch("s2"); err != nil {
			return err
		}
		last.extraConfig = a.pools()
		if err := a.link(s1, last.node, "up", "down", senders*a.speed); err != nil {
			return err
		}
		last.ports = append(last.ports, switchPort{name: "down", speed: senders * a.speed, peer: s1.node,
			peerInterface: "up"})
	}
	for i := range senders {
		h, err := a.addHost(fmt.Sprintf("h%d", i+1))
		if err != nil {
			return err
		}
		h.offers = constantOffer("3", "0")
		a.senders = append(a.senders, h)
		if err := a.link(s1, h.node, fmt.Sprintf("p%d", i+1), hostInterface, a.speed); err != nil {
			return err
		}
	}
	if a.receiver, err = a.addHost(fmt.Sprintf("h%d", senders+1)); err != nil {
		return err
	}
	return a.link(last, a.receiver.node, fmt.Sprintf("p%d", senders+1), hostInterface, a.speed)
}

// pools are the switch's buffers in the demo: what private, headroom and a few frames take, and 50 ms of the hosts'
// speed. So a queue is full within a second, however slow the ports are.
func (a *phase) pools() string {
	return fmt.Sprintf("buffer: {lossless: {size: %d}, lossy: {size: %d}}\n", a.poolOctets(), a.poolOctets())
}

func (a *phase) poolOctets() int64 { return 256<<10 + a.speed/8/20 }

func (a *phase) addSwitch(name string) (*switchNode, error) {
	n, err := a.lab.Node(name)
	if err != nil {
		return nil, err
	}
	s := &switchNode{name: name, node: n}
	a.switches = append(a.switches, s)
	return s, nil
}

func (a *phase) addHost(name string) (*host, error) {
	n, err := a.lab.Node(name)
	return &host{name: name, node: n, speed: a.speed}, err
}

func (a *phase) link(s *switchNode, peer *lab.Node, port, peerInterface string, speed int64) error {
	s.ports = append(s.ports, switchPort{name: port, speed: speed, peer: peer, peerInterface: peerInterface})
	return a.lab.Link(s.node, port, peer, peerInterface, lab.LinkOptions{})
}

func (a *phase) enterCommands() (all []string) {
	for _, n := range a.lab.Nodes() {
		all = append(all, fmt.Sprintf("%s: %s", n.Name(), n.EnterCommand()))
	}
	for _, s := range a.switches {
		all = append(all, fmt.Sprintf("%s: pfcswitch show pfc -s %s", s.name, s.socket))
	}
	return all
}
