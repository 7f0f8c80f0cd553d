package api

import (
	"fmt"

	"pfcswitch/dataplane"
	"pfcswitch/macctl"
)

// PFC is the answer to show pfc: which ports are paused by PFC or PAUSE, and for how long. "Received" is what the peer
// sends to this port, "sent" is what this port sends to the peer.
type PFC struct {
	Header
	Ports        []PFCPort `json:"ports"`
	XoffReaction Reaction  `json:"xoff_reaction"`      // from crossing the threshold to sending XOFF
	XoffAge      Reaction  `json:"xoff_since_arrival"` // the same from the receive stamp of the frame that crosses it
}

// PFCPort is the flow control of one port.
type PFCPort struct {
	Port        string `json:"port"`
	FlowControl string `json:"flow_control"`
	Asymmetric  bool   `json:"asymmetric"` // obeyed for all priorities, sent for the lossless ones
	// Priorities are number 0 to 7 in this order; with 802.3x PAUSE there is one, "all".
	Priorities    []PFCPriority `json:"priorities"`
	Ignored       []Ignored     `json:"ignored"`
	PauseReaction Reaction      `json:"pause_reaction"` // from XOFF received to the last send call
	DelayLate     Reaction      `json:"delay_late"`     // of frames that leave the delay line
}

// PFCPriority is the flow control of one priority. Shares are of the header's elapsed time.
type PFCPriority struct {
	Priority            Priority `json:"priority"`
	Lossless            bool     `json:"lossless"`
	State               string   `json:"state"` // running, paused by peer, holding peer, both, down, off
	ReceivedFrames      uint64   `json:"received_frames"`
	ReceivedPausedNs    int64    `json:"received_paused_ns"` // held by the peer
	ReceivedPausedShare float64  `json:"received_paused_share"`
	SentFrames          uint64   `json:"sent_frames"`
	SentXoff            uint64   `json:"sent_xoff"` // changes: refreshes are not among them
	SentXon             uint64   `json:"sent_xon"`
	SentPausedNs        int64    `json:"sent_paused_ns"` // holding the peer
	SentPausedShare     float64  `json:"sent_paused_share"`

	Recent *PFCRecent `json:"recent"` // null where the port was not there, or began to count anew, at the begin
}

// Ignored counts MAC Control frames that were not obeyed, wholly or in part.
type Ignored struct {
	Reason string `json:"reason"`
	Frames uint64 `json:"frames"`
}

// A Reaction is a distribution of reaction times. Quantiles are upper bounds, at most a fifth too high; null if there
// are no samples.
type Reaction struct {
	Count  uint64 `json:"count"`
	MeanNs *int64 `json:"mean_ns"`
	P50Ns  *int64 `json:"p50_ns"`
	P99Ns  *int64 `json:"p99_ns"`
	MaxNs  *int64 `json:"max_ns"`
}

func (m *moment) readPFC() *PFC {
	return &PFC{m.Header, each(m.snapshot.Ports, m.pfcPort), reaction(&m.snapshot.Xoff), reaction(&m.snapshot.XoffAge)}
}

func (m *moment) pfcPort(p *dataplane.PortSnapshot) PFCPort {
	v := PFCPort{Port: p.Config.Name, FlowControl: p.Config.Mode.String(), Asymmetric: p.Config.Asymmetric,
		PauseReaction: reaction(&p.Reaction),
		DelayLate:     reaction(&p.Late)}
	if p.Config.Mode == macctl.ModePause {
		v.Priorities = []PFCPriority{m.pause(p)}
	} else {
		for prio := range uint8(dataplane.NumPriorities) {
			v.Priorities = append(v.Priorities, m.pfc(p, prio))
		}
	}
	for reason := macctl.ReasonNone + 1; int(reason) < macctl.NumReasons; reason++ {
		v.Ignored = append(v.Ignored, Ignored{reason.String(), p.Received.Ignored[reason]})
	}
	v.Ignored = append(v.Ignored, Ignored{"ring", p.Counters.ControlLost})
	return v
}

func (m *moment) pfc(p *dataplane.PortSnapshot, prio uint8) PFCPriority {
	bit, got, sent := uint8(1)<<prio, &p.Received, &p.ControlSent
	lossless, on := p.Config.LosslessPriorities()&bit != 0, p.Config.Obeyed()&bit != 0
	return m.priority(p, PFCPriority{Priority: Priority(prio), Lossless: lossless,
		State:          pauseState(on, p.Up, p.Paused&bit != 0, p.XoffWanted&bit != 0),
		ReceivedFrames: got.PFCFrames[prio], ReceivedPausedNs: p.PausedNs[prio], SentFrames: sent.PFCFrames[prio],
		SentXoff: sent.XoffSent[prio], SentXon: sent.XonSent[prio], SentPausedNs: p.HeldNs[prio]})
}

