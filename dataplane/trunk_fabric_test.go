package dataplane

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

// aggregation is a switch in virtual time whose ports are all one trunk: hosts 0 to 2 are behind members, host 3
// behind the uplink.
func aggregation(tb reporter, memberSpeed, uplinkSpeed, delay, reaction, headroom int64, c TrunkConfig) (*fabric,
	*switchNode, []*hostNode) {
	f := &fabric{tb: tb, now: 1}
	var ports []PortConfig
	for i := range uplinkPort + 1 {
		speed := memberSpeed
		if i == uplinkPort {
			speed = uplinkSpeed
		}
		ports = append(ports, portAt(testPort(i), speed, headroom))
	}
	s := f.add(sized(400*cell, ports...), ports...)
	s.r.now = f.now
	s.r.retrunk(c)
	var hosts []*hostNode
	for i := range uplinkPort + 1 {
		hosts = append(hosts, f.host(i, s, i, delay, reaction))
	}
	return f, s, hosts
}

// Members faster than the uplink, and an uplink faster than the members, lose nothing of a lossless priority where
// watermarks hold who sends too much: with the marks far below what the buffer's own thresholds are, it is the trunk
// that holds.
func TestTrunkIsLossless(t *testing.T) {
	t.Parallel()
	up, _ := bothWays(t, mtu, 1000, 1000, gigabit, 200)
	assert.True(t, up != 0, "no member was held: the test proves nothing")
	_, down := bothWays(t, mtu, 1000, 1000, 5*gigabit, 200)
	assert.True(t, down != 0, "the uplink was not held: the test proves nothing")
	rapid.Check(t, func(t *rapid.T) {
		octets := rapid.SampledFrom([]int{64, 700, mtu}).Draw(t, "octets")
		delay := rapid.Int64Range(0, 20_000).Draw(t, "delay")
		reaction := rapid.Int64Range(0, 60_000).Draw(t, "reaction")
		uplink := rapid.SampledFrom([]int64{gigabit, 5 * gigabit}).Draw(t, "uplink")
		bothWays(t, octets, delay, reaction, uplink, rapid.IntRange(1, 200).Draw(t, "frames"))
	})
}

// bothWays sends frames from each member to the uplink, in two classes, and three times as many of the lossless one
// back. It wants all of these, in order and nobody held in the end, and returns how often watermarks held members and
// the uplink.
func bothWays(tb reporter, octets int, delay, reaction, uplink int64, frames int) (up, down uint64) {
	c := marked(threeToOne(), 40*cell, 20*cell)
	f, s, hosts := aggregation(tb, gigabit, uplink, delay, reaction, inFlight(uplink, delay, reaction, 0, octets), c)
	for _, h := range hosts[:uplinkPort] {
		h.load(uplinkPort, lossless, frames, octets)
		h.load(uplinkPort, 0, frames, octets)
	}
	hosts[uplinkPort].load(0, lossless, 3*frames, octets)
	f.run(1000 * second)
	f.kept(hosts[uplinkPort], hosts[:uplinkPort], frames)
	var got []int
	for _, h := range hosts[:uplinkPort] {
		mine := h.got[host(uplinkPort)<<3|lossless]
		assert.True(tb, slices.IsSorted(mine), "member %d: out of order", h.id)
		got = append(got, mine...)
	}
	slices.Sort(got)
	assert.True(tb, len(got) == 3*frames && len(slices.Compact(got)) == 3*frames,
		"%d of %d frames came down", len(got), 3*frames)
	v := s.r.trunk()
	assert.True(tb, v.Held == (trunk.Holds{}) && v.ToUplink == [8]int64{} && v.ToMembers == [8]int64{},
		"in the end: %+v", v)
	return v.Holds[lossless].Marked(), v.UplinkHolds[lossless].Marked()
}

