package sim

import (
	"fmt"
	"runtime"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// Three senders, one receiver: the switch holds the senders, nothing lossless is lost, and the shares are equal.
func TestIncast(t *testing.T) {
	r, sw := incast(t, 3, gigabit, 500, mtu, 200*ms)
	r.start()
	assert.MustEqual(t, r.Advance(never-r.Begun()), Done, "the run ended with")
	r.kept()
	assert.True(t, r.xoffs(sw) != 0, "no sender was held: the test proves nothing")
	var lossy uint64
	for i := range r.flows {
		v := r.Flow(i)
		if lossy += v.Sent - v.Received; r.flows[i].Priority != lossless {
			continue
		}
		want := int64(gigabit / 2 / 3)
		assert.True(t, v.Rate >= want*9/10 && v.Rate <= want*11/10, "flow %d: %d bit/s, want %d", i, v.Rate, want)
		if h := r.Host(r.flows[i].From); h.PausedNs[lossless] == 0 || h.Received.PFCFrames[lossless] == 0 {
			t.Errorf("flow %d: its sender was not paused", i)
		}
	}
	assert.True(t, lossy != 0, "no lossy frame was lost: the links were not full")
}

// A host that obeys nothing loses frames: the headroom is not infinite.
func TestDeafHostLosesFrames(t *testing.T) {
	r, sw := incast(t, 3, gigabit, 500, mtu, 20*ms)
	for i := range r.nodes {
		if h := r.nodes[i].host; h != nil {
			h.Mode = macctl.ModeOff
		}
	}
	r.start()
	r.Advance(never - r.Begun())
	r.balanced()
	lost := uint64(0)
	for i := range r.flows {
		if v := r.Flow(i); r.flows[i].Priority == lossless {
			lost += v.Sent - v.Received
		}
	}
	assert.True(t, lost != 0 && r.xoffs(sw) != 0, "%d lossless frames were lost, %d XOFFs sent", lost, r.xoffs(sw))
}

// A frame is received with its last octet, and a flow with a rate sends at that.
func TestTimesOfOneFlow(t *testing.T) {
	r := newRig(t, gigabit, 500)
	sw := r.addSwitch(2, 256, 1000, nil)
	from, to := r.addHost(sw, 0), r.addHost(sw, 1)
	r.load(FlowConfig{From: from, To: to, Priority: lossless, Octets: 1000, Rate: 100_000_000, Start: 5 * ms,
		Stop: 105 * ms})
	r.start()
	r.Advance(never - r.Begun())
	r.kept()
	v := r.Flow(0)
	const wire = (1000 + 24) * 8         // ns at 1G
	const want = 100_000_000 / 10 / wire // frames in 100 ms at a tenth of the speed
	assert.True(t, v.Sent >= want-1 && v.Sent <= want+1, "%d frames, want %d", v.Sent, want)
	got := v.Latency.Quantile(1)
	assert.True(t, got == 2*(wire+500), "a latency of %d ns, want %d", got, 2*(wire+500))
	assert.True(t, v.Rate >= 99_000_000 && v.Rate <= 101_000_000, "%d bit/s", v.Rate)
}

// A rate is that of the time in which all flows were sending.
func TestRateOfCommonTime(t *testing.T) {
	r := newRig(t, gigabit, 500)
	sw := r.addSwitch(3, 256, 1000, nil)
	to := r.addHost(sw, 0)
	for _, start := range []int64{0, 50 * ms} {
		r.load(FlowConfig{From: r.addHost(sw, len(r.flows)+1), To: to, Octets: 1000, Rate: 100_000_000, Start: start,
			Stop: 100 * ms})
	}
	r.start()
	r.Advance(never - r.Begun())
	for i := range r.flows {
		v := r.Flow(i)
		assert.True(t, v.Rate >= 99_000_000 && v.Rate <= 101_000_000, "flow %d: %d bit/s", i, v.Rate)
	}
}

// What comes in time finds headroom, which is used. Of hosts that obey later than it is for, frames wait in the waiting
// room of their port and go on in order; without ring_hold they are lost.
func TestFramesWaitForBuffer(t *testing.T) {
	for _, tt := range []struct{ late, hold bool }{{false, true}, {true, true}, {true, false}} {
		r := newRig(t, gigabit, 10_000)
		r.ringHold = tt.hold
		sw := r.addSwitch(4, 64, mtu, nil)
		for i := range 4 {
			assert.Must(t, r.switches[sw].SetRoom(i, 1<<20))
		}
		sink := r.addHost(sw, 0)
		for i := range 3 {
			from := r.addHost(sw, i+1)
			if tt.late {
				r.nodes[from].host.Response = 200_000
			}
			r.load(FlowConfig{From: from, To: sink, Priority: lossless, Octets: mtu, Stop: 20 * ms})
		}
		r.start()
		assert.MustEqual(t, r.Advance(never-r.Begun()), Done, "the run ended with")
		v := r.look(sw)
		if lost, _ := v.Losses(); tt.hold {
			r.kept()
		} else {
			assert.True(t, lost != 0, "no frame was lost: the test proves nothing")
		}
		waited, peak := uint64(0), int64(0)
		for _, p := range v.Buffer.Ports {
			q := &p.Ingress[lossless]
			waited, peak = waited+q.Waited, max(peak, q.Used.Headroom.Persistent)
		}
		assert.True(t, (waited != 0) == (tt.late && tt.hold) && peak != 0 && peak <= r.headroomFor(mtu),
			"%+v: %d frames waited, %d octets of headroom were used", tt, waited, peak)
	}
}

// After PFC was received a host begins no frame later than its response time, and goes on until then.
func TestHostObeysInTime(t *testing.T) {
	for _, limit := range []int64{0, 1000, 50_000} {
		r := newRig(t, gigabit, 0)
		sw := r.addSwitch(2, 256, mtu, nil)
		from, to := r.addHost(sw, 0), r.addHost(sw, 1)
		h := r.nodes[from].host
		h.Response = limit
		r.load(FlowConfig{From: from, To: to, Priority: lossless, Octets: mtu, Stop: 10 * ms})
		r.start()
		r.Advance(ms)
		xoff := macctl.AppendPFC(nil, [6]byte{2}, 1<<lossless, [8]uint16{lossless: 2000})
		heard := transit{octets: int32(len(xoff))}
		copy(heard.head[:], xoff)
		at, sent := r.now, r.flows[0].sent
		r.on(r.nodes[from].shard).receiveAtHost(h, &heard)
		r.Advance(2 * ms)
		const wire = (mtu + 24) * 8
		until := at + limit // no frame begins later
		if most := sent + uint64((until-at)/wire) + 1; r.flows[0].sent > most {
			t.Errorf("%d ns: %d frames were begun after XOFF, want %d at most", limit, r.flows[0].sent-sent, most-sent)
		}
		if least := sent + uint64(limit/wire); r.flows[0].sent < least {
			t.Errorf("%d ns: %d frames were begun after XOFF, want %d", limit, r.flows[0].sent-sent, least-sent)
		}
		r.Advance(3 * ms)
		paused := r.Host(from).PausedNs[lossless]
		assert.True(t, paused == 2000*512, "%d ns: paused for %d ns", limit, paused)
	}
}

// The pause of a full switch reaches the senders through another one.
func TestPausePassesOn(t *testing.T) {
	r := newRig(t, gigabit, 1000)
	first, second := r.addSwitch(4, 128, mtu, nil), r.addSwitch(3, 128, mtu, nil)
	r.join(End{first, 3}, End{second, 0})
	sink, other := r.addHost(second, 1), r.addHost(second, 2)
	for i := range 3 {
		r.load(FlowConfig{From: r.addHost(first, i), To: sink, Priority: lossless, Octets: mtu, Stop: 30 * ms})
	}
	r.load(FlowConfig{From: other, To: sink, Priority: lossless, Octets: mtu, Stop: 30 * ms})
	r.start()
	r.Advance(never - r.Begun())
	r.kept()
	assert.True(t, r.xoffs(second) != 0 && r.xoffs(first) != 0, "%d and %d XOFFs", r.xoffs(first), r.xoffs(second))
}

// Flooded frames that circulate end Learn.
func TestLoopIsFound(t *testing.T) {
	r := newRig(t, gigabit, 0)
	a, b := r.addSwitch(3, 64, mtu, nil), r.addSwitch(3, 64, mtu, nil)
	r.join(End{a, 0}, End{b, 0})
	r.join(End{a, 1}, End{b, 1})
	r.addHost(a, 2)
	r.addHost(b, 2)
	err := r.Learn()
	assert.True(t, err == ErrLoop, "%v", err)
}

// ring is three switches in a circle, each with a host that sends to the host two switches on, one way round.
func ring(tb reporter, length int64) *rig {
	r := newRig(tb, gigabit, 1000)
	const n = 3
	for s := range n {
		routes := map[int]int{}
		for h := range n {
			if routes[n+h] = 1; h == s {
				routes[n+h] = 0
			}
		}
		r.addSwitch(3, 48, mtu, routes)
	}
	for s := range n {
		r.join(End{s, 1}, End{(s + 1) % n, 2})
	}
	for s := range n {
		r.addHost(s, 0)
	}
	for s := range n {
		r.load(FlowConfig{From: n + s, To: n + (s+2)%n, Priority: lossless, Octets: mtu, Stop: length})
	}
	return r
}

// A ring that carries more than it can locks up, and the cycle names every switch of it.
func TestRingDeadlocks(t *testing.T) {
	r := ring(t, 1000*ms)
	r.start()
	assert.MustEqual(t, r.Advance(never-r.Begun()), Stalled, "the run ended with")
	r.balanced()
	cycle := r.Cycle()
	assert.MustEqual(t, len(cycle), 3, "the cycle is %+v", cycle)
	for i, w := range cycle {
		next := cycle[(i+1)%len(cycle)]
		if w.Port != 1 || w.Priority != lossless || w.Frames == 0 || w.By.Node != next.Node || w.By.Port != 2 {
			t.Errorf("%s waits for %s: %+v", r.Name(w.End), r.Name(w.By), w)
		}
	}
}

// digest is all that a run has shown.
func digest(r *rig) (text string) {
	for i := range r.flows {
		v := r.Flow(i)
		text += fmt.Sprint(v.Sent, v.Received, v.Reordered, v.Rate, v.Latency.Quantile(.5), v.Latency.Max, "\n")
	}
	s, _ := r.Sum()
	return text + fmt.Sprint(s, r.Events(), r.Now(), r.Hops())
}

// The same run has the same result, with any number of CPUs, and another seed another.
func TestSameSeedSameResult(t *testing.T) {
	run := func(seed uint64, cpus int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cpus))
		r, _ := incast(t, 3, gigabit, 500, 700, 20*ms)
		r.Seed = seed
		r.start()
		r.Advance(never - r.Begun())
		return digest(r)
	}
	first := run(1, 1)
	again := run(1, 2)
	assert.True(t, again == first, "%s\nand then\n%s", first, again)
	other := run(2, 1)
	assert.True(t, other != first, "the seed changes nothing")
}

