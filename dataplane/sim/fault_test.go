package sim

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/sched"
)

// pairOn is a switch with a sender and a receiver, and the flow between them.
func pairOn(t *testing.T, c FlowConfig) (r *rig, sw, from, to int) {
	t.Helper()
	r = newRig(t, gigabit, 500)
	sw = r.addSwitch(2, 256, mtu, nil)
	from, to = r.addHost(sw, 0), r.addHost(sw, 1)
	for _, n := range []int{from, to} {
		r.nodes[n].host.Lossless = 1 << lossless
	}
	c.From, c.To = from, to
	r.load(c)
	return r, sw, from, to
}

// A flow with a number of frames begins and ends with the time that these take; its time is from the first bit to the
// last.
func TestFlowOfSomeFrames(t *testing.T) {
	r, _, _, _ := pairOn(t, FlowConfig{Priority: lossless, Octets: 1000, Start: 5 * ms, Stop: 100 * ms, Frames: 100})
	r.start()
	assert.MustEqual(t, r.Advance(never-r.Begun()), Done, "the run ended with")
	r.kept()
	const wire = (1000 + 24) * 8 // ns at 1G
	v := r.Flow(0)
	assert.True(t, v.Sent == 100 && v.Took == 101*wire+2*500 && v.Latency == nil, "%+v, want %d ns", v, 101*wire+2*500)
	last := r.Now() - r.Begun()
	assert.True(t, last <= 5*ms+101*wire+2*500+ms, "the run ended at %d ns, long after its flow", last)
}

// A window bounds the frames on their way: one frame each round trip, or as many as the link carries.
func TestWindow(t *testing.T) {
	const wire, ack = (1000 + 24) * 8, (64 + 24) * 8
	const round = 2*(wire+500) + 2*(ack+500)
	for window, want := range map[uint64]int64{1: wire * gigabit / round, 2: 2 * wire * gigabit / round, 100: gigabit} {
		r, _, _, _ := pairOn(t, FlowConfig{Priority: lossless, Octets: 1000, Stop: 50 * ms, Window: window})
		r.start()
		r.Advance(never - r.Begun())
		r.kept()
		if v := r.Flow(0); v.Rate < want*98/100 || v.Rate > want*102/100 {
			t.Errorf("window %d: %d bit/s, want %d", window, v.Rate, want)
		}
		acks := r.flows[0].acks
		acks.Window = 1
		assert.True(t, acks.Open(r.flows[0].sent), "window %d: frames are not acknowledged", window)
	}
}

// A slow receiver holds the switch, and so the sender, to its rate. Nothing is lost.
func TestSlowReceiver(t *testing.T) {
	for _, rate := range []int64{1_000_000, 100_000_000, 333_333_333} {
		r, _, from, to := pairOn(t, FlowConfig{Priority: lossless, Octets: mtu, Stop: 200 * ms})
		assert.Must(t, r.AddFault(FaultConfig{Kind: Slow, At: End{to, 0}, Rate: rate, Stop: 200 * ms}))
		r.start()
		r.Advance(never - r.Begun())
		r.kept()
		v := r.Flow(0)
		first := int64(sched.BacklogFull) / 200 / ms // bit/s: what it takes before it first holds, and about that
		assert.True(t, v.Rate >= rate && v.Rate <= rate*102/100+2*first, "%d bit/s, want %d", v.Rate, rate)
		assert.True(t, r.Host(from).PausedNs[lossless] != 0, "the sender was not paused")
	}
}

// A storm keeps the switch from sending while it lasts, and again after Every. Nothing is lost.
func TestStormOfAHost(t *testing.T) {
	r, sw, from, to := pairOn(t, FlowConfig{Priority: lossless, Octets: mtu, Stop: 100 * ms})
	assert.Must(t, r.AddFault(FaultConfig{Kind: Storm, At: End{to, 0}, Start: 10 * ms, Stop: 40 * ms, Every: 50 * ms}))
	r.start()
	assert.MustEqual(t, r.Advance(never-r.Begun()), Done, "the run ended with")
	r.kept()
	v := r.Flow(0).Rate
	assert.True(t, v >= 38*gigabit/100 && v <= 45*gigabit/100, "%d bit/s, want what 40 %% of the time carries", v)
	ns := r.Host(from).PausedNs[lossless]
	assert.True(t, ns >= 50*ms, "the sender was paused for %d ns", ns)
	assert.True(t, r.xoffs(sw) != 0, "the switch has not held the sender")
}

