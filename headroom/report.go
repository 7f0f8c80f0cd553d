package headroom

import "pfcswitch/macctl"

// A Report is everything that there is to see of a Probe. Sizes are in bits unless their comment says otherwise.
type Report struct {
	Agreed           bool
	Known            bool // SetAgreed was called
	Neighbour        string
	ManualRequired   bool
	ManualBytes      int64 // octets to set by hand where that is required
	PeerSilent       bool  // the peer agreed, and has not answered for a while
	ControlPasses    bool  // MAC Control frames pass both ways
	ControlDiscarded bool  // MAC Control frames do not pass, though other frames do

	Settings    Settings
	Calculated  int64
	Measured    Terms  // by this end; nil where it has not measured yet
	Plain       int64  // the formula without the reaction and the burst
	Received    int64  // that follows from the peer's result, bounded; 0 where there is none
	PeerFound   int64  // the peer's own value as it sent it
	ResultBits  int64  // newest result sent to the peer; 0 where none was sent since the link came up
	ResultAcked bool   // the peer has acknowledged that result
	PeerInForce int64  // in force at the peer, as its newest acknowledgement says; 0 where there is none
	PeerApplied bool   // PeerInForce is at least the newest result
	Target      int64  // that should be in force; 0 where nothing was found
	Needs       int64  // by what was measured and by what the peer has told, without bounds
	Bound       string // what keeps Target below what the link seems to need; "" where it is as much
	InForce     int64  // bytes of the buffer
	Holds       int64  // octets on the wire that those hold
	Xon         int64  // resume threshold by measurement, in octets; 0 where this end has not measured yet

	Finding       Finding
	RoundTrips    Distribution // t
	Turnarounds   Distribution // t3-t2 of the peer
	Idle          Distribution // turnarounds while the link was idle
	Busy          Distribution // turnarounds while the link carried traffic
	Reactions     Distribution // of this end to the peer's pause frames
	ReactionsIdle Distribution // reactions while the link was idle
	ReactionsBusy Distribution // reactions while the link carried traffic
	Counters      Counters
}

// Report describes the Probe.
func (p *Probe) Report(now int64) Report {
	r := Report{
		Agreed: p.agreed, Known: p.agreementKnown, Neighbour: p.neighbour,
		ManualRequired: p.ManualRequired(now), ManualBytes: p.manualBytes(),
		PeerSilent:    p.Measuring() && p.unanswered >= manyInARow,
		ControlPasses: p.ControlPasses(), ControlDiscarded: p.ControlDiscarded(),
		Settings: p.set, Calculated: p.set.Calculated, Received: p.receivedBits(), ResultAcked: p.results.acked,
		PeerInForce: p.results.peerInForce, PeerApplied: p.results.applied(), Target: p.target.bits, InForce: p.inForce,
		Needs: max(p.measuredNeed(), p.receivedNeed()), Bound: p.target.bound, Holds: p.holds,
		RoundTrips: p.estimate.trips.distribution(), Turnarounds: p.estimate.turns.all.distribution(),
		Idle: p.estimate.turns.idle.distribution(), Busy: p.estimate.turns.busy.distribution(),
		Reactions: p.reactions.all.distribution(), ReactionsIdle: p.reactions.idle.distribution(),
		ReactionsBusy: p.reactions.busy.distribution(), Counters: p.count,
	}
	if sent := &p.results.sent; sent.Operation == macctl.MeasureResult {
		r.ResultBits = saturate(sent.Area[0])
	}
	if p.results.received {
		r.PeerFound = saturate(p.results.peer.Area[0])
	}
	if p.estimate.Settled() {
		r.Finding = p.finding()
		r.Measured = Measure(p.set.Inputs, r.Finding)
		r.Xon = p.Xon()
		r.Plain = p.set.Inputs.PlainBits(r.Finding)
	}
	return r
}
