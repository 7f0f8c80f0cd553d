package headroom

import "math"

// results is the exchange of what the two ends have found.
type results struct {
	// own, to the peer
	sequence uint32
	at       int64   // when it is to be sent (again)
	sent     Message // the newest
	told     bool    // and acknowledged

	// of the peer
	peer  Message
	heard bool
	ack   bool // the peer's newest is to be acknowledged
	from  Packet
}

func (r *results) restart() {
	sequence := r.sequence
	*r = results{sequence: sequence, at: math.MaxInt64}
}

// tell makes the newest result. It looks once an interval, and repeats what is not acknowledged.
func (p *Probe) tell(now int64) (out Packet, ok bool) {
	r := &p.results
	if now < r.at {
		return out, false
	}
	r.at = now + int64(p.set.Interval)
	if m := p.result(); !same(m, r.sent) {
		r.sequence++
		m.Sequence = r.sequence
		r.sent, r.told = m, false
	}
	out.Message = r.sent
	return out, !r.told
}

// result is what this end would tell now.
func (p *Probe) result() Message {
	in, f := p.set.Inputs, p.finding()
	m := Message{Operation: Result, Session: p.set.Session,
		Area: [2]uint64{uint64(Measure(in, f).Bits()), uint64(in.WireBits(f))}}
	p.state(&m)
	return m
}

// same reports whether two results say the same.
func same(a, b Message) bool {
	a.Sequence, b.Sequence = 0, 0
	return a == b
}

// takeAck takes the peer's acknowledgement.
func (p *Probe) takeAck(in Packet) {
	r := &p.results
	if r.told || r.at == math.MaxInt64 || in.Session != p.set.Session || in.Sequence != r.sent.Sequence || in.Area != r.sent.Area {
		p.ignore(IgnoredUnasked)
		return
	}
	r.told = true
}

// takeResult takes what the peer has found. A result of another session is that of a peer that began anew.
func (p *Probe) takeResult(in Packet, now int64) {
	r := &p.results
	if r.heard && in.Session == r.peer.Session && int32(in.Sequence-r.peer.Sequence) < 0 {
		p.ignore(IgnoredOld)
		return
	}
	if nanoseconds(in.Precision) > worstStamp || nanoseconds(in.Reaction) > worstReaction || in.Area[1] > in.Area[0] {
		p.ignore(IgnoredProportion)
		return
	}
	again := r.heard && in.Session == r.peer.Session && in.Sequence == r.peer.Sequence
	if again && in.Message != r.peer {
		p.ignore(IgnoredAltered)
		return
	}
	r.peer, r.heard, r.from, r.ack = in.Message, true, in, true
	if again {
		return
	}
	p.count.Results++
	before := p.target.bits
	p.retarget(now)
	if p.target.bits > before {
		p.note("%s has found %d B, which here means a headroom of %d B", p.peer(), Octets(saturate(in.Area[0])), p.Target())
	}
}

func (p *Probe) acknowledge() (out Packet, ok bool) {
	r := &p.results
	if !r.ack {
		return out, false
	}
	r.ack = false
	out = r.from
	out.Operation, out.Group = ResultAck, false
	return out, true
}

// found says that there is a new sample.
func (p *Probe) found(now int64) {
	if !p.estimate.Settled() {
		return
	}
	p.retarget(now)
	p.results.at = min(p.results.at, now+int64(p.set.Interval))
	if p.results.sequence == 0 {
		p.results.at = now
	}
}

// ownBits is the headroom that this end has found, 0 where it has none yet. What the peer only claims is bounded.
func (p *Probe) ownBits() int64 {
	if !p.estimate.Settled() {
		return 0
	}
	in, f := p.set.Inputs, p.finding()
	wire := in.WireBits(f)
	return wire + min(Measure(in, f).Bits()-wire, p.set.Max)
}

// receivedBits is the headroom that follows from the peer's newest result: what it has found for itself, and what its
// parts mean for this end, whose peer it is.
func (p *Probe) receivedBits() int64 {
	if !p.results.heard {
		return 0
	}
	m, in := &p.results.peer, p.set.Inputs
	parts := Measure(in, Finding{Reaction: nanoseconds(m.Reaction), SendLimit: int64(m.SendLimit), Burst: int64(m.Burst)}).Bits() +
		saturate(m.Area[1])
	return min(max(saturate(m.Area[0]), parts), p.set.Max)
}
