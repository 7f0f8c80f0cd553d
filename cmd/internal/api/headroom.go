package api

import (
	"fmt"

	"pfcswitch/dataplane"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// Headroom is the answer to show headroom: what each link needs by calculation and by measurement, what is in force,
// and what was used.
type Headroom struct {
	Header
	Ports []HeadroomPort `json:"ports"`
}

// HeadroomInfo is what the daemon knows of the headroom of a port with flow control.
type HeadroomInfo struct {
	Port       string
	Calculated headroom.Calculation
	Report     headroom.Report
	Packing    headroom.Packing
}

// HeadroomPort is the headroom of one port. Bits are counted on the wire, with FCS, preamble and gap.
type HeadroomPort struct {
	Port           string  `json:"port"`
	State          string  `json:"state"`    // measuring, settling, silent, by hand, not agreed, waiting for LLDP, down
	Neighbor       *string `json:"neighbor"` // as LLDP names it
	Auto           bool    `json:"auto"`     // the headroom follows what is found
	ManualRequired bool    `json:"manual_required"`
	Remedy         *string `json:"remedy"`         // what to write where the headroom has to be set by hand
	ControlFrames  string  `json:"control_frames"` // pass, swallowed (others pass), or unknown

	CellBytes       int64          `json:"cell_bytes"`          // of the buffer: cells below are of this size
	SmallPackets    float64        `json:"small_packets_share"` // share of the octets that are taken as smallest frames
	CalculatedBytes int64          `json:"calculated_bytes"`
	Calculated      HeadroomValue  `json:"calculated"`
	Eta             HeadroomValue  `json:"eta"`             // of the literature
	Delay           HeadroomValue  `json:"delay"`           // of the standard
	Measured        *HeadroomValue `json:"measured"`        // by this end; null while it has not measured
	PlainBits       *int64         `json:"plain_bits"`      // the measured value without the peer's reaction and burst
	ReceivedBits    *int64         `json:"received_bits"`   // that follows from the peer's result, bounded
	PeerFoundBits   *int64         `json:"peer_found_bits"` // the peer's own value, as it sent it
	ToldBits        *int64         `json:"told_bits"`       // last result sent to the peer; null: none
	Told            bool           `json:"told"`            // and the peer has acknowledged it
	PeerHasBytes    *int64         `json:"peer_has_bytes"`  // in force at the peer, or told_bits; null: unknown
	PeerApplied     bool           `json:"peer_applied"`    // it is no less than told_bits
	TargetBytes     *int64         `json:"target_bytes"`    // what should be in force; null: unknown
	NeedsBytes      *int64         `json:"needs_bytes"`     // the need that a bound keeps target_bytes below; null: none does
	Bound           *string        `json:"bound"`           // that bound
	InForceBytes    int64          `json:"in_force_bytes"`  // of the buffer
	HoldsBytes      int64          `json:"holds_bytes"`     // octets on the wire that these hold
	InForceCells    int64          `json:"in_force_cells"`
	XonBytes        *int64         `json:"xon_bytes"` // resume threshold that was measured; null while this end has not

	Finding      *HeadroomFinding `json:"finding"`       // inputs of the measured value; null: none
	Trip         *Spread          `json:"trip"`          // round trips, without the time at the peer if known
	Turn         *Spread          `json:"turn"`          // the time at the peer
	TurnIdle     *Spread          `json:"turn_idle"`     // the same while the link was idle
	TurnBusy     *Spread          `json:"turn_busy"`     // and while it carried more than a tenth of its speed
	Reaction     *Spread          `json:"reaction"`      // of this end to XOFF
	ReactionIdle *Spread          `json:"reaction_idle"` // while the link was idle
	ReactionBusy *Spread          `json:"reaction_busy"` // and while it carried more than a tenth of its speed
	Queues       []HeadroomQueue  `json:"queues"`
	Messages     HeadroomMessages `json:"messages"`
}

// HeadroomFinding is the result of the measurement, as the formula takes it.
type HeadroomFinding struct {
	TripNs        int64  `json:"trip_ns"`         // t
	PrecisionNs   int64  `json:"precision_ns"`    // of a stamp, of the end whose stamps are worse
	ReactionNs    int64  `json:"reaction_ns"`     // R: how late the peer acts
	SendLimitBits *int64 `json:"send_limit_bits"` // S: its largest send call; null where it states none
	BurstBits     int64  `json:"burst_bits"`      // of its shaper
}

// HeadroomValue is a headroom on the wire with its terms. Cells are those of the buffer that it takes. The calculated
// value is the larger of Eta and Delay plus the send call, the burst and k.
type HeadroomValue struct {
	Bits  int64          `json:"bits"`
	Bytes int64          `json:"bytes"`
	Cells int64          `json:"cells"`
	Terms []HeadroomTerm `json:"terms"`
}

// HeadroomTerm is one part.
type HeadroomTerm struct {
	Name string `json:"name"`
	Bits int64  `json:"bits"`
}

// A Spread describes the newest samples of a duration.
type Spread struct {
	Samples int   `json:"samples"`
	MinNs   int64 `json:"min_ns"`
	P50Ns   int64 `json:"p50_ns"`
	P99Ns   int64 `json:"p99_ns"`
	P999Ns  int64 `json:"p999_ns"`
	MaxNs   int64 `json:"max_ns"`
}

// HeadroomQueue is the headroom use of one lossless ingress queue, by the time stamps of the frames, in octets on the
// wire.
type HeadroomQueue struct {
	Priority   Priority `json:"priority"`
	SizeBytes  int64    `json:"size_bytes"`
	XonBytes   int64    `json:"xon_bytes"`   // resume threshold in force
	Xoffs      uint64   `json:"xoffs"`       // XOFFs sent to the peer
	PeakBytes  int64    `json:"peak_bytes"`  // most that came after an XOFF had left
	PacedBytes int64    `json:"paced_bytes"` // the part that the link's speed explains

	// What had come before an XOFF left, and was looked at after: this switch was late.
	LateXoffs      uint64 `json:"late_xoffs"`
	LateNs         int64  `json:"late_ns"`          // longest time from the arrival of such a frame to XOFF
	RingBytes      int64  `json:"ring_bytes"`       // most for one XOFF
	RingTotalBytes uint64 `json:"ring_total_bytes"` // for all of them

	// Frames without room: they waited in the ring or, with ring_hold: off, were dropped.
	RingFrames uint64 `json:"ring_frames"`    // that came after XOFF: the headroom was too small
	Crowded    uint64 `json:"crowded_frames"` // likewise, and it would have sufficed without what had come before
	Early      uint64 `json:"early_frames"`   // that had come before XOFF left
	Pool       uint64 `json:"pool_frames"`    // whenever: other queues filled buffer.headroom_pool

	// XOFFs after which more came than the room of a HeadroomTightest. A check compares with what is held on the wire.
	ExceededXoffs uint64            `json:"exceeded_xoffs"`
	Tightest      *HeadroomTightest `json:"tightest"` // the XOFF that left least room; null: none
}

// HeadroomTightest compares the frames after one XOFF with the headroom at that moment: octets on the wire where they
// were measured and the queue follows the measurement, else bytes of the buffer.
type HeadroomTightest struct {
	UsedBytes int64 `json:"used_bytes"`
	RoomBytes int64 `json:"room_bytes"`
}

// HeadroomMessages counts measurement frames.
type HeadroomMessages struct {
	Asked    uint64    `json:"asked"`
	Answered uint64    `json:"answered"`
	Lost     uint64    `json:"lost"`
	Replies  uint64    `json:"replies"`
	Results  uint64    `json:"results"`
	Streams  uint64    `json:"streams"` // that the peer asked for and got
	Ignored  []Ignored `json:"ignored"`
}

func (m *moment) readHeadroom() *Headroom {
	return &Headroom{m.Header, each(m.source.Headroom(), m.headroomPort)}
}

func (m *moment) headroomPort(info *HeadroomInfo) HeadroomPort {
	h, value := &info.Report, valueOf(info.Packing)
	counts := m.base.probesSince(info.Port, h.Counters)
	p := HeadroomPort{Port: info.Port, State: headroomState(h), Neighbor: nonZero(h.Neighbour), Auto: h.Settings.Auto,
		ManualRequired: h.ManualRequired, ControlFrames: controlFrames(h), CellBytes: info.Packing.Cell,
		SmallPackets: info.Packing.Small, CalculatedBytes: info.Calculated.Bytes(),
		Calculated: value(info.Calculated.Terms()), Eta: value(info.Calculated.Eta),
		Delay: value(info.Calculated.Delay), ToldBits: nonZero(h.ResultBits), Told: h.ResultAcked,
		TargetBytes: nonZero(headroom.Octets(h.Target)), InForceBytes: h.InForce, HoldsBytes: h.Holds,
		InForceCells: headroom.Cells(h.InForce, info.Packing.Cell), Trip: spread(h.RoundTrips),
		Turn: spread(h.Turnarounds), TurnIdle: spread(h.Idle), TurnBusy: spread(h.Busy),
		Reaction: spread(h.Reactions), ReactionIdle: spread(h.ReactionsIdle), ReactionBusy: spread(h.ReactionsBusy),
		Messages: HeadroomMessages{Asked: counts.Asked, Answered: counts.Answered, Lost: counts.Lost,
			Replies: counts.Replies, Results: counts.Results, Streams: counts.Streams}}
	if h.Bound != "" {
		p.NeedsBytes, p.Bound = nonZero(headroom.Octets(h.Needs)), &h.Bound
	}
	if h.ManualRequired {
		p.Remedy = nonZero(fmt.Sprintf("%s: %d", h.Settings.Key, h.ManualBytes))
	}
	if h.Measured != nil {
		v, f := value(h.Measured), &h.Finding
		p.Measured, p.PlainBits, p.XonBytes = &v, &h.Plain, &h.Xon
		p.Finding = &HeadroomFinding{TripNs: int64(f.RoundTrip), PrecisionNs: int64(f.Precision),
			ReactionNs: int64(f.Reaction), SendLimitBits: nonZero(f.SendLimit), BurstBits: f.Burst}
	}
	if h.PeerFound > 0 {
		p.PeerFoundBits, p.ReceivedBits = &h.PeerFound, &h.Received
	}
	if h.ResultAcked {
		has := h.PeerInForce / 8
		p.PeerHasBytes, p.PeerApplied = &has, h.PeerApplied
	}
	for why, n := range counts.Ignored {
		p.Messages.Ignored = append(p.Messages.Ignored, Ignored{headroom.Ignored(why).String(), n})
	}
	s := m.port(info.Port)
	if s == nil || !s.Up {
		p.State = "down"
	}
	if s != nil {
		p.Queues = useOf(s)
	}
	return p
}

func headroomState(h *headroom.Report) string {
	switch {
	case h.ManualRequired:
		return "by hand"
	case !h.Agreed && h.Known:
		return "not agreed"
	case !h.Agreed:
		return "waiting for LLDP"
	case h.PeerSilent:
		return "silent"
	case h.Measured == nil:
		return "settling"
	}
	return "measuring"
}

// ControlSwallowed is HeadroomPort.ControlFrames of a link that passes other frames only.
const ControlSwallowed = "swallowed"

func controlFrames(h *headroom.Report) string {
	switch {
	case h.ControlPasses:
		return "pass"
	case h.ControlDiscarded:
		return ControlSwallowed
	}
	return "unknown"
}

// valueOf returns a function that makes a value of terms, which fills the buffer like this.
func valueOf(p headroom.Packing) func(headroom.Terms) HeadroomValue {
	return func(t headroom.Terms) HeadroomValue {
		octets := headroom.Octets(t.Bits())
		return HeadroomValue{Bits: t.Bits(), Bytes: octets, Cells: p.Bytes(octets) / p.Cell,
			Terms: each(t, func(term *headroom.Term) HeadroomTerm { return HeadroomTerm(*term) })}
	}
}

func spread(d headroom.Distribution) *Spread {
	if d.Samples == 0 {
		return nil
	}
	return &Spread{Samples: d.Samples, MinNs: int64(d.Min), P50Ns: int64(d.Median), P99Ns: int64(d.P99),
		P999Ns: int64(d.P999), MaxNs: int64(d.Max)}
}

func useOf(s *dataplane.PortSnapshot) (queues []HeadroomQueue) {
	use := func(q int, name Priority) {
		u := &s.HeadroomUse[q]
		h := HeadroomQueue{Priority: name, SizeBytes: s.Config.Ingress[q].Headroom, XonBytes: s.Config.Ingress[q].Xon,
			Xoffs: u.Xoffs, PeakBytes: u.Peak, PacedBytes: u.Paced, LateXoffs: u.LateXoffs, LateNs: u.LateNs,
			RingBytes: u.Ring, RingTotalBytes: u.RingTotal, RingFrames: u.Waited, Crowded: u.WaitedBehindEarlier,
			Early: u.WaitedEarly, Pool: u.WaitedForPool, ExceededXoffs: u.Exceeded}
		if u.LeastLeft.Used > 0 {
			h.Tightest = &HeadroomTightest{u.LeastLeft.Used, u.LeastLeft.Room}
		}
		queues = append(queues, h)
	}
	if s.Config.Mode == macctl.ModePause {
		use(0, All)
		return queues
	}
	for _, q := range Priorities(s.Config.LosslessPriorities()) {
		use(int(q), q)
	}
	return queues
}
