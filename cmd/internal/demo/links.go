package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pfcswitch/cmd/internal/api"
)

// A linkPhase is one run of demo headroom:
//
//	h1 ─┐
//	    s1 ══ link with a delay ══ s2 ── h3
//	h2 ─┘
//
// The senders send at full speed to a receiver that blocks, so that s2 fills up and sends XOFF to s1. The receiver then
// reads on and blocks again until there are enough XOFFs.
type linkPhase struct {
	phase

	cable    cable
	block    blocking         // of the receiver
	grow     bool             // the delay grows while frames flow
	grown    time.Duration    // by this much
	steps    int              // in so many steps while the load lasted
	measured api.HeadroomPort // of s2 before the load
	// by which half of the frames left the delay lines of both ends later than they had to, by then
	idleDelayLineLate time.Duration
}

// A blocking is a receiver that blocks periodically during the load: it pauses its peer, then reads for a while.
type blocking struct {
	blocked, read time.Duration
	times         int
}

func (b blocking) every() time.Duration { return b.blocked + b.read }

// A cable is a length and what it delays, at 5 ns/m.
type cable struct {
	length string
	delay  time.Duration
}

// linkStartDelay is how long before the load the endpoints start: only three start.
const linkStartDelay = 700 * time.Millisecond

// measuringInterval is the measuring interval of the switches: short, so that a run is short.
const measuringInterval = 100 * time.Millisecond

// growSteps is how often the delay grows, by a tenth of the headroom's time each interval.
const growSteps = 10

// growAfter is the time of the load before the delay grows: the receiver has blocked a few times.
const growAfter = 200 * time.Millisecond

// The link's port at s1 and s2.
const (
	nearPort = "up"
	farPort  = "down"
)

// Links runs demo headroom: links of several lengths and speeds, on each of which the switches measure the headroom,
// set it, and are then made to use it. A control run with a third of what was used and nothing to fall back on has to
// lose frames. Errors are as for Incast.
func Links(ctx context.Context, o Options) (*Report, error) {
	if o.Speed != 0 && o.Speed < minLinkSpeed {
		return nil, fmt.Errorf("links of %s carry no frame that comes after XOFF: demo headroom takes %s or more",
			rateName(o.Speed), rateName(minLinkSpeed))
	}
	r := newReport("headroom", o)
	r.Quick = o.Quick
	var phases []*phase
	for _, l := range linkPhases(o) {
		phases = append(phases, &l.phase)
	}
	if err := performPhases(ctx, o, phases, r); err != nil {
		return r.finish(err)
	}
	judgeLinks(r)
	return r.finish(nil)
}

// The cables on which the headroom is judged, and those of double length, which only show that the measurement grows
// with the link.
var (
	cables  = []cable{{"0 m", 0}, {"100 m", 500}, {"10 km", 50 * time.Microsecond}, {"100 km", 500 * time.Microsecond}}
	doubled = []cable{{"20 km", 100 * time.Microsecond}, {"200 km", time.Millisecond}}
	growing = cable{"10 km+", 50 * time.Microsecond}
)

// linkRuns is how often each of the cables runs, since one run proves little of how generous a headroom is.
const linkRuns = 5

// linkSpeeds are the speeds of the links: 100 Mbit/s and 1 Gbit/s, or the user's. The demo judges octets after XOFF,
// not rates, so they do not depend on the machine.
func linkSpeeds(o Options) (slow, fast int64) {
	if o.Speed != 0 {
		return o.Speed, o.Speed
	}
	return 1e8, 1e9
}

// minLinkSpeed lets some frames be in flight on the longest cable that is judged: a control run has to lose them.
const minLinkSpeed = 50_000_000

// controlCable is the shortest cable with several frames in flight when XOFF leaves.
func controlCable(speed int64) cable {
	for _, c := range cables {
		if bytesIn(speed, int64(2*c.delay)) >= 4*largestFrame {
			return c
		}
	}
	return cables[len(cables)-1]
}

