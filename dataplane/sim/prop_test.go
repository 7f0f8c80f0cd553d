package sim

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// Whatever the tree of switches, the flows and the links: hosts that obey lose no lossless frame, every flow keeps its
// order, and each frame is somewhere.
func TestNoLosslessLossInAnyTree(t *testing.T) {
	held := uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.SampledFrom([]int64{100_000_000, gigabit, 100 * gigabit, 800 * gigabit}).Draw(t, "speed")
		delay := rapid.Int64Range(0, 20_000).Draw(t, "delay") * gigabit / speed
		octets := rapid.SampledFrom([]int{64, 257, 1000, mtu}).Draw(t, "octets")
		n := rapid.IntRange(1, 4).Draw(t, "switches")
		r := newRig(t, speed, delay)
		r.response = rapid.Int64Range(0, 60_000).Draw(t, "response")
		const hosts, ports = 2, 2 + 4
		for range n {
			r.addSwitch(ports, rapid.IntRange(128, 400).Draw(t, "shared"), octets, nil)
		}
		used := make([]int, n)
		for s := 1; s < n; s++ {
			to := rapid.IntRange(0, s-1).Draw(t, "parent")
			r.join(End{s, hosts + used[s]}, End{to, hosts + used[to]})
			used[s]++
			used[to]++
		}
		var all []int
		for s := range n {
			for i := range hosts {
				all = append(all, r.addHost(s, i))
			}
		}
		timeOf := func(frames int64) int64 { return frames * int64(octets+24) * 8 * nsPerSecond / speed }
		for range rapid.IntRange(1, 8).Draw(t, "flows") {
			from := rapid.SampledFrom(all).Draw(t, "from")
			to := rapid.SampledFrom(all).Draw(t, "to")
			if from == to {
				continue
			}
			start := timeOf(rapid.Int64Range(0, 100).Draw(t, "start"))
			r.load(FlowConfig{From: from, To: to, Priority: rapid.SampledFrom([]uint8{lossless, 0}).Draw(t, "priority"),
				Octets: octets, Rate: rapid.SampledFrom([]int64{0, speed / 3}).Draw(t, "rate"), Start: start,
				Stop: start + timeOf(rapid.Int64Range(10, 300).Draw(t, "frames"))})
		}
		r.start()
		assert.MustEqual(t, r.Advance(never-r.Begun()), Done, "the run ended with")
		r.kept()
		for s := range n {
			held += r.xoffs(s)
		}
	})
	assert.True(t, held != 0, "no peer was held in any tree: the property proves nothing")
}

// Events come by time, and then in an order of their own, whatever the order of arrangement.
func TestTimelineIsSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := newTimeline()
		var want []event
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(want) > 0 && rapid.Bool().Draw(t, "take") {
				if _, ok := line.next(want[0].at); ok {
					t.Fatalf("got an event before %d, when the first of them is", want[0].at)
				}
				got, ok := line.next(want[0].at + 1)
				assert.MustBeTrue(t, ok && got == want[0], "got %+v, want %+v", got, want[0])
				want = want[1:]
				continue
			}
			at, wire := rapid.Int64Range(0, 20).Draw(t, "at"), rapid.Int32Range(none, 1<<20).Draw(t, "wire")
			k := kind(rapid.Uint8Range(0, uint8(watch)).Draw(t, "kind"))
			e := newEvent(at, k, wire)
			assert.MustBeTrue(t, e.at == at && e.wire() == wire && e.kind() == k, "%d, %d, %d became %d, %d, %d", at, k,
				wire, e.at, e.kind(), e.wire())
			line.add(at, k, wire)
			want = append(want, e)
			slices.SortFunc(want, func(a, b event) int {
				return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
			})
		}
	})
}

// Frames without a gap take as long as all of their octets, whatever a single one takes.
func TestWireKeepsFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := wire{speed: rapid.Int64Range(1_000_000, 800*gigabit).Draw(t, "speed")}
		octets := int64(0)
		for range rapid.IntRange(1, 50).Draw(t, "frames") {
			n := rapid.IntRange(64, 9000).Draw(t, "octets")
			octets += int64(n + 24)
			w.send(&transit{octets: int32(n)}, 0)
			assert.MustEqual(t, w.end, octets*8*nsPerSecond/w.speed, "%d octets have left at", octets)
		}
	})
}
