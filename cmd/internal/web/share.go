package web

import (
	"math"
	"time"

	"pfcswitch/cmd/internal/api"
)

// window is the time that shares cover, as soon as it has been watched for so long.
const window = 5 * time.Second

// Shares are the parts of a time for which priorities of a port were paused, from 0 to 1, in the order of the priorities
// of its PFC. Without a second look there are none.
type Shares struct {
	Port     string    `json:"port"`
	WindowNs int64     `json:"window_ns"`             // the time, by the switch's clock; 0: there are no shares
	Received []float64 `json:"received_paused_share"` // the peer held the port
	Sent     []float64 `json:"sent_paused_share"`     // the port held the peer
}

// A history is what was counted of one switch within the window.
type history struct {
	started time.Time // of the switch that counted: another begins again from 0
	ports   map[string][]sample
}

// A sample is what a port had counted at a moment.
type sample struct {
	at   int64 // ns of the switch's clock
	mode string
	pfc  []api.PFCPriority
}

// add notes a state and returns the shares up to it, in the order of the ports of its PFC.
func (h *history) add(s *api.State) []Shares {
	if !s.Started.Equal(h.started) {
		h.started, h.ports = s.Started, nil
	}
	old := h.ports
	h.ports = make(map[string][]sample, len(s.PFC)) // ports that have gone are forgotten
	all := make([]Shares, 0, len(s.PFC))
	for i := range s.PFC {
		p := &s.PFC[i]
		now := sample{s.SwitchNs, p.FlowControl, p.Priorities}
		kept := append(follow(old[p.Port], now), now)
		h.ports[p.Port] = kept
		all = append(all, between(p.Port, kept[0], now))
	}
	return all
}

// follow returns the samples that go on to now: those in the window, of the same flow control, that count no more.
func follow(old []sample, now sample) []sample {
	kept := old[:0:0]
	for _, s := range old {
		if s.at < now.at && now.at-s.at <= int64(window) && s.mode == now.mode && len(s.pfc) == len(now.pfc) && grown(s.pfc, now.pfc) {
			kept = append(kept, s)
		}
	}
	return kept
}

// grown tells whether no counter has gone back, as those of a port that was removed and came again do.
func grown(from, to []api.PFCPriority) bool {
	for i := range from {
		if to[i].ReceivedPausedNs < from[i].ReceivedPausedNs || to[i].SentPausedNs < from[i].SentPausedNs {
			return false
		}
	}
	return true
}

func between(port string, from, to sample) Shares {
	v := Shares{Port: port, WindowNs: to.at - from.at, Received: []float64{}, Sent: []float64{}}
	if v.WindowNs == 0 {
		return v
	}
	for i := range to.pfc {
		v.Received = append(v.Received, share(to.pfc[i].ReceivedPausedNs-from.pfc[i].ReceivedPausedNs, v.WindowNs))
		v.Sent = append(v.Sent, share(to.pfc[i].SentPausedNs-from.pfc[i].SentPausedNs, v.WindowNs))
	}
	return v
}

// share rounds to a millionth.
func share(part, whole int64) float64 {
	const precision = 1e6
	return math.Round(precision*min(1, float64(part)/float64(whole))) / precision
}
