package api

import (
	"cmp"
	"slices"

	"pfcswitch/headroom"
)

// Text implements Reply.
func (r *Headroom) Text() string { return sections(r.headline(), r.brief()...) }

// Detail is the text with how each value came about, the use of each queue, and the measurement frames.
func (r *Headroom) Detail() string { return sections(r.headline(), append(r.brief(), r.rest()...)...) }

func (r *Headroom) brief() []section {
	return []section{
		{"Headroom of each lossless queue, bytes on the wire; HOLDS: what that in force has room for", r.summary()},
		{"Ports whose headroom cannot be measured: set it by hand, in bytes of the buffer", r.remedies()},
		{"Headrooms that a bound keeps below what the link seems to need, bytes on the wire", r.bounded()},
	}
}

func (r *Headroom) rest() []section {
	return []section{
		{"Links: T there and back, R how late the peer reacts; bytes on the wire: TOLD the peer, PEER HAS in force",
			r.links()},
		{"Values, bytes on the wire; COUNTS: what PEER SAYS means here; IN FORCE: of the buffer, for HELD", r.values()},
		{"Use: bytes on the wire after XOFF had left, and what they left of the headroom of then; WAITED: frames " +
			"without room", r.used()},
		{"XOFFs that this machine sent LATE: bytes on the wire FROM THE RING had come before, up to MAX; ring_hold " +
			"is for them", r.late()},
		{"Measurement frames that were ignored", r.ignored()},
		{"Terms: bits on the wire, bytes rounded up, cells of the buffer rounded up", r.ledger()},
		{"Times", r.times()},
		{"Measurement frames", r.messages()},
	}
}

func (r *Headroom) summary() *table {
	return tableOf(r.Ports, func(t *table, p *HeadroomPort) {
		t.row(p.Port, p.State, p.CalculatedBytes, p.measured(), p.HoldsBytes, p.peak())
	}, "PORT", "STATE", ">CALCULATED", ">MEASURED", ">HOLDS", ">PEAK USED")
}

// measured writes what this end has measured.
func (p *HeadroomPort) measured() string {
	return optional(p.Measured, func(v HeadroomValue) string { return count(v.Bytes) })
}

// peak is the most that came after an XOFF, in any queue.
func (p *HeadroomPort) peak() (most int64) {
	for _, q := range p.Queues {
		most = max(most, q.PeakBytes)
	}
	return most
}

func (r *Headroom) links() *table {
	return tableOf(r.Ports, func(t *table, p *HeadroomPort) {
		trip, reaction := none, none
		if p.Finding != nil {
			trip, reaction = duration(p.Finding.TripNs), duration(p.Finding.ReactionNs)
		}
		t.row(p.Port, p.State, p.Neighbor, p.ControlFrames, trip, reaction, p.Messages.Asked, p.Messages.Answered,
			octetsOf(p.ToldBits), p.PeerHasBytes)
	}, "PORT", "STATE", "NEIGHBOR", "0x8808", ">T", ">R", ">ASKED", ">ANSWERED", ">TOLD", ">PEER HAS")
}

func (r *Headroom) values() *table {
	return tableOf(r.Ports, func(t *table, p *HeadroomPort) {
		t.row(p.Port, p.Eta.Bytes, p.Delay.Bytes, p.CalculatedBytes, octetsOf(p.PlainBits), p.measured(),
			octetsOf(p.PeerFoundBits), octetsOf(p.ReceivedBits), p.HoldsBytes, p.InForceBytes, p.peak())
	}, "PORT", ">ETA", ">DELAY", ">CALCULATED", ">PLAIN", ">MEASURED", ">PEER SAYS", ">COUNTS", ">HELD",
		">IN FORCE", ">PEAK USED")
}

func (r *Headroom) remedies() *table {
	return tableOf(r.Ports, func(t *table, p *HeadroomPort) {
		if p.Remedy != nil {
			t.row(p.Port, *p.Remedy)
		}
	}, "PORT", "WRITE")
}

func (r *Headroom) bounded() *table {
	return tableOf(r.Ports, func(t *table, p *HeadroomPort) {
		if p.Bound != nil {
			t.row(p.Port, p.NeedsBytes, p.TargetBytes, *p.Bound)
		}
	}, "PORT", ">SEEMS TO NEED", ">MAY HAVE", "BOUND")
}

