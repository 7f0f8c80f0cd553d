package dataplane

import (
	"slices"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

// The ports of trunkRig: three members, the uplink, and two that stay the bridge's.
const (
	members    = 3
	uplinkPort = 3
	trunkPorts = 6
)

// threeToOne is a trunk of the first ports, without meters and watermarks.
func threeToOne() TrunkConfig {
	return TrunkConfig{Name: "up", Uplink: uplinkPort, Members: []int{0, 1, 2},
		Aggregate: trunk.AggregatorConfig{Lossless: 1 << lossless},
		Flow:      trunk.FlowConfig{Mode: macctl.ModePFC, Lossless: 1 << lossless}}
}

// marked sets the watermarks of the lossless priority, both ways.
func marked(c TrunkConfig, high, low int64) TrunkConfig {
	c.Flow.Priority[lossless] = trunk.Mark{High: high, Low: low}
	c.Flow.UplinkPriority[lossless] = trunk.Mark{High: high, Low: low}
	return c
}

// trunkRig is a switch of six ports with a trunk.
func trunkRig(tb reporter, c TrunkConfig, change func(cfg *Config, ports []PortConfig)) *rig {
	tb.Helper()
	cfg := roomy(trunkPorts)
	cfg.Buffer.Lossy.Size = 4 << 20 // room enough, and made soon
	ports := testPorts(trunkPorts)
	if change != nil {
		change(&cfg, ports)
	}
	r := newRig(tb, cfg, ports...)
	r.retrunk(c)
	return r
}

// retrunk puts a configuration with these trunks in force.
func (r *rig) retrunk(trunks ...TrunkConfig) {
	r.tb.Helper()
	cfg, ports := r.sw.cfg, map[int]PortConfig{}
	cfg.Trunks = trunks
	var statics []Static
	for i, p := range r.sw.ports {
		if p != nil {
			ports[i] = p.cfg
			statics = append(statics, Static{MAC: host(i), VID: 1, Port: i})
		}
	}
	assert.MustNoError(r.tb, r.sw.Reconfigure(cfg, ports, statics, r.now), "Reconfigure")
}

func (r *rig) trunk() *TrunkSnapshot { return &r.snapshot().Trunks[0] }

// origins returns the members that frames came from, by their source addresses.
func origins(frames [][]byte) (all []int) {
	for _, b := range frames {
		h, _ := frame.Parse(b)
		all = append(all, int(h.Src-host(0)))
	}
	return all
}

// A trunk carries frames as they are, to whatever address, and only between members and uplink.
func TestTrunkCarriesFramesUnchanged(t *testing.T) {
	r := trunkRig(t, threeToOne(), nil)
	vlans := [][]byte{
		ether(0x02_77_00_00_00_01, host(0), nil, experimental, 1, small),
		ether(frame.Broadcast, host(0), tci(5, 0), experimental, 2, small),
		ether(host(4), host(0), tci(lossless, 77), experimental, 3, mtu+4),
		ether(host(1), host(0), tci(lossless, 4000), frame.TypeServiceTag, 4, small),
	}
	r.offer(0, vlans...)
	got := r.drain(uplinkPort, r.now+second)
	slices.SortFunc(got, slices.Compare)
	slices.SortFunc(vlans, slices.Compare)
	assert.True(t, slices.EqualFunc(got, vlans, slices.Equal),
		"up: %d frames, want the %d as they came", len(got), len(vlans))
	var down [][]byte
	r.offer(uplinkPort, vlans...)
	for i := range members {
		down = append(down, r.drain(i, r.now+second)...)
	}
	slices.SortFunc(down, slices.Compare)
	assert.True(t, slices.EqualFunc(down, vlans, slices.Equal),
		"down: %d frames, want the %d as they came", len(down), len(vlans))
	r.offer(0, ether(0x0180C200000E, host(0), nil, experimental, 5, small))
	assert.Equal(t, r.count(0).Drops[0][DropFiltered], 1, "frames to a reserved address were filtered")
	r.empty()
}

// Ports of the bridge and of a trunk do not see each other, whatever the bridge has learned.
func TestTrunkAndBridgeAreApart(t *testing.T) {
	r := trunkRig(t, threeToOne(), nil)
	r.offer(4, data(4, 0, 0, 0, small), ether(frame.Broadcast, host(4), nil, experimental, 1, small),
		data(4, 5, lossless, 2, small))
	for i := range uplinkPort + 1 {
		got := r.drain(i, r.now+second)
		assert.True(t, got == nil, "port %d of the trunk sent %d frames of the bridge", i, len(got))
	}
	assert.Equal(t, len(r.drain(5, r.now+second)), 2,
		"frames of the bridge, want the broadcast and that to its own port")
	assert.Equal(t, r.count(4).Drops[0][DropPortDown], 1, "frames to a station behind the trunk were dropped")
	r.offer(1, data(1, 5, 0, 3, small))
	assert.Equal(t, len(r.drain(uplinkPort, r.now+second)), 1,
		"frames of the trunk, want that to a station of the bridge")
	r.empty()
}

// Frames go to the member that holds least; one that is down gets none, and gets its share again.
func TestUplinkFillsMembersEvenly(t *testing.T) {
	r := trunkRig(t, threeToOne(), nil)
	sent := func() (n [members]int) {
		for i := range members {
			n[i] = len(r.drain(i, r.now))
			r.now += second
		}
		return n
	}
	r.offer(uplinkPort, several(uplinkPort, 0, 1, 30, small)...)
	assert.Equal(t, sent(), [members]int{10, 10, 10}, "sent")
	r.sw.SetUp(1, false, r.now)
	r.offer(uplinkPort, several(uplinkPort, 0, 1, 30, small)...)
	assert.Equal(t, sent(), [members]int{15, 0, 15}, "sent with a member down")
	for i := range members {
		r.sw.SetUp(i, false, r.now)
	}
	r.offer(uplinkPort, several(uplinkPort, 0, lossless, 3, small)...)
	if n := r.count(uplinkPort).Drops[lossless][DropPortDown]; n != 3 || faults(r.snapshot()) != 0 {
		t.Errorf("%d of 3 frames dropped with all members down, %d faults", n, faults(r.snapshot()))
	}
	r.sw.SetUp(1, true, r.now)
	r.offer(uplinkPort, several(uplinkPort, 0, 1, 3, small)...)
	assert.Equal(t, sent(), [members]int{0, 3, 0}, "sent with one member up")
	r.empty()
}

// By flow, every frame of a flow goes one way.
func TestUplinkByFlow(t *testing.T) {
	c := threeToOne()
	c.ByFlow = true
	r := trunkRig(t, c, nil)
	used := 0
	for flow := range 30 {
		for seq := range 4 {
			r.offer(uplinkPort, data(uplinkPort, flow, 1, seq, small))
		}
	}
	for i := range members {
		got := map[uint64][]int{}
		for _, b := range r.drain(i, r.now+second) {
			h, _ := frame.Parse(b)
			got[h.Dst] = append(got[h.Dst], sequence(b))
		}
		for dst, seq := range got {
			assert.Same(t, seq, []int{0, 1, 2, 3}, "member %d: flow %x", i, dst)
		}
		if len(got) > 0 {
			used++
		}
	}
	assert.Equal(t, used, members, "members were used")
}

// What a meter or RED drops is counted where it came in, and leaves nothing behind; a lossless priority is only
// coloured.
func TestTrunkMeters(t *testing.T) {
	c := threeToOne()
	c.Aggregate.Metered = true
	c.Aggregate.Total = trunk.MeterConfig{CIR: 1e6, PIR: 1e9, CBS: 10_000, PBS: 100_000}
	wire := int64(frame.WireOctets(small))
	for p := range c.Aggregate.Meters {
		c.Aggregate.Meters[p] = trunk.MeterConfig{CIR: 1e6, PIR: 2e6, CBS: 2 * wire, PBS: 6 * wire}
	}
	c.Aggregate.RED[1] = trunk.REDConfig{Low: 3 * (small + 4), High: 100 * small, Probability: 1}
	r := trunkRig(t, c, nil)
	for prio, want := range map[uint8]struct{ sent, red, meterRed int }{0: {6, 0, 4}, 1: {3, 3, 4}, lossless: {10, 0,
		0}} {
		r.offer(0, several(0, 5, prio, 10, small)...)
		got := len(r.drain(uplinkPort, r.now))
		drops := r.count(0).Drops[prio]
		assert.True(t, got == want.sent && int(drops[DropRED]) == want.red && int(drops[DropMeterRed]) == want.meterRed,
			"priority %d: %d sent, %d and %d dropped, want %+v", prio, got, drops[DropRED], drops[DropMeterRed], want)
		colours := r.trunk().Members[0].Colours[prio]
		assert.True(t, colours[trunk.Green].Frames == 2 && colours[trunk.Yellow].Frames == 4 &&
			colours[trunk.Red].Frames == 4, "priority %d: colours %+v", prio, colours)
	}
	r.empty()
	assert.Equal(t, faults(r.snapshot()), 0, "a drop of a meter is no fault")
}

// A frame is metered by its octets on the wire, or by the packet's; it arrives yellow with the drop eligible
// indicator, where the trunk is told to look.
func TestTrunkMetersWhatItIsTold(t *testing.T) {
	eligible := frame.MakeTCI(0, true, 0)
	for _, tt := range []struct {
		ip, aware bool
		burst     int64
		want      trunk.Colour
	}{
		{false, false, small + 24, trunk.Green}, {false, false, small + 23, trunk.Yellow},
		{true, false, small - 18, trunk.Green}, {true, false, small - 19, trunk.Yellow},
		{false, true, small + 24, trunk.Yellow},
	} {
		c := threeToOne()
		c.IPOctets, c.Aware = tt.ip, tt.aware
		c.Aggregate.Metered = true
		c.Aggregate.Meters[0] = trunk.MeterConfig{CIR: 1, PIR: 1, CBS: tt.burst, PBS: 10_000}
		c.Aggregate.Total = trunk.MeterConfig{CIR: 1, PIR: 1, CBS: 10_000, PBS: 10_000}
		r := trunkRig(t, c, nil)
		r.offer(0, ether(host(5), host(0), &eligible, experimental, 0, small))
		r.drain(uplinkPort, r.now)
		for colour, tally := range r.trunk().Members[0].Colours[0] {
			assert.True(t, (tally.Frames == 1) == (trunk.Colour(colour) == tt.want),
				"%+v: %v %+v", tt, trunk.Colour(colour), tally)
		}
	}
}

// Several trunks of a switch, and the bridge beside them, carry each their own.
func TestSeveralTrunks(t *testing.T) {
	first := TrunkConfig{Name: "first", Uplink: 1, Members: []int{0}, Flow: trunk.FlowConfig{Mode: macctl.ModePFC,
		Lossless: 1 << lossless}}
	second := first
	second.Name, second.Uplink, second.Members = "second", 2, []int{3}
	r := trunkRig(t, first, nil)
	r.retrunk(first, second)
	for in, out := range map[int]int{0: 1, 1: 0, 2: 3, 3: 2, 4: 5} {
		r.offer(in, data(in, 5, lossless, in, small))
		for i := range trunkPorts {
			want := 0
			if i == out {
				want = 1
			}
			assert.Equal(t, len(r.drain(i, r.now+10_000_000)), want, "a frame from port %d: frames that port %d sent",
				in, i)
		}
	}
	r.hear(1, lossless, 0xffff)
	a, b := r.heldPriorities(0), r.heldPriorities(3)
	assert.True(t, a == 1<<lossless && b == 0, "the first uplink is paused: members are told %08b and %08b", a, b)
	r.empty()
}

// What is counted as sent has left: neither what a meter or RED drops nor what is dropped with its port.
func TestTrunkCountsWhatLeft(t *testing.T) {
	c := threeToOne()
	c.Aggregate.Metered = true
	c.Aggregate.Meters[0] = trunk.MeterConfig{CIR: 1, PIR: 1, CBS: 2 * int64(frame.WireOctets(small)),
		PBS: 2 * int64(frame.WireOctets(small))}
	c.Aggregate.Total = trunk.MeterConfig{CIR: 1e9, PIR: 1e9, CBS: 100_000, PBS: 100_000}
	r := trunkRig(t, c, nil)
	r.offer(0, several(0, 5, 0, 10, small)...)
	r.drain(uplinkPort, r.now+second)
	r.offer(uplinkPort, several(uplinkPort, 0, 0, 6, small)...)
	r.send(0, 1)
	r.sw.SetUp(0, false, r.now)
	r.send(1, 2)
	r.sw.SetUp(uplinkPort, false, r.now)
	sent := func(frames uint64) trunk.Tally { return trunk.Tally{Frames: frames, Octets: frames * (small + 4)} }
	v := r.trunk()
	assert.True(t, !v.Up && v.Sent == sent(2) && v.Members[0].Colours[0][trunk.Red].Frames == 8,
		"of 10 frames of which 8 are red the uplink, up %v, sent %+v", v.Up, v.Sent)
	for m, want := range []uint64{1, 2, 0} {
		if got := v.Members[m]; got.Sent != sent(want) || got.Distributed[0].Frames != 2 {
			t.Errorf("member %d: sent %+v of %+v, want %d frames", m, got.Sent, got.Distributed[0], want)
		}
	}
	r.drain(2, r.now+second)
	r.empty()
}
