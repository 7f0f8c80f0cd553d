package dataplane

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// inFlight is the most that arrives after XOFF from a sender of one frame length, in octets of whole cells: what it
// sends in the reaction and on the way there and back, what it hands over at once, and a frame at either end.
func inFlight(speed, delay, reaction, burst int64, octets int) int64 {
	wire := int64(frame.WireOctets(octets))
	frames := ((2*delay+reaction)*(speed/8)/1_000_000_000+burst)/wire + 2
	return frames * int64((octets+cell-1)/cell*cell)
}

// sized returns the configuration of a switch for these ports with the given lossless shared segment.
func sized(shared int64, ports ...PortConfig) Config {
	cfg := testConfig(0)
	cfg.Buffer.Lossless.Size = shared
	for _, c := range ports {
		cfg.Buffer.Lossless.Size += c.Ingress[lossless].Headroom
	}
	return cfg
}

// portAt gives a port a speed and the headroom for what can be in flight.
func portAt(c PortConfig, speed, headroom int64) PortConfig {
	c.Speed = speed
	c.Burst = max(2*(mtu+frame.TagOctets+frame.WireExtras), speed/8*500/1_000_000)
	for q := range c.Ingress {
		c.Ingress[q] = buffer.QueueConfig{Headroom: headroom, XonOffset: 8 * cell}
	}
	return c
}

// kept fails unless every lossless frame came once and in order, and nothing is left.
func (f *fabric) kept(sink *hostNode, from []*hostNode, n int) {
	f.tb.Helper()
	for _, h := range from {
		got := sink.got[host(h.id)<<3|lossless]
		assert.True(f.tb, len(got) == n && slices.IsSorted(got) && got[0] == 0 && got[n-1] == n-1,
			"host %d: %d of %d frames came, in order: %v", h.id, len(got), n, slices.IsSorted(got))
		assert.True(f.tb, slices.IsSorted(sink.got[host(h.id)<<3]), "host %d: lossy frames are out of order", h.id)
	}
	for _, s := range f.nodes {
		s.r.now = f.now
		s.r.empty()
		v := s.r.snapshot()
		assert.Equal(f.tb, faults(v), 0, "lossless frames lost")
		for _, p := range v.Ports {
			assert.True(f.tb, p.ControlSent.XoffSent == p.ControlSent.XonSent, "%s: XOFF %v, XON %v", p.Config.Name,
				p.ControlSent.XoffSent, p.ControlSent.XonSent)
		}
	}
}

// incast is n senders at one switch, all for one receiver, in both classes.
func incast(tb reporter, senders, n, octets int, speed, delay, reaction, headroom int64) (*fabric, *switchNode,
	[]*hostNode) {
	f := &fabric{tb: tb, now: 1}
	var ports []PortConfig
	for i := range senders + 1 {
		ports = append(ports, portAt(testPort(i), speed, headroom))
	}
	s := f.add(sized(int64(senders+1)*32*cell, ports...), ports...)
	var hosts []*hostNode
	for i := range senders + 1 {
		hosts = append(hosts, f.host(i, s, i, delay, reaction))
	}
	for _, h := range hosts[1:] {
		h.load(0, lossless, n, octets)
		h.load(0, 0, n, octets)
	}
	return f, s, hosts
}

// Where senders obey PFC in a bounded time and the headroom covers what is in flight, no lossless frame is lost or has
// to wait in the ring.
func TestHeadroomCoversWhatIsInFlight(t *testing.T) {
	t.Parallel()
	held := covered(t, gigabit, mtu, 3, 20_000, 40_000, 200)
	assert.True(t, held != 0, "no sender was held: the test proves nothing")
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.SampledFrom([]int64{100_000_000, gigabit, 10 * gigabit}).Draw(t, "speed")
		octets := rapid.SampledFrom([]int{64, 257, 1000, mtu}).Draw(t, "octets")
		senders := rapid.IntRange(1, 4).Draw(t, "senders")
		scale := 10 * gigabit / speed // slow links react in more time, to the same number of octets
		delay := rapid.Int64Range(0, 3000).Draw(t, "delay") * scale
		reaction := rapid.Int64Range(0, 6000).Draw(t, "reaction") * scale
		covered(t, speed, octets, senders, delay, reaction, rapid.IntRange(1, 200).Draw(t, "frames"))
	})
}

// covered is an incast with as much headroom as can be in flight. It wants all frames, none of which had to wait, and
// returns how often a sender was held.
func covered(tb reporter, speed int64, octets, senders int, delay, reaction int64, frames int) (held uint64) {
	f, s, hosts := incast(tb, senders, frames, octets, speed, delay, reaction, inFlight(speed, delay, reaction, 0,
		octets))
	f.run(1000 * second)
	f.kept(hosts[0], hosts[1:], frames)
	assert.Equal(tb, s.waits, 0, "how often a frame waited in the ring")
	return s.r.snapshot().Ports[1].ControlSent.XoffSent[lossless]
}

