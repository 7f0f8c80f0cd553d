package sim

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

const fastEthernet = 100_000_000

// halfRig is a rig at 100 Mbit/s whose ports have PAUSE.
func halfRig(tb reporter, delay int64) *rig {
	r := newRig(tb, fastEthernet, delay)
	r.change = func(_ *dataplane.Config, ports map[int]dataplane.PortConfig) {
		for i, c := range ports {
			c.Mode, c.Lossless = macctl.ModePause, 0xff
			ports[i] = c
		}
	}
	return r
}

// halve makes the links of hosts half duplex.
func (r *rig) halve(way BackPressure, hosts ...int) {
	r.tb.Helper()
	for _, h := range hosts {
		assert.Must(r.tb, r.HalfDuplex(End{h, 0}, way))
	}
}

// peer is the other end of a host's link.
func (r *rig) peer(h int) End { return r.wires[r.nodes[h].host.wire].to }

// halfIncast is n senders with half-duplex links at a switch, and a receiver whose link is full duplex.
func halfIncast(tb reporter, way BackPressure, n int, delay int64, octets int, stop int64) (r *rig, sw int,
	senders []int) {
	tb.Helper()
	r = halfRig(tb, delay)
	sw = r.addSwitch(n+1, 64*(n+1), octets, nil)
	for i := range n {
		senders = append(senders, r.addHost(sw, i))
	}
	to := r.addHost(sw, n)
	r.nodes[to].host.Mode, r.nodes[to].host.Lossless = macctl.ModePause, 0xff
	r.halve(way, senders...)
	for _, h := range senders {
		r.load(FlowConfig{From: h, To: to, Priority: lossless, Octets: octets, Stop: stop})
	}
	return r, sw, senders
}

// sentBy adds up what both ends of hosts' links have done.
func (r *rig) sentBy(hosts []int) (host, port StationResult) {
	for _, h := range hosts {
		for end, sum := range map[End]*StationResult{{h, 0}: &host, r.peer(h): &port} {
			s := r.Station(end)
			sum.Sent += s.Sent
			sum.Collisions += s.Collisions
			sum.Forced += s.Forced
			sum.GivenUp += s.GivenUp
			sum.HeldNs += s.HeldNs
		}
	}
	return host, port
}

// Without anybody else a half-duplex link carries as much as any link.
func TestHalfDuplexAlone(t *testing.T) {
	r, _, senders := halfIncast(t, FalseCarrier, 1, 500, mtu, 100*ms)
	r.start()
	end := r.Advance(never - r.Begun())
	assert.MustBeTrue(t, end == Done, "the run ended with %d", end)
	r.kept()
	v := r.Flow(0)
	assert.True(t, v.Rate >= fastEthernet*99/100 && v.Rate <= fastEthernet*101/100, "%d bit/s", v.Rate)
	host, port := r.sentBy(senders)
	assert.True(t, host.Collisions+port.Collisions+port.Forced+host.GivenUp == 0, "%+v, %+v", host, port)
}

// Senders that are too fast for the receiver are kept from sending, by either way, and the switch loses nothing. A
// false carrier has them wait, and loses nothing at all. A forced collision counts as an attempt: a sender that is held
// for long gives frames up.
func TestBackPressure(t *testing.T) {
	for _, c := range []struct {
		way   BackPressure
		delay int64
	}{{ForcedCollision, 0}, {ForcedCollision, 500}, {FalseCarrier, 0}, {FalseCarrier, 300}, {FalseCarrier, 2000}} {
		r, sw, senders := halfIncast(t, c.way, 3, c.delay, mtu, 500*ms)
		r.start()
		end := r.Advance(never - r.Begun())
		assert.MustBeTrue(t, end == Done, "the run ended with %d", end)
		r.balanced()
		host, port := r.sentBy(senders)
		var lost, most, least uint64
		for i := range senders {
			v := r.Flow(i)
			lost += v.Sent - v.Received
			if most = max(most, v.Received); least == 0 || v.Received < least {
				least = v.Received
			}
		}
		drops, _ := r.look(sw).Losses()
		t.Logf("way %d, %d ns: received by flow %d to %d; lost %d; hosts %+v, ports %+v", c.way, c.delay, least, most,
			lost, host, port)
		assert.True(t, drops == 0 && lost == host.GivenUp && port.HeldNs != 0,
			"the switch lost %d; %d did not come, and %d were given up", drops, lost, host.GivenUp)
		if collide := c.way == ForcedCollision || 2*c.delay > 640; (host.Collisions > 0) != collide ||
			(port.Forced > 0) != (c.way == ForcedCollision) {
			t.Errorf("way %d, %d ns: %d collisions, %d of them forced: the other end hears a carrier in time within "+
				"64 bits there and back", c.way, c.delay, host.Collisions, port.Forced)
		}
		total := r.Flow(0).Received + r.Flow(1).Received + r.Flow(2).Received
		assert.True(t, total*uint64(frame.WireOctets(mtu))*8 >= fastEthernet/2*95/100,
			"%d frames came: the receiver's link was not full", total)
	}
}

