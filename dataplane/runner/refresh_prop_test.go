package runner

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// A starvedPort is a port with a lossless ring in virtual time: its peer obeys within reaction and sends at full speed
// all the time, its worker looks when it gets a CPU, and its Refresher runs somewhat late. The ring is measured by the
// time that takes to fill it.
type starvedPort struct {
	t         *rapid.T
	loopPort  // that the Refresher sends by
	initiator *macctl.Initiator
	refresher *Refresher
	refresh   *refresh
	line      *delayLine // nil: no delay
	now       int64
	speed     int64 // 0: 10 Gbit/s
	reaction  int64
	capacity  int64
	level     int64
	stops     int64 // when the peer stops sending
	resumes   int64 // when it goes on
	idle      int64 // until when it has nothing to send
}

// SendControl is the way of frames to the peer.
func (p *starvedPort) SendControl(b []byte) error {
	f, _ := macctl.Parse(b, macctl.GroupAddress)
	until := p.now + macctl.QuantaDuration(f.Time[lossless], p.speed)
	if p.now >= p.resumes { // it sends, and goes on for its reaction
		p.stops = p.now + p.reaction
	}
	p.resumes = max(until, p.now)
	return nil
}

// advance lets the peer send until a moment.
func (p *starvedPort) advance(to int64) {
	sends := func(from, to int64) int64 { return max(0, to-from) }
	from := max(p.now, p.idle)
	p.level += sends(from, min(to, p.stops)) + sends(max(from, p.resumes, p.stops), to)
	p.now = to
	assert.MustBeTrue(p.t, p.level <= p.capacity, "at %d: the ring overflows, held %v", p.now, p.refresh.hold.held())
}

// look is what a worker does that gets a CPU for so long that it reads up to most of the ring. What has passed the
// delay line leaves before or after that.
func (p *starvedPort) look(wait, most int64) {
	first := p.line != nil && rapid.Bool().Draw(p.t, "line first")
	if first {
		p.flush()
	}
	p.refresh.within.Store(wait)
	p.refresh.lookBy.Store(p.now + wait)
	p.refresh.hold.taken()
	if s := p.refresher.Taken(0); s.N > 0 {
		p.initiator.Refreshed(s.N, s.At, s.All)
	}
	p.refresh.hold.set(ringHolds(p.refresh.hold.held(), float64(p.level)/float64(p.capacity)))
	if p.refresh.hold.held() {
		p.initiator.Hold(lossless, macctl.CauseRing)
	} else {
		p.initiator.Release(lossless, macctl.CauseRing)
	}
	for {
		b, ok := p.initiator.AppendFrame(nil, p.now)
		if !ok {
			break
		}
		if every := p.initiator.RefreshEvery(); p.line != nil {
			holds := p.refresher.Holds(0)
			p.refresher.Answer(0, holds)
			p.line.putPause(p.now, b, holds, every)
		} else {
			p.refresh.set(newResend(p, newXoff(b, every), p.now))
			_ = p.SendControl(b)
		}
		p.initiator.Sent(p.now)
	}
	p.level -= min(most, p.level)
	if p.line != nil && !first {
		p.flush()
	}
}

// flush sends what has passed the delay line.
func (p *starvedPort) flush() {
	for p.line.due(0) <= p.now {
		_, _, _, _ = p.line.flush(p, p.now)
	}
}

