package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pfcswitch/cmd/internal/lab"
)

// Times of the phases of demo deadlock, since the load began.
const (
	trigger       = 500 * time.Millisecond // receivers hang from here on
	blockTime     = 250 * time.Millisecond
	surgeEnd      = 900 * time.Millisecond  // until then the ring's links are full
	loadEnd       = 1000 * time.Millisecond // of the senders where nothing helps
	settleTimeout = 2 * time.Second         // until the ring stands still after the senders
	lockUpTime    = 5 * time.Second         // for so long the lock has to outlast trigger and senders
	ringEnd       = 2200 * time.Millisecond // of the senders where the watchdog helps
	drainTime     = 800 * time.Millisecond  // until sinks end, so that the rest arrives
)

// What the watchdog of the demo is told. A hang of a receiver is shorter than what counts as a deadlock; in phase (b)
// by so much that flows stand still for longer than that because of the lock.
const (
	watchPeriod    = 100 * time.Millisecond
	watchRecovery  = 200 * time.Millisecond
	watchCount     = 2
	slowWatchCount = 4
)

func watchSettings(count int, recovery time.Duration, action string) string {
	return fmt.Sprintf("{period: %v, count: %d, recovery: %v, action: %s}", watchPeriod, count, recovery, action)
}

// A deadlockPhase is one phase, and what it has to show.
type deadlockPhase struct {
	name, title string
	lockUp      bool // frames of the lossless priority stay, or are dropped
	run         func(d *deadlockDemo, ctx context.Context, p *scenario, l *lab.Lab, r *Report) error
}

type deadlockDemo struct{ o Options }

var deadlockPhases = []deadlockPhase{
	{"a", "three switches wait for each other for ever: no watchdog", true, (*deadlockDemo).lockUpPhase},
	{"b", "the same with the watchdog, action forward", false, (*deadlockDemo).recoverPhase},
	{"c", "frames that circle for ever, by wrong routes: action drop", true, (*deadlockDemo).loopPhase},
	{"d", "a host that pauses without a gap for up to 600 ms, again and again: action forward, bystanders", false,
		(*deadlockDemo).stormPhase},
}

// Deadlock runs the phases of demo deadlock. It returns an error where a phase could not begin, or ctx ended; what
// breaks later is a failed check, and no further phase begins.
func Deadlock(ctx context.Context, o Options) (*Report, error) {
	r := newReport("deadlock", o)
	r.Seconds = lockUpTime.Seconds()
	if err := r.calibrate(ctx, &o, ringTopology); err != nil {
		return r.finish(err)
	}
	d := &deadlockDemo{o}
	for _, a := range deadlockPhases {
		o.progress(fmt.Sprintf("act %s: %s", a.name, a.title))
		whole, err := d.perform(ctx, a, r)
		if err != nil {
			return r.finish(fmt.Errorf("act %s: %w", a.name, err))
		}
		if !whole {
			break
		}
	}
	return r.finish(nil)
}

// perform runs one phase in a lab of its own. whole tells whether no process failed.
func (d *deadlockDemo) perform(ctx context.Context, a deadlockPhase, r *Report) (whole bool, err error) {
	l, err := lab.New(ctx, "deadlock."+a.name)
	if err != nil {
		return false, err
	}
	defer func() { r.checkLeftovers(a.name, closeLab(l)) }()
	p := &scenario{name: a.name, lockUp: a.lockUp, speed: d.o.Speed}
	broken := a.run(d, ctx, p, l, r)
	if err := ctx.Err(); err != nil {
		_ = p.stop()
		return false, fmt.Errorf("interrupted: %w", err)
	}
	if p.start.IsZero() && broken != nil {
		_ = p.stop() // broken is the cause
		if isRefusal(broken) {
			return false, broken
		}
		return false, &programError{a.name, broken}
	}
	if broken == nil && d.o.Enter != nil && a.name == "b" {
		d.o.Enter(ctx, enterCommands(l, p.switches))
	}
	if err := p.stop(); broken == nil {
		broken = err
	}
	r.Phases = append(r.Phases, PhaseResult{Phase: a.name, Title: a.title, LockUp: a.lockUp,
		RunQueueDelay: p.usage.runQueueDelay, Steal: p.usage.steal, CPUs: p.usage.cores})
	if broken != nil {
		r.addFailure(a.name, broken)
	}
	return broken == nil, nil
}