// Over 10 s the meters of a trunk let pass what RFC 2698 and the patent's order say. A saturated member offers
// priority 1 above its peak rate, one priority 2 between its rates, one priority 4 below its committed one.
func TestTrunkMetersOverTime(t *testing.T) {
	t.Parallel()
	const rate = 20_000_000 // of each member
	c := threeToOne()
	c.Aggregate.Metered = true
	c.Aggregate.Total = trunk.MeterConfig{CIR: 19 * rate / 10, PIR: 19 * rate / 10, CBS: 10_000, PBS: 10_000}
	for p, m := range map[int]trunk.MeterConfig{1: {CIR: rate / 10, PIR: rate / 2}, 2: {CIR: rate / 2, PIR: 2 * rate},
		4: {CIR: 14 * rate / 10, PIR: 2 * rate}} {
		m.CBS, m.PBS = 10_000, 20_000
		c.Aggregate.Meters[p] = m
	}
	f, s, hosts := aggregation(t, rate, 2*rate, 1000, 1000, 100*cell, c)
	const n, octets = 10 * rate / 8 / 1000, 1000 - 24 // 10 s
	for i, prio := range []uint8{1, 2, 4} {
		hosts[i].load(uplinkPort, prio, n, octets)
	}
	f.run(20 * second)
	s.r.now = f.now
	s.r.empty()
	v := s.r.trunk()
	for i, want := range []struct {
		prio               uint8
		green, yellow, red float64
	}{{1, 0.1, 0.4, 0.5}, {2, 0.5, 0.5, 0}, {4, 1, 0, 0}} {
		for colour, share := range []float64{want.green, want.yellow, want.red} {
			got := float64(v.Members[i].Colours[want.prio][colour].Frames) / n
			assert.True(t, got >= share-0.01 && got <= share+0.01,
				"priority %d: %.4f %v, want %.2f within 1 %%", want.prio, got, trunk.Colour(colour), share)
		}
	}
	got := len(hosts[uplinkPort].got[host(2)<<3|4])
	assert.True(t, got == n, "the priority below its CIR lost %d of %d frames", n-got, n)
}

// A switch that stands still and then finds a burst in its rings meters the frames by when they came.
func TestTrunkMetersByArrival(t *testing.T) {
	c := threeToOne()
	c.Aggregate.Metered = true
	wire := int64(small + 24)
	// a token a microsecond
	c.Aggregate.Meters[0] = trunk.MeterConfig{CIR: 8_000_000, PIR: 8_000_000, CBS: wire, PBS: wire}
	c.Aggregate.Total = trunk.MeterConfig{CIR: 1e9, PIR: 1e9, CBS: 100_000, PBS: 100_000}
	r := trunkRig(t, c, nil)
	burst := r.receive(0, several(0, 5, 0, 50, small))
	for i := range burst {
		burst[i].At = r.now + int64(i)*wire*1000
	}
	r.now += second
	taken, stop := r.sw.Ingress(0, burst, 0, r.now, 0)
	assert.MustBeTrue(t, taken == 50 && stop == Done, "took %d frames, stop %d", taken, stop)
	r.burst = burst
	assert.Equal(t, len(r.drain(uplinkPort, r.now)), 50, "frames that kept to the rate when they came and passed")
	r.settle()
	r.offer(0, several(0, 5, 0, 50, small)...)
	assert.Equal(t, len(r.drain(uplinkPort, r.now)), 1, "frames of 50 that came at once and passed")
	r.empty()
}

// pauseTrunk is a trunk under PAUSE with watermarks 1, 2, 5 and 6.
func pauseTrunk(tb reporter, high, low int64) *rig {
	c := threeToOne()
	c.Aggregate.Lossless = 0xff
	c.Flow = trunk.FlowConfig{Mode: macctl.ModePause, Lossless: 0xff, Member: trunk.Mark{High: high, Low: low},
		Uplink: trunk.Mark{High: high, Low: low}}
	return trunkRig(tb, c, func(_ *Config, ports []PortConfig) { copy(ports, pausePorts(trunkPorts)) })
}

