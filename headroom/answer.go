package headroom

import "pfcswitch/macctl"

// openAnswers is how many requests may wait for their answers. A peer has no reason to ask faster.
const maxPendingReplies = 8

// A pendingReply is a request that waits for its answer.
type pendingReply struct {
	request macctl.MeasurementFrame
	stamp   int64 // t2
	at      Moment
}

// handleRequest queues the answer to a request, and reports whether it is to be sent at once.
func (p *Probe) handleRequest(in macctl.MeasurementFrame, stamp int64, at Moment) (urgent bool) {
	if p.waiting == maxPendingReplies {
		p.ignore(IgnoredBusy)
		return false
	}
	p.replies[(p.first+p.waiting)%maxPendingReplies] = pendingReply{request: in, stamp: stamp, at: at}
	p.waiting++
	return in.Flags&macctl.MeasureAtLink != 0
}

// answer makes the oldest answer.
func (p *Probe) answer(at Moment) (out macctl.MeasurementFrame, ok bool) {
	for p.waiting > 0 {
		r := &p.replies[p.first]
		p.first = (p.first + 1) % maxPendingReplies
		p.waiting--
		if p.clocksDisagree(r.at, at) || at.Now < r.stamp {
			p.ignore(IgnoredClock)
			continue
		}
		p.count.Replies++
		return p.reply(r, at.Now), true
	}
	return out, false
}

func (p *Probe) reply(r *pendingReply, now int64) macctl.MeasurementFrame {
	out := macctl.MeasurementFrame{Measurement: r.request.Measurement, Peer: r.request.Peer, Fallback: r.request.Fallback}
	if out.Flags&macctl.MeasureLoopback != 0 {
		return out
	}
	out.Operation = macctl.MeasureAnswer
	if out.Flags&macctl.MeasureTwoStamps == 0 {
		out.Area = [2]uint64{uint64(r.stamp), uint64(now)}
	}
	p.fillOwnParameters(&out.Measurement)
	return out
}
