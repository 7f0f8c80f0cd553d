package api

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"pfcswitch/buffer"
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
	if ns <= 0 || !t.follows(old) {
		return nil
	}
	rate := func(now, old uint64) float64 { return rounded(float64(now-old) / (float64(ns) / 1e9)) }
	return &PortRecent{IntervalNs: ns, ReceiveFrames: rate(t.receivedFrames, old.receivedFrames),
		ReceiveBits: 8 * rate(t.receivedBytes, old.receivedBytes), TransmitFrames: rate(t.sentFrames, old.sentFrames),
		TransmitBits: 8 * rate(t.sentBytes, old.sentBytes), DroppedFrames: rate(t.dropped, old.dropped)}
}

// follows tells whether no counter was reset since old.
func (t traffic) follows(old traffic) bool {
	return t.receivedFrames >= old.receivedFrames && t.sentFrames >= old.sentFrames && t.dropped >= old.dropped &&
		t.receivedBytes >= old.receivedBytes && t.sentBytes >= old.sentBytes
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

// A sample holds what ports have counted, and hold, at one moment.
type sample struct {
	at    int64 // by the switch's clock
	ports []accounts
}

type accounts struct {
	name string
	traffic
	pauses           [All + 1]pauses // All: of 802.3x PAUSE
	speed            int64           // bit/s; 0: none
	buffer, headroom int64           // bytes now: all that counts for the port, and those of it in headroom
}

func sampleOf(v *dataplane.Snapshot) (s sample) {
	s.take(v)
	return s
}

// take makes s the sample of a snapshot. It allocates only where s has held fewer ports.
func (s *sample) take(v *dataplane.Snapshot) {
	s.at, s.ports = v.Time, s.ports[:0]
	held := v.Buffer.Ports // by number, as the ports are
	for i := range v.Ports {
		p := &v.Ports[i]
		a := accounts{name: p.Config.Name, speed: p.Config.Speed,
			traffic: traffic{receivedFrames: p.Counters.ReceivedFrames, receivedBytes: p.Counters.ReceivedBytes,
				sentFrames: p.Counters.SentFrames, sentBytes: p.Counters.SentBytes, dropped: dropped(p)}}
		a.pauses[All] = pauses{p.PausedAllNs, p.HeldAllNs}
		for prio := range p.PausedNs {
			a.pauses[prio] = pauses{p.PausedNs[prio], p.HeldNs[prio]}
		}
		for len(held) > 0 && held[0].Port < p.Index {
			held = held[1:]
		}
		if len(held) > 0 && held[0].Port == p.Index {
			a.hold(&held[0])
		}
		s.ports = append(s.ports, a)
	}
}

// hold adds what the buffer holds of the lossless frames that came in at a port, and of the lossy ones that wait there.
func (a *accounts) hold(b *buffer.PortSnapshot) {
	for k := range b.Ingress {
		used := &b.Ingress[k].Used
		a.headroom += used.Headroom.Now
		a.buffer += used.Private.Now + used.Shared.Now + used.Headroom.Now + b.Egress[k].Used.Now
	}
}

// sampleOfAnswers returns the counters that stand in answers.
func sampleOfAnswers(at int64, ports []Port, pfc []PFCPort) sample {
	s := sample{at: at}
	for _, p := range ports {
		s.ports = append(s.ports, accounts{name: p.Port, traffic: traffic{p.ReceiveFrames, p.ReceiveBytes,
			p.TransmitFrames, p.TransmitBytes, p.DroppedFrames}})
	}
	for _, p := range pfc {
		i := slices.IndexFunc(s.ports, func(a accounts) bool { return a.name == p.Port })
		if i < 0 {
			i, s.ports = len(s.ports), append(s.ports, accounts{name: p.Port})
		}
		for _, q := range p.Priorities {
			s.ports[i].pauses[q.Priority] = pauses{q.ReceivedPausedNs, q.SentPausedNs}
		}
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

// history keeps the newest samples, and what they say of the last minutes.
type history struct {
	sync.Mutex // guards what follows
	samples    [samplesKept]sample
	count      int              // samples until now: number n is at n % samplesKept
	first      int              // number of the oldest that counts
	unchanged  int              // samples in a row that were like the one before
	past       map[string]*past // by port
}

func (h *history) at(number int) *sample { return &h.samples[number%samplesKept] }

// add adds a sample and returns when the next one is due, by the switch's clock. The samples of an idle time lie at
// whole multiples of sampleIdle, when others wake up as well.
func (h *history) add(v *dataplane.Snapshot) (next int64) {
	h.Lock()
	defer h.Unlock()
	s := h.at(h.count)
	s.take(v)
	h.first = max(h.first, h.count+1-samplesKept)
	for h.first < h.count && s.at-h.at(h.first).at > int64(sampleIdle) {
		h.first++
	}
	h.count++
	if h.count > 1 {
		h.remember(s, h.at(h.count-2))
	}
	if h.unchanged < samplesKept {
		return s.at + int64(sampleEvery)
	}
	return (s.at/int64(sampleIdle) + 1) * int64(sampleIdle)
}

// oldest returns the oldest sample, an empty one if there is none.
func (h *history) oldest() sample {
	h.Lock()
	defer h.Unlock()
	s := *h.at(h.first)
	s.ports = slices.Clone(s.ports)
	return s
}

// Run takes a sample each second, and more rarely while nothing changes, until ctx ends, so that answers can have rates
// of the last seconds and the history of the last minutes. due returns what is ready at a time of the switch's clock.
func (s *Server) Run(ctx context.Context, due func(at int64) <-chan struct{}) {
	var v dataplane.Snapshot
	for {
		s.source.Snapshot(&v)
		select {
		case <-ctx.Done():
			return
		case <-due(s.recent.add(&v)):
		}
	}
}

// An interval is the time between two samples.
type interval struct {
	ns       int64
	now, old map[string]*accounts
}

func newInterval(now, old sample) interval {
	return interval{now.at - old.at, now.byName(), old.byName()}
}

func (s *sample) byName() map[string]*accounts {
	all := make(map[string]*accounts, len(s.ports))
	for i := range s.ports {
		all[s.ports[i].name] = &s.ports[i]
	}
	return all
}

func (l *interval) port(name string) *PortRecent {
	now, old := l.now[name], l.old[name]
	if now == nil || old == nil {
		return nil
	}
	return now.traffic.since(old.traffic, l.ns)
}

func (l *interval) priority(name string, prio Priority) *PFCRecent {
	now, old := l.now[name], l.old[name]
	if now == nil || old == nil {
		return nil
	}
	return now.pauses[prio].since(old.pauses[prio], l.ns)
}

// Since makes the rates of r cover the time since an older answer to the same question. After a restart or a clear
// there are no rates.
func Since(r, old Reply) {
	h, ports, pfc := withRates(r)
	oldHeader, oldPorts, oldPFC := withRates(old)
	if h == nil || oldHeader == nil {
		return
	}
	l := newInterval(sampleOfAnswers(h.interval(oldHeader), ports, pfc), sampleOfAnswers(0, oldPorts, oldPFC))
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