// Under PAUSE a member is held for its own share, all of them for a pause of the uplink; the uplink for what waits
// for all members together, or when all of them are paused.
func TestPauseOfATrunk(t *testing.T) {
	const octets = small + 4
	r := pauseTrunk(t, 3*octets, 2*octets)
	r.offer(0, several(0, 5, 0, 2, small)...)
	r.offer(0, several(0, 5, 6, 1, small)...)
	r.offer(1, several(1, 5, 1, 4, small)...)
	a, b, c := r.heldPriorities(0), r.heldPriorities(1), r.heldPriorities(2)
	assert.True(t, a == 0 && b == 0xff && c == 0, "members are told %08b %08b %08b, want the second to stop", a, b, c)
	r.pause(uplinkPort, 0xffff)
	r.wantHolds("the uplink is paused", 0xff, 0)
	r.pause(uplinkPort, 0)
	if a, b, c := r.heldPriorities(0), r.heldPriorities(1), r.heldPriorities(2); a != 0xff || b != 0xff || c != 0 {
		t.Errorf("the uplink is free: members are told %08b %08b %08b, "+
			"want those to stop that are not below watermark 2", a, b, c)
	}
	r.drain(uplinkPort, r.now+second)
	r.wantHolds("nothing waits", 0, 0)

	for _, i := range []int{0, 1} {
		r.pause(i, 0xffff)
	}
	r.wantHolds("two members paused", 0, 0)
	r.offer(uplinkPort, several(uplinkPort, 0, 2, 4, small)...)
	r.wantHolds("above watermark 5", 0, 0xff)
	r.drain(2, r.now) // two frames of four
	r.pause(2, 0xffff)
	r.wantHolds("all members paused", 0, 0xff)
	r.pause(2, 0)
	r.wantHolds("one free, at watermark 6", 0, 0xff)
	r.pause(0, 0)
	r.drain(0, r.now)
	r.wantHolds("below watermark 6", 0, 0)
	r.pause(1, 0)
	r.drain(1, r.now+second)
	r.empty()
	mark, pass := HoldCount{Begun: 1}, HoldCount{Begun: 1, Passed: 1}
	v := r.trunk()
	assert.True(t, v.UplinkPauses == mark && v.Members[1].Holds == mark && v.Members[0].Holds == pass &&
		v.Members[2].Holds == pass, "holds of the uplink %+v, of members %+v %+v %+v", v.UplinkPauses,
		v.Members[0].Holds, v.Members[1].Holds, v.Members[2].Holds)
}

// Frames that wait when trunks change are neither lost nor forgotten, nobody stays held for a trunk that is gone, and
// what was counted is there again when the trunk is.
func TestTrunksChangeUnderLoad(t *testing.T) {
	const octets = small + 4
	r := trunkRig(t, marked(threeToOne(), 2*octets, octets), nil)
	r.offer(0, several(0, 5, lossless, 3, small)...)
	r.offer(1, several(1, 5, 0, 3, small)...)
	r.offer(uplinkPort, several(uplinkPort, 0, lossless, 3, small)...)
	r.wantHolds("before", 1<<lossless, 1<<lossless)
	before := *r.trunk()

	c := marked(threeToOne(), 20*octets, 10*octets)
	r.retrunk(c)
	r.wantHolds("with higher marks", 0, 0)
	if v := r.trunk(); v.ToUplink != before.ToUplink || v.ToMembers != before.ToMembers ||
		v.Members[0].Share != 3*octets {
		t.Errorf("what waits: %+v, before %+v", v, before)
	}
	r.retrunk()
	assert.Equal(t, len(r.snapshot().Trunks), 0, "trunks")
	r.offer(4, data(4, 0, 0, 99, small))
	assert.Equal(t, len(r.drain(0, r.now+second)), 2,
		"frames of port 0 of the bridge, want the one from before and the new one")
	c.Members = []int{2, 1}
	r.retrunk(c)
	v := r.trunk()
	assert.True(t, v.Members[1].Share == 3*octets && v.Members[1].Port == "p1" && v.ToUplink[lossless] == 0,
		"again, without the first member: %+v", v)
	r.offer(1, several(1, 5, 0, 1, small)...)
	assert.Equal(t, len(r.drain(uplinkPort, r.now+second)), 7, "frames of the uplink")
	assert.Equal(t, r.trunk().Members[1].Colours[0][trunk.Green].Frames, 1,
		"frames were judged, want the last: the others were passed when the trunk was taken apart")
	assert.Equal(t, r.trunk().Holds[lossless], before.Holds[lossless], "holds, want those from before")
	for i := range members {
		r.drain(i, r.now+second)
	}
	r.empty()
	for _, bad := range []TrunkConfig{{Uplink: 0, Members: []int{0}}, {Uplink: 0}, {Uplink: 77, Members: []int{1}},
		{Uplink: 0, Members: []int{1, 1}}} {
		cfg, ports := r.sw.cfg, map[int]PortConfig{0: testPort(0), 1: testPort(1)}
		cfg.Trunks = []TrunkConfig{bad}
		if err := r.sw.Reconfigure(cfg, ports, nil, r.now); err == nil || len(r.snapshot().Ports) != trunkPorts {
			t.Errorf("%+v: %v, %d ports", bad, err, len(r.snapshot().Ports))
		}
	}
}