func (m *moment) pause(p *dataplane.PortSnapshot) PFCPriority {
	return m.priority(p, PFCPriority{Priority: All, Lossless: true,
		State:          pauseState(true, p.Up, p.Paused != 0, p.XoffWanted != 0),
		ReceivedFrames: p.Received.PauseFrames, ReceivedPausedNs: p.PausedAllNs, SentFrames: p.ControlSent.PauseFrames,
		SentXoff: p.ControlSent.PauseXoffSent, SentXon: p.ControlSent.PauseXonSent, SentPausedNs: p.HeldAllNs})
}

func (m *moment) priority(p *dataplane.PortSnapshot, q PFCPriority) PFCPriority {
	q.ReceivedPausedShare, q.SentPausedShare = m.share(q.ReceivedPausedNs), m.share(q.SentPausedNs)
	q.Recent = m.recent.priority(p.Config.Name, q.Priority)
	return q
}

func pauseState(on, up, paused, holding bool) string {
	switch {
	case !on:
		return "off"
	case !up:
		return "down"
	case paused && holding:
		return "both"
	case paused:
		return "paused by peer"
	case holding:
		return "holding peer"
	}
	return "running"
}

func reaction(h *dataplane.Histogram) Reaction {
	if h.Count == 0 {
		return Reaction{}
	}
	mean := h.Sum / int64(h.Count)
	p50, p99, longest := h.Quantile(0.5), h.Quantile(0.99), h.Quantile(1)
	return Reaction{Count: h.Count, MeanNs: &mean, P50Ns: &p50, P99Ns: &p99, MaxNs: &longest}
}

// Text implements Reply.
func (r *PFC) Text() string {
	held := newTable("PORT", "PRIO", ">RX FRAMES", ">RX PAUSED", ">%", ">% NOW", ">TX FRAMES", ">TX PAUSED", ">%",
		">% NOW", "STATE")
	ignored := newTable("PORT", "REASON", ">FRAMES")
	reactions := newTable("PORT", "OF", ">COUNT", ">P50", ">P99", ">MAX")
	for _, p := range r.Ports {
		for _, q := range p.Priorities {
			if q.Lossless || q.ReceivedFrames+q.SentFrames > 0 {
				received, sent := q.Recent.shares()
				held.row(p.Port, q.Priority, q.ReceivedFrames, ns(q.ReceivedPausedNs), percent(q.ReceivedPausedShare),
					received, q.SentFrames, ns(q.SentPausedNs), percent(q.SentPausedShare), sent, stateText(q.State))
			}
		}
		for _, i := range p.Ignored {
			if i.Frames > 0 {
				ignored.row(p.Port, i.Reason, i.Frames)
			}
		}
		reactions.add(p.Port, "XOFF received to last send", &p.PauseReaction)
		if p.DelayLate.Count > 0 {
			reactions.add(p.Port, "frame due in the delay line to sent", &p.DelayLate)
		}
	}
	reactions.add(none, "threshold crossed to XOFF sent", &r.XoffReaction)
	reactions.add(none, "frame arrived that crossed it to XOFF sent", &r.XoffAge)
	return sections(r.headline(), section{r.title(), held},
		section{"MAC Control frames that were not obeyed, wholly or in part", ignored},
		section{"Reaction times", reactions})
}

func (r *PFC) title() string {
	title := "RX: held by the peer. TX: holding the peer. %: of the whole time"
	for _, p := range r.Ports {
		for _, q := range p.Priorities {
			if q.Recent != nil {
				return fmt.Sprintf("%s; now: of the last %s", title, duration(q.Recent.IntervalNs))
			}
		}
	}
	return title
}

func (r *PFCRecent) shares() (received, sent string) {
	if r == nil {
		return none, none
	}
	return percent(r.ReceivedPausedShare), percent(r.SentPausedShare)
}

// stateText describes a pause state.
func stateText(state string) string {
	switch state {
	case "paused by peer":
		return "held by the peer"
	case "holding peer":
		return "holding the peer"
	case "both":
		return "held by the peer, and holding it"
	}
	return state
}

func (t *table) add(port, of string, r *Reaction) {
	if r.Count > 0 {
		t.row(port, of, r.Count, optional(r.P50Ns, duration), optional(r.P99Ns, duration), optional(r.MaxNs, duration))
	}
}
