package dataplane

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

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
