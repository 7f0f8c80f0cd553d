package traffic

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
)

// The tracker agrees with a naive one that remembers every number.
func TestTrackerAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tr tracker
		seen := map[uint64]bool{}
		var next, received, reordered, duplicated uint64
		base := uint64(0)
		for range rapid.IntRange(1, 400).Draw(t, "frames") {
			base += rapid.SampledFrom([]uint64{0, 1, 1, 1, 2, 100, window / 2, window}).Draw(t, "step")
			n := base - min(base, rapid.Uint64Range(0, 2*window).Draw(t, "back"))
			switch {
			case n >= next:
				next = n + 1
				received++
				seen[n] = true
			case seen[n] || next-n > window:
				duplicated++
			default:
				received++
				reordered++
				seen[n] = true
			}
			tr.count(n)
		}
		assert.MustBeTrue(t, tr.received == received && tr.reordered == reordered && tr.duplicated == duplicated,
			"got %d %d %d, want %d %d %d", tr.received, tr.reordered, tr.duplicated, received, reordered, duplicated)
	})
}

// A sink keeps every long gap of a flow, the first ones, and the longest of all.
func TestGaps(t *testing.T) {
	const ms = int64(1_000_000)
	f := sinkFlow{stamp: 1}
	for _, gap := range []int64{ms, 30 * ms, 30*ms - 1, 600 * ms, 2 * ms, 300 * ms} {
		f.recordGap(f.stamp + gap)
		f.stamp += gap
	}
	want := []Gap{{1 + ms, 30 * ms}, {61*ms + 0, 600 * ms}, {663 * ms, 300 * ms}}
	assert.True(t, slices.Equal(f.gaps, want) && f.gap == 600*ms && f.gapFrom == 61*ms,
		"%+v, longest %d from %d", f.gaps, f.gap, f.gapFrom)
	for range 2 * maxGaps {
		f.recordGap(f.stamp + 700*ms)
	}
	assert.True(t, len(f.gaps) == maxGaps && f.gap == 700*ms, "%d gaps are kept, longest %d", len(f.gaps), f.gap)
}

// Each frame has the length of its place in the stream, also where the kernel took only a part of a send call, and the
// rate is kept on the wire.
func TestMixedFlow(t *testing.T) {
	c := &SendConfig{FlowControl: "off", Speed: 1_000_000_000, Duration: time.Second,
		Flows: []Flow{{Octets: 60, Large: 1518, Every: 4, Weight: 1, Rate: 100_000_000}}}
	assert.Must(t, c.Check())
	s := &sender{c: c, batch: port.NewBatch()}
	s.prepare([6]byte{2})
	var wire int64
	now, sequence := runner.Now(), uint64(0)
	begin := now
	for now < begin+100_000_000 {
		if s.source.next(now) == 0 {
			now = s.source.retry
			continue
		}
		s.batch.Reset()
		s.source.fill(s.batch, 0)
		n := max(1, s.batch.Len()*2/3)
		for i := range n {
			b := s.batch.Frame(i, nil)
			want := 60
			if sequence%4 == 3 {
				want = 1518
			}
			m, _, err := parse(b)
			assert.MustBeTrue(t, err == nil && len(b) == want && m.sequence == sequence,
				"frame %d has %d octets and number %d, want %d octets: %v", sequence, len(b), m.sequence, want, err)
			wire += int64(frame.WireOctets(len(b)))
			sequence++
		}
		s.source.sent(n)
	}
	rate := float64(wire) * 8 / 0.1
	assert.True(t, rate >= 99e6 && rate <= 103e6, "%.1f Mbit/s, want 100", rate/1e6)
	if got := s.flows[0]; got.sent != sequence || got.octets != (sequence/4)*(3*60+1518)+sequence%4*60 {
		t.Errorf("counted %d frames and %d octets of %d", got.sent, got.octets, sequence)
	}
	for _, bad := range []Flow{{Octets: 60, Large: 1518, Weight: 1}, {Octets: 60, Every: 2, Weight: 1},
		{Octets: 60, Every: -1, Weight: 1}, {Octets: 60, Large: 1 << 20, Every: 2, Weight: 1}} {
		c.Flows = []Flow{bad}
		assert.True(t, c.Check() != nil, "%+v is accepted", bad)
	}
}

func TestOvertaking(t *testing.T) {
	var tr tracker
	var o overtaking
	for _, f := range []struct {
		sequence uint64
		octets   int
		want     uint64
	}{
		{0, 64, 0}, {2, 64, 0}, {3, 64, 0}, {4, 1522, 0},
		{1, 1522, 64 + 64 + 1522}, // 2, 3 and 4 came first
		{1, 1522, 1650},           // again: a duplicate was not overtaken
		{6, 64, 1650}, {5, 64, 1650}, {7, 64, 1650},
		{10_000, 64, 1650}, {8, 64, 1650}, // further back than is remembered
	} {
		o.record(&tr, f.sequence, f.octets)
		tr.count(f.sequence)
		assert.MustEqual(t, o.maxBytes, f.want, "after frame %d: overtaken by octets", f.sequence)
	}
}