// Of faults of one kind at one end the others go on when one ends: a storm, a slow host of the least rate, and a link
// that is down.
func TestFaultsOverlap(t *testing.T) {
	for _, tt := range []struct {
		kind        FaultKind
		rate        int64
		least, most int64 // bit/s in 100 ms
	}{{Storm, 0, 18 * gigabit / 100, 25 * gigabit / 100}, {Slow, gigabit / 10, 26 * gigabit / 100, 30 * gigabit / 100},
		{Flap, 0, 18 * gigabit / 100, 22 * gigabit / 100}} {
		r, _, _, to := pairOn(t, FlowConfig{Priority: lossless, Octets: mtu, Stop: 100 * ms})
		for _, c := range []FaultConfig{{Start: 10 * ms, Stop: 90 * ms, Rate: tt.rate}, {Start: 20 * ms, Stop: 30 * ms,
			Rate: 2 * tt.rate}, {Start: 40 * ms, Stop: 50 * ms, Rate: tt.rate}} {
			c.Kind, c.At = tt.kind, End{to, 0}
			assert.Must(t, r.AddFault(c))
		}
		r.start()
		assert.MustEqual(t, r.Advance(never-r.Begun()), Done, "the run ended with")
		r.balanced()
		v := r.Flow(0).Rate
		assert.True(t, v >= tt.least && v <= tt.most, "fault %d: %d bit/s, want %d to %d", tt.kind, v, tt.least,
			tt.most)
	}
}

// A host that is slow takes up what it holds only once, however often it becomes slower meanwhile.
func TestSlowHostBecomesSlower(t *testing.T) {
	r, _, _, to := pairOn(t, FlowConfig{Priority: lossless, Octets: mtu, Stop: 100 * ms})
	assert.Must(t, r.AddFault(FaultConfig{Kind: Slow, At: End{to, 0}, Start: 10 * ms, Stop: 90 * ms,
		Rate: gigabit / 10}))
	assert.Must(t, r.AddFault(FaultConfig{Kind: Slow, At: End{to, 0}, Start: 15 * ms, Stop: 20 * ms,
		Rate: gigabit / 20, Every: 10 * ms}))
	r.start()
	assert.MustEqual(t, r.Advance(never-r.Begun()), Done, "the run ended with")
	v := r.Flow(0).Rate
	assert.True(t, v >= 21*gigabit/100 && v <= 25*gigabit/100, "%d bit/s, want 23 %% of a Gbit/s", v)
}

// A storm for ever ends the run, with the frames that it holds.
func TestStormForEver(t *testing.T) {
	r, _, _, to := pairOn(t, FlowConfig{Priority: lossless, Octets: mtu, Stop: 10 * ms})
	assert.Must(t, r.AddFault(FaultConfig{Kind: Storm, At: End{to, 0}, Stop: never}))
	r.Stall = 100 * ms
	r.start()
	assert.MustEqual(t, r.Advance(never-r.Begun()), Stalled, "the run ended with")
	r.balanced()
	assert.True(t, r.Cycle() == nil, "a cycle: %+v", r.Cycle())
	held := r.HeldByHosts()
	assert.True(t, len(held) == 1 && held[0].By.Node == to && held[0].Frames != 0, "%+v", held)
}

// A link that goes down loses what is on it and what waits for it. All is counted, and traffic goes on when it is back.
func TestFlap(t *testing.T) {
	for _, at := range []int{0, 1} {
		r, sw, _, _ := pairOn(t, FlowConfig{Priority: lossless, Octets: mtu, Stop: 100 * ms})
		assert.Must(t,
			r.AddFault(FaultConfig{Kind: Flap, At: End{sw, at}, Start: 10 * ms, Stop: 15 * ms, Every: 20 * ms}))
		r.start()
		assert.MustEqual(t, r.Advance(never-r.Begun()), Done, "the run ended with")
		r.balanced()
		v := r.Flow(0)
		assert.True(t, v.Reordered == 0 && v.Received != 0 && r.count().lostOnWires != 0,
			"port %d: %+v, %d lost on wires", at, v, r.count().lostOnWires)
		assert.True(t, v.Rate >= 74*gigabit/100 && v.Rate <= 76*gigabit/100,
			"port %d: %d bit/s, want what 75 %% of the time carries", at, v.Rate)
	}
}

// Faults that cannot be are refused.
func TestFaultsRefused(t *testing.T) {
	r, sw, _, to := pairOn(t, FlowConfig{Octets: mtu, Stop: ms})
	for _, c := range []FaultConfig{
		{Kind: Storm, At: End{sw, 0}, Stop: ms}, {Kind: Storm, At: End{to, 1}, Stop: ms},
		{Kind: Storm, At: End{99, 0}, Stop: ms}, {Kind: Storm, At: End{to, 0}},
		{Kind: Storm, At: End{to, 0}, Stop: ms, Every: ms}, {Kind: Slow, At: End{to, 0}, Stop: ms},
	} {
		err := r.AddFault(c)
		assert.True(t, err != nil, "%+v is taken", c)
	}
}