// linkPhases returns the runs in their order: the last one is the control.
func linkPhases(o Options) (all []*linkPhase) {
	add := func(c cable, speed int64, runs int, change func(*linkPhase)) {
		for i := range runs {
			l := &linkPhase{cable: c}
			l.name, l.speed, l.lead = fmt.Sprint(len(all)+1), speed, linkStartDelay
			l.build, l.prepare, l.judge = func(*phase) { l.buildLink() }, l.waitMeasured, func(*phase) { l.judgeLink() }
			l.title = fmt.Sprintf("%s of cable at %s", c.length, rateName(speed))
			if runs > 1 {
				l.title += fmt.Sprintf(", run %d of %d", i+1, runs)
			}
			if change != nil {
				change(l)
			}
			l.setBlocking(o.Seconds)
			all = append(all, l)
		}
	}
	slow, fast := linkSpeeds(o)
	if o.Quick {
		add(cables[0], fast, 1, nil)
		add(cables[2], fast, 1, nil)
		add(doubled[0], fast, 1, nil)
		add(cables[3], slow, 1, nil)
	} else {
		for _, speed := range slices.Compact([]int64{slow, fast}) {
			for _, c := range cables {
				add(c, speed, linkRuns, nil)
			}
			for _, c := range doubled {
				add(c, speed, 1, nil)
			}
		}
	}
	add(growing, fast, 1, func(l *linkPhase) {
		l.title = fmt.Sprintf("10 km of cable at %s, and growing", rateName(fast))
		l.grow, l.during = true, func(_ *phase, ctx context.Context) error { return l.growDelay(ctx) }
	})
	c := controlCable(fast)
	add(c, fast, 1, func(l *linkPhase) {
		l.title = fmt.Sprintf("control: %s at %s with a third of the headroom that was used, and no ring_hold",
			c.length, rateName(fast))
		l.control = true
	})
	return all
}

// Blockings beyond those that are judged: before the first XOFF the buffer has to fill, and a machine that stands still
// misses some.
const spareBlockings = 100

// maxGrowth is the largest one-way delay that is added to the growing link.
const maxGrowth = 600 * time.Microsecond

// setBlocking sets when the receiver blocks, and how long the load lasts: seconds, or more where there would be too few
// XOFFs. The receiver blocks until the buffer is full and all frames in flight have arrived. It then reads until there
// is room and the link is full again.
func (l *linkPhase) setBlocking(seconds float64) {
	delay := l.cable.delay
	if l.grow {
		delay = maxGrowth
	}
	const base = 2500 * time.Microsecond
	l.block = blocking{blocked: base + 3*delay, read: base + 5*delay, times: wantedXoffs + spareBlockings}
	if l.seldomUsed() {
		l.block.times *= seldomTimes
	}
	l.seconds = time.Duration(seconds * float64(time.Second))
	l.block.times = max(l.block.times, int(l.seconds/l.block.every()))
	l.seconds = max(l.seconds, time.Duration(l.block.times)*l.block.every())
}

// promptReaction bounds the time from the arrival of XOFF to the last frame of a peer that has a CPU.
const promptReaction = 100 * time.Microsecond

// seldomUsed tells whether a prompt peer obeys before its next frame is due, so that only a late peer sends a frame
// after XOFF. That happens once in some hundreds of XOFFs.
func (l *linkPhase) seldomUsed() bool {
	return 2*l.cable.delay+promptReaction < time.Duration(largestFrame*8*int64(time.Second)/l.speed)
}

// seldomTimes is how many times as often the receiver then blocks at least: the most that is used shows only in a long
// run.
const seldomTimes = 3

func rateName(bits int64) string {
	if bits >= 1e9 {
		return fmt.Sprintf("%g Gbit/s", float64(bits)/1e9)
	}
	return fmt.Sprintf("%g Mbit/s", float64(bits)/1e6)
}

// buildLink makes the nodes and links.
func (l *linkPhase) buildLink() {
	settings := func(more string) string {
		return fmt.Sprintf("preset: roce\nheadroom: {interval: %v, agree: always}\nbuffer: {lossless: {size: %s}%s}\n",
			measuringInterval, l.pool(), more)
	}
	little := ""
	if l.control {
		little = fmt.Sprintf(", headroom: %d, ring_hold: off", l.thirdUsed())
	}
	s1, s2 := l.addSwitch("s1", settings("")), l.addSwitch("s2", settings(little))
	l.joinSwitches(s1, nearPort, s2, farPort, l.speed)
	s1.ports[0].delay(l.cable.delay)
	s2.ports[0].delay(l.cable.delay)
	for i := range 2 {
		h := l.addHost(fmt.Sprintf("h%d", i+1), s1, fmt.Sprintf("p%d", i+1), l.speed, nil)
		l.addSender(h, "h3", sends("3"))
	}
	l.addSink(l.addHost("h3", s2, readerPort, l.speed, nil), l.sinkArgs)
}

