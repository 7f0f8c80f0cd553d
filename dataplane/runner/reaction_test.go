package runner

import (
	"slices"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

// A reaction lasts from the arrival of XOFF to the end of the last send call of its priority. A priority that had
// nothing to send has not reacted, nor has one that was paused already.
func TestReaction(t *testing.T) {
	const arrived, looked = 50_000, 53_000
	xoff := func(prio uint8) []byte { return pfc(prio, 100) }
	tests := []struct {
		name    string
		b       []byte
		waits   bool // a frame of the priority
		streams bool // or the peer's stream
		paused  bool // already
		last    int64
		want    []int64
	}{
		{"the last call ended after it had come", xoff(lossless), true, false, false, arrived + 2500, []int64{2500}},
		{"and nothing waits any more", xoff(lossless), false, false, false, arrived + 2500, []int64{2500}},
		{"it had ended before", xoff(lossless), true, false, false, arrived - 700, []int64{-700}},
		{"before, and the link is filled for the peer", xoff(lossless), false, true, false, arrived - 700,
			[]int64{-700}},
		{"before, and nothing waits", xoff(lossless), false, false, false, arrived - 700, nil},
		{"the priority was paused", xoff(lossless), true, false, true, arrived + 2500, nil},
		{"a priority without flow control", xoff(5), true, false, false, arrived + 2500, nil},
		{"XON", pfc(lossless, 0), true, false, false, arrived + 2500, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, p := measuringRig(t)
			r.now = arrived - 10_000
			if tt.waits {
				r.offer(1, data(1, 0, lossless, 0, small))
			}
			if tt.streams {
				r.streams(p, lossless, r.now+second)
			}
			if tt.paused {
				r.hear(0, lossless, 1000)
			}
			task := portTask{index: 0}
			task.lastSent[lossless] = tt.last
			r.now = looked
			task.recordReaction(r.sw, r.sw.Control(0, tt.b, arrived, r.now), arrived, r.now)
			assert.True(t, slices.Equal(p.reacted, tt.want) && task.reaction.Count == uint64(len(tt.want)),
				"the prober was told %v, the histogram has %d\nwant %v", p.reacted, task.reaction.Count, tt.want)
		})
	}
}

// What a worker has sent when it looks at XOFF is what it tells its prober: of a port that sends without a break each
// XOFF is a reaction.
func TestWorkerReacts(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		p, c := &prober{}, testPort(0)
		c.Prober, c.Speed, c.Burst = p, gigabit/100, 2*(mtu+24)
		l := newTestbed(t, e, roomy(2), c, testPort(1))
		reacted := func() (all []int64) {
			l.r.View(func(*dataplane.Switch) { all = slices.Clone(p.reacted) })
			return all
		}
		xoffs := 0
		eventually(t, "three reactions", func() bool {
			before := l.snapshotOf(0).Counters.SentFrames
			// 25 ms: the port may have sent them all before XOFF comes
			l.stations[1].send(several(1, 0, lossless, 20, mtu)...)
			eventually(t, "the port sends", func() bool { return l.snapshotOf(0).Counters.SentFrames > before })
			l.stations[0].hold(0xffff)
			xoffs++
			eventually(t, "it is paused", func() bool { return l.snapshotOf(0).Paused != 0 })
			l.stations[0].hold(0)
			eventually(t, "the port is empty", func() bool {
				return l.snapshotOf(0).Held[lossless] == 0 && l.snapshotOf(0).Paused == 0
			})
			return len(reacted()) >= 3
		})
		all := reacted()
		assert.True(t, len(all) <= xoffs && slices.Max(all) <= second && slices.Min(all) >= -second/2,
			"%d XOFFs, reactions %v", xoffs, all)
		h := l.snapshotOf(0).Reaction
		assert.True(t, h.Count == uint64(len(all)), "the histogram has %d, the prober %d", h.Count, len(all))
	})
}

// A reaction is that of an idle or of a busy link, as it was when XOFF came. A port that had nothing to send has
// none, however busy its link is with what comes.
func TestReactionKnowsTheLoad(t *testing.T) {
	r, p := measuringRig(t)
	task := portTask{index: 0}
	xoff := func() {
		task.recordReaction(r.sw, r.hear(0, lossless, 0xffff), r.now, r.now)
		r.hear(0, lossless, 0)
	}
	for _, tt := range []struct {
		name       string
		comes      int // frames, in a millisecond
		sends      int // and they are waiting
		want, busy int // reactions so far
	}{
		{"idle, and nothing to send", 0, 0, 0, 0},
		{"busy, and nothing to send", 17, 0, 0, 0},
		{"idle, and a frame waits", 0, 1, 1, 0},
		{"busy, and a frame waits", 17, 1, 2, 1},
		{"idle again", 0, 1, 3, 1},
	} {
		r.sw.Measurement(0, request(), false, r.now, r.now, 0) // from here on the load counts
		r.offer(0, several(0, 1, 0, tt.comes, mtu)...)
		r.offer(1, several(1, 0, lossless, tt.sends, small)...)
		r.now += 1_000_000
		task.lastSent[lossless] = r.now - 1
		xoff()
		r.drain(0, r.now+second)
		r.drain(1, r.now+second)
		xoff()
		busy := len(slices.DeleteFunc(slices.Clone(p.loaded), func(b bool) bool { return !b }))
		assert.True(t, len(p.reacted) == tt.want && busy == tt.busy,
			"%s: %d reactions, %d of them on a busy link, want %d and %d", tt.name, len(p.reacted), busy, tt.want,
			tt.busy)
	}
}
