package api

import (
	"fmt"
	"math/bits"

	"pfcswitch/dataplane"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// Headroom is the answer to show headroom: what each link needs by calculation and by measurement, what is in force, and
// what was really used.
type Headroom struct {
	Header
	Ports []HeadroomPort `json:"ports"`
}

// HeadroomInfo is what the daemon knows of the headroom of a port with flow control.
type HeadroomInfo struct {
	Port       string
	Calculated headroom.Calculation
	Report     headroom.Report
	Cell       int64 // octets of a buffer cell
}

// HeadroomPort is the headroom of one port. Values in bits are those of the wire, where a frame has FCS, preamble and gap.
type HeadroomPort struct {
	Port           string  `json:"port"`
	State          string  `json:"state"`    // measuring, settling, silent, by hand, not agreed, waiting for LLDP, or down
	Neighbor       *string `json:"neighbor"` // as LLDP names it
	Auto           bool    `json:"auto"`     // the headroom follows what is found
	ManualRequired bool    `json:"manual_required"`
	Remedy         *string `json:"remedy"`         // what to write where the headroom has to be set by hand
	ControlFrames  string  `json:"control_frames"` // pass, swallowed (others pass), or unknown

	CalculatedBytes int64          `json:"calculated_bytes"`
	Eta             HeadroomValue  `json:"eta"`             // of the literature
	Delay           HeadroomValue  `json:"delay"`           // of the standard
	Measured        *HeadroomValue `json:"measured"`        // by this end; null while it has not measured
	PlainBits       *int64         `json:"plain_bits"`      // the measured value without the peer's reaction and burst
	ReceivedBits    *int64         `json:"received_bits"`   // that follows from what the peer told, bounded
	PeerFoundBits   *int64         `json:"peer_found_bits"` // the peer's own value
	Told            bool           `json:"told"`            // the peer has acknowledged the newest value of this end
	InForceBytes    int64          `json:"in_force_bytes"`
	InForceCells    int64          `json:"in_force_cells"`
	XonBytes        *int64         `json:"xon_bytes"` // resume threshold that was measured; null while this end has not

	Trip     *Spread          `json:"trip"`      // t: there and back, without the time at the peer where four stamps tell it
	Turn     *Spread          `json:"turn"`      // the time at the peer
	TurnIdle *Spread          `json:"turn_idle"` // the same while the link was idle
	TurnBusy *Spread          `json:"turn_busy"` // and while it carried more than a tenth of its speed
	Reaction *Spread          `json:"reaction"`  // of this end to XOFF
	Queues   []HeadroomQueue  `json:"queues"`
	Messages HeadroomMessages `json:"messages"`
}

// HeadroomValue is a headroom with the parts that it is the sum of, but for Eta and Delay, beside which the calculated
// value has the send call, the burst and k.
type HeadroomValue struct {
	Bits  int64          `json:"bits"`
	Bytes int64          `json:"bytes"`
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

// HeadroomQueue is the use of one lossless ingress queue's headroom, by the stamps of the frames, in octets on the wire.
type HeadroomQueue struct {
	Priority   Priority `json:"priority"`
	SizeBytes  int64    `json:"size_bytes"`
	XonBytes   int64    `json:"xon_bytes"`      // resume threshold in force
	Xoffs      uint64   `json:"xoffs"`          // how often the peer was told to stop
	PeakBytes  int64    `json:"peak_bytes"`     // most that came after an XOFF had left
	RingBytes  int64    `json:"ring_bytes"`     // most that had come before, and was looked at after
	RingFrames uint64   `json:"ring_frames"`    // frames that came after an XOFF had left and had to wait in the ring: the headroom was too small
	Crowded    uint64   `json:"crowded_frames"` // the same, because of what had come before
}

// HeadroomMessages counts measurement frames.
type HeadroomMessages struct {
	Asked    uint64    `json:"asked"`
	Answered uint64    `json:"answered"`
	Lost     uint64    `json:"lost"`
	Replies  uint64    `json:"replies"`
	Results  uint64    `json:"results"`
	Ignored  []Ignored `json:"ignored"`
}

func (m *moment) readHeadroom() Reply {
	r := &Headroom{Header: m.Header, Ports: []HeadroomPort{}}
	for _, info := range m.source.Headroom() {
		r.Ports = append(r.Ports, m.headroomPort(&info))
	}
	return r
}

func (m *moment) headroomPort(info *HeadroomInfo) HeadroomPort {
	h := &info.Report
	p := HeadroomPort{Port: info.Port, State: headroomState(h), Neighbor: present(h.Neighbour), Auto: h.Settings.Auto,
		ManualRequired: h.ManualRequired, ControlFrames: controlFrames(h), CalculatedBytes: info.Calculated.Bytes(),
		Eta: valueOf(info.Calculated.Eta), Delay: valueOf(info.Calculated.Delay), Told: h.Told,
		InForceBytes: h.InForce, InForceCells: headroom.Cells(h.InForce, info.Cell),
		Trip: spread(h.Trips), Turn: spread(h.Turns), TurnIdle: spread(h.Idle), TurnBusy: spread(h.Busy), Reaction: spread(h.Reactions), Queues: []HeadroomQueue{},
		Messages: HeadroomMessages{Asked: h.Counters.Asked, Answered: h.Counters.Answered, Lost: h.Counters.Lost,
			Replies: h.Counters.Replies, Results: h.Counters.Results, Ignored: []Ignored{}}}
	if h.ManualRequired {
		p.Remedy = present(fmt.Sprintf("%s: %d", h.Settings.Key, max(h.InForce, info.Calculated.Bytes())))
	}
	if h.Measured != nil {
		v := valueOf(h.Measured)
		p.Measured, p.PlainBits, p.XonBytes = &v, &h.Plain, &h.Xon
	}
	if h.PeerFound > 0 {
		p.PeerFoundBits, p.ReceivedBits = &h.PeerFound, &h.Received
	}
	for why, n := range h.Counters.Ignored {
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
	case h.Silent:
		return "silent"
	case h.Measured == nil:
		return "settling"
	}
	return "measuring"
}

func controlFrames(h *headroom.Report) string {
	switch {
	case h.Passes:
		return "pass"
	case h.Swallowed:
		return "swallowed"
	}
	return "unknown"
}

func valueOf(t headroom.Terms) HeadroomValue {
	v := HeadroomValue{Bits: t.Bits(), Bytes: headroom.Octets(t.Bits()), Terms: []HeadroomTerm{}}
	for _, term := range t {
		v.Terms = append(v.Terms, HeadroomTerm{term.Name, term.Bits})
	}
	return v
}

func spread(d headroom.Distribution) *Spread {
	if d.Samples == 0 {
		return nil
	}
	return &Spread{Samples: d.Samples, MinNs: int64(d.Min), P50Ns: int64(d.Median), P99Ns: int64(d.P99), P999Ns: int64(d.P999), MaxNs: int64(d.Max)}
}

func useOf(s *dataplane.PortSnapshot) []HeadroomQueue {
	queues := []HeadroomQueue{}
	use := func(q int, name Priority) {
		u := &s.Use[q]
		queues = append(queues, HeadroomQueue{Priority: name, SizeBytes: s.Config.Ingress[q].Headroom, XonBytes: s.Config.Ingress[q].Xon, Xoffs: u.Xoffs, PeakBytes: u.Peak,
			RingBytes: u.Ring, RingFrames: u.Waited, Crowded: u.Crowded})
	}
	if s.Config.Mode == macctl.ModePause {
		use(0, All)
		return queues
	}
	for set := s.Config.LosslessPriorities(); set != 0; set &= set - 1 {
		q := bits.TrailingZeros8(set)
		use(q, Priority(q))
	}
	return queues
}

// Text implements Reply.
func (r *Headroom) Text() string {
	found := newTable("PORT", "STATE", "NEIGHBOR", "0x8808", ">T", ">WIRE", ">REACTION", ">ETA", ">DELAY", ">CALCULATED", ">MEASURED", ">PEER'S", ">IN FORCE")
	used := newTable("PORT", "PRIO", ">XOFFS", ">SIZE", ">XON", ">PEAK USED", ">FROM THE RING", ">WAITED")
	times := newTable("PORT", "OF", ">SAMPLES", ">MIN", ">P50", ">P99", ">P99.9", ">MAX")
	remedies := newTable("PORT", "WRITE")
	ignored := newTable("PORT", "REASON", ">MESSAGES")
	for i := range r.Ports {
		p := &r.Ports[i]
		trip, wire, reaction, measured := none, none, none, none
		if p.Measured != nil {
			wire, reaction = count(headroom.Octets(p.Measured.Terms[0].Bits)), count(headroom.Octets(p.Measured.Terms[1].Bits))
			measured = count(p.Measured.Bytes)
		}
		if p.Trip != nil {
			trip = duration(p.Trip.MinNs)
		}
		found.row(p.Port, p.State, text(p.Neighbor), p.ControlFrames, trip, wire, reaction, count(p.Eta.Bytes), count(p.Delay.Bytes),
			count(p.CalculatedBytes), measured, octetsOf(p.ReceivedBits), count(p.InForceBytes))
		for _, q := range p.Queues {
			used.row(p.Port, q.Priority.String(), count(q.Xoffs), count(q.SizeBytes), count(q.XonBytes), count(q.PeakBytes), count(q.RingBytes), count(q.RingFrames))
		}
		times.spread(p.Port, "trip, there and back", p.Trip)
		times.spread(p.Port, "turn-around at the peer, idle", p.TurnIdle)
		times.spread(p.Port, "turn-around at the peer, under load", p.TurnBusy)
		times.spread(p.Port, "reaction of this end to XOFF", p.Reaction)
		if p.Remedy != nil {
			remedies.row(p.Port, *p.Remedy)
		}
		for _, g := range p.Messages.Ignored {
			if g.Frames > 0 {
				ignored.row(p.Port, g.Reason, count(g.Frames))
			}
		}
	}
	return sections(r.headline(), section{"Headroom of each lossless queue, bytes", found},
		section{"Ports whose peer does not measure: set the headroom by hand", remedies},
		section{"Use: bytes on the wire that came after XOFF had left; FROM THE RING had come before", used},
		section{"Times", times}, section{"Measurement frames that were ignored", ignored})
}

func (t *table) spread(port, of string, s *Spread) {
	if s != nil {
		t.row(port, of, count(s.Samples), duration(s.MinNs), duration(s.P50Ns), duration(s.P99Ns), duration(s.P999Ns), duration(s.MaxNs))
	}
}

// octetsOf writes bits that may not exist as octets.
func octetsOf(bits *int64) string {
	if bits == nil {
		return none
	}
	return count(headroom.Octets(*bits))
}