// openRing builds the ring and starts its switches, sinks and senders, which send until end.
func (d *deadlockDemo) openRing(ctx context.Context, p *scenario, l *lab.Lab, watchdog string, end,
	watched time.Duration) (*ring, error) {
	g := &ring{speed: p.speed, watchdog: watchdog}
	if err := g.build(l); err != nil {
		return nil, err
	}
	p.switches = g.switches
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	for k := range ringSwitches {
		if err := p.receive(g.receivers[k].node, watched, "--block-at", p.stamp(trigger), "--block-for",
			blockTime.String()); err != nil {
			return nil, err
		}
	}
	for k := range ringSwitches {
		if err := g.load(p, k, end); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// load starts the senders of switch k.
func (g *ring) load(p *scenario, k int, end time.Duration) error {
	for _, l := range ringLoads(k) {
		lasts := end
		if l.duration > 0 {
			lasts = l.duration
		}
		if err := p.send(g.senders[k].node, g.receivers[l.to].name, lasts, l.args(p.speed)...); err != nil {
			return err
		}
	}
	return nil
}

// lockUpPhase: the lock outlasts its trigger and the senders.
func (d *deadlockDemo) lockUpPhase(ctx context.Context, p *scenario, l *lab.Lab, r *Report) error {
	g, err := d.openRing(ctx, p, l, "off", loadEnd, loadEnd+settleTimeout+lockUpTime+drainTime)
	if err != nil {
		return err
	}
	p.stuck = true
	quiet, before, err := d.settleRing(ctx, p, g)
	if err != nil {
		return err
	}
	r.addPauses(p, quiet)
	if err := p.wait(ctx, quiet+lockUpTime); err != nil {
		return err
	}
	if err := p.observe(ctx); err != nil {
		return err
	}
	after := g.stuck()
	r.addPauses(p, quiet+lockUpTime)
	if err := p.collect(ctx); err != nil {
		return err
	}
	flows := p.flows()
	r.addTrigger(p, loadEnd)
	r.addLost(p, flows)
	r.add(p, flows)
	for k, s := range g.switches {
		to, sent := s.peerOf("out"), after[k].sent-before[k].sent
		lasts := before[k].held > 0 && after[k].held == before[k].held && sent == 0
		r.control(p.name, fmt.Sprintf("%s: frames that wait for %s after the senders, and %v later, and frames sent "+
			"meanwhile", s.name, to, lockUpTime),
			"the same, more than 0, and 0", fmt.Sprintf("%d, %d, %d", before[k].held, after[k].held, sent), lasts,
			before[k].held > after[k].held && sent == 0)
		in, out := s.balance()
		r.hard(p.name, TopicCounters, s.name+": received + copies = sent + dropped + held", fmt.Sprint(in),
			fmt.Sprint(out), in == out)
	}
	return nil
}

// settleRing waits, after the senders have ended, until no frame moves in the ring. It returns the held frames.
func (d *deadlockDemo) settleRing(ctx context.Context, p *scenario, g *ring) (at time.Duration, held []hold,
	err error) {
	for at = loadEnd + drainTime; ; at += drainTime {
		if err := p.wait(ctx, at); err != nil {
			return at, nil, err
		}
		if err := p.observe(ctx); err != nil {
			return at, nil, err
		}
		last := held
		if held = g.stuck(); slices.Equal(held, last) || at+drainTime > loadEnd+settleTimeout {
			return at, held, nil
		}
	}
}

// A hold is what the port of a switch to the next holds, and has sent.
type hold struct {
	held int
	sent uint64
}

func (g *ring) stuck() (all []hold) {
	for _, s := range g.switches {
		all = append(all, hold{s.losslessQueue("out").Frames, s.transmitted("out")})
	}
	return all
}

// recoverPhase: the watchdog breaks the lock, and everything arrives.
func (d *deadlockDemo) recoverPhase(ctx context.Context, p *scenario, l *lab.Lab, r *Report) error {
	if _, err := d.openRing(ctx, p, l, watchSettings(slowWatchCount, watchRecovery, "forward"), ringEnd,
		ringEnd+drainTime); err != nil {
		return err
	}
	const locked = trigger + blockTime + 30*time.Millisecond // the receivers run again, and nothing was detected yet
	if err := p.wait(ctx, locked); err != nil {
		return err
	}
	if err := p.observe(ctx); err != nil {
		return err
	}
	r.addPauses(p, locked)
	if err := p.collect(ctx); err != nil {
		return err
	}
	flows := p.flows()
	r.addTrigger(p, ringEnd)
	r.addEvents(p)
	r.addStalls(p, flows)
	r.add(p, flows)
	r.checkDetected(p)
	r.checkArrived(p, flows, ringEnd)
	r.checkEmpty(p)
	limit := slowWatchCount*watchPeriod + watchPeriod + watchRecovery
	for _, f := range flows {
		r.soft(p.name, TopicRate, fmt.Sprintf("%s, priority %d: longest standstill", f.Name, f.Priority),
			fmt.Sprintf("at most %v", limit),
			f.gap.Round(time.Millisecond).String(), (f.gap-limit).Seconds()/ringEnd.Seconds(), p.usage.shortage)
	}
	return nil
}

// enterCommands say how a user gets into the lab.
func enterCommands(l *lab.Lab, switches []*switchNode) (all []string) {
	for _, n := range l.Nodes() {
		all = append(all, fmt.Sprintf("%s: %s", n.Name(), n.EnterCommand()))
	}
	for _, s := range switches {
		all = append(all, fmt.Sprintf("%s: pfcswitch show watchdog -s %s", s.name, s.socket))
	}
	return all
}
