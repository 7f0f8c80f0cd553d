package headroom

import "pfcswitch/macctl"

// openAnswers is how many requests may wait for their answers. A peer has no reason to ask faster.
const openAnswers = 8

// A reply is a request that waits for its answer.
type reply struct {
	request macctl.MeasurementFrame
	stamp   int64 // t2
	at      Moment
}

// takeRequest queues the answer to a request, and reports whether it is to be sent at once.
func (p *Probe) takeRequest(in macctl.MeasurementFrame, stamp int64, at Moment) (urgent bool) {
	if p.waiting == openAnswers {
		p.ignore(IgnoredBusy)
		return false
	}
	p.answers[(p.first+p.waiting)%openAnswers] = reply{request: in, stamp: stamp, at: at}
	p.waiting++
	return in.Flags&macctl.MeasureAtLink != 0
}

// answer makes the oldest answer.
func (p *Probe) answer(at Moment) (out macctl.MeasurementFrame, ok bool) {
	for p.waiting > 0 {
		r := &p.answers[p.first]
		p.first = (p.first + 1) % openAnswers
		p.waiting--
		if p.disagree(r.at, at) || at.Now < r.stamp {
			p.ignore(IgnoredClock)
			continue
		}
		p.count.Replies++
		return p.reply(r, at.Now), true
	}
	return out, false
}

func (p *Probe) reply(r *reply, now int64) macctl.MeasurementFrame {
	out := macctl.MeasurementFrame{Measurement: r.request.Measurement, Peer: r.request.Peer, Fallback: r.request.Fallback}
	if out.Flags&macctl.MeasureLoopback != 0 {
		return out
	}
	out.Operation = macctl.MeasureAnswer
	if out.Flags&macctl.MeasureTwoStamps == 0 {
		out.Area = [2]uint64{uint64(r.stamp), uint64(now)}
	}
	p.state(&out.Measurement)
	return out
}