// However long a worker gets no CPU, the ring of a peer that obeys does not overflow. The lateness of the Refresher is
// below half of a pause. Beside ringHigh, the ring takes what comes within the time to look, the lateness and the
// reaction. Empty at first, it takes what comes within one more time to look, or one more lateness after it was idle:
// the Refresher may look just before. With a delay line, XOFF leaves later by the delay, and by the time to look where
// the worker stands still when it is due.
func TestStarvedWorkerLosesNothing(t *testing.T) {
	upTo := func(most int64) *rapid.Generator[int64] {
		return rapid.OneOf(rapid.Just(int64(0)), rapid.Just(most), rapid.Int64Range(0, most))
	}
	rapid.Check(t, func(t *rapid.T) {
		p := &starvedPort{t: t, refresher: newRefresher(1), now: 1, reaction: upTo(200_000).Draw(t, "reaction")}
		p.refresh = &p.refresher.ports[0]
		p.initiator = macctl.NewInitiator(macctl.InitiatorConfig{Mode: macctl.ModePFC, Enabled: 1 << lossless})
		hold, every := p.initiator.AppendHold(nil)
		wait, late := lookWithin(every), upTo(every-1).Draw(t, "late at most")
		slow := p.reaction
		if delay := upTo(2_000_000).Draw(t, "delay"); delay > 0 {
			p.line, slow = newDelayLine(delay, gigabit, 10_000), slow+delay+wait
			leavesBy(p.line, p.refresher, p)
		}
		p.capacity = max(4*(wait+late+slow)/3, wait+max(wait, late)+late+slow)
		p.refresh.guard.Store(&guard{port: p, hold: newXoff(hold, every), waiting: func() bool { return p.level > 0 },
			watched: nobody})
		p.look(wait, 0)
		for range rapid.IntRange(1, 50).Draw(t, "looks") {
			look := p.now + rapid.OneOf(rapid.Int64Range(0, wait), upTo(4*idleAfter)).Draw(t, "gap")
			p.idle = p.now + rapid.OneOf(upTo(2*wait), upTo(3*idleAfter)).Draw(t, "idle")
			p.starve(look, func() int64 { return upTo(late).Draw(t, "late") })
			p.look(wait, upTo(p.capacity).Draw(t, "read"))
		}
	})
}

// The worker gets a CPU, or never a whole one, once in many seconds. Its peer is held as long as that takes: nothing is
// lost.
func TestSlowWorkerHoldsItsPeer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &starvedPort{t: t, refresher: newRefresher(1), now: 1, reaction: 100_000, speed: gigabit}
		p.refresh = &p.refresher.ports[0]
		p.initiator = macctl.NewInitiator(macctl.InitiatorConfig{Mode: macctl.ModePFC, Enabled: 1 << lossless,
			Speed: p.speed})
		hold, every := p.initiator.AppendHold(nil)
		wait := lookWithin(every)
		p.capacity = 4 * (wait + p.reaction)
		how := rapid.SampledFrom([]func() Pulse{
			func() Pulse { return Pulse{Thread: 1, Ready: true} },
			func() Pulse { return Pulse{Thread: 1, CPU: p.now / 20} }, // a twentieth of a CPU
			func() Pulse { return Pulse{Thread: 1, Waits: true} },
		}).Draw(t, "how it is slow")
		p.refresh.guard.Store(&guard{port: p, hold: newXoff(hold, every), waiting: func() bool { return p.level > 0 },
			watched: Watched{Wake: func() {}, Looks: how, Decides: how}})
		p.look(wait, 0)
		for range rapid.IntRange(1, 4).Draw(t, "looks") {
			p.starve(p.now+rapid.Int64Range(0, 8*holdMost).Draw(t, "gap"), func() int64 { return 0 })
			p.look(wait, rapid.Int64Range(0, p.capacity).Draw(t, "read"))
		}
	})
}

// starve lets no worker look until a moment. late is how late the Refresher runs each time.
func (p *starvedPort) starve(look int64, late func() int64) {
	for next := min(p.refresh.due.Load(), p.refresh.lookBy.Load()); ; {
		if next == noDeadline && p.refresh.idle() != nil {
			next = max(p.now, p.idle) + 1 // a frame wakes the Refresher
		}
		if next >= look {
			break
		}
		p.advance(max(p.now, next))
		p.advance(p.now + late())
		p.refresh.arrived(p.now)
		next = p.refresh.run(p.now, func([]byte, bool) {})
	}
	p.advance(max(p.now, look))
}
