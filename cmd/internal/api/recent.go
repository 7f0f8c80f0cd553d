package api

import (
	"context"
	"math"
	"reflect"
	"sync"
	"time"

	"pfcswitch/dataplane"
)

// PortRecent holds the rates of a port over the last seconds or, with watch and top, since the previous answer. The
// interval is measured by the switch's clock.
type PortRecent struct {
	IntervalNs     int64   `json:"interval_ns"`
	ReceiveFrames  float64 `json:"receive_frames_per_second"`
	ReceiveBits    float64 `json:"receive_bits_per_second"` // of the frames without FCS
	TransmitFrames float64 `json:"transmit_frames_per_second"`
	TransmitBits   float64 `json:"transmit_bits_per_second"`
	DroppedFrames  float64 `json:"dropped_frames_per_second"`
}

// PFCRecent holds the shares of such an interval in which a priority was paused.
type PFCRecent struct {
	IntervalNs          int64   `json:"interval_ns"`
	ReceivedPausedShare float64 `json:"received_paused_share"` // held by the peer
	SentPausedShare     float64 `json:"sent_paused_share"`     // holding the peer
}

// traffic holds the counters behind the rates of a port.
type traffic struct{ receivedFrames, receivedBytes, sentFrames, sentBytes, dropped uint64 }

// since returns the rates between old and t, which are ns apart; nil if a counter was reset between them.
func (t traffic) since(old traffic, ns int64) *PortRecent {
	if ns <= 0 || t.receivedFrames < old.receivedFrames || t.sentFrames < old.sentFrames || t.dropped < old.dropped ||
		t.receivedBytes < old.receivedBytes || t.sentBytes < old.sentBytes {
		return nil
	}
	rate := func(now, old uint64) float64 { return rounded(float64(now-old) / (float64(ns) / 1e9)) }
	return &PortRecent{IntervalNs: ns, ReceiveFrames: rate(t.receivedFrames, old.receivedFrames),
		ReceiveBits: 8 * rate(t.receivedBytes, old.receivedBytes), TransmitFrames: rate(t.sentFrames, old.sentFrames),
		TransmitBits: 8 * rate(t.sentBytes, old.sentBytes), DroppedFrames: rate(t.dropped, old.dropped)}
}

// rounded keeps a thousandth.
func rounded(x float64) float64 { return math.Round(1000*x) / 1000 }

// pauses holds the pause times of a priority in ns: by the peer, and of the peer by this port.
type pauses struct{ received, sent int64 }

// since returns the shares between old and p, which are ns apart; nil if a counter was reset between them.
func (p pauses) since(old pauses, ns int64) *PFCRecent {
	if ns <= 0 || p.received < old.received || p.sent < old.sent {
		return nil
	}
	return &PFCRecent{IntervalNs: ns, ReceivedPausedShare: shareOf(p.received-old.received, ns),
		SentPausedShare: shareOf(p.sent-old.sent, ns)}
}

// A sample holds counters of one moment, by port. Its maps never change.
type sample struct {
	at    int64
	ports map[string]accounts
}

type accounts struct {
	traffic
	pauses map[Priority]pauses // All: of 802.3x PAUSE
}

func sampleOf(v *dataplane.Snapshot) sample {
	s := sample{at: v.Time, ports: make(map[string]accounts, len(v.Ports))}
	for i := range v.Ports {
		p := &v.Ports[i]
		c := accounts{traffic{receivedFrames: p.Counters.ReceivedFrames, receivedBytes: p.Counters.ReceivedBytes,
			sentFrames: p.Counters.SentFrames, sentBytes: p.Counters.SentBytes, dropped: dropped(p)},
			map[Priority]pauses{All: {p.PausedAllNs, p.HeldAllNs}}}
		for prio := range p.PausedNs {
			c.pauses[Priority(prio)] = pauses{p.PausedNs[prio], p.HeldNs[prio]}
		}
		s.ports[p.Config.Name] = c
	}
	return s
}

// sampleOfAnswers returns the counters that stand in answers.
func sampleOfAnswers(at int64, ports []Port, pfc []PFCPort) sample {
	s := sample{at, map[string]accounts{}}
	for _, p := range ports {
		s.ports[p.Port] = accounts{traffic: traffic{p.ReceiveFrames, p.ReceiveBytes, p.TransmitFrames, p.TransmitBytes,
			p.DroppedFrames}}
	}
	for _, p := range pfc {
		c := s.ports[p.Port]
		c.pauses = map[Priority]pauses{}
		for _, q := range p.Priorities {
			c.pauses[q.Priority] = pauses{q.ReceivedPausedNs, q.SentPausedNs}
		}
		s.ports[p.Port] = c
	}
	return s
}