// The control run: with too little headroom frames wait in the ring, and are kept; without ring_hold they are lost; and
// a sender that disobeys loses frames whatever the headroom.
func TestHeadroomTooSmall(t *testing.T) {
	const n, octets, delay, reaction = 300, mtu, 10_000, 50_000
	need := inFlight(gigabit, delay, reaction, 0, octets)
	f, s, hosts := incast(t, 3, n, octets, gigabit, delay, reaction, need)
	f.run(1000 * second)
	f.kept(hosts[0], hosts[1:], n)
	peak := s.r.snapshot().Buffer.Ports[1].Ingress[lossless].Used.Headroom.Persistent
	assert.True(t, s.waits == 0 && peak != 0 && peak <= need,
		"%d waits, %d of %d octets of headroom were used", s.waits, peak, need)

	f, s, hosts = incast(t, 3, n, octets, gigabit, delay, reaction, need/4)
	f.run(1000 * second)
	f.kept(hosts[0], hosts[1:], n)
	assert.True(t, s.waits != 0, "a quarter of the headroom was enough: the test proves nothing")

	for _, deaf := range []bool{false, true} {
		headroom := need / 4
		if deaf {
			headroom = need
		}
		f, s, hosts = incast(t, 3, n, octets, gigabit, delay, reaction, headroom)
		for _, h := range hosts {
			h.deaf = deaf
		}
		s.r.sw.cfg.Buffer.RingHold = false
		s.r.reapply()
		f.run(1000 * second)
		lost := faults(s.r.snapshot())
		assert.True(t, lost != 0, "disobedient: %v: nothing was lost: the test proves nothing", deaf)
		s.r.empty()
	}
}

// Two switches in line: the second holds the first, and the first every sender.
func TestPFCPassesThroughAFabric(t *testing.T) {
	t.Parallel()
	if held, passedOn := inLine(t, mtu, 10_000, 30_000, 300); held == 0 || passedOn == 0 {
		t.Errorf("the second switch held the first %d times, which held a sender %d times: the test proves nothing",
			held, passedOn)
	}
	rapid.Check(t, func(t *rapid.T) {
		octets := rapid.SampledFrom([]int{200, mtu}).Draw(t, "octets")
		delay := rapid.Int64Range(0, 20_000).Draw(t, "delay")
		reaction := rapid.Int64Range(0, 60_000).Draw(t, "reaction")
		inLine(t, octets, delay, reaction, rapid.IntRange(100, 300).Draw(t, "frames"))
	})
}

// inLine sends from three hosts at one switch to one at another, in both classes. It wants all frames, none of which
// had to wait in a ring, and returns how often the second switch held the first, and the first a sender.
func inLine(tb reporter, octets int, delay, reaction int64, frames int) (held, passedOn uint64) {
	const speed = gigabit
	f := &fabric{tb: tb, now: 1}
	edge := inFlight(speed, delay, reaction, 0, octets)
	var first []PortConfig
	for i := range 4 {
		first = append(first, portAt(testPort(i), speed, edge))
	}
	first[3] = portAt(first[3], 3*speed, edge)
	second := []PortConfig{portAt(testPort(0), speed, edge), portAt(testPort(1), 3*speed, 0)}
	trunk := inFlight(3*speed, delay, 0, first[3].Burst+SendLimit(first[3].Speed), octets)
	second[1] = portAt(second[1], 3*speed, trunk)
	s1 := f.add(sized(4*40*cell, first...), first...)
	s2 := f.add(sized(2*40*cell, second...), second...)
	f.join(s1, 3, s2, 1, delay)
	sink := f.host(7, s2, 0, delay, reaction)
	s1.r.station(host(7), 1, 3)
	s2.r.station(host(7), 1, 0)
	var senders []*hostNode
	for i := range 3 {
		h := f.host(i, s1, i, delay, reaction)
		h.load(7, lossless, frames, octets)
		h.load(7, 0, frames, octets)
		senders = append(senders, h)
	}
	f.run(1_000_000_000_000)
	f.kept(sink, senders, frames)
	assert.Equal(tb, s1.waits+s2.waits, 0, "frames waited in the ring %d and %d times", s1.waits, s2.waits)
	return s2.r.snapshot().Ports[1].ControlSent.XoffSent[lossless],
		s1.r.snapshot().Ports[0].ControlSent.XoffSent[lossless]
}
