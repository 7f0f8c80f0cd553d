package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"pfcswitch/macctl"
)

// Options of a demo.
type Options struct {
	Seconds float64 // of load in each lossless phase
	Speed   int64   // bit/s of the hosts' ports; 0: the highest that the machine carries
	NoSpeed bool    // demo incast: the hosts' ports have no speed; Speed then sizes buffers and says what is a load
	Quick   bool    // demo headroom: some lengths and speeds only, one run each
	// Enter, if set, is called when the load of one phase is over, while its switches still run, with the commands that
	// enter its nodes and ask its switches; the lab stays until it returns. Then that phase is the last one.
	Enter func(ctx context.Context, commands []string)
	// Progress, if set, gets how far the demo is: a line as each phase begins, and every Refresh again; 0: once.
	Progress func(text string)
	Refresh  time.Duration
	Record   bool // what Report.Page draws
	// Results, if set, gets the text of the report but for its end, part by part as phases end.
	Results func(text string) error
}

// result gives a part of the report's text to Results.
func (o *Options) result(write func(io.Writer) error) error {
	if o.Results == nil {
		return nil
	}
	var text strings.Builder
	if err := write(&text); err != nil {
		return err
	}
	return o.Results(text.String())
}

func (o *Options) progress(text string) {
	if o.Progress != nil {
		o.Progress(text)
	}
}

// frameOctets is the length of a sender's frames, without FCS.
const frameOctets = 1514

// The lossless priority of the demos, and how many senders there are.
const (
	losslessPriority = 3
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
	if o.NoSpeed {
		o.Speed = macctl.NominalSpeed
	}
	r := newReport("incast", o)
	if err := r.calibrate(ctx, &o, &phase{name: "b", build: (*phase).buildIncast}); err != nil {
		return r.finish(err)
	}
	return r.finish(performPhases(ctx, o, incastPhases(o), r))
}

func newReport(name string, o Options) *Report {
	return &Report{Schema: 1, Demo: name, Seconds: o.Seconds, Speed: o.Speed, Checks: []Check{}, Flows: []Flow{},
		Switches: []SwitchResult{}, Phases: []PhaseResult{}}
}

func (o *Options) load() time.Duration { return time.Duration(o.Seconds * float64(time.Second)) }

// incastPhases returns the phases in the order in which they run.
func incastPhases(o Options) []*phase {
	control := max(2*time.Second, o.load()/2)
	all := []*phase{
		{name: "a", title: "three senders, one receiver, one switch", seconds: o.load()},
		{name: "b", title: "two switches in line: the pause spreads to every sender", seconds: o.load()},
		{name: "c1", title: "control: as (a), but the senders do not obey PFC, and no frame waits (ring_hold: off)",
			control: true, ignorePFC: true, seconds: control},
		{name: "c2", title: "control: as (a), but flow control is off", control: true, off: true, seconds: control},
	}
	for _, p := range all {
		p.noSpeed = o.NoSpeed
		p.speed, p.lead, p.build, p.judge = o.Speed, startDelay, (*phase).buildIncast, (*phase).judgeIncast
	}
	return o.keepLast("b", all)
}

// buildIncast makes the nodes and links: hosts h1, h2, … at switch s1, and the receiver there too, or at s2 in phase
// (b), behind a link three times as fast.
func (p *phase) buildIncast() {
	hold := "on"
	if p.ignorePFC { // else slow ports have room for all frames of the phase
		hold = "off"
	}
	keys := fmt.Sprintf("preset: roce\nbuffer: {ring_hold: %s}\n", hold)
	s1 := p.addSwitch("s1", keys)
	last, speed := s1, p.speed
	if p.noSpeed {
		speed = 0
	}
	if p.name == "b" {
		last = p.addSwitch("s2", keys)
		p.joinSwitches(s1, "up", last, "down", senders*speed)
	}
	receiver := fmt.Sprintf("h%d", senders+1)
	for i := range senders {
		h := p.addHost(fmt.Sprintf("h%d", i+1), s1, fmt.Sprintf("p%d", i+1), speed, nil)
		p.addSender(h, receiver, sends("3", "0"))
	}
	p.addSink(p.addHost(receiver, last, fmt.Sprintf("p%d", senders+1), speed, nil), nil)
}
