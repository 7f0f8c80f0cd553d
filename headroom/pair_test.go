package headroom

import (
	"math"
	"slices"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// A wire joins two Probes in virtual time.
type wire struct {
	now     int64
	ends    [2]*Probe
	address [2][6]byte
	delay   [2]int64 // ns from end i to the other
	turn    int64    // ns from the arrival of a message to the look at it
	clock   [2]int64 // what each end's real-time clock is ahead
	flying  []flight
	lose    func(from int, p macctl.MeasurementFrame) bool
	sent    []macctl.MeasurementFrame // by end 0
}

type flight struct {
	to     int
	at     int64
	packet macctl.MeasurementFrame
}

func settings(session uint16) Settings {
	in := Inputs{Speed: gbit, MaxFrame: tagged, Burst: 62_500}
	return Settings{Inputs: in, Packing: in.Packing(256, 1), Auto: true,
		Calculated: Calculate(in, macctl.ModePFC).Bits(),
		Key:        "ports.p1.priorities.3.headroom",
		Precision:  30, Percentile: 0.999, Interval: 100 * time.Millisecond, Session: session}
}

// apply puts a headroom for so many octets on the wire in force, and returns how many it holds.
func (p *Probe) apply(octets int64) int64 {
	p.SetInForce(p.set.Packing.Bytes(octets))
	return p.holds
}

func newWire(a, b Settings) *wire {
	w := &wire{now: 1_000_000_000, address: [2][6]byte{{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}}, turn: 4_000}
	w.ends = [2]*Probe{NewProbe(a), NewProbe(b)}
	w.delay = [2]int64{20_000, 20_000}
	for _, p := range w.ends {
		p.SetUp(true, w.now)
	}
	return w
}

func (w *wire) agree() {
	for i, p := range w.ends {
		p.SetAgreed(true, true, []string{"b", "a"}[i], w.now)
	}
}

// measured returns two ends that have measured for a second.
func measured() *wire {
	w := newWire(settings(7), settings(8))
	w.agree()
	w.run(time.Second)
	return w
}

func (w *wire) moment(end int) Moment { return Moment{w.now, w.clock[end]} }

// step goes to the next event, but not beyond until.
func (w *wire) step(until int64) bool {
	next := int64(math.MaxInt64)
	for _, f := range w.flying {
		next = min(next, f.at)
	}
	for _, p := range w.ends {
		next = min(next, p.Next())
	}
	if next = max(next, w.now); next > until {
		w.now = until
		return false
	}
	w.now = next
	w.deliver()
	w.send()
	return true
}

func (w *wire) deliver() {
	due := slices.IndexFunc(w.flying, func(f flight) bool { return f.at <= w.now })
	if due < 0 {
		return
	}
	f := w.flying[due]
	w.flying = slices.Delete(w.flying, due, due+1)
	arrived := w.now
	w.now += w.turn
	w.ends[f.to].Receive(f.packet, arrived, w.moment(f.to))
}

func (w *wire) send() {
	for i, p := range w.ends {
		for {
			out, ok := p.Out(w.moment(i))
			if !ok {
				break
			}
			if i == 0 {
				w.sent = append(w.sent, out)
			}
			if w.lose != nil && w.lose(i, out) {
				continue
			}
			in := out
			in.Group = out.Peer == [6]byte{}
			in.Peer = w.address[i]
			w.flying = append(w.flying, flight{1 - i, w.now + w.delay[i], in})
		}
	}
}

func (w *wire) run(d time.Duration) {
	for until := w.now + int64(d); w.step(until); {
	}
}

func (w *wire) report(end int) Report { return w.ends[end].Report(w.now) }

func ignored(r Report) (n uint64) {
	for _, k := range r.Counters.Ignored {
		n += k
	}
	return n
}

func TestPairMeasures(t *testing.T) {
	tests := []struct {
		name       string
		flags      uint8
		trip, turn time.Duration // expected
	}{
		{"four stamps", 0, 40_000, 4_000},
		{"at the link layer", macctl.MeasureAtLink, 40_000, 4_000},
		{"two stamps", macctl.MeasureTwoStamps, 44_000, 0},
		{"two stamps, loopback", macctl.MeasureTwoStamps | macctl.MeasureLoopback, 44_000, 0},
		{"four stamps, client", macctl.MeasureClient, 48_000, 0}, // the looks at both ends are part of the trip
		{"two stamps, client", macctl.MeasureClient | macctl.MeasureTwoStamps, 48_000, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := settings(7)
			a.Flags = tt.flags
			w := newWire(a, settings(8))
			w.agree()
			w.run(2 * time.Second)
			r := w.report(0)
			assert.True(t, r.RoundTrips.Min == tt.trip && r.Finding.RoundTrip == tt.trip+tt.turn/clockRates,
				"trip\n got %v, settled %v\nwant %v", r.RoundTrips.Min, r.Finding.RoundTrip, tt.trip)
			assert.Equal(t, r.Turnarounds.Max, tt.turn, "turn-around")
			if n := ignored(r) + ignored(w.report(1)); n != 0 {
				t.Errorf("%d messages were ignored: %v %v", n, r.Counters.Ignored, w.report(1).Counters.Ignored)
			}
			assert.True(t, r.ResultAcked && w.report(1).ResultAcked && r.PeerFound != 0,
				"results: told %v and %v, peer found %d", r.ResultAcked, w.report(1).ResultAcked, r.PeerFound)
		})
	}
}

