package dataplane

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// A frame may leave soon unless it meets an egress queue that holds a millisecond's worth, be it dropped there or not.
func TestMayLeaveSoon(t *testing.T) {
	ports := []PortConfig{testPort(0), testPort(1), testPort(2), unshaped(3)}
	for i := range ports {
		ports[i].Bridge.Flood = true
	}
	ports[1].Speed = 100_000_000 // 12,500 octets in a millisecond
	r := newRig(t, roomy(4), ports...)
	mayLeaveSoon := func(b []byte) bool {
		r.offer(0, b)
		return r.sw.MayLeaveSoon()
	}
	to := func(i int, prio uint8) []byte { return data(0, i, prio, 0, mtu) }
	r.hear(1, lossless, 0xffff) // it keeps what it gets
	for i := range 9 {
		assert.MustBeTrue(t, mayLeaveSoon(to(1, lossless)),
			"frame %d may not leave soon, though the queue holds less than a millisecond's worth", i)
	}
	r.offer(0, several(0, 1, 0, 9, mtu)...)
	r.offer(0, several(0, 3, 0, 200, mtu)...)
	for _, tt := range []struct {
		name string
		b    []byte
		want bool
	}{
		{"lossless, to a long queue", to(1, lossless), false},
		{"lossy, to a long queue", to(1, 0), false},
		{"to a long queue without a speed", to(3, 0), true},
		{"to an empty queue of that port", to(1, 1), true},
		{"to an idle port", to(2, lossless), true},
		{"flooded, to a long queue and others", to(77, 0), true},
		{"that is not forwarded", to(0, 0), true},
		{"of nobody", []byte{1, 2, 3}, true},
	} {
		assert.Equal(t, mayLeaveSoon(tt.b), tt.want, "a frame %s: may leave soon", tt.name)
	}
	r.arrive(0, to(1, 0), to(2, 0), to(1, 0))
	assert.True(t, r.sw.MayLeaveSoon(), "a burst with one such frame may not leave soon")
	r.settle()
	r.sw.SetUp(0, false, r.now)
	r.arrive(0, to(1, 0))
	assert.True(t, r.sw.MayLeaveSoon(), "a frame by a port that is down may not leave soon")
}
