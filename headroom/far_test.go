package headroom

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pfcswitch/macctl"
)

// A peer that keeps its answers back looks like a long link, up to longestTrip and to the size that is written.
func TestOwnHeadroomIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int64 // octets
		back  time.Duration
		cable time.Duration
		far   bool
	}{
		{"1,000 km", 0, 10*time.Millisecond - 30*time.Microsecond, 0, false},
		{"a little more", 0, 10 * time.Millisecond, 0, true},
		{"as late as answers may be", 0, 900 * time.Millisecond, 0, true},
		{"longer cable that is written", 0, 19 * time.Millisecond, 5 * time.Millisecond, false},
		{"longer than that", 0, 20 * time.Millisecond, 5 * time.Millisecond, true},
		{"a size", 100_000, 9 * time.Millisecond, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := settings(7)
			a.Limit, a.Interval, a.Inputs.Delay = 8*tt.limit, time.Second, tt.cable
			w := newWire(a, settings(8))
			w.delay[1] = int64(tt.back)
			w.agree()
			w.run(20 * time.Second)
			p, r := w.ends[0], w.report(0)
			notes := strings.Join(p.Notes(), "\n")
			if tt.far {
				if r.Measured != nil || r.PeerSilent || r.Counters.Answered != 0 ||
					r.Counters.Ignored[IgnoredProportion] < 100 {
					t.Errorf("measured %v, silent %v, answered %d, ignored %v", r.Measured, r.PeerSilent,
						r.Counters.Answered, r.Counters.Ignored)
				}
				in := a.Inputs
				in.Delay = (time.Duration(w.delay[0]+w.delay[1]) + 1) / 2
				size := Octets(Calculate(in, macctl.ModePFC).Bits()) // by hand, for a cable as long
				const told = "are believed: where it is that long, set the headroom of this port by hand: " +
					"ports.p1.priorities.3.headroom: "
				var noted int64
				if n, err := fmt.Sscan(notes[strings.LastIndex(notes, " ")+1:], &noted); n != 1 ||
					strings.Count(notes, told) != 1 {
					t.Errorf("notes %q: %v", notes, err)
				}
				looks := Octets(BitsIn(gbit, 2*time.Duration(w.turn))) // at other frames, before those that come back
				if !r.ManualRequired || min(noted, r.ManualBytes) < size || max(noted, r.ManualBytes) > size+looks {
					t.Errorf("by hand %v, %d B, told %d, want %d to %d", r.ManualRequired, r.ManualBytes, noted, size,
						size+looks)
				}
				w.delay[1] = int64(tt.back / 100)
				w.run(2 * time.Second)
				if r := w.report(0); r.ManualRequired || r.Measured == nil {
					t.Errorf("near again: by hand %v, measured %v", r.ManualRequired, r.Measured)
				}
				return
			}
			want := r.Measured.Bits()
			if tt.limit > 0 {
				want = 8 * tt.limit
			}
			if r.Target != want || r.Counters.Ignored[IgnoredProportion] != 0 || r.Wire() < BitsIn(gbit, tt.back) {
				t.Errorf("target %d, want %d; ignored %v; on the way %d", r.Target, want, r.Counters.Ignored, r.Wire())
			}
			if n := strings.Count(notes, "headroom.max leaves 100000 B"); (n == 1) != (tt.limit > 0) || n > 1 {
				t.Errorf("told %d times", n)
			}
			if r.ManualRequired {
				t.Error("by hand, though it is measured")
			}
		})
	}
}

// A thousandth of the time at the peer is part of the trip, and of what a trip may be.
func TestFarWithTheTurnAround(t *testing.T) {
	for _, tt := range []struct{ whole, turn time.Duration }{{10 * time.Millisecond, 0},
		{210 * time.Millisecond, 200*time.Millisecond + 200_200}} {
		for late, want := range []uint64{0, 1} {
			p, q, now := asking(t, 0)
			a := replied(q)
			a.Area = [2]uint64{0, uint64(tt.turn)}
			back := now + int64(tt.whole) + int64(late)
			p.Receive(a, back, Moment{Now: back})
			if got := p.count.Ignored[IgnoredProportion]; got != want {
				t.Errorf("%v, of which %v at the peer, and %d ns: ignored %d", tt.whole, tt.turn, late, got)
			}
		}
	}
}

// One answer that is too late is no reason to tell a person, and to doubt what was found.
func TestOneFarAnswer(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.agree()
	w.run(10 * time.Second)
	found := w.ends[0].Target()
	for range 3 * manyInARow {
		w.delay[1] = 10_000_000
		w.run(12 * time.Millisecond)
		w.delay[1] = 20_000
		w.run(100 * time.Millisecond)
	}
	if r, notes := w.report(0), strings.Join(w.ends[0].Notes(), "\n"); strings.Contains(notes, "are believed") ||
		r.Counters.Ignored[IgnoredProportion] == 0 || w.ends[0].Target() != found {
		t.Errorf("target %d, was %d; ignored %v; told %q", w.ends[0].Target(), found, r.Counters.Ignored, notes)
	}
}

// With two stamps a peer that is late looks like a long way, and the sentence about it says so.
func TestFarByTwoStamps(t *testing.T) {
	const way, late = 40 * time.Microsecond, 50 * time.Millisecond
	const told = "the way to neighbour b and back, with how long it keeps a question, which only headroom.stamps: 4 " +
		"tells apart, takes 50.04ms, and no more than 10ms are believed"
	for _, flags := range []uint8{0, macctl.MeasureTwoStamps, macctl.MeasureTwoStamps | macctl.MeasureLoopback} {
		s := settings(7)
		s.Flags = flags
		p := agreed(s)
		for range manyInARow {
			asked := p.nextRequest
			q, ok := p.Out(Moment{Now: asked})
			for ; ok && q.Operation != macctl.MeasureRequest; q, ok = p.Out(Moment{Now: asked}) {
			}
			a := q
			a.Peer = stranger
			switch {
			case flags == 0:
				a.Operation, a.Area = macctl.MeasureAnswer, [2]uint64{5000, 5000 + uint64(late)}
			case flags&macctl.MeasureLoopback == 0:
				a.Operation = macctl.MeasureAnswer
			}
			back := asked + int64(way+late)
			p.Receive(a, back, Moment{Now: back})
			p.nextRequest = max(p.nextRequest, back)
		}
		notes := strings.Join(p.Notes(), "\n")
		if far := strings.Contains(notes, "are believed"); far != (flags != 0) || far != strings.Contains(notes, told) {
			t.Errorf("flags %d: %q\nwant that only two stamps tell of %q", flags, notes, told)
		}
	}
}
