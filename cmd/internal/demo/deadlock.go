package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pfcswitch/cmd/internal/api"
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

// Settings of the watchdogs. A receiver hangs for less time than counts as a deadlock. In phase (b) it hangs for so
// much less that only the lock can make a flow stand still for long enough.
const (
	watchPeriod    = 100 * time.Millisecond
	watchRecovery  = 200 * time.Millisecond
	watchCount     = 2
	slowWatchCount = 4
)

func watchSettings(count int, recovery time.Duration, action string) string {
	return fmt.Sprintf("{period: %v, count: %d, recovery: %v, action: %s}", watchPeriod, count, recovery, action)
}

func deadlockPhases(o Options) []*phase {
	const lockedTime = loadEnd + settleTimeout + lockUpTime + drainTime
	const blocked = trigger + blockTime + 30*time.Millisecond // the receivers run again, and nothing was detected yet
	const looping = loopEnd + 50*time.Millisecond
	forward := watchSettings(slowWatchCount, watchRecovery, "forward")
	all := []*phase{
		{name: "a", title: "three switches wait for each other for ever: no watchdog", lockUp: true, stuck: true,
			lasts: lockedTime, build: buildRing("off", loadEnd, lockedTime), during: (*phase).waitLocked,
			judge: (*phase).judgeLocked},
		{name: "b", title: "the same with the watchdog, action forward",
			lasts: ringEnd + drainTime, build: buildRing(forward, ringEnd, ringEnd+drainTime),
			during: showPauses(blocked), judge: (*phase).judgeRecovered},
		{name: "c", title: "frames that circle for ever, by wrong routes: action drop", lockUp: true,
			lasts: loopVictim + drainTime, build: (*phase).buildLoop, during: showPauses(looping),
			judge: (*phase).judgeLoop},
		{name: "d", title: "a host that pauses without a gap for up to 600 ms, again and again: action forward, " +
			"bystanders", lasts: stormLoad + drainTime, build: (*phase).buildStorm,
			during: showPauses(storms()[0].from + 150*time.Millisecond), judge: (*phase).judgeStorm},
	}
	for _, p := range all {
		p.speed, p.lead = o.Speed, sinkSearchTime
	}
	return o.keepLast("b", all)
}

// sinkSearchTime is the time for senders to find their sinks, whose addresses they are given.
const sinkSearchTime = 800 * time.Millisecond

// Deadlock runs the phases of demo deadlock. Errors are as for Incast.
func Deadlock(ctx context.Context, o Options) (*Report, error) {
	r := newReport("deadlock", o)
	r.Seconds = lockUpTime.Seconds()
	p := &phase{build: buildRing(watchSettings(slowWatchCount, watchRecovery, "forward"), 0, 0)}
	if err := r.calibrate(ctx, &o, p); err != nil {
		return r.finish(err)
	}
	return r.finish(performPhases(ctx, o, deadlockPhases(o), r))
}

// sinkUntil lets a sink end so long after the beginning of the load.
func (p *phase) sinkUntil(end time.Duration) []string {
	return []string{"--seconds", inSeconds(time.Until(p.start) + end)}
}

// showPauses adds to the timeline who pauses whom at a moment of the load.
func showPauses(at time.Duration) func(*phase, context.Context) error {
	return func(p *phase, ctx context.Context) error {
		if err := p.wait(ctx, at); err != nil {
			return err
		}
		if err := p.observe(ctx); err != nil {
			return err
		}
		p.addPauses(at)
		return nil
	}
}

// waitLocked waits, after the senders have ended, until no frame moves in the ring, and then for lockUpTime.
func (p *phase) waitLocked(ctx context.Context) error {
	at := loadEnd
	for settled := false; !settled; {
		at += drainTime
		if err := errors.Join(p.wait(ctx, at), p.observe(ctx)); err != nil {
			return err
		}
		last := p.held[0]
		p.held[0] = p.waiting()
		settled = slices.Equal(p.held[0], last) || at+drainTime > loadEnd+settleTimeout
	}
	p.addPauses(at)
	err := showPauses(at+lockUpTime)(p, ctx)
	if err == nil {
		p.held[1] = p.waiting()
	}
	return err
}

