package dataplane

import (
	"encoding/binary"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// behind is the address of a station behind a group of ports.
const behind = 0x02_00_00_00_09_09

// groupRig has the ports of fastRig, the station behind ports 1, 2 and 3.
func groupRig(t *testing.T) *rig {
	t.Helper()
	r := fastRig(t, nil)
	assert.Must(t, r.sw.bridge.AddStaticGroup(behind, 1, []int{1, 2, 3}, r.now))
	return r
}

// roce is a frame of RoCEv2 from a host to the station behind the group, by the UDP source port of its flow.
func roce(from, flow, seq int) []byte {
	b := ether(behind, host(from), tci(lossless, 0), frame.TypeIPv4, 0, 100)
	packet := b[frame.HeaderOctets+frame.TagOctets:]
	clear(packet)
	packet[0], packet[9] = 0x45, 17
	binary.BigEndian.PutUint16(packet[20:], uint16(flow))
	binary.BigEndian.PutUint16(packet[22:], 4791)
	binary.BigEndian.PutUint32(packet[28:], uint32(seq))
	return b
}

func flowAndNumber(b []byte) (flow, seq int) {
	packet := b[frame.HeaderOctets+frame.TagOctets:]
	return int(binary.BigEndian.Uint16(packet[20:])), int(binary.BigEndian.Uint32(packet[28:]))
}

// A flow leaves by one port of the group, in order, and all ports have flows. None is offered the fast path, which
// tells flows apart by addresses alone.
func TestGroupKeepsFlowsTogether(t *testing.T) {
	const flows, rounds = 60, 4
	r := groupRig(t)
	for seq := range rounds {
		for flow := range flows {
			taken, _ := r.arrive(0, roce(0, flow, seq))
			assert.MustEqual(t, taken, 1, "frames taken")
			_, _, _, ok := r.burst[0].FastPath()
			assert.MustBeTrue(t, !ok, "a frame to a group was offered the fast path")
		}
	}
	r.settle()
	at, next := map[int]int{}, map[int]int{}
	for port := 1; port <= 3; port++ {
		frames := r.drain(port, r.now+second)
		assert.True(t, len(frames) >= rounds*flows/3/2, "port %d has sent %d of %d frames", port, len(frames),
			rounds*flows)
		for _, b := range frames {
			flow, seq := flowAndNumber(b)
			if before, seen := at[flow]; seen && before != port || next[flow] != seq {
				t.Fatalf("flow %d: frame %d by port %d, after frame %d by port %d", flow, seq, port, next[flow]-1,
					before)
			}
			at[flow], next[flow] = port, seq+1
		}
	}
	assert.Equal(t, len(at), flows, "flows that left")
	r.empty()
}

// When a port goes down, its flows go on by the others, and no other flow moves.
func TestGroupWithoutAPort(t *testing.T) {
	r := groupRig(t)
	ways := func() map[int]int {
		at := map[int]int{}
		for flow := range 60 {
			r.offer(0, roce(0, flow, 0))
		}
		for port := 1; port <= 3; port++ {
			for _, b := range r.drain(port, r.now+second) {
				flow, _ := flowAndNumber(b)
				at[flow] = port
			}
		}
		return at
	}
	before := ways()
	r.sw.SetUp(2, false, r.now)
	after := ways()
	assert.Equal(t, len(after), 60, "flows that left while port 2 was down")
	for flow, port := range before {
		assert.True(t, (port == 2 || after[flow] == port) && after[flow] != 2,
			"flow %d left by port %d, and by port %d when port 2 was down", flow, port, after[flow])
	}
	r.empty()
}

// A traced frame takes the port that it would take, and says which others there are.
func TestTraceOfAGroup(t *testing.T) {
	r := groupRig(t)
	r.sw.SetUp(3, false, r.now)
	for flow := range 20 {
		f, ok := r.sw.Trace(0, roce(0, flow, 0), frame.VnetHeader{}, r.now)
		assert.MustEqual(t, ok && !f.Dropped && len(f.Copies) == 1, true, "the frame would leave once")
		assert.Equal(t, f.Known, "p1, p2, p3", "the ports behind which the station is")
		assert.Equal(t, len(f.Ways), 2, "ports that are up")
		r.offer(0, roce(0, flow, 0))
		assert.Equal(t, len(r.drain(f.Copies[0].Port, r.now+second)), 1, "frames of flow %d by %s", flow,
			f.Copies[0].Name)
	}
	r.empty()
}

// A group is part of a configuration: refused whole, or in force whole.
func TestReconfigureGroups(t *testing.T) {
	r := plainRig(t, 3)
	configure := func(statics ...Static) error {
		return r.sw.Reconfigure(testConfig(3), asMap(testPorts(3)...), statics, r.now)
	}
	assert.Must(t, configure(Static{MAC: behind, VID: 1, Group: []int{1, 2}}))
	assert.True(t, configure(Static{MAC: behind, VID: 1, Group: []int{1, 7}}) != nil,
		"a group with a port that does not exist was taken")
	at := r.sw.bridge.Lookup(behind, 1, r.now)
	assert.True(t, at.Group.Len() == 2 && at.Static, "the station is %+v, want it behind ports 1 and 2", at)
	assert.Must(t, configure(Static{MAC: behind, VID: 1, Port: 2}))
	at = r.sw.bridge.Lookup(behind, 1, r.now)
	assert.True(t, at.Port == 2 && at.Group.Empty(), "the station is %+v, want it behind port 2", at)
}
