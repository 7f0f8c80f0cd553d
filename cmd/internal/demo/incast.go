package demo

import (
	"context"
	"fmt"
	"time"

	"pfcswitch/cmd/internal/lab"
)

// Options of a demo.
type Options struct {
	Seconds float64 // of load in each lossless act
	Speed   int64   // bit/s of the hosts' ports; 0: the highest that the machine carries
	Quick   bool    // demo headroom: some lengths and speeds only, one run each
	// Enter, if set, is called when the load of act (b) is over, while its switches still run, with the commands that
	// enter its nodes and ask its switches; the lab stays until it returns. Then act (b) is the last one.
	Enter func(ctx context.Context, commands []string)
	// Progress, if set, is told what is going on.
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

// Incast runs the acts of demo incast: (a) three saturated senders, one receiver, one switch; (b) two switches in line;
// (c) control runs without flow control, which have to lose lossless frames, else the demo proves nothing. It returns an
// error where an act could not begin, or ctx ended; what breaks later is a failed check, and no further act begins.
func Incast(ctx context.Context, o Options) (*Report, error) {
	r := newReport("incast", o)
	if err := r.calibrate(ctx, &o, (&act{name: "b", build: buildIncast}).benchOf); err != nil {
		return r.end(err)
	}
	return performAll(ctx, o, acts(o), r)
}

// performAll runs acts one after the other, until one breaks.
func performAll(ctx context.Context, o Options, acts []*act, r *Report) (*Report, error) {
	for _, a := range acts {
		whole, err := perform(ctx, o, a, r)
		if err != nil {
			return r.end(err)
		}
		if !whole {
			break
		}
	}
	return r.end(nil)
}

// show adds what the act showed to the report.
func (a *act) show(r *Report) {
	if a.verdict != nil {
		a.verdict(r)
		return
	}
	a.report(r)
	a.judge(a, r)
}

func newReport(name string, o Options) *Report {
	return &Report{Schema: 1, Demo: name, Seconds: o.Seconds, Speed: o.Speed, Checks: []Check{}, Flows: []Flow{}, Switches: []SwitchResult{}, Acts: []ActResult{}}
}

// perform tells what comes and stages it.
func perform(ctx context.Context, o Options, a *act, r *Report) (whole bool, err error) {
	o.progress(fmt.Sprintf("act %s: %s (%v)", a.name, a.title, a.seconds))
	if whole, err = stage(ctx, a, r); err != nil {
		return false, fmt.Errorf("act %s: %w", a.name, err)
	}
	return whole, nil
}

// acts returns the acts in the order in which they run.
func acts(o Options) []*act {
	seconds := time.Duration(o.Seconds * float64(time.Second))
	control := max(2*time.Second, seconds/2)
	all := []*act{
		{name: "a", title: "three senders, one receiver, one switch", obey: true, flowControl: "pfc", seconds: seconds},
		{name: "b", title: "two switches in line: the pause spreads to every sender", obey: true, flowControl: "pfc", seconds: seconds},
		{name: "c1", title: "control: as (a), but the senders do not obey PFC", control: true, flowControl: "pfc", seconds: control},
		{name: "c2", title: "control: as (a), but flow control is off", control: true, obey: true, flowControl: "off", seconds: control},
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

// stage builds the act's lab, runs it and adds what it showed to the report. whole tells whether all its processes did
// what they had to.
func stage(ctx context.Context, a *act, r *Report) (whole bool, err error) {
	if a.lab, err = lab.New(ctx, r.Demo+"."+a.name); err != nil {
		return false, err
	}
	defer func() { r.left(a.name, takeDown(a.lab)) }()
	if err := a.build(a); err != nil {
		return false, err
	}
	if err := a.begin(ctx); err != nil {
		_ = a.stop() // err says what is the matter
		if refused(err) || ctx.Err() != nil {
			return false, err
		}
		return false, &fault{a.name, err}
	}
	broken := a.run(ctx)
	if err := ctx.Err(); err != nil {
		_ = a.stop()
		return false, fmt.Errorf("interrupted: %w", err)
	}
	if broken == nil {
		a.show(r)
	} else {
		r.Acts = append(r.Acts, ActResult{Act: a.name, Title: a.title, Control: a.control})
	}
	if a.enter != nil {
		a.enter(ctx, a.enterCommands())
	}
	if err := a.stop(); broken == nil {
		broken = err
	}
	if broken != nil {
		r.broke(a.name, broken)
	}
	return broken == nil, nil
}

// buildIncast makes the nodes and links: hosts h1, h2, … at switch s1, and the receiver there too, or at s2 in act (b), behind
// a link three times as fast.
func buildIncast(a *act) error {
	s1, err := a.addSwitch("s1")
	if err != nil {
		return err
	}
	s1.more = a.pools()
	last := s1
	if a.name == "b" {
		if last, err = a.addSwitch("s2"); err != nil {
			return err
		}
		last.more = a.pools()
		if err := a.link(s1, last.node, "up", "down", senders*a.speed); err != nil {
			return err
		}
		last.ports = append(last.ports, switchPort{name: "down", speed: senders * a.speed, peer: s1.node, peerI: "up"})
	}
	for i := range senders {
		h, err := a.addHost(fmt.Sprintf("h%d", i+1))
		if err != nil {
			return err
		}
		h.offers = offering("3", "0")
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

// pools are the switch's buffers in the demo: what private, headroom and a few frames take, and 50 ms of the hosts' speed.
// So a queue is full within a second, however slow the ports are.
func (a *act) pools() string {
	return fmt.Sprintf("buffer: {lossless: {size: %d}, lossy: {size: %d}}\n", a.poolOctets(), a.poolOctets())
}

func (a *act) poolOctets() int64 { return 256<<10 + a.speed/8/20 }

func (a *act) addSwitch(name string) (*switchNode, error) {
	n, err := a.lab.Node(name)
	if err != nil {
		return nil, err
	}
	s := &switchNode{name: name, node: n}
	a.switches = append(a.switches, s)
	return s, nil
}

func (a *act) addHost(name string) (*host, error) {
	n, err := a.lab.Node(name)
	return &host{name: name, node: n, speed: a.speed}, err
}

func (a *act) link(s *switchNode, peer *lab.Node, port, peerInterface string, speed int64) error {
	s.ports = append(s.ports, switchPort{name: port, speed: speed, peer: peer, peerI: peerInterface})
	return a.lab.Link(s.node, port, peer, peerInterface, lab.LinkOptions{})
}

func (a *act) enterCommands() (all []string) {
	for _, n := range a.lab.Nodes() {
		all = append(all, fmt.Sprintf("%s: %s", n.Name(), n.EnterCommand()))
	}
	for _, s := range a.switches {
		all = append(all, fmt.Sprintf("%s: pfcswitch show pfc -s %s", s.name, s.socket))
	}
	return all
}