// After the exchange both ends know the need of the link, though only one measures: the answers to the other are lost.
func TestPairExchangesResults(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.lose = func(from int, p macctl.MeasurementFrame) bool {
		return from == 1 && p.Operation == macctl.MeasureRequest
	}
	w.ends[0].Reacted(100*time.Microsecond, true) // end 0 is slow: end 1 needs a whole send call of it
	w.agree()
	w.run(time.Second)
	r := w.report(1)
	assert.MustBeTrue(t, r.Measured == nil, "end 1 has measured")
	found := w.report(0)
	wire := found.Wire()
	want := wire + SendLimit(gbit, tagged)*8 + 2*12_336 + 672 + 62_500*8
	assert.True(t, r.Received == max(want, found.Measured.Bits()) && r.Target == r.Received,
		"received\n got %d, target %d\nwant %d", r.Received, r.Target, want)
	assert.Equal(t, w.ends[1].Target(), Octets(want), "Target")
}

// An end's reaction to pause frames reaches the headroom of its peer with the next answer. Where requests are sent
// back, it comes with the result.
func TestReactionReachesThePeer(t *testing.T) {
	for name, flags := range map[string]uint8{"answers": 0,
		"loopback": macctl.MeasureTwoStamps | macctl.MeasureLoopback} {
		a := settings(7)
		a.Flags = flags
		w := newWire(a, settings(8))
		w.agree()
		w.run(time.Second)
		before := w.report(0)
		const late = 30 * time.Microsecond
		w.ends[1].Reacted(late, true)
		w.ends[1].Reacted(-5, false) // its last send call had ended before
		w.run(time.Second)
		r := w.report(0)
		if before.Finding.Reaction >= late || r.Finding.Reaction != late || r.Reaction() != BitsIn(gbit, late) ||
			r.Reactions.Samples != 0 {
			t.Errorf("%s: reaction %v, was %v: %d bits\nwant %v", name, r.Finding.Reaction, before.Finding.Reaction,
				r.Reaction(), late)
		}
		idle, busy := w.report(1).ReactionsIdle, w.report(1).ReactionsBusy
		assert.True(t, idle.Samples == 1 && idle.Max == 0 && busy.Samples == 1 && busy.Min == late,
			"own reactions on an idle link %+v, under load %+v", idle, busy)
		if own := w.report(1).Reactions; own.Samples != 2 || own.Max != late || own.Min != 0 {
			t.Errorf("%s: the end that reacts has %+v", name, own)
		}
	}
}

// A link that grows by a tenth of the headroom's time in each interval is followed within the interval. The peer's
// burst leaves room for the longer cable meanwhile.
func TestPairFollowsAGrowingDelay(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.delay = [2]int64{500_000, 500_000}
	w.agree()
	w.run(time.Second)
	for range 20 {
		hdrm := time.Duration(w.ends[0].Target() * 8) // ns at 1 Gbit/s
		w.delay[1] += int64(hdrm) / 10                // of one way: the trip grows by as much
		w.run(settings(7).Interval)
		needs := BitsIn(gbit, time.Duration(w.delay[0]+w.delay[1])) + 2*12_336 + ControlFrameBits +
			8*settings(8).Inputs.Burst
		if has := w.ends[0].Target() * 8; has < needs {
			t.Fatalf("delay %v: headroom %d bits, the link needs %d", time.Duration(w.delay[1]), has, needs)
		}
	}
}

// A smaller headroom comes in force only after it has been enough for long.
func TestPairLowersSlowly(t *testing.T) {
	w := newWire(settings(7), settings(8))
	w.delay = [2]int64{500_000, 500_000}
	w.agree()
	w.run(time.Second)
	high := w.ends[0].Target()
	w.delay = [2]int64{1000, 1000}
	w.run(5 * time.Second)
	got := w.ends[0].Target()
	assert.True(t, got >= high, "lowered after 5 s, from %d to %d", high, got)
	w.run(30 * time.Second)
	got = w.ends[0].Target()
	assert.True(t, got < high/2, "still %d after 35 s, was %d", got, high)
}

// Wire is the part of the measured headroom for the round trip.
func (r *Report) Wire() int64 {
	if r.Measured == nil {
		return 0
	}
	return r.Measured[0].Bits
}

// Reaction is the part of the measured headroom for the peer's reaction.
func (r *Report) Reaction() int64 {
	if r.Measured == nil {
		return 0
	}
	return r.Measured[1].Bits
}