// sinkArgs let the receiver block.
func (l *linkPhase) sinkArgs() []string {
	return append(l.windowArgs(), "--block-at", l.stamp(0), "--block-for", l.block.blocked.String(), "--block-every",
		l.block.every().String(), "--block-times", fmt.Sprint(l.block.times))
}

// readerPort is the port of s2 that leads to the receiver.
const readerPort = "p3"

// pool is the lossless buffer: no more than a few blockings fill.
func (l *linkPhase) pool() string {
	if l.speed < 1e9 {
		return "512KiB"
	}
	return "3MiB"
}

// delay gives a port a delay line.
func (p *switchPort) delay(d time.Duration) {
	p.extraKeys = fmt.Sprintf(", delay: %dns", d.Nanoseconds())
}

// thirdUsed is a third of the headroom that the runs on a link of the same length used.
func (l *linkPhase) thirdUsed() (octets int64) {
	for _, r := range l.report.Links {
		if r.Length == l.cable.length && r.Speed == l.speed {
			octets = max(octets, r.Peak/3)
		}
	}
	return max(octets, 1600) // a frame has to fit
}

// settled tells whether an end has measured the link and both ends have set the result; in the control s2 has a third.
func (l *linkPhase) settled(p *api.HeadroomPort) bool {
	if p.Measured == nil || !p.Told || p.PeerFoundBits == nil || p.Trip.Samples < 4*openingSamples {
		return false
	}
	return l.control || p.PeerApplied && p.TargetBytes != nil && p.HoldsBytes >= *p.TargetBytes
}

// waitMeasured waits until both ends have settled.
func (l *linkPhase) waitMeasured(ctx context.Context) error {
	for i, name := range []string{nearPort, farPort} {
		s := l.switches[i]
		err := poll(ctx, func() (bool, error) {
			p, err := headroomOf(ctx, s, name)
			if err != nil {
				return false, err
			}
			l.measured = *p
			return l.settled(p), nil
		})
		if p := &l.measured; ctx.Err() != nil {
			return fmt.Errorf("switch %s did not measure its port %s, or what was found is not in force: it is %s, %d "+
				"of %d requests were answered, %d bytes are in force, the peer has set what it was told: %s", s.name,
				name, p.State, p.Messages.Answered, p.Messages.Asked, p.InForceBytes, yes(p.PeerApplied))
		}
		if err != nil {
			return err
		}
		if err := ask(ctx, s, "pfc", &s.state.pfc); err != nil {
			return err
		}
		if late := s.pfcPort(name).DelayLate.P50Ns; late != nil {
			l.idleDelayLineLate += time.Duration(*late)
		}
	}
	return nil
}

// growDelay makes the link longer while frames flow: each measuring interval by a tenth of the time that its headroom
// lasts.
func (l *linkPhase) growDelay(ctx context.Context) error {
	at := growAfter
	for range growSteps {
		if err := l.wait(ctx, at); err != nil {
			return err
		}
		at = max(at, time.Since(l.start)) + measuringInterval
		p, err := headroomOf(ctx, l.switches[1], farPort)
		if err != nil {
			return err
		}
		l.grown += time.Duration(p.HoldsBytes * 8 * int64(time.Second) / l.speed / 10)
		s1 := l.switches[0]
		s1.ports[0].delay(l.cable.delay + l.grown)
		if err := s1.apply(ctx); err != nil {
			return fmt.Errorf("switch s1: a longer delay: %w", err)
		}
		if time.Since(l.start) < l.seconds {
			l.steps++
		}
	}
	return nil
}

// openingSamples is a quarter of the samples in quick succession after the agreement.
const openingSamples = 8

func headroomOf(ctx context.Context, s *switchNode, port string) (*api.HeadroomPort, error) {
	if err := ask(ctx, s, "headroom", &s.state.headroom); err != nil {
		return nil, err
	}
	p := s.headroom(port)
	if p.Port == "" {
		return nil, fmt.Errorf("switch %s says nothing of its port %s", s.state.headroom.Switch, port)
	}
	return &p, nil
}

func (s *switchNode) headroom(port string) api.HeadroomPort {
	return find(s.state.headroom.Ports, func(p *api.HeadroomPort) bool { return p.Port == port })
}