// Rates of the last seconds cover the time since the oldest sample. Once nothing has changed in the last samplesKept
// samples, the next one follows when they are too old, so that an idle switch seldom wakes up.
const (
	sampleEvery = time.Second
	samplesKept = 10
	sampleIdle  = samplesKept * sampleEvery
)

// history keeps the newest samples.
type history struct {
	sync.Mutex // guards what follows
	samples    []sample
	unchanged  int // samples in a row that were like the one before
}

// add adds a sample and returns when the next one is due, by the switch's clock. The samples of an idle time lie at
// whole multiples of sampleIdle, when others wake up as well.
func (h *history) add(s sample) (next int64) {
	h.Lock()
	defer h.Unlock()
	if n := len(h.samples); n > 0 && reflect.DeepEqual(h.samples[n-1].ports, s.ports) {
		h.unchanged++
	} else {
		h.unchanged = 0
	}
	old := 0
	for old < len(h.samples) && (len(h.samples)-old >= samplesKept || s.at-h.samples[old].at > int64(sampleIdle)) {
		old++
	}
	h.samples = append(h.samples[old:], s)
	if h.unchanged < samplesKept {
		return s.at + int64(sampleEvery)
	}
	return (s.at/int64(sampleIdle) + 1) * int64(sampleIdle)
}

// oldest returns the oldest sample, an empty one if there is none.
func (h *history) oldest() sample {
	h.Lock()
	defer h.Unlock()
	if len(h.samples) == 0 {
		return sample{}
	}
	return h.samples[0]
}

// Run takes a sample each second, and more rarely while nothing changes, until ctx ends, so that answers can have rates
// of the last seconds.
func (s *Server) Run(ctx context.Context) {
	var v dataplane.Snapshot
	for {
		s.source.Snapshot(&v)
		next := s.recent.add(sampleOf(&v))
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(next - v.Time)):
		}
	}
}

// An interval is the time between two samples.
type interval struct{ now, old sample }

func (l *interval) port(name string) *PortRecent {
	old, ok := l.old.ports[name]
	if !ok {
		return nil
	}
	return l.now.ports[name].since(old.traffic, l.now.at-l.old.at)
}

func (l *interval) priority(name string, prio Priority) *PFCRecent {
	old, ok := l.old.ports[name].pauses[prio]
	if !ok {
		return nil
	}
	return l.now.ports[name].pauses[prio].since(old, l.now.at-l.old.at)
}

// Since makes the rates of r cover the time since an older answer to the same question. After a restart or a clear
// there are no rates.
func Since(r, old Reply) {
	h, ports, pfc := withRates(r)
	oldHeader, oldPorts, oldPFC := withRates(old)
	if h == nil || oldHeader == nil {
		return
	}
	l := interval{sampleOfAnswers(h.interval(oldHeader), ports, pfc), sampleOfAnswers(0, oldPorts, oldPFC)}
	for i := range ports {
		ports[i].Recent = l.port(ports[i].Port)
	}
	for i := range pfc {
		for j := range pfc[i].Priorities {
			q := &pfc[i].Priorities[j]
			q.Recent = l.priority(pfc[i].Port, q.Priority)
		}
	}
}

// withRates returns the parts of an answer that have rates; h is nil for other answers.
func withRates(r Reply) (h *Header, ports []Port, pfc []PFCPort) {
	switch r := r.(type) {
	case *Ports:
		return &r.Header, r.Ports, nil
	case *PFC:
		return &r.Header, nil, r.Ports
	case *State:
		return &r.Header, r.Ports, r.PFC
	}
	return nil, nil, nil
}

// Restarted tells whether the switch was restarted between two answers. Answers without a header cannot tell.
func Restarted(r, old Reply) bool {
	a, aOK := r.(interface{ header() *Header })
	b, bOK := old.(interface{ header() *Header })
	return aOK && bOK && !a.header().Started.Equal(b.header().Started)
}

func (h *Header) header() *Header { return h }

// interval is the time between two answers in ns, 0 if their counters start at different moments.
func (h *Header) interval(old *Header) int64 {
	cleared := h.Cleared == nil && old.Cleared == nil || h.Cleared != nil && old.Cleared != nil &&
		h.Cleared.Equal(*old.Cleared)
	if !cleared || !h.Started.Equal(old.Started) {
		return 0
	}
	return h.SwitchNs - old.SwitchNs
}
