package buffer

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// A release without its admission is a fault of the caller: counted, and nothing else changes.
func TestReleaseUnbalanced(t *testing.T) {
	m, _ := newTable(t, 1000, Config{Lossy: PoolConfig{Size: 1000}}, QueueConfig{Private: 100, Headroom: 300})
	mustAdmit(t, m, 0, pgA, 200, Accept)
	m.Release(0, pgA, 300)
	m.Release(0, pgA+1, 100)
	m.Release(0, 8, 100)
	m.Release(-1, pgA, 100)
	m.Release(7, pgA, 100)
	m.ReleaseLossy(0, pgA, 100)
	m.ReleaseLossy(0, 8, 100)
	m.ReleaseLossy(7, pgA, 100)
	wantHeld(t, m, 0, pgA, segmentBytes{private: 100, shared: 100})
	assert.Equal(t, m.unbalanced, 8, "unbalanced")
	m.Release(0, pgA, 200)
	assert.Equal(t, m.lossless.used.bytes().total(), 0, "B left")
}

// One queue is filled to its threshold and 300 B into its headroom, then drains in steps of 100 B.
// α = 1 and B_s = 1000, so that it holds 500 of shared at most, and T = 1000 - ω while it drains.
func TestResumeLevel(t *testing.T) {
	tests := []struct {
		name      string
		threshold Threshold
		queue     QueueConfig
		want      segmentBytes // held when it turns ON
	}{
		{"no xon, no offset: as soon as headroom is empty", DynamicThreshold{}, QueueConfig{},
			segmentBytes{shared: 500}},
		// T - 300 = 400 at ω = 300
		{"offset below T", DynamicThreshold{}, QueueConfig{XonOffset: 300}, segmentBytes{shared: 300}},
		{"xon above T - offset", DynamicThreshold{}, QueueConfig{XonOffset: 900, Xon: 400}, segmentBytes{shared: 400}},
		{"xon below T - offset", DynamicThreshold{}, QueueConfig{XonOffset: 300, Xon: 100}, segmentBytes{shared: 300}},
		{"xon above T: T counts", DynamicThreshold{}, QueueConfig{Xon: 5000}, segmentBytes{shared: 500}},
		{"xon exactly met", DynamicThreshold{}, QueueConfig{XonOffset: 5000, Xon: 200}, segmentBytes{shared: 200}},
		{"offset above T and xon 0: only empty of shared", DynamicThreshold{}, QueueConfig{XonOffset: 5000},
			segmentBytes{}},
		{"xon alone", DynamicThreshold{}, QueueConfig{XonOffset: NoXonOffset, Xon: 200}, segmentBytes{shared: 200}},
		{"xon alone, above T: T counts", DynamicThreshold{}, QueueConfig{XonOffset: NoXonOffset, Xon: 5000},
			segmentBytes{shared: 500}},
		{"xon 0 alone: only empty of shared", DynamicThreshold{}, QueueConfig{XonOffset: NoXonOffset}, segmentBytes{}},
		{"private does not count", DynamicThreshold{}, QueueConfig{Private: 200, XonOffset: 5000},
			segmentBytes{private: 200}},
		{"static", StaticThreshold{}, QueueConfig{Xoff: 500, XonOffset: 200}, segmentBytes{shared: 300}},
		{"static, xon alone", StaticThreshold{}, QueueConfig{Xoff: 500, XonOffset: NoXonOffset, Xon: 100},
			segmentBytes{shared: 100}},
		{"static, xon above xoff: xoff counts", StaticThreshold{}, QueueConfig{Xoff: 500, Xon: 5000},
			segmentBytes{shared: 500}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.queue.Headroom = 300
			m, w := newTable(t, 1000, Config{Threshold: tt.threshold}, tt.queue)
			total := int(500 + tt.queue.Private)
			for range total / 100 {
				mustAdmit(t, m, 0, pgA, 100, Accept)
			}
			for range 3 {
				mustAdmit(t, m, 0, pgA, 100, AcceptHeadroom)
			}
			for left := total + 300; m.OffCount() > 0 && left > 0; left -= 100 {
				wantOff(t, m, w, 0, pgA, true)
				m.Release(0, pgA, 100)
				m.Resume()
			}
			wantHeld(t, m, 0, pgA, tt.want)
			wantOff(t, m, w, 0, pgA, false)
			wantSound(t, m, w)
		})
	}
}

// While a frame has to wait in the receive ring, an empty queue stays OFF: turned ON, it would be turned OFF by
// the very next attempt, and the peer would see XON and XOFF in turns. It turns ON as soon as the frame has room, also
// if the caller never offers it again.
func TestResumeNotWhileAFrameWaits(t *testing.T) {
	for _, retry := range []bool{true, false} {
		m, w := newTable(t, 1000, Config{RingHold: true}, QueueConfig{}, QueueConfig{Alpha: MaxAlpha})
		mustAdmit(t, m, 1, pgA, 900, Accept)
		for range 5 {
			mustAdmit(t, m, 0, pgA, 200, Wait)
			m.Resume()
			wantOff(t, m, w, 0, pgA, true)
		}
		m.Release(1, pgA, 900)
		if retry {
			mustAdmit(t, m, 0, pgA, 200, Accept)
			wantHeld(t, m, 0, pgA, segmentBytes{shared: 200})
		} else {
			m.Resume()
		}
		wantOff(t, m, w, 0, pgA, false)
		assert.True(t, w.holds == 1 && w.releases == 1, "holds %d, releases %d, want 1, 1", w.holds, w.releases)
	}
}
