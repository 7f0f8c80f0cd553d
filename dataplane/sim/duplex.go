package sim

import (
	"fmt"
	"math/rand/v2"

	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// BackPressure is how an end of a half-duplex link that is short of buffer keeps the other end from sending. PAUSE
// frames are for full duplex only.
type BackPressure uint8

// The ways of back pressure.
const (
	FullDuplex      BackPressure = iota // none: the link is not half duplex
	ForcedCollision                     // it collides with each frame that the other end begins
	FalseCarrier                        // it sends a carrier without a frame, and the other end waits for its end
)

// Parameters of IEEE 802.3, 4.4.2, for links of up to 100 Mbit/s: in bits, but for the limits.
const (
	preambleBits = 64 // with the start frame delimiter
	jamBits      = 32
	gapBits      = 96
	slotBits     = 512
	attemptLimit = 16
	backoffLimit = 10

	mostHalfDuplex = 100_000_000 // bit/s: faster links have another slot time
)

// A StationResult is what an end of a half-duplex link has done.
type StationResult struct {
	Sent       uint64 // frames
	Collisions uint64 // in which a frame of this end had to be stopped
	Forced     uint64 // collisions that it has forced upon the other end
	GivenUp    uint64 // frames that met 16 collisions, and were discarded
	Longest    uint64 // frames in a row that it has sent while the other end had one to send
	HeldNs     int64  // for which it kept the other end from sending
}

// A signal is what a station has on its link.
type signal uint8

const (
	silent   signal = iota
	sending         // a frame
	jamming         // what follows a collision, or forces one
	carrying        // a carrier without a frame
)

// A station is the MAC of an end of a half-duplex link (IEEE 802.3, clause 4). It listens, sends a frame when it has
// heard nothing for a gap, stops where it hears the other end meanwhile, and tries again after a random time. It hears
// the other end's signal after the delay of the link.
type station struct {
	StationResult
	way    BackPressure
	speed  int64
	random *rand.Rand

	frame     transit // that it has to send
	pending   bool    // there is one
	attempts  int     // to send it, that ended in a collision
	notBefore int64   // the backoff ends

	signal       signal
	begun, until int64 // of the signal
	heard        int64 // since when it hears the other end; never: it does not
	gapFrom      int64 // since when the link has been silent here, or the end of its own last frame
	contendAt    int64 // of the event contend that counts
	holding      bool  // it keeps the other end from sending
	heldAt       int64 // since when
	run          uint64
}

// bits is how long so many bits take, in ns.
func (s *station) bits(n int64) int64 { return (n*nsPerSecond + s.speed - 1) / s.speed }

// HalfDuplex makes the link at an end half duplex. A PAUSE frame that one of its ends has to send is an order to its
// MAC then: with a time, to keep the other end from sending, with time 0, to let it send.
func (f *Fabric) HalfDuplex(e End, way BackPressure) error {
	at, err := f.wireAt(e)
	if err != nil {
		return err
	}
	if *at == none || way == FullDuplex {
		return fmt.Errorf("node %d has no link at port %d, or no back pressure", e.Node, e.Port)
	}
	first := *at &^ 1
	a, b := &f.wires[first], &f.wires[first+1]
	slot := (slotBits*nsPerSecond + a.speed - 1) / a.speed
	switch {
	case a.speed > mostHalfDuplex || a.speed != b.speed:
		return fmt.Errorf("its ends have %d and %d bit/s: half duplex is for one speed of up to 100 Mbit/s", a.speed,
			b.speed)
	case a.delay+b.delay >= slot:
		return fmt.Errorf("a signal takes %d ns there and back, and a collision has to be heard within the %d ns of "+
			"512 bits", a.delay+b.delay, slot)
	}
	for i := first; i < first+2; i++ {
		f.wires[i].half = &station{way: way, speed: a.speed, heard: never, contendAt: never,
			random: rand.New(rand.NewPCG(f.Seed, 1<<32+uint64(i)))}
	}
	return nil
}

// Station returns what an end of a half-duplex link has done.
func (f *Fabric) Station(e End) StationResult {
	at, err := f.wireAt(e)
	if err != nil || *at == none || f.wires[*at].half == nil {
		return StationResult{}
	}
	s := f.wires[*at].half
	r := s.StationResult
	if s.holding {
		r.HeldNs += f.now - s.heldAt
	}
	return r
}

// HeldByPeer returns for how long the other end of a half-duplex link kept this one from sending, in ns.
func (f *Fabric) HeldByPeer(e End) int64 {
	if at, err := f.wireAt(e); err == nil && *at != none {
		return f.Station(f.wires[*at].to).HeldNs
	}
	return 0
}

// peerHolds reports whether the other end of a half-duplex link keeps this one from sending now.
func (f *Fabric) peerHolds(e End) bool {
	at, err := f.wireAt(e)
	if err != nil || *at == none {
		return false
	}
	other := f.wires[*at^1].half
	return other != nil && other.holding
}

// offer gives a station a frame to send, the newest of the flight of its wire.
func (s *shard) offer(i int32, t *transit) {
	w := &s.wires[i]
	w.half.frame, w.half.pending, w.half.attempts = *t, true, 0
	w.flight.next--
	s.contend(i)
}

// order has a station carry out what a PAUSE frame says.
func (s *shard) order(i int32, b []byte) {
	if c, _ := macctl.Parse(b, [6]byte{}); c.Opcode == macctl.OpcodePause {
		s.hold(i, c.Pause > 0)
	}
	s.wakeBy(i, s.now)
}

// hold has a station keep the other end from sending, or not.
func (s *shard) hold(i int32, on bool) {
	st := s.wires[i].half
	if on == st.holding {
		return
	}
	if st.holding = on; on {
		st.heldAt = s.now
	} else {
		st.HeldNs += s.now - st.heldAt
	}
	if !on && st.signal == carrying {
		s.fallSilent(i)
	}
	s.settle(i)
}

// settle has a station do what it waits for an idle link for.
func (s *shard) settle(i int32) {
	st := s.wires[i].half
	if st.holding && st.way == FalseCarrier && st.signal == silent && st.heard == never {
		st.until = never
		s.raise(i, carrying)
	}
	s.contend(i)
}

// contend has a station begin its frame, or look again when it may. After a carrier the frame goes on without a gap in
// the signal.
func (s *shard) contend(i int32) {
	st := s.wires[i].half
	if !st.pending || st.signal == sending || st.signal == jamming {
		return
	}
	gap := st.gapFrom + st.bits(gapBits)
	at := max(gap, st.notBefore)
	if s.now < at {
		st.contendAt = at
		s.events.add(at, contend, i)
		return
	}
	// In the last third of a gap a station does not listen any more (4.2.3.2.1).
	if st.heard != never && (st.signal == carrying || s.now > gap || st.heard <= st.gapFrom+st.bits(gapBits*2/3)) {
		return // until the link is silent
	}
	st.until = s.now + st.bits(8*int64(frame.WireOctets(int(st.frame.octets)))-gapBits)
	if st.signal == carrying {
		st.signal = sending
	} else {
		s.raise(i, sending)
	}
	s.events.add(st.until, finish, i)
	if st.heard != never {
		s.collide(i)
	}
}

// raise begins a signal.
func (s *shard) raise(i int32, kind signal) {
	w := &s.wires[i]
	w.half.signal, w.half.begun = kind, s.now
	s.events.add(s.now+w.delay, carrier, i)
}

func (s *shard) fallSilent(i int32) {
	w := &s.wires[i]
	w.half.signal, w.half.gapFrom = silent, s.now
	s.events.add(s.now+w.delay, silence, i)
}

// collide has a station stop its frame, since it hears the other end.
func (s *shard) collide(i int32) {
	st := s.wires[i].half
	st.Collisions++
	st.attempts++
	st.signal, st.until = jamming, max(s.now, st.begun+st.bits(preambleBits))+st.bits(jamBits)
	s.events.add(st.until, finish, i)
	if st.attempts == attemptLimit {
		st.GivenUp++
		st.pending = false
		s.givenUp++
		s.onWires--
		return
	}
	st.notBefore = st.until + st.random.Int64N(1<<min(st.attempts, backoffLimit))*st.bits(slotBits)
}

// atStation is an event of a half-duplex link.
func (s *shard) atStation(e event) {
	st, other := s.wires[e.wire()].half, s.wires[e.wire()^1].half // the wires of a link come one after the other
	switch e.kind() {
	case contend:
		if st.contendAt == e.at {
			st.contendAt = never
			s.contend(e.wire())
		}
	case finish:
		if st.signal != silent && st.until == e.at {
			s.finish(e.wire(), st, other)
		}
	case carrier:
		other.heard = s.now
		switch {
		case other.signal == sending:
			s.collide(e.wire() ^ 1)
		case other.signal == silent && other.holding && other.way == ForcedCollision:
			other.Forced++
			other.until = s.now + other.bits(preambleBits+jamBits)
			s.raise(e.wire()^1, jamming)
			s.events.add(other.until, finish, e.wire()^1)
		}
	case silence:
		if st.signal != silent && st.begun+s.wires[e.wire()].delay == s.now {
			return // it fell silent for 0 ns
		}
		other.heard = never
		if other.signal == silent {
			other.gapFrom = s.now
		}
		s.settle(e.wire() ^ 1)
	}
}

// finish ends a frame or a jam.
func (s *shard) finish(i int32, st, other *station) {
	w := &s.wires[i]
	if st.signal == sending {
		t := w.flight.push()
		*t = st.frame
		t.at = s.now + w.delay
		if w.flight.len() == 1 {
			s.events.add(t.at, arrive, i)
		}
		st.pending = false
		st.Sent++
		st.run, other.run = st.run+1, 0
		if !other.pending {
			st.run = 0
		}
		st.Longest = max(st.Longest, st.run)
	}
	if st.holding && st.way == FalseCarrier {
		st.signal, st.until, st.gapFrom = carrying, never, s.now
	} else {
		s.fallSilent(i)
	}
	if s.contend(i); !st.pending {
		s.sendBy(i)
	}
}

// resetStation has a station forget everything: its link has gone down or come up.
func (s *shard) resetStation(i int32) {
	st := s.wires[i].half
	if st.pending {
		st.pending = false
		s.onWires--
		s.lostOnWires++
	}
	s.hold(i, false)
	if st.signal != silent {
		s.fallSilent(i)
	}
}