func (r *Headroom) used() *table {
	return tableOf(r.Ports, func(t *table, p *HeadroomPort) {
		for _, q := range p.Queues {
			left := none
			if q.Tightest != nil {
				left = count(q.Tightest.RoomBytes - q.Tightest.UsedBytes)
			}
			t.row(p.Port, q.Priority, q.Xoffs, q.SizeBytes, q.XonBytes, q.PeakBytes, left, q.ExceededXoffs,
				q.RingFrames)
		}
	}, "PORT", "PRIO", ">XOFFS", ">SIZE", ">XON", ">PEAK USED", ">LEAST LEFT", ">EXCEEDED", ">WAITED")
}

// late lists the queues whose XOFFs left while frames were in the ring.
func (r *Headroom) late() *table {
	return tableOf(r.Ports, func(t *table, p *HeadroomPort) {
		for _, q := range p.Queues {
			if q.LateXoffs+q.Early > 0 {
				t.row(p.Port, q.Priority, q.Xoffs, q.LateXoffs, ns(q.LateNs), q.RingBytes, q.RingTotalBytes,
					q.Early+q.Crowded)
			}
		}
	}, "PORT", "PRIO", ">XOFFS", ">LATE", ">MAX", ">FROM THE RING", ">IN ALL", ">WAITED")
}

// ignored lists the reasons for ignored messages, the most frequent of each port first.
func (r *Headroom) ignored() *table {
	return tableOf(r.Ports, func(t *table, p *HeadroomPort) {
		all := slices.Clone(p.Messages.Ignored)
		slices.SortStableFunc(all, func(a, b Ignored) int { return cmp.Compare(b.Frames, a.Frames) })
		for _, g := range all {
			if g.Frames > 0 {
				t.row(p.Port, g.Reason, g.Frames)
			}
		}
	}, "PORT", "REASON", ">MESSAGES")
}

// ledger lists each value with its terms.
func (r *Headroom) ledger() *table {
	return tableOf(r.Ports, func(t *table, p *HeadroomPort) {
		row := func(value, term string, bits int64, cells any) {
			t.row(p.Port, value, term, bits, headroom.Octets(bits), cells)
		}
		for _, v := range []struct {
			name string
			of   *HeadroomValue
		}{{"eta", &p.Eta}, {"delay", &p.Delay}, {"calculated", &p.Calculated}, {"measured", p.Measured}} {
			if v.of == nil {
				continue
			}
			for _, term := range v.of.Terms {
				row(v.name, term.Name, term.Bits, "")
			}
			row(v.name, "total", v.of.Bits, v.of.Cells)
		}
		for _, v := range []struct {
			name, term string
			bits       *int64
		}{{"plain", "measured, without reaction and burst", p.PlainBits},
			{"peer says", "as it has told", p.PeerFoundBits}, {"counts", "what that means here", p.ReceivedBits},
			{"told", "to the peer", p.ToldBits}} {
			if v.bits != nil {
				row(v.name, v.term, *v.bits, "")
			}
		}
		row("in force", "holds on the wire", 8*p.HoldsBytes, p.InForceCells)
	}, "PORT", "VALUE", "TERM", ">BITS", ">BYTES", ">CELLS")
}

func (r *Headroom) times() *table {
	return tableOf(r.Ports, func(t *table, p *HeadroomPort) {
		for _, v := range []struct {
			of string
			*Spread
		}{{"trip, there and back", p.Trip}, {"turn-around at the peer, idle", p.TurnIdle},
			{"turn-around at the peer, under load", p.TurnBusy}, {"reaction of this end to XOFF, idle", p.ReactionIdle},
			{"reaction of this end to XOFF, under load", p.ReactionBusy}} {
			if v.Spread != nil {
				t.row(append([]any{p.Port}, v.cells(v.of)...)...)
			}
		}
	}, "PORT", "OF", ">SAMPLES", ">MIN", ">P50", ">P99", ">P99.9", ">MAX")
}

func (r *Headroom) messages() *table {
	return tableOf(r.Ports, func(t *table, p *HeadroomPort) {
		m := &p.Messages
		t.row(p.Port, m.Asked, m.Answered, m.Lost, m.Replies, m.Results, m.Streams)
	}, "PORT", ">ASKED", ">ANSWERED", ">LOST", ">REPLIED", ">RESULTS", ">STREAMS")
}

// cells returns a row of a table of times: of, samples, min, p50, p99, p99.9, max.
func (s *Spread) cells(of string) []any {
	return []any{of, s.Samples, ns(s.MinNs), ns(s.P50Ns), ns(s.P99Ns), ns(s.P999Ns), ns(s.MaxNs)}
}

// octetsOf writes bits that may be missing as octets.
func octetsOf(bits *int64) string {
	return optional(bits, func(n int64) string { return count(headroom.Octets(n)) })
}
