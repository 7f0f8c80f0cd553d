package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// Ports is the answer to show ports.
type Ports struct {
	Header
	Ports []Port `json:"ports"` // in the order of the configuration
	// KernelBacklogDrops are frames that the kernel dropped before any receive ring, of the whole machine.
	KernelBacklogDrops uint64 `json:"kernel_backlog_drops"`
}

// Port is the state of one port. Bytes are without FCS.
type Port struct {
	Port               string     `json:"port"`
	Interface          string     `json:"interface"`
	Netns              *string    `json:"netns"` // null: the daemon's own
	Kind               string     `json:"kind"`
	Up                 bool       `json:"up"`
	Reason             *string    `json:"reason"`                // why it is down; null where it is up
	Send               *Send      `json:"send"`                  // null: TAP, or no interface
	Assist             *Assist    `json:"assist"`                // null: no interface
	SpeedBitsPerSecond *int64     `json:"speed_bits_per_second"` // null: no shaper
	MTUBytes           *int       `json:"mtu_bytes"`             // null: no interface
	FlowControl        *string    `json:"flow_control"`          // pfc, pause or off
	LosslessPriorities []Priority `json:"lossless_priorities"`
	Asymmetric         bool       `json:"asymmetric"`    // PFC is obeyed for all priorities
	DCBXMismatch       bool       `json:"dcbx_mismatch"` // the neighbor does not agree with these
	Loop               *string    `json:"loop"`          // watching; shut: a loop was found; idle
	LoopReason         *string    `json:"loop_reason"`   // which probe came back; null where no loop was found

	ReceiveFrames   uint64 `json:"receive_frames"` // after GSO frames were cut
	ReceiveBytes    uint64 `json:"receive_bytes"`
	TransmitFrames  uint64 `json:"transmit_frames"`
	TransmitBytes   uint64 `json:"transmit_bytes"`
	ForwardedFrames uint64 `json:"forwarded_frames"` // of transmit_frames: by a program in the kernel (assist)
	DroppedFrames   uint64 `json:"dropped_frames"`   // for whatever reason, of those that arrived here
	LosslessDrops   uint64 `json:"lossless_drops"`
	// LosslessDiscarded are frames of lossless priorities that were dropped on purpose, and LosslessDiscardedBy the
	// same by reason; only what happened.
	LosslessDiscarded   uint64        `json:"lossless_discarded_frames"`
	LosslessDiscardedBy []DiscardedBy `json:"lossless_discarded_by"`

	OverspeedFrames uint64  `json:"overspeed_frames"` // arrived faster than the port's speed and burst
	TAPDrops        *uint64 `json:"tap_drops"`        // full queue towards the host; null: no TAP
	// FloodCopies are copies beyond the first of frames that arrived here: received + copies = sent + dropped + held.
	FloodCopies        uint64 `json:"flood_copies"`
	ProbeReceiveFrames uint64 `json:"probe_receive_frames"` // own loop probes, not counted among the frames
	ProbeSendFrames    uint64 `json:"probe_transmit_frames"`
	ProbeIgnoredFrames uint64 `json:"probe_ignored_frames"` // used before, late or forged

	Recent *PortRecent `json:"recent"` // null where the port was not there, or began to count anew, at the begin
}

// DiscardedBy is a number of discarded frames of lossless priorities.
type DiscardedBy struct {
	Reason string `json:"reason"`
	Frames uint64 `json:"frames"`
}

// DiscardedText lists reasons, such as "watchdog 17, filtered 2".
func DiscardedText(all []DiscardedBy) string {
	return strings.Join(each(all, func(d *DiscardedBy) string { return d.Reason + " " + count(d.Frames) }), ", ")
}

// Send is how the frames of a port leave.
type Send struct {
	By  string  `json:"by"`  // af_xdp: bursts of plain frames of up to 2048 octets; packet: all
	Why *string `json:"why"` // null with af_xdp
}

// Assist is what programs in the kernel do for a port.
type Assist struct {
	Does string  `json:"does"` // fast: forward what nothing stands before, and hold; hold: the peer of a frozen switch; off
	Why  *string `json:"why"`  // why not fast; null with fast
}

// AssistStarting begins the reason of a port that is in service before its programs.
const AssistStarting = "starting"

// Starting reports whether a port is in service before its programs.
func (r *Ports) Starting() bool {
	return slices.ContainsFunc(r.Ports, func(p Port) bool {
		return p.Assist != nil && p.Assist.Why != nil && strings.HasPrefix(*p.Assist.Why, AssistStarting+":")
	})
}

