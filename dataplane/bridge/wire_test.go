package bridge

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// The ends of a wire exchange every frame, whatever its addresses and VLAN, and are not part of the bridge.
func TestWire(t *testing.T) {
	b := newPlain(t, 2, Config{})
	for i, other := range map[int]int{2: 3, 3: 2} {
		c := plain()
		c.Wired, c.Wire = true, other
		setPort(t, b, i, c)
	}
	b.SetUp(2, true)
	for _, dst := range []uint64{stationB, frame.Broadcast, 0x0180_C200_000E, bridgeManagement} {
		for _, tag := range []uint16{0, 1, 7, 4095} {
			vid, why := b.Ingress(2, tag != 0, tag)
			assert.True(t, vid == NoVLAN && why == DropNone, "tag %d: VLAN %d, %v", tag, vid, why)
			assert.Equal(t, b.Forward(2, dst, stationA, vid, 60, 0), drop(DropPortDown),
				"to %012x while the other end is down", dst)
		}
	}
	b.SetUp(3, true)
	for in, out := range map[int]int{2: 3, 3: 2} {
		assert.Equal(t, b.Forward(in, frame.Broadcast, stationA, NoVLAN, 60, 0), unicast(out), "from %d", in)
	}
	b.Forward(0, frame.Broadcast, stationC, 1, 60, 0)
	wantDecision(t, "to a station behind the wire, want it flooded to the other port of the bridge",
		b.Forward(1, stationA, stationB, 1, 60, 0), flood(UnknownUnicast, 0))
}

// A port that leaves a wire is part of the bridge again.
func TestWireIsCut(t *testing.T) {
	b := newPlain(t, 2, Config{})
	c := plain()
	c.Wired, c.Wire = true, 1
	setPort(t, b, 0, c)
	setPort(t, b, 0, plain())
	wantDecision(t, "not wired", b.Forward(0, frame.Broadcast, stationA, 1, 60, 0), flood(Broadcast, 1))
}

func TestWireToNowhere(t *testing.T) {
	b := newPlain(t, 1, Config{})
	for _, other := range []int{-1, 0, MaxPorts} {
		c := plain()
		c.Wired, c.Wire = true, other
		_, err := b.SetPort(0, c)
		assert.True(t, err != nil, "wired to %d: no error", other)
	}
}