// A receiver that is held for long has senders give frames up where collisions are forced, and only there.
func TestGivenUp(t *testing.T) {
	for way, want := range map[BackPressure]bool{ForcedCollision: true, FalseCarrier: false} {
		r, sw, senders := halfIncast(t, way, 2, 500, mtu, 400*ms)
		assert.Must(t, r.AddFault(FaultConfig{Kind: Storm, At: End{r.flows[0].To, 0}, Start: 10 * ms, Stop: 300 * ms}))
		r.start()
		end := r.Advance(never - r.Begun())
		assert.MustBeTrue(t, end == Done, "the run ended with %d", end)
		r.balanced()
		host, _ := r.sentBy(senders)
		lost := r.Flow(0).Sent - r.Flow(0).Received + r.Flow(1).Sent - r.Flow(1).Received
		if drops, _ := r.look(sw).Losses(); drops != 0 || lost != host.GivenUp || (host.GivenUp > 0) != want ||
			r.Flow(0).Reordered+r.Flow(0).Duplicated != 0 {
			t.Errorf("way %d: %d lost, %d by the switch; hosts %+v", way, lost, drops, host)
		}
	}
}

// pairOfHosts is two hosts with one half-duplex link, at 100 Mbit/s, and a flow each way.
func pairOfHosts(tb reporter, seed uint64, delay int64, octets int, stop int64) (r *rig) {
	r = newRig(tb, fastEthernet, delay)
	r.Seed = seed
	for i := range 2 {
		r.AddHost(HostConfig{Name: [2]string{"a", "b"}[i], MAC: address(i), Mode: macctl.ModePause, Lossless: 0xff})
	}
	r.join(End{0, 0}, End{1, 0})
	r.halve(ForcedCollision, 0)
	for i := range 2 {
		r.load(FlowConfig{From: i, To: 1 - i, Priority: lossless, Octets: octets, Stop: stop})
	}
	return r
}

// Two ends that both want all of the link share it in the long run, and not in the short run: who has sent a frame
// begins the next with a short backoff, while the other's has grown (the capture effect).
func TestContention(t *testing.T) {
	r := pairOfHosts(t, 1, 500, mtu, 4000*ms)
	r.start()
	end := r.Advance(never - r.Begun())
	assert.MustBeTrue(t, end == Done, "the run ended with %d", end)
	r.balanced()
	a, b := r.Station(End{0, 0}), r.Station(End{1, 0})
	t.Logf("a %+v, %d bit/s\nb %+v, %d bit/s", a, r.Flow(0).Rate, b, r.Flow(1).Rate)
	sum := r.Flow(0).Rate + r.Flow(1).Rate
	assert.True(t, sum >= fastEthernet*85/100 && sum <= fastEthernet, "%d bit/s in all", sum)
	share := r.Flow(0).Rate * 100 / sum
	assert.True(t, share >= 35 && share <= 65, "%d %% of it by a", share)
	assert.True(t, min(a.Longest, b.Longest) >= 10,
		"%d and %d frames in a row: no capture effect", a.Longest, b.Longest)
	for i, s := range []StationResult{a, b} {
		v := r.Flow(i)
		assert.True(t, v.Sent-v.Received == s.GivenUp && v.Reordered == 0, "flow %d: %+v, given up %d", i, v, s.GivenUp)
	}
}

// A collision is heard after the delay of the link, stops both frames after their preamble with a jam, and is followed
// by backoffs of whole slots.
func TestCollision(t *testing.T) {
	const delay, bit = 100, 10 // ns
	r := pairOfHosts(t, 7, delay, mtu, 100*ms)
	r.start()
	s := [2]*station{r.wires[0].half, r.wires[1].half}
	for s[0].signal != jamming || s[1].signal != jamming {
		r.AdvanceBy(never-r.Begun(), 1)
	}
	for i, s := range s {
		first := max(r.wires[0].half.begun, r.wires[1].half.begun) - delay
		if s.begun < first || s.until != s.begun+(preambleBits+jamBits)*bit || s.signal != jamming || s.attempts != 1 {
			t.Errorf("%d: begun %d, until %d, signal %d, %d attempts", i, s.begun, s.until, s.signal, s.attempts)
		}
		wait := s.notBefore - s.until
		assert.True(t, wait == 0 || wait == slotBits*bit, "%d: a backoff of %d ns", i, wait)
	}
}

