package acceptance

import (
	"strings"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// A peer that ignores XOFF loses frames, is counted and named, and does the other ports no harm: neither where what
// finds no room waits in the ring, nor where it is dropped.
func TestPeerIgnoresXoff(t *testing.T) {
	for _, tt := range []struct {
		hold   string
		kinds  []dataplane.EventKind
		text   string
		reason dataplane.DropReason
		prio   int
	}{
		{"on", []dataplane.EventKind{dataplane.EventRingHold, dataplane.EventLosslessDrop},
			"the peer does not obey XOFF in time", dataplane.DropRing, dataplane.Unknown},
		{"off", []dataplane.EventKind{dataplane.EventIgnoresXoff, dataplane.EventLosslessDrop},
			"the peer does not obey XOFF", dataplane.DropLosslessHeadroom, 3},
	} {
		t.Run("ring_hold "+tt.hold, func(t *testing.T) {
			// The liar's queue is small, so that it fills; the others' is large, so that no pause of this machine fills
			// it.
			r := Start(t, 4, Setup{Each: At100M, Keys: Lossless3 + "buffer: {lossless: {size: 16MiB}, " +
				"ring_hold: " + tt.hold + "}", Ports: map[int]string{1: "priorities: {3: {alpha: 0.015625}}"}})
			liar := r.Station(1, macctl.ModeOff, 300e6)
			h2, h3, h4 := r.Station(2, macctl.ModePFC, 100e6), r.Station(3, macctl.ModePFC, 100e6),
				r.Station(4, macctl.ModePFC, 100e6)
			stopLiar := liar.Send(Stream{To: 2, Prio: 3})
			stop := h3.Send(Stream{To: 4, Prio: 3, Rate: 60e6})
			lost := func() uint64 { return r.Snapshot(1).Counters.Drops[tt.prio][tt.reason] }
			eventually(t, "frames of the liar are lost and counted", func() bool { return lost() > 100 })
			h4.GoesOn(3, 200)
			stopLiar()
			stop()
			h4.Whole(h3, 3)
			r.NoLosslessDrops(1)
			r.named(1, tt.kinds, tt.text)

			p := r.Snapshot(1)
			assert.Equal(t, p.Counters.LosslessDrops[tt.prio], p.Counters.Drops[tt.prio][tt.reason],
				"lossless drops, want all")
			assert.Equal(t, p.Counters.RingHoldNs > 0, tt.hold == "on", "frames waited in the ring for %d ns",
				p.Counters.RingHoldNs)
			// Without ring_hold a worker that gets no CPU loses some in the ring, too.
			eventually(t, "every frame of the liar has come or is counted", func() bool {
				return h2.Tally(1, 3).Frames+allDrops(r.Snapshot(1)) == liar.Sent[3].Load()
			})
			r.LossesAreTold(1)
		})
	}
}

// named fails the test where there is no event of each kind about port n, or one about another port, or none that says
// text.
func (r *Rig) named(n int, kinds []dataplane.EventKind, text string) {
	r.T.Helper()
	said := false
	for _, kind := range kinds {
		for port := 1; port <= len(r.Hosts); port++ {
			events := r.Events(kind, port)
			assert.True(r.T, (len(events) > 0) == (port == n), "%s: %d events of kind %s", PortName(port), len(events),
				kind)
			for _, e := range events {
				said = said || strings.Contains(e.Text, text)
			}
		}
	}
	assert.True(r.T, said, "no event of %v says %q", kinds, text)
}

// allDrops is the number of frames that came in at a port and were dropped, for whatever reason.
func allDrops(p dataplane.PortSnapshot) (sum uint64) {
	for _, byReason := range p.Counters.Drops {
		for _, n := range byReason {
			sum += n
		}
	}
	return sum
}