// newAssist joins what the switch knows, and why there are no programs.
func newAssist(a dataplane.Assist, none string) *Assist {
	switch {
	case a.Fast:
		return &Assist{Does: "fast"}
	case a.Hold:
		return &Assist{Does: "hold", Why: &a.Why}
	case a.Why != "":
		return &Assist{Does: "off", Why: &a.Why}
	case none != "":
		return &Assist{Does: "off", Why: &none}
	}
	return nil
}

// text is the word, and where that is not fast, why in a few words.
func (a *Assist) text() string {
	if a == nil {
		return "-"
	}
	if a.Why == nil {
		return a.Does
	}
	why, _, _ := strings.Cut(*a.Why, ":")
	return a.Does + " (" + why + ")"
}

func (m *moment) readPorts() *Ports {
	r := &Ports{Header: m.Header, KernelBacklogDrops: countSince(m.source.KernelBacklogDrops(), m.base.backlog)}
	for _, info := range m.source.Ports() {
		p := Port{Port: info.Name, Interface: info.Interface, Netns: nonZero(info.Netns), Kind: info.Kind,
			Reason: nonZero(info.State), DCBXMismatch: info.Mismatch,
			Recent: m.recent.port(info.Name)}
		if state := m.port(info.Name); state != nil {
			p.fill(state)
			p.Assist = newAssist(state.Assist, info.NoAssist)
		}
		if !p.Up && p.Reason == nil {
			p.Reason = nonZero("the link is down")
		}
		r.Ports = append(r.Ports, p)
	}
	return r
}

// fill adds what the data plane knows.
func (p *Port) fill(v *dataplane.PortSnapshot) {
	c := &v.Counters
	p.Up = v.Up
	if p.Up {
		p.Reason = nil
	}
	if v.TxPath != (port.TxPath{}) {
		p.Send = &Send{By: "packet", Why: nonZero(v.TxPath.Why)}
		if v.TxPath.XDP {
			p.Send.By = "af_xdp"
		}
	}
	if v.Config.Speed > 0 {
		p.SpeedBitsPerSecond = &v.Config.Speed
	}
	p.MTUBytes = nonZero(v.Config.Classify.MTU)
	p.FlowControl, p.Loop = nonZero(v.Config.Mode.String()), nonZero(v.Loop.String())
	p.LoopReason = nonZero(v.LoopWhy)
	p.LosslessPriorities, p.Asymmetric = Priorities(v.Config.LosslessPriorities()), v.Config.Asymmetric
	p.ReceiveFrames, p.ReceiveBytes, p.TransmitFrames, p.TransmitBytes = c.ReceivedFrames, c.ReceivedBytes,
		c.SentFrames, c.SentBytes
	for _, n := range c.Forwarded {
		p.ForwardedFrames += n
	}
	p.OverspeedFrames, p.FloodCopies = c.Overspeed, c.Copies
	p.ProbeReceiveFrames, p.ProbeSendFrames = c.LoopProbesReceived[bridge.ProbeReturns], c.LoopProbesSent
	for _, n := range c.LoopProbesReceived[bridge.ProbeReturns+1:] {
		p.ProbeIgnoredFrames += n
	}
	if v.Config.TAP {
		p.TAPDrops = &c.HostDrops
	}
	p.DroppedFrames = dropped(v)
	for _, n := range c.LosslessDrops {
		p.LosslessDrops += n
	}
	for r := range dataplane.NumDropReasons {
		frames := uint64(0)
		for prio := range c.LosslessDiscarded {
			frames += c.LosslessDiscarded[prio][r]
		}
		if frames > 0 {
			p.LosslessDiscarded += frames
			p.LosslessDiscardedBy = append(p.LosslessDiscardedBy, DiscardedBy{r.String(), frames})
		}
	}
}

// dropped counts the frames that arrived at a port and were lost, for whatever reason.
func dropped(p *dataplane.PortSnapshot) (frames uint64) {
	for prio := range p.Counters.Drops {
		for _, n := range p.Counters.Drops[prio] {
			frames += n
		}
	}
	return frames
}

// Text implements Reply: what changes, in 100 columns.
func (r *Ports) Text() string { return sections(r.headline(), r.brief()...) }

