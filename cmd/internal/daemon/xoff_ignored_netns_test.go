package daemon

import (
	"strings"
	"testing"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
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
			"sends on although it was told to stop", dataplane.DropRing, dataplane.Unknown},
		{"off", []dataplane.EventKind{dataplane.EventIgnoresXoff, dataplane.EventLosslessDrop},
			"although the peer was told to stop", dataplane.DropLosslessHeadroom, 3},
	} {
		t.Run("ring_hold "+tt.hold, func(t *testing.T) {
			r := newRig(t, 4, lab.LinkOptions{})
			// The liar's queue is small, so that it fills; the others' is large, so that no pause of this machine fills
			// it.
			r.start(setup{each: at100M, keys: "priorities: {lossless: [3]}\nbuffer: {lossless: {size: 4MiB}, " +
				"ring_hold: " + tt.hold + "}", ports: map[int]string{1: "priorities: {3: {alpha: 0.0625}}"}})
			liar := r.station(1, macctl.ModeOff, 300e6)
			h2, h3, h4 := r.station(2, macctl.ModePFC, 100e6), r.station(3, macctl.ModePFC, 100e6),
				r.station(4, macctl.ModePFC, 100e6)
			stopLiar := liar.send(stream{to: 2, prio: 3})
			stop := h3.send(stream{to: 4, prio: 3, rate: 60e6})
			lost := func() uint64 { return r.snapshot(1).Counters.Drops[tt.prio][tt.reason] }
			eventually(t, "frames of the liar are lost and counted", func() bool { return lost() > 100 })
			before := h4.tally(3, 3).frames
			eventually(t, "the other ports go on", func() bool { return h4.tally(3, 3).frames > before+200 })
			stopLiar()
			stop()
			h4.whole(h3, 3)
			r.noLosslessDrops(1)
			r.named(1, tt.kinds, tt.text)

			p := r.snapshot(1)
			if p.Counters.LosslessDrops[tt.prio] != p.Counters.Drops[tt.prio][tt.reason] {
				t.Errorf("%d drops, but %d lossless ones", p.Counters.Drops[tt.prio][tt.reason],
					p.Counters.LosslessDrops[tt.prio])
			}
			if held := p.Counters.RingHoldNs > 0; held != (tt.hold == "on") {
				t.Errorf("frames waited in the ring for %d ns", p.Counters.RingHoldNs)
			}
			eventually(t, "every frame of the liar has come or is counted", func() bool {
				return h2.tally(1, 3).frames+lost() == liar.sent[3].Load()
			})
		})
	}
}

// named fails the test where there is no event of each kind about port n, or one about another port, or none that says
// text.
func (r *rig) named(n int, kinds []dataplane.EventKind, text string) {
	r.t.Helper()
	said := false
	for _, kind := range kinds {
		for port := 1; port <= len(r.hosts); port++ {
			events := r.events(kind, port)
			if (len(events) > 0) != (port == n) {
				r.t.Errorf("%s: %d events of kind %s", portName(port), len(events), kind)
			}
			for _, e := range events {
				said = said || strings.Contains(e.Text, text)
			}
		}
	}
	if !said {
		r.t.Errorf("no event of %v says %q", kinds, text)
	}
}