// At 800 Gbit/s a short frame leaves within a nanosecond. The next one follows it all the same, and a hold is refreshed
// after a PFC frame as after any other.
func TestFramesShorterThanANanosecond(t *testing.T) {
	const speed, length = 800 * gigabit, ms / 5
	r := newRig(t, speed, 500)
	sw := r.addSwitch(4, 1024, 64, nil)
	for i := range 2 {
		r.load(FlowConfig{From: r.addHost(sw, 2*i), To: r.addHost(sw, 2*i+1), Priority: lossless, Octets: 64,
			Stop: length})
	}
	stopped := r.flows[1].To
	r.nodes[stopped].host.Lossless = 1 << lossless
	assert.Must(t, r.AddFault(FaultConfig{Kind: Storm, At: End{Node: stopped}, Stop: length}))
	r.start()
	assert.MustEqual(t, r.Advance(never-r.Begun()), Done, "the run ended with")
	r.kept()
	const want = speed / 8 * length / nsPerSecond / (64 + 24)
	v := r.Flow(0)
	assert.True(t, v.Sent >= want-1 && v.Sent <= want+1, "%d frames, want %d", v.Sent, want)
	if h := r.Host(r.flows[1].From); h.PausedNs[lossless] < length*9/10 {
		t.Errorf("the sender to a stopped host was held for %d of %d ns", h.PausedNs[lossless], length)
	}
}