// Detail is the text with what seldom changes, and with the counters.
func (r *Ports) Detail() string {
	return sections(r.headline(), append(r.brief(), section{"Interfaces", r.interfaces()},
		section{"Frames and bytes, without FCS", r.allCounters()})...)
}

func (r *Ports) brief() []section {
	const percentages = "%: of the speed, with FCS, preamble and gap"
	title := percentages
	t := newTable("PORT", "STATE", ">SPEED", ">MTU", "FLOW", ">RX bit/s", ">%", ">TX bit/s", ">%", ">DROPS", ">LOST",
		">DISCARDED")
	notes := newTable("PORT", "NOTE")
	for _, p := range r.Ports {
		rx, tx, rxShare, txShare := none, none, none, none
		if x := p.Recent; x != nil {
			title = "Rates of the last " + duration(x.IntervalNs) + "; " + percentages
			rx, tx = Scaled(x.ReceiveBits), Scaled(x.TransmitBits)
		}
		if in, out, ok := p.Utilization(); ok {
			rxShare, txShare = percent(in), percent(out)
		}
		t.row(p.Port, either(p.Up, "up", "down"), p.speed(), optional(p.MTUBytes, strconv.Itoa), p.flow(), rx, rxShare,
			tx, txShare, p.DroppedFrames, p.LosslessDrops, p.LosslessDiscarded)
		if note := p.note(); note != "" {
			notes.row(p.Port, note)
		}
	}
	return []section{{title, t}, {"", notes}}
}

func (r *Ports) interfaces() *table {
	return tableOf(r.Ports, func(t *table, p *Port) {
		t.row(p.Port, p.Interface, p.Netns, p.Kind, p.Assist.text())
	}, "PORT", "INTERFACE", "NETNS", "KIND", "ASSIST")
}

func (r *Ports) allCounters() *table {
	return tableOf(r.Ports, func(t *table, p *Port) {
		rx, tx, drops := none, none, none
		if x := p.Recent; x != nil {
			rx, tx, drops = Tenths(x.ReceiveFrames), Tenths(x.TransmitFrames), Tenths(x.DroppedFrames)
		}
		t.row(p.Port, p.ReceiveFrames, p.ReceiveBytes, rx, p.TransmitFrames, p.TransmitBytes, tx, drops,
			p.OverspeedFrames)
	}, "PORT", ">RX FRAMES", ">RX BYTES", ">RX FRAMES/s", ">TX FRAMES", ">TX BYTES", ">TX FRAMES/s", ">DROPS/s",
		">OVERSPEED")
}

func (p *Port) speed() string {
	if p.SpeedBitsPerSecond == nil {
		return "none"
	}
	return Rate(*p.SpeedBitsPerSecond)
}

// Utilization returns the shares of the port's speed that received and transmitted frames have taken of late, with FCS,
// preamble and gap; ok is false without a speed, or where nothing is known of late.
func (p *Port) Utilization() (received, transmitted float64, ok bool) {
	x := p.Recent
	if p.SpeedBitsPerSecond == nil || x == nil {
		return 0, 0, false
	}
	share := func(bits, frames float64) float64 {
		return (bits + 8*frame.WireExtras*frames) / float64(*p.SpeedBitsPerSecond)
	}
	return share(x.ReceiveBits, x.ReceiveFrames), share(x.TransmitBits, x.TransmitFrames), true
}

// flow is the flow control with the priorities that are lossless by it, such as "pfc 3".
func (p *Port) flow() string {
	mode := optionalText(p.FlowControl)
	switch {
	case mode == "pause":
		return mode + " " + All.String()
	case mode == "pfc" && len(p.LosslessPriorities) > 0:
		return mode + " " + JoinPriorities(p.LosslessPriorities)
	}
	return mode
}

// note says why the port is not fully in service, or else what it has discarded.
func (p *Port) note() string {
	switch {
	case p.Reason != nil:
		return *p.Reason
	case optionalText(p.Loop) == "shut":
		return "flooding is off: " + optionalText(p.LoopReason)
	case p.DCBXMismatch:
		return "PFC does not agree with the neighbor: see show lldp"
	case p.TAPDrops != nil && *p.TAPDrops > 0:
		return fmt.Sprintf("the host lost %d frames in its own queues", *p.TAPDrops)
	case p.LosslessDiscarded > 0:
		return "discarded: " + DiscardedText(p.LosslessDiscardedBy)
	case p.OverspeedFrames > 0:
		return count(p.OverspeedFrames) + " frames came faster than the speed: set the speed of both ends alike"
	}
	return ""
}
