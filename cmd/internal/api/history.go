package api

import (
	"slices"
	"time"

	"pfcswitch/dataplane/frame"
)

// The history of a port covers historyTime, and has historyKept points at most: the samples that Run takes anyway.
const (
	historyTime = 5 * time.Minute
	historyKept = int(historyTime / sampleEvery)
)

// History is the answer to history: what ports did in the last five minutes.
type History struct {
	Header
	Ports []PortHistory `json:"ports"` // in the order of the configuration
}

// PortHistory is what a port did, as arrays of the same length, oldest first. A value covers the time since the one
// before, mostly a second, and ten seconds where nothing changed.
type PortHistory struct {
	Port          string    `json:"port"`
	TimesNs       []int64   `json:"sample_times_ns"` // as switch_time_ns
	ReceiveBits   []int64   `json:"receive_bits_per_second"`
	TransmitBits  []int64   `json:"transmit_bits_per_second"`   // of the frames without FCS
	ReceiveShare  []float64 `json:"receive_utilization_share"`  // of the port's speed, with all that a frame takes of a
	TransmitShare []float64 `json:"transmit_utilization_share"` // link; 0 where the port has no speed
	ReceivePaused []float64 `json:"received_paused_share"`      // held by the peer: the priority that was longest
	SentPaused    []float64 `json:"sent_paused_share"`          // holding the peer, likewise
	BufferBytes   []int64   `json:"buffer_used_bytes"`          // at the time itself: lossless ones that came in here,
	HeadroomBytes []int64   `json:"headroom_used_bytes"`        // of which in headroom, and lossy ones that wait here
}

// past is the history of one port: 12 kB, for as long as the port is there.
type past struct {
	points [historyKept]point // number n is at n % historyKept
	count  int
}

// A point says what a port did in the time of a sample. Of 32 bits each: a picture shows no more.
type point struct {
	at                          int64
	receiveBits, transmitBits   float32
	receiveShare, transmitShare float32
	receivePaused, sentPaused   float32
	buffer, headroom            float32
}

// remember adds a sample to the history. It allocates only where a port is new.
func (h *history) remember(s, last *sample) {
	if h.unchanged++; !slices.Equal(s.ports, last.ports) {
		h.unchanged = 0
	}
	if h.past == nil {
		h.past = map[string]*past{}
	}
	for i := range s.ports {
		now := &s.ports[i]
		j := i
		if j >= len(last.ports) || last.ports[j].name != now.name {
			j = slices.IndexFunc(last.ports, func(a accounts) bool { return a.name == now.name })
		}
		if j < 0 || !now.follows(last.ports[j].traffic) || s.at <= last.at {
			delete(h.past, now.name) // it is new, or counts from 0 again
			continue
		}
		p := h.past[now.name]
		if p == nil {
			p = new(past)
			clear(p.points[:]) // else a switch takes memory, page by page, for an hour
			h.past[now.name] = p
		}
		p.points[p.count%historyKept] = now.pointSince(&last.ports[j], s.at, s.at-last.at)
		p.count++
	}
	for _, old := range last.ports {
		if p := h.past[old.name]; p != nil && p.points[(p.count-1)%historyKept].at < s.at {
			delete(h.past, old.name) // it is gone
		}
	}
}

// pointSince returns the point for the time from old to a sample at a moment, ns later.
func (a *accounts) pointSince(old *accounts, at, ns int64) point {
	seconds := float64(ns) / 1e9
	bits := func(now, old uint64) float64 { return 8 * float64(now-old) / seconds }
	p := point{at: at, buffer: float32(a.buffer), headroom: float32(a.headroom)}
	receive, transmit := bits(a.receivedBytes, old.receivedBytes), bits(a.sentBytes, old.sentBytes)
	p.receiveBits, p.transmitBits = float32(receive), float32(transmit)
	if a.speed > 0 {
		share := func(rate float64, now, old uint64) float32 {
			return float32((rate + frame.WireExtras*bits(now, old)) / float64(a.speed))
		}
		p.receiveShare = share(receive, a.receivedFrames, old.receivedFrames)
		p.transmitShare = share(transmit, a.sentFrames, old.sentFrames)
	}
	for prio := range a.pauses {
		now, old := a.pauses[prio], old.pauses[prio]
		p.receivePaused = max(p.receivePaused, float32(now.received-old.received)/float32(ns))
		p.sentPaused = max(p.sentPaused, float32(now.sent-old.sent)/float32(ns))
	}
	p.receivePaused, p.sentPaused = min(1, p.receivePaused), min(1, p.sentPaused)
	return p
}

func (m *moment) readHistory() *History { return &History{m.Header, m.past(historyKept)} }

// past returns the newest points of all ports.
func (m *moment) past(most int) []PortHistory {
	m.history.Lock()
	defer m.history.Unlock()
	ports := m.source.Ports()
	return each(ports, func(info *PortInfo) PortHistory {
		v := PortHistory{Port: info.Name}
		if p := m.history.past[info.Name]; p != nil {
			v.fill(p, most, m.snapshot.Time-int64(historyTime))
		}
		return v
	})
}

// fill adds the newest points that were taken after a time.
func (v *PortHistory) fill(p *past, most int, after int64) {
	var points []point
	for n := max(0, p.count-min(most, historyKept)); n < p.count; n++ {
		if x := p.points[n%historyKept]; x.at > after {
			points = append(points, x)
		}
	}
	share := func(x float32) float64 { return rounded(float64(x)) }
	v.TimesNs = each(points, func(x *point) int64 { return x.at })
	v.ReceiveBits = each(points, func(x *point) int64 { return int64(x.receiveBits) })
	v.TransmitBits = each(points, func(x *point) int64 { return int64(x.transmitBits) })
	v.ReceiveShare = each(points, func(x *point) float64 { return share(x.receiveShare) })
	v.TransmitShare = each(points, func(x *point) float64 { return share(x.transmitShare) })
	v.ReceivePaused = each(points, func(x *point) float64 { return share(x.receivePaused) })
	v.SentPaused = each(points, func(x *point) float64 { return share(x.sentPaused) })
	v.BufferBytes = each(points, func(x *point) int64 { return int64(x.buffer) })
	v.HeadroomBytes = each(points, func(x *point) int64 { return int64(x.headroom) })
}

// Text implements Reply: the newest values, and the largest ones.
func (r *History) Text() string {
	t := newTable("PORT", ">RX bit/s", ">MOST", ">TX bit/s", ">MOST", ">RX PAUSED %", ">MOST", ">TX PAUSED %", ">MOST",
		">BUFFER", ">MOST", ">HEADROOM", ">MOST")
	for _, p := range r.Ports {
		row := []any{p.Port}
		row = append(row, twice(p.ReceiveBits, bitsText)...)
		row = append(row, twice(p.TransmitBits, bitsText)...)
		row = append(row, twice(p.ReceivePaused, percent)...)
		row = append(row, twice(p.SentPaused, percent)...)
		row = append(row, twice(p.BufferBytes, count)...)
		t.row(append(row, twice(p.HeadroomBytes, count)...)...)
	}
	return sections(r.headline(), section{"Now, and most, of the samples of the last five minutes", t})
}

func bitsText(n int64) string { return Scaled(float64(n)) }

// twice writes the newest of some values, and the largest.
func twice[T int64 | float64](all []T, text func(T) string) []any {
	if len(all) == 0 {
		return []any{none, none}
	}
	return []any{text(all[len(all)-1]), text(slices.Max(all))}
}
