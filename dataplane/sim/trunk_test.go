package sim

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

const (
	members    = 3
	uplinkPort = members
)

// addTrunk adds a switch whose ports are one trunk. Members have the speed of the rig.
func (r *rig) addTrunk(uplink int64, octets int, c dataplane.TrunkConfig) int {
	r.tb.Helper()
	member := r.speed
	c.Name, c.Uplink, c.Members = "up", uplinkPort, []int{0, 1, 2}
	c.Aggregate.Lossless = 1 << lossless
	c.Flow.Mode, c.Flow.Lossless = macctl.ModePFC, 1<<lossless
	r.change = func(cfg *dataplane.Config, ports map[int]dataplane.PortConfig) {
		cfg.Trunks = []dataplane.TrunkConfig{c}
		for i, speed := range [members + 1]int64{member, member, member, uplink} {
			p := ports[i]
			p.Speed = speed
			ports[i] = p
		}
	}
	r.speed = max(member, uplink) // which the headroom is for
	sw := r.addSwitch(members+1, 400, octets, nil)
	r.speed, r.change = member, nil
	return sw
}

func (r *rig) trunk(sw int) *dataplane.TrunkSnapshot { return &r.look(sw).Trunks[0] }

// Watermarks hold members that are faster than the uplink, and an uplink that is faster than the members. With marks
// far below the buffer's own thresholds nothing of a lossless priority is lost, and nobody stays held.
func TestTrunkIsLossless(t *testing.T) {
	up, down := uint64(0), uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		octets := rapid.SampledFrom([]int{64, 700, mtu}).Draw(t, "octets")
		r := newRig(t, gigabit, rapid.Int64Range(0, 20_000).Draw(t, "delay"))
		r.response = rapid.Int64Range(0, 60_000).Draw(t, "response")
		mark := trunk.Mark{High: 40 * cell, Low: 20 * cell}
		var c dataplane.TrunkConfig
		c.Flow.Priority[lossless], c.Flow.UplinkPriority[lossless] = mark, mark
		// A host sends by the fast uplink of the first, whose members take less, to the slow uplink of the second.
		const fast, slow = 5 * gigabit, gigabit / 2
		first, second := r.addTrunk(fast, octets, c), r.addTrunk(slow, octets, c)
		for i := range members {
			r.join(End{first, i}, End{second, i})
		}
		r.speed = fast
		from := r.addHost(first, uplinkPort)
		r.speed = slow
		to := r.addHost(second, uplinkPort)
		stop := rapid.Int64Range(1, 300).Draw(t, "frames") * int64(octets+24) * 8
		for _, prio := range []uint8{lossless, 0} {
			r.load(FlowConfig{From: from, To: to, Priority: prio, Octets: octets, Stop: stop})
		}
		r.start()
		assert.MustEqual(t, r.Advance(never-r.Begun()), Done, "the run ended with")
		if v := r.Flow(0); v.Sent == 0 || v.Received != v.Sent { // in any order: each goes to the least filled member
			t.Errorf("%d of %d lossless frames came", v.Received, v.Sent)
		}
		r.empty()
		for _, sw := range []int{first, second} {
			v := r.trunk(sw)
			assert.True(t, v.Held == trunk.Holds{} && v.ToUplink == [8]int64{} && v.ToMembers == [8]int64{},
				"in the end: %+v", v)
		}
		up += r.trunk(second).Holds[lossless].Marked()
		down += r.trunk(first).UplinkHolds[lossless].Marked()
	})
	assert.True(t, up != 0 && down != 0, "members were held %d times, an uplink %d: the test proves nothing", up, down)
}

// Over 10 s the meters of a trunk let pass what RFC 2698 and the patent's order say. A saturated member offers
// priority 1 above its peak rate, one priority 2 between its rates, one priority 4 below its committed one.
func TestTrunkMetersOverTime(t *testing.T) {
	const rate, octets, length = 20_000_000, 1000 - 24, 10_000 * ms // of each member
	r := newRig(t, rate, 1000)
	var c dataplane.TrunkConfig
	c.Aggregate.Metered = true
	c.Aggregate.Total = trunk.MeterConfig{CIR: 19 * rate / 10, PIR: 19 * rate / 10, CBS: 10_000, PBS: 10_000}
	for p, m := range map[int]trunk.MeterConfig{1: {CIR: rate / 10, PIR: rate / 2}, 2: {CIR: rate / 2, PIR: 2 * rate},
		4: {CIR: 14 * rate / 10, PIR: 2 * rate}} {
		m.CBS, m.PBS = 10_000, 20_000
		c.Aggregate.Meters[p] = m
	}
	sw := r.addTrunk(2*rate, octets, c)
	priorities := [members]uint8{1, 2, 4}
	var from [members]int
	for i := range members {
		from[i] = r.addHost(sw, i)
	}
	r.speed = 2 * rate
	to := r.addHost(sw, uplinkPort)
	for i, prio := range priorities {
		r.load(FlowConfig{From: from[i], To: to, Priority: prio, Octets: octets, Stop: length})
	}
	r.start()
	assert.MustEqual(t, r.Advance(never-r.Begun()), Done, "the run ended with")
	r.empty()
	v := r.trunk(sw)
	for i, want := range [members][3]float64{{0.1, 0.4, 0.5}, {0.5, 0.5, 0}, {1, 0, 0}} { // green, yellow, red
		for colour, share := range want {
			got := float64(v.Members[i].Colours[priorities[i]][colour].Frames) / float64(r.Flow(i).Sent)
			assert.True(t, got >= share-0.01 && got <= share+0.01,
				"priority %d: %.4f %v, want %.2f within 1 %%", priorities[i], got, trunk.Colour(colour), share)
		}
	}
	last := r.Flow(2)
	assert.True(t, last.Received == last.Sent && last.Sent > length/ms*rate/8_000_000-10,
		"the priority below its CIR: %d of %d frames came", last.Received, last.Sent)
}

// A mixed stream at the uplink's full speed, two thirds of what the members carry, loads them within 5 % of their mean.
func TestTrunkBalancesAMixedStream(t *testing.T) {
	const n, shortest, longest = 6000, MinOctets, 1518 // with a tag
	r := newRig(t, gigabit, 1000)
	sw := r.addTrunk(2*gigabit, longest, dataplane.TrunkConfig{})
	to := r.addHost(sw, 0) // whom a third of the frames reach: behind a real trunk there is one station
	r.addHost(sw, 1)
	r.addHost(sw, 2)
	r.speed = 2 * gigabit
	from := r.addHost(sw, uplinkPort)
	for prio, octets := range []int{shortest, longest} {
		r.load(FlowConfig{From: from, To: to, Priority: uint8(prio), Octets: octets, Frames: n, Stop: 1000 * ms})
	}
	assert.Must(t, r.Learn())
	r.Start()
	assert.MustEqual(t, r.Advance(never-r.Begun()), Done, "the run ended with")
	r.empty()
	mean := float64(n*(shortest+longest+2*frame.FCSOctets)) / members
	for i, m := range r.trunk(sw).Members {
		given := 0.0
		for _, tally := range m.Distributed {
			given += float64(tally.Octets)
		}
		assert.True(t, given >= 0.95*mean && given <= 1.05*mean, "member %d was given %.0f octets, %.3f of the mean", i,
			given, given/mean)
	}
}
