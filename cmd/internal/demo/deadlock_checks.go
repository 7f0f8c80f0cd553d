package demo

import (
	"fmt"
	"time"
)

// add takes a phase's flows and switches into the report. No frame arrives twice, whatever is locked up.
func (r *Report) add(p *scenario, flows []flowStall) {
	var all []Flow
	for _, f := range flows {
		all = append(all, f.Flow)
	}
	r.Flows = append(r.Flows, all...)
	r.checkDuplicates(p.name, all)
	for _, s := range p.switches {
		r.Switches = append(r.Switches, s.result(p.name))
	}
}

// addTrigger adds the load and the blocking to the timeline.
func (r *Report) addTrigger(p *scenario, end time.Duration) {
	r.addMoment(p, 0, "h1, h2, h3", "send, more than the ring carries until %v", surgeEnd)
	r.addMoment(p, trigger, "r1, r2, r3", "hang, and pause their switches")
	r.addMoment(p, trigger+blockTime, "r1, r2, r3", "run again")
	r.addMoment(p, end, "h1, h2, h3", "stop sending")
}

// checkDetected: the watchdog detected a deadlock, and each detected one is over.
func (r *Report) checkDetected(p *scenario) {
	var detected, restored uint64
	for _, s := range p.switches {
		sum := s.watchdogSum()
		detected += sum.Detected
		restored += sum.Restored
	}
	r.control(p.name, "deadlocks detected", "more than 0", fmt.Sprint(detected), detected > 0, false)
	r.hard(p.name, TopicDeadlock, "deadlocks that are over", fmt.Sprint(detected), fmt.Sprint(restored),
		detected == restored)
}

// checkArrived: nothing is lost, reordered or doubled, whatever the watchdog did.
func (r *Report) checkArrived(p *scenario, flows []flowStall, end time.Duration) {
	for _, f := range flows {
		name := fmt.Sprintf("%s, priority %d: ", f.Name, f.Priority)
		if f.Lossless {
			r.hard(p.name, TopicLoss, name+"frames lost", fmt.Sprintf("0 of %d", f.Sent), fmt.Sprint(f.Lost),
				f.Sent > 0 && f.Lost == 0)
		} else {
			r.checkLossy(p, &f)
		}
		r.hard(p.name, TopicOrder, name+"frames reordered", "0", fmt.Sprint(f.Reordered), f.Reordered == 0)
	}
	r.checkAlive(p, flows, end)
}

// checkAlive: every flow flows at the end of its load.
func (r *Report) checkAlive(p *scenario, flows []flowStall, end time.Duration) {
	const slack = 200 * time.Millisecond
	for _, f := range flows {
		r.soft(p.name, TopicDeadlock, fmt.Sprintf("%s, priority %d: it flows at the end", f.Name, f.Priority), "yes",
			fmt.Sprintf("last frame at %v of %v", f.at.Round(time.Millisecond), end),
			(end-slack-f.at).Seconds()/end.Seconds(), p.usage.shortage)
	}
}

// checkOthers: the priority beside the one that was locked lost nothing.
func (r *Report) checkOthers(p *scenario, flows []flowStall) {
	for _, f := range flows {
		if f.Priority != losslessPriority {
			r.checkLossy(p, &f)
		}
	}
}

// checkLossy: a lossy flow has lost nothing, unless a machine that stands still let a ring overflow.
func (r *Report) checkLossy(p *scenario, f *flowStall) {
	lost := 1.0
	if f.Sent > 0 {
		lost = float64(f.Lost) / float64(f.Sent)
	}
	r.soft(p.name, TopicLoss, fmt.Sprintf("%s, priority %d: frames lost", f.Name, f.Priority),
		fmt.Sprintf("0 of %d", f.Sent), fmt.Sprint(f.Lost), lost,
		p.usage.shortage)
}

// checkEmpty: no frame and no peer is held at the end, and every counter balances.
func (r *Report) checkEmpty(p *scenario) {
	for _, s := range p.switches {
		n := s.state.ports.LosslessDropsSinceStart
		r.hard(p.name, TopicLoss, s.name+": lossless_drops_total", "0", fmt.Sprint(n)+s.drops(), n == 0)
		r.hard(p.name, TopicCounters, s.name+": buffers empty, nobody held", "yes", yes(s.empty()), s.empty())
		in, out := s.balance()
		r.hard(p.name, TopicCounters, s.name+": received + copies = sent + dropped + held", fmt.Sprint(in),
			fmt.Sprint(out), in == out)
	}
}