// A member or the uplink that goes away and comes back, whatever waits and is paused, leaves nothing held and nothing
// behind.
func TestTrunkPortsFlap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := trunkRig(t, marked(threeToOne(), 5*(small+4), 2*(small+4)), nil)
		drawPort := rapid.IntRange(0, uplinkPort)
		t.Repeat(map[string]func(*rapid.T){
			"receive": func(t *rapid.T) {
				in := drawPort.Draw(t, "in")
				r.offer(in, several(in, 5, rapid.SampledFrom([]uint8{0, lossless}).Draw(t, "priority"),
					rapid.IntRange(1, 9).Draw(t, "frames"), small)...)
			},
			"send": func(t *rapid.T) {
				r.send(drawPort.Draw(t, "out"), rapid.IntRange(0, port.BatchFrames).Draw(t, "taken"))
			},
			"link": func(t *rapid.T) { r.sw.SetUp(drawPort.Draw(t, "port"), rapid.Bool().Draw(t, "up"), r.now) },
			"hear": func(t *rapid.T) {
				r.hear(drawPort.Draw(t, "port"), lossless, rapid.SampledFrom([]uint16{0, 10, 0xffff}).Draw(t, "quanta"))
			},
			"time":    func(t *rapid.T) { r.now += rapid.SampledFrom([]int64{1, 10_000, 100_000_000}).Draw(t, "ns") },
			"retrunk": func(*rapid.T) { r.retrunk(r.sw.cfg.Trunks...) },
			"":        func(t *rapid.T) { r.wantLoads(t) },
		})
		for i := range uplinkPort + 1 {
			r.sw.SetUp(i, true, r.now)
		}
		for i := range uplinkPort + 1 {
			r.drain(i, r.now+second) // longer than any pause
		}
		r.sw.Tick(r.now)
		r.wantHolds("in the end", 0, 0)
		r.empty()
	})
}

// wantLoads fails unless the trunk holds what its ports' queues hold, and frames are neither lost nor doubled.
func (r *rig) wantLoads(t *rapid.T) {
	r.balanced()
	v := r.look()
	trunk := &v.Trunks[0]
	var up, down, shares, areas int64
	for p := range NumPriorities {
		up, down = up+trunk.ToUplink[p], down+trunk.ToMembers[p]
	}
	for _, m := range trunk.Members {
		shares, areas = shares+m.Share, areas+m.Area
	}
	var held [uplinkPort + 1]int64
	for i := range held {
		for _, n := range v.Ports[i].Held {
			held[i] += int64(n) * (small + 4)
		}
	}
	assert.MustBeTrue(t, up == held[uplinkPort] && shares == up && areas == down && down == held[0]+held[1]+held[2],
		"the trunk holds %d, of members %d, and %d, of areas %d; queues hold %v", up, shares, down, areas, held)
}