// A hold is what the port of a switch to the next holds, and has sent.
type hold struct {
	held int
	sent uint64
}

func (p *phase) waiting() (all []hold) {
	for _, s := range p.switches {
		all = append(all, hold{s.queues("out").Queues[losslessPriority].Frames, s.port("out").TransmitFrames})
	}
	return all
}

// judgeLocked: the lock outlasts its trigger and the senders.
func (p *phase) judgeLocked() {
	p.addTrigger(loadEnd)
	p.addLost()
	for k, s := range p.switches {
		before, after := p.held[0][k], p.held[1][k]
		sent := after.sent - before.sent
		name := fmt.Sprintf("%s: frames that wait for %s after the senders, and %v later, and frames sent meanwhile",
			s.name, s.peerOf("out"), lockUpTime)
		p.report.control(p.name, name, "the same, more than 0, and 0",
			fmt.Sprintf("%d, %d, %d", before.held, after.held, sent),
			before.held > 0 && after.held == before.held && sent == 0, before.held > after.held && sent == 0)
	}
	p.checkBalance()
}

// judgeRecovered: the watchdog breaks the lock, and everything arrives.
func (p *phase) judgeRecovered() {
	p.addTrigger(ringEnd)
	p.judgeWatched()
	p.checkArrived(ringEnd)
	limit := slowWatchCount*watchPeriod + watchPeriod + watchRecovery
	for _, f := range p.flows {
		p.soft(TopicRate, fmt.Sprintf("%s, priority %d: longest standstill", f.Name, f.Priority),
			fmt.Sprintf("at most %v", limit), f.gap.Round(time.Millisecond).String(),
			(f.gap-limit).Seconds()/ringEnd.Seconds())
	}
}

// judgeWatched: the watchdog detected a deadlock, each detected one is over, and nothing is held at the end.
func (p *phase) judgeWatched() {
	p.addEvents()
	p.addStalls()
	sum := p.watchdogSum()
	p.shows("deadlocks detected", sum.Detected, false)
	p.equal(TopicDeadlock, "deadlocks that are over", sum.Detected, sum.Restored)
	p.checkDrops()
	p.checkEmpty()
}

// watchdogSum adds up what the watchdogs did at all queues.
func (p *phase) watchdogSum() (sum api.WatchdogQueue) {
	for _, s := range p.switches {
		for _, q := range s.state.watchdog.Queues {
			sum.Detected += q.Detected
			sum.Restored += q.Restored
			sum.Dropped += q.Dropped
		}
	}
	return sum
}

// checkArrived: nothing is lost or reordered, whatever the watchdog did.
func (p *phase) checkArrived(end time.Duration) {
	for _, f := range p.flows {
		name := fmt.Sprintf("%s, priority %d: ", f.Name, f.Priority)
		if f.Lossless {
			p.hard(TopicLoss, name+"frames lost", fmt.Sprintf("0 of %d", f.Sent), fmt.Sprint(f.Lost),
				f.Sent > 0 && f.Lost == 0)
		}
		p.none(TopicOrder, name+"frames reordered", f.Reordered)
	}
	p.checkLossy()
	p.checkAlive(end)
}

// checkAlive: every flow flows at the end of its load.
func (p *phase) checkAlive(end time.Duration) {
	const slack = 200 * time.Millisecond
	for _, f := range p.flows {
		p.soft(TopicDeadlock, fmt.Sprintf("%s, priority %d: it flows at the end", f.Name, f.Priority), "yes",
			fmt.Sprintf("last frame at %v of %v", f.at.Round(time.Millisecond), end),
			(end-slack-f.at).Seconds()/end.Seconds())
	}
}

// checkLossy: a lossy flow has lost nothing, unless a machine that stands still let a ring overflow.
func (p *phase) checkLossy() {
	for _, f := range p.flows {
		if f.Priority == losslessPriority {
			continue
		}
		lost := 1.0
		if f.Sent > 0 {
			lost = float64(f.Lost) / float64(f.Sent)
		}
		p.soft(TopicLoss, fmt.Sprintf("%s, priority %d: frames lost", f.Name, f.Priority),
			fmt.Sprintf("0 of %d", f.Sent), fmt.Sprint(f.Lost), lost)
	}
}