// The backoff of attempt n is up to 2^n slots, from the tenth on 1024, less one.
func TestBackoff(t *testing.T) {
	r := pairOfHosts(t, 3, 0, mtu, ms)
	r.start()
	s := r.wires[0].half
	for attempt := 1; attempt < attemptLimit; attempt++ {
		var least, most, mean int64 = never, 0, 0
		const draws = 20_000
		for range draws {
			s.attempts, s.begun = attempt-1, r.now
			r.on(r.shards[0]).collide(0)
			slots := (s.notBefore - s.until) / s.bits(slotBits)
			least, most, mean = min(least, slots), max(most, slots), mean+slots
		}
		limit := int64(1) << min(attempt, 10)
		want := float64(limit-1) / 2
		assert.True(t, least == 0 && most < limit && float64(mean)/draws >= 0.95*want &&
			float64(mean)/draws <= 1.05*want, "attempt %d: %d to %d slots, %.1f on average, want 0 to %d", attempt,
			least, most, float64(mean)/draws, limit-1)
	}
}

// A carrier that is taken up again at the same time does not fall silent for the other end.
func TestHeldAgainAtOnce(t *testing.T) {
	r := pairOfHosts(t, 1, 300, mtu, ms)
	for i := range 2 {
		r.wires[i].half.way = FalseCarrier
	}
	r.start()
	r.flows[0].Stop = r.Begun() // the end that holds sends nothing
	s := r.on(r.shards[0])
	for _, on := range []bool{true, false, true} {
		s.hold(0, on)
	}
	r.Advance(2 * ms)
	other := r.Station(End{1, 0}) // the first may have begun before it heard the carrier
	assert.True(t, other.Sent <= 1, "%d frames were sent against a carrier", other.Sent)
}

// In the first two thirds of a gap a station listens, and waits again; in the last third it does not, and collides.
func TestGap(t *testing.T) {
	for after, want := range map[int64]signal{0: silent, 64: silent, 65: jamming, 96: jamming} {
		r := pairOfHosts(t, 1, 0, mtu, ms)
		r.start()
		s := r.wires[0].half
		s.frame.octets, s.pending, s.notBefore = mtu, true, 0
		s.gapFrom, s.heard = r.now-s.bits(gapBits), r.now-s.bits(gapBits)+s.bits(after)
		if r.on(r.shards[0]).contend(0); s.signal != want {
			t.Errorf("the other end was heard after %d bits: signal %d, want %d", after, s.signal, want)
		}
	}
}

// A span is a time for which an end had a signal on its link.
type span struct{ from, to int64 }

// during reports whether some of the spans, as they are heard later by so much, overlap with s.
func (s span) during(spans []span, later int64) bool {
	for _, o := range spans {
		if o.from+later < s.to && s.from < o.to+later {
			return true
		}
	}
	return false
}

// A frame that is received was alone on its link, at both ends of it: whatever both ends send and hold.
func TestFramesAreAlone(t *testing.T) {
	const bit = 10 // ns
	while := 0     // frames that a port has sent while it held
	rapid.Check(t, func(t *rapid.T) {
		delay := rapid.Int64Range(0, 2550).Draw(t, "delay")
		way := rapid.SampledFrom([]BackPressure{ForcedCollision, FalseCarrier}).Draw(t, "way")
		octets := rapid.SampledFrom([]int{64, 300, mtu}).Draw(t, "octets")
		r, _, senders := halfIncast(t, way, 2, delay, octets, 4*ms)
		for _, h := range senders {
			r.load(FlowConfig{From: r.flows[0].To, To: h, Priority: lossless, Octets: octets, Stop: 4 * ms,
				Rate: fastEthernet / rapid.Int64Range(2, 6).Draw(t, "part")})
		}
		first := r.nodes[senders[0]].host.wire &^ 1
		r.start()
		var signals, frames [2][]span
		sent := [2]uint64{r.wires[first].half.Sent, r.wires[first+1].half.Sent}
		var on [2]int64
		for r.Ending() == Running {
			before := [2]signal{r.wires[first].half.signal, r.wires[first+1].half.signal}
			r.AdvanceBy(never-r.Begun(), 1)
			for i := range sent {
				s := r.wires[first+int32(i)].half
				switch {
				case before[i] == silent && s.signal != silent:
					on[i] = r.now
				case before[i] != silent && s.signal == silent:
					signals[i] = append(signals[i], span{on[i], r.now})
				}
				if s.Sent > sent[i] {
					frames[i] = append(frames[i], span{r.now - (int64(frame.WireOctets(octets))*8-gapBits)*bit, r.now})
					if sent[i] = s.Sent; s.holding && s.signal == carrying {
						while++
					}
				}
			}
		}
		r.balanced()
		for i := range frames {
			for _, s := range frames[i] {
				assert.MustBeTrue(t, !s.during(signals[1-i], delay) && !s.during(signals[1-i], -delay),
					"end %d: a frame from %d to %d ns met a signal of the other end", i, s.from, s.to)
			}
		}
	})
	assert.True(t, while != 0, "no port has sent a frame while it held: the property proves little")
}

