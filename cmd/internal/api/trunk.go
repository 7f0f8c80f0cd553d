package api

import (
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

// Trunks is the answer to show trunk. Bytes are those of frames with FCS.
type Trunks struct {
	Header
	Trunks []Trunk `json:"trunks"` // in the order of the configuration
}

// Trunk is the state of one trunk.
type Trunk struct {
	Trunk        string          `json:"trunk"`
	Uplink       TrunkUplink     `json:"uplink"`
	Distribution string          `json:"distribution"`
	FlowControl  string          `json:"flow_control"`
	Metered      bool            `json:"metered"` // the members together are faster than the uplink
	Members      []TrunkMember   `json:"members"`
	Priorities   []TrunkPriority `json:"priorities"` // number 0 to 7, in this order
	Total        TrunkTotal      `json:"total"`
}

// TrunkUplink is the fast port of a trunk.
type TrunkUplink struct {
	Port         string `json:"port"`
	Up           bool   `json:"up"`
	PausedByPeer bool   `json:"paused_by_peer"`
	Held         bool   `json:"held"`         // its peer, by the trunk
	Holds        uint64 `json:"holds"`        // of the whole port, by PAUSE, that began
	HoldsPassed  uint64 `json:"holds_passed"` // of these: because all members were paused; the others by watermark
	Bytes        int64  `json:"bytes"`        // that wait for it
	SentFrames   uint64 `json:"sent_frames"`
	SentBytes    uint64 `json:"sent_bytes"`
}

// TrunkMember is one slow port of a trunk.
type TrunkMember struct {
	Port         string `json:"port"`
	Up           bool   `json:"up"`
	PausedByPeer bool   `json:"paused_by_peer"`
	Held         bool   `json:"held"`  // its peer, by the trunk
	Holds        uint64 `json:"holds"` // of the whole port, by PAUSE, that began
	// of these: because the uplink was paused; the others by watermark
	HoldsPassed       uint64           `json:"holds_passed"`
	ShareBytes        int64            `json:"share_bytes"`      // came by it and wait for the uplink
	AreaBytes         int64            `json:"area_bytes"`       // are to leave by it
	CollectedFrames   uint64           `json:"collected_frames"` // received, with drops by meter or RED
	CollectedBytes    uint64           `json:"collected_bytes"`
	DistributedFrames uint64           `json:"distributed_frames"` // were to leave by it
	DistributedBytes  uint64           `json:"distributed_bytes"`
	SentFrames        uint64           `json:"sent_frames"` // left by it
	SentBytes         uint64           `json:"sent_bytes"`
	Priorities        []MemberPriority `json:"priorities"` // number 0 to 7, in this order
}

// MemberPriority counts the frames of one priority at a member: received ones by colour, and those sent to it.
type MemberPriority struct {
	Priority Priority `json:"priority"`
	Colours
	Distributed Frames `json:"distributed"`
}

// Colours counts frames by the result of a meter.
type Colours struct {
	Green  Frames `json:"green"`
	Yellow Frames `json:"yellow"`
	Red    Frames `json:"red"`
}

// Frames is a number of frames and their bytes.
type Frames struct {
	Frames uint64 `json:"frames"`
	Bytes  uint64 `json:"bytes"`
}

// TrunkPriority is one priority of a trunk, all members together.
type TrunkPriority struct {
	Priority    Priority    `json:"priority"`
	Lossless    bool        `json:"lossless"`
	Meter       *TrunkMeter `json:"meter"` // null where nothing is metered
	UplinkBytes int64       `json:"uplink_bytes"`
	MemberBytes int64       `json:"member_bytes"`
	Colours
	MeterDropped Frames `json:"meter_dropped"` // for being red, by their own meter or the total's
	REDDropped   Frames `json:"red_dropped"`   // by random early discard of the priority
	MembersHeld  bool   `json:"members_held"`
	MemberHolds  uint64 `json:"member_holds"`        // of all members, by PFC, that began
	MemberPassed uint64 `json:"member_holds_passed"` // begun by a pause of the uplink
	UplinkHeld   bool   `json:"uplink_held"`         // by PFC
	UplinkHolds  uint64 `json:"uplink_holds"`
	UplinkPassed uint64 `json:"uplink_holds_passed"` // begun by a pause of all members
}

// TrunkMeter is the profile of a meter: rates in bit/s, bursts in bytes.
type TrunkMeter struct {
	CIR int64 `json:"cir_bits_per_second"`
	PIR int64 `json:"pir_bits_per_second"`
	CBS int64 `json:"cbs_bytes"`
	PBS int64 `json:"pbs_bytes"`
}

// TrunkTotal counts frames by the result of the total's meter and RED, which see only yellow frames.
type TrunkTotal struct {
	Meter *TrunkMeter `json:"meter"` // null where nothing is metered
	Colours
	REDDropped Frames `json:"red_dropped"`
}

func (m *moment) readTrunk() *Trunks { return &Trunks{m.Header, each(m.snapshot.Trunks, trunkOf)} }

func trunkOf(v *dataplane.TrunkSnapshot) Trunk {
	c := &v.Config
	t := Trunk{Trunk: c.Name, Distribution: "least-filled", FlowControl: c.Flow.Mode.String(),
		Metered: c.Aggregate.Metered,
		Uplink: TrunkUplink{Port: v.Uplink, Up: v.Up, PausedByPeer: v.Paused != 0, Held: v.Held.Uplink != 0,
			Holds: v.UplinkPauses.Begun, HoldsPassed: v.UplinkPauses.Passed, SentFrames: v.Sent.Frames,
			SentBytes: v.Sent.Octets},
		Total: TrunkTotal{Meter: trunkMeter(c.Aggregate.Metered, c.Aggregate.Total), Colours: coloursOf(&v.Total),
			REDDropped: frames(v.TotalRED)}}
	if c.ByFlow {
		t.Distribution = "flow-hash"
	}
	for p := range dataplane.NumPriorities {
		t.Priorities = append(t.Priorities, trunkPriority(v, p))
		t.Uplink.Bytes += v.ToUplink[p]
	}
	for i := range v.Members {
		t.Members = append(t.Members, trunkMember(v, i))
	}
	return t
}

func trunkMeter(metered bool, c trunk.MeterConfig) *TrunkMeter {
	if !metered {
		return nil
	}
	return &TrunkMeter{c.CIR, c.PIR, c.CBS, c.PBS}
}

func frames(t trunk.Tally) Frames { return Frames{Frames: t.Frames, Bytes: t.Octets} }

func coloursOf(t *[trunk.NumColours]trunk.Tally) Colours {
	return Colours{frames(t[trunk.Green]), frames(t[trunk.Yellow]), frames(t[trunk.Red])}
}

func (f Frames) plus(all ...Frames) Frames {
	for _, g := range all {
		f.Frames, f.Bytes = f.Frames+g.Frames, f.Bytes+g.Bytes
	}
	return f
}

func trunkPriority(v *dataplane.TrunkSnapshot, p int) TrunkPriority {
	c := &v.Config.Aggregate
	t := TrunkPriority{Priority: Priority(p), Lossless: c.Lossless>>p&1 == 1, Meter: trunkMeter(c.Metered, c.Meters[p]),
		UplinkBytes: v.ToUplink[p], MemberBytes: v.ToMembers[p], MeterDropped: frames(v.MeterRed[p]),
		REDDropped: frames(v.RED[p]), MembersHeld: v.Held.Priorities>>p&1 == 1, MemberHolds: v.Holds[p].Begun,
		MemberPassed: v.Holds[p].Passed, UplinkHeld: v.Config.Flow.Mode == macctl.ModePFC && v.Held.Uplink>>p&1 == 1,
		UplinkHolds: v.UplinkHolds[p].Begun, UplinkPassed: v.UplinkHolds[p].Passed}
	for i := range v.Members {
		c := coloursOf(&v.Members[i].Colours[p])
		t.Green, t.Yellow, t.Red = t.Green.plus(c.Green), t.Yellow.plus(c.Yellow), t.Red.plus(c.Red)
	}
	return t
}

func trunkMember(v *dataplane.TrunkSnapshot, i int) TrunkMember {
	m := &v.Members[i]
	t := TrunkMember{Port: m.Port, Up: m.Up, PausedByPeer: m.Paused != 0,
		Held: v.Held.Priorities != 0 || v.Held.Members>>i&1 == 1, Holds: m.Holds.Begun, HoldsPassed: m.Holds.Passed,
		ShareBytes: m.Share, AreaBytes: m.Area, SentFrames: m.Sent.Frames, SentBytes: m.Sent.Octets}
	var collected, distributed Frames
	for p := range m.Colours {
		mp := MemberPriority{Priority(p), coloursOf(&m.Colours[p]), frames(m.Distributed[p])}
		t.Priorities = append(t.Priorities, mp)
		collected, distributed = collected.plus(mp.Green, mp.Yellow, mp.Red), distributed.plus(mp.Distributed)
	}
	t.CollectedFrames, t.CollectedBytes = collected.Frames, collected.Bytes
	t.DistributedFrames, t.DistributedBytes = distributed.Frames, distributed.Bytes
	return t
}

// Text implements Reply.
func (r *Trunks) Text() string {
	if len(r.Trunks) == 0 {
		return r.headline() + "\nthere is no trunk\n"
	}
	ports := newTable("TRUNK", "PORT", "ROLE", "STATE", ">WAITING IN", ">WAITING OUT", ">RX FRAMES", ">TX FRAMES")
	priorities := newTable("TRUNK", "PRIO", "CLASS", ">CIR", ">PIR", ">UP BYTES", ">DOWN BYTES", ">GREEN", ">YELLOW",
		">RED", ">METER DROPS", ">RED DROPS", "HELD", ">MEMBER HOLDS", ">PASSED", ">UPLINK HOLDS", ">PASSED")
	for i := range r.Trunks {
		t := &r.Trunks[i]
		t.portRows(ports)
		t.priorityRows(priorities)
	}
	return sections(r.headline(), section{"", ports},
		section{"Priorities: colours of what came by members; total: of what was yellow before; passed: holds that a " +
			"pause of the other side began, the others began by watermark", priorities})
}

// ports are the names of the trunk's ports.
func (t *Trunk) ports() []string {
	return append(each(t.Members, func(m *TrunkMember) string { return m.Port }), t.Uplink.Port)
}

func (t *Trunk) portRows(ports *table) {
	var down int64
	var distributed uint64
	for i := range t.Members {
		m := &t.Members[i]
		ports.row(t.Trunk, m.Port, "member", pauseState(true, m.Up, m.PausedByPeer, m.Held), m.ShareBytes, m.AreaBytes,
			m.CollectedFrames, m.SentFrames)
		down += m.AreaBytes
		distributed += m.DistributedFrames
	}
	ports.row(t.Trunk, t.Uplink.Port, "uplink, "+t.Distribution,
		pauseState(true, t.Uplink.Up, t.Uplink.PausedByPeer, t.Uplink.Held), down, t.Uplink.Bytes, distributed,
		t.Uplink.SentFrames)
}

func (t *Trunk) priorityRows(priorities *table) {
	for i := range t.Priorities {
		p := &t.Priorities[i]
		cir, pir := p.Meter.rates()
		priorities.row(t.Trunk, p.Priority, either(p.Lossless, "lossless", "lossy"), cir, pir, p.UplinkBytes,
			p.MemberBytes, p.Green.Frames, p.Yellow.Frames, p.Red.Frames, p.MeterDropped.Frames, p.REDDropped.Frames,
			p.held(), p.MemberHolds, p.MemberPassed, p.UplinkHolds, p.UplinkPassed)
	}
	cir, pir := t.Total.Meter.rates()
	var holds, passed uint64
	for i := range t.Members {
		holds += t.Members[i].Holds
		passed += t.Members[i].HoldsPassed
	}
	priorities.row(t.Trunk, "total", none, cir, pir, none, none, t.Total.Green.Frames, t.Total.Yellow.Frames,
		t.Total.Red.Frames, none, t.Total.REDDropped.Frames, none, holds, passed, t.Uplink.Holds, t.Uplink.HoldsPassed)
}

func (p *TrunkPriority) held() string {
	switch {
	case p.MembersHeld && p.UplinkHeld:
		return "both"
	case p.MembersHeld:
		return "members"
	case p.UplinkHeld:
		return "uplink"
	}
	return none
}

func (m *TrunkMeter) rates() (cir, pir string) {
	if m == nil {
		return none, none
	}
	return Rate(m.CIR), Rate(m.PIR)
}
