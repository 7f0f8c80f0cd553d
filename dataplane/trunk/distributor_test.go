package trunk

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// send adds a frame to the area of the chosen member and returns the member.
func (d *Distributor) send(held []int64, up uint64, octets int64) int {
	m := d.Choose(held, up, 0)
	if m >= 0 {
		held[m] += octets
		d.Chosen(m, len(held))
	}
	return m
}

func TestLeastFilledAreaTiesRotate(t *testing.T) {
	var d Distributor
	held := make([]int64, 3)
	for i, tt := range []struct {
		up     uint64
		octets int64
		want   int
	}{
		{0b111, 64, 0}, {0b111, 64, 1}, {0b111, 64, 2}, // ties, in member order
		{0b111, 1522, 0}, {0b111, 64, 1}, {0b111, 64, 2}, {0b111, 64, 1},
		{0b101, 64, 2}, {0b101, 64, 2}, {0b001, 64, 0}, // members that are down are skipped
		{0b010, 64, 1}, {0b000, 64, -1},
	} {
		assert.MustEqual(t, d.send(held, tt.up, tt.octets), tt.want, "step %d: member (areas %v)", i, held)
	}
}

// A line sends its member's frames one after the other; times are octets, so that all lines are equally fast.
type line struct{ free int64 }

func (l *line) send(now, octets int64) (done int64) {
	l.free = max(l.free, now) + octets
	return l.free
}

// overtaken returns how many octets of the frames behind the large one have left before it, when a burst of a large
// frame at place (0 is the first) among small ones is distributed to idle members.
func overtaken(members int, large, small int64, place int) (octets int64) {
	var d Distributor
	held, lines := make([]int64, members), make([]line, members)
	var done int64
	for i := range 10 * members * int(large/small) {
		n := small
		if i == place {
			n = large
		}
		left := lines[d.send(held, 1<<members-1, n)].send(0, n)
		switch {
		case i == place:
			done = left
		case i > place && left < done:
			octets += n
		}
	}
	return octets
}

// A frame of M octets in first place is overtaken by (N-1)·⌊M/K⌋·K octets of frames of K, one in second place by one
// frame less: 2880 octets for 1522 among 64 and three members.
func TestReorderingIsTheFormulas(t *testing.T) {
	for _, tt := range []struct {
		members      int
		large, small int64
	}{{2, 1522, 64}, {3, 1522, 64}, {4, 1522, 64}, {3, 9022, 64}, {3, 1522, 300}, {8, 1522, 100}} {
		frames := int64(tt.members-1) * (tt.large / tt.small)
		assert.Equal(t, overtaken(tt.members, tt.large, tt.small, 0), frames*tt.small,
			"%+v, first: overtaken by octets", tt)
		assert.Equal(t, overtaken(tt.members, tt.large, tt.small, 1), (frames-1)*tt.small,
			"%+v, second: overtaken by octets", tt)
	}
	assert.Equal(t, overtaken(3, 1522, 64, 1), 2880, "overtaken by octets")
}

// Areas that nothing leaves differ by at most the longest frame.
func TestAreasStayLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "members")
		var d Distributor
		held := make([]int64, n)
		for range rapid.IntRange(0, 300).Draw(t, "frames") {
			d.send(held, 1<<n-1, rapid.Int64Range(64, 1522).Draw(t, "octets"))
			least, most := held[0], held[0]
			for _, h := range held {
				least, most = min(least, h), max(most, h)
			}
			assert.MustBeTrue(t, most-least <= 1522, "areas %v", held)
		}
	})
}

// A flow stays with its member. When a member goes down, only its own flows move, and they return. Flows spread evenly.
func TestFlowsStayWithTheirMember(t *testing.T) {
	const members, flows = 5, 10_000
	d, held := Distributor{ByFlow: true}, make([]int64, members)
	var spread [members]int
	for i := range flows {
		flow := frame.Weight(0, i) // a hash
		home := d.Choose(held, 0b11111, flow)
		held[home] += 1522
		d.Chosen(home, members)
		spread[home]++
		again := d.Choose(held, 0b11111, flow)
		assert.MustBeTrue(t, again == home, "flow %d went to %d, then to %d", i, home, again)
		without := d.Choose(held, 0b11111&^(1<<2), flow)
		assert.MustBeTrue(t, without != 2 && (home == 2 || without == home),
			"flow %d of member %d went to %d when member 2 was down", i, home, without)
	}
	for m, n := range spread {
		assert.True(t, n >= flows/members*9/10 && n <= flows/members*11/10, "member %d has %d of %d flows", m, n, flows)
	}
	assert.Equal(t, d.Choose(held, 0, 1), -1, "nobody is up: member")
}