// The same seed gives the same run, another seed another one.
func TestHalfDuplexSeed(t *testing.T) {
	run := func(seed uint64) (StationResult, StationResult, uint64) {
		r := pairOfHosts(t, seed, 500, 600, 50*ms)
		r.start()
		r.Advance(never - r.Begun())
		return r.Station(End{0, 0}), r.Station(End{1, 0}), r.Events()
	}
	a, b, events := run(1)
	x, y, n := run(1)
	assert.True(t, x == a && y == b && n == events, "%+v %+v %d, then %+v %+v %d", a, b, events, x, y, n)
	x, y, _ = run(2)
	assert.True(t, x != a || y != b, "another seed gives the same")
}

// A half-duplex link that goes down and up again: every frame is somewhere, and traffic goes on.
func TestHalfDuplexFlap(t *testing.T) {
	for _, way := range []BackPressure{ForcedCollision, FalseCarrier} {
		r, _, senders := halfIncast(t, way, 2, 500, mtu, 100*ms)
		assert.Must(t,
			r.AddFault(FaultConfig{Kind: Flap, At: End{senders[0], 0}, Start: 10 * ms, Stop: 12 * ms, Every: 5 * ms}))
		r.start()
		end := r.Advance(never - r.Begun())
		assert.MustBeTrue(t, end == Done, "the run ended with %d", end)
		r.balanced()
		v := r.Flow(0)
		assert.True(t, v.Received != 0 && v.Sent != v.Received && v.Reordered == 0, "way %d: %+v", way, v)
		v = r.Flow(1)
		assert.True(t, v.Rate >= fastEthernet*60/100, "way %d: the other sender has %d bit/s", way, v.Rate)
	}
}

// A receiver that holds its half-duplex link for ever ends the run, and is named.
func TestHalfDuplexHeldForEver(t *testing.T) {
	r, sw, _ := halfIncast(t, FalseCarrier, 2, 500, mtu, 10*ms)
	to := r.flows[0].To
	r.halve(FalseCarrier, to)
	assert.Must(t, r.AddFault(FaultConfig{Kind: Storm, At: End{to, 0}, Stop: never}))
	r.Stall = 100 * ms
	r.start()
	end := r.Advance(never - r.Begun())
	assert.MustBeTrue(t, end == Stalled, "the run ended with %d", end)
	r.balanced()
	held := r.HeldByHosts()
	assert.True(t, len(held) == 1 && held[0].By.Node == to && held[0].Node == sw && held[0].Frames != 0, "%+v", held)
}

// Links that no half-duplex Ethernet can be are refused.
func TestHalfDuplexRefused(t *testing.T) {
	for _, c := range []struct{ speed, delay int64 }{{gigabit, 0}, {fastEthernet, 2560}, {10_000_000, 25_600}} {
		r := newRig(t, c.speed, c.delay)
		sw := r.addSwitch(2, 64, mtu, nil)
		h := r.addHost(sw, 0)
		err := r.HalfDuplex(End{h, 0}, FalseCarrier)
		assert.True(t, err != nil, "%+v is taken", c)
		err = r.HalfDuplex(End{sw, 1}, FalseCarrier)
		assert.True(t, err != nil, "a port without a link is taken")
	}
	r := newRig(t, fastEthernet, 2559)
	assert.True(t, r.HalfDuplex(r.peer(r.addHost(r.addSwitch(1, 64, mtu, nil), 0)), FalseCarrier) == nil,
		"the longest link is refused")
}
