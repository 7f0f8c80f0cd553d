package dataplane

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

// The marks of the tests below, in frames, and the octets of one.
const (
	markOctets = small + 4
	highMark   = 4 // not above: 4
	lowMark    = 2 // not below: 2
)

// A marked trunk is one pair of its watermarks at work: one of two modes, in one of two directions.
type markedTrunk struct {
	*rig
	mode macctl.Mode
	up   bool // members are held for what waits for the uplink, else the uplink for what waits for members
}

// pairsOfMarks are the eight watermarks, by the numbers that the patent gives them.
var pairsOfMarks = map[string]markedTrunk{
	"1 and 2: a member's share":           {mode: macctl.ModePause, up: true},
	"3 and 4: a priority towards uplink":  {mode: macctl.ModePFC, up: true},
	"5 and 6: all towards members":        {mode: macctl.ModePause},
	"7 and 8: a priority towards members": {mode: macctl.ModePFC},
}

// forMarks runs a test for each pair of watermarks, with an empty trunk whose other marks are out of reach.
func forMarks(t *testing.T, f func(t *testing.T, m markedTrunk)) {
	for name, m := range pairsOfMarks {
		t.Run(name, func(t *testing.T) {
			own, other := trunk.Mark{High: highMark * markOctets,
				Low: lowMark * markOctets}, trunk.Mark{High: 1 << 30, Low: 1}
			up, down := own, other
			if !m.up {
				up, down = other, own
			}
			if m.mode == macctl.ModePause {
				c := threeToOne()
				c.Aggregate.Lossless = 0xff
				c.Flow = trunk.FlowConfig{Mode: macctl.ModePause, Lossless: 0xff, Member: up, Uplink: down}
				m.rig = trunkRig(t, c, func(_ *Config, ports []PortConfig) { copy(ports, pausePorts(trunkPorts)) })
			} else {
				c := threeToOne()
				c.Flow.Priority[lossless], c.Flow.UplinkPriority[lossless] = up, down
				m.rig = trunkRig(t, c, nil)
			}
			f(t, m)
		})
	}
}

// fill lets frames wait. Where all members are held for one priority, each of them sends a part.
func (m markedTrunk) fill(frames int) {
	switch {
	case !m.up:
		m.offer(uplinkPort, several(uplinkPort, 0, lossless, frames, small)...)
	case m.mode == macctl.ModePause:
		m.offer(0, several(0, 5, lossless, frames, small)...)
	default:
		for i := range frames {
			m.offer(i%members, data(i%members, 5, lossless, i, small))
		}
	}
}

// senders are the ports that what waits leaves by.
func (m markedTrunk) senders() []int {
	if m.up {
		return []int{uplinkPort}
	}
	return []int{0, 1, 2}
}

// drop lets that many frames leave.
func (m markedTrunk) drop(frames int) {
	m.tb.Helper()
	for range frames {
		sent := 0
		for _, i := range m.senders() {
			if sent == 0 {
				sent = len(m.send(i, 1))
			}
		}
		assert.MustEqual(m.tb, sent, 1, "nothing leaves")
	}
}

// block lets the peers of the ports that frames leave by pause them, or free them with 0 quanta.
func (m markedTrunk) block(quanta uint16) {
	for _, i := range m.senders() {
		if m.mode == macctl.ModePause {
			m.pause(i, quanta)
		} else {
			m.hear(i, lossless, quanta)
		}
	}
}

// wantHeld fails unless who sends what waits is held, or is not.
func (m markedTrunk) wantHeld(when string, want bool) {
	m.tb.Helper()
	i := 0
	if !m.up {
		i = uplinkPort
	}
	assert.Equal(m.tb, m.heldPriorities(i) != 0, want, "%s: held", when)
}

// finish drains the trunk and fails where somebody stays held.
func (m markedTrunk) finish() {
	m.tb.Helper()
	for _, i := range m.senders() {
		m.drain(i, m.now+second)
	}
	m.wantHolds("in the end", 0, 0)
	m.empty()
}

// Who sends is held above the high mark, strictly, and until less than the low mark waits, where nobody is paused.
func TestMarksHoldByLoad(t *testing.T) {
	forMarks(t, func(t *testing.T, m markedTrunk) {
		m.fill(highMark)
		m.wantHeld("at the high mark", false)
		m.fill(1)
		m.wantHeld("above it", true)
		m.drop(1)
		m.wantHeld("at the high mark again", true)
		m.drop(highMark - lowMark)
		m.wantHeld("at the low mark", true)
		m.drop(1)
		m.wantHeld("below it", false)
		m.fill(highMark - lowMark + 1)
		m.wantHeld("at the high mark, once more", false)
		m.finish()
		assert.Equal(t, m.holds(), 1, "holds have begun")
	})
}

// A pause of the other side holds whatever waits, and its end frees where less than the low mark does: the second
// condition is met, and the first alone decides.
func TestMarksHoldByPause(t *testing.T) {
	forMarks(t, func(t *testing.T, m markedTrunk) {
		m.block(0xffff)
		m.wantHeld("paused, and nothing waits", true)
		m.fill(lowMark - 1)
		m.wantHeld("paused, below the low mark", true)
		m.block(0)
		m.wantHeld("free", false)
		m.finish()
	})
}

// The load falls below the low mark, by a send call that began before the pause, while that goes on: the hold goes on
// with it, until it is taken back or runs out.
func TestLoadAloneDoesNotFree(t *testing.T) {
	for _, expires := range []bool{false, true} {
		forMarks(t, func(t *testing.T, m markedTrunk) {
			const quanta = 1000
			m.fill(highMark + 1)
			m.wantHeld("above the high mark", true)
			planned := map[int]int{}
			for _, i := range m.senders() {
				planned[i] = m.sw.Dequeue(i, m.now, nil)
			}
			m.block(quanta)
			for i, n := range planned {
				m.sw.Sent(i, n, m.now)
			}
			v := m.trunk()
			assert.MustBeTrue(t, v.ToUplink == [8]int64{} && v.ToMembers == [8]int64{}, "something waits: %+v", v)
			m.wantHeld("nothing waits, and the pause goes on", true)
			if expires {
				m.now += macctl.QuantaDuration(quanta, gigabit) - 1
				m.sw.Tick(m.now)
				m.wantHeld("just before the pause runs out", true)
				m.now++
				m.sw.Tick(m.now)
			} else {
				m.block(0)
			}
			m.wantHeld("the pause is over", false)
			m.finish()
		})
	}
}

// The pause ends while more than the low mark waits: the hold goes on until less does.
func TestPauseAloneDoesNotFree(t *testing.T) {
	for _, frames := range []int{lowMark, highMark, highMark + 1} {
		forMarks(t, func(t *testing.T, m markedTrunk) {
			m.block(0xffff)
			m.fill(frames)
			m.wantHeld("paused", true)
			m.block(0)
			m.wantHeld("free, but not below the low mark", true)
			m.drop(frames - lowMark)
			m.wantHeld("free, at the low mark", true)
			m.drop(1)
			m.wantHeld("free, and below it", false)
			m.finish()
		})
	}
}

// Towards members, the uplink is free of their pauses as soon as one of them is, and held by them only while all of
// those that are up are paused.
func TestOneFreeMemberFreesTheUplink(t *testing.T) {
	forMarks(t, func(t *testing.T, m markedTrunk) {
		if m.up {
			return // there is one uplink
		}
		m.block(0xffff)
		m.wantHeld("all paused", true)
		one := func(quanta uint16) {
			if m.mode == macctl.ModePause {
				m.pause(1, quanta)
			} else {
				m.hear(1, lossless, quanta)
			}
		}
		one(0)
		m.wantHeld("one is free", false)
		one(1000)
		m.wantHeld("it is paused again", true)
		m.sw.SetUp(0, false, m.now)
		m.wantHeld("one of the paused is down", true)
		m.now += macctl.QuantaDuration(1000, gigabit)
		m.sw.Tick(m.now)
		m.wantHeld("the pause of one has run out", false)
		m.sw.SetUp(1, false, m.now)
		m.wantHeld("that one is down", true)
		m.sw.SetUp(2, false, m.now)
		m.wantHeld("nobody is up", false)
	})
}

// A trunk that goes from PFC to PAUSE, and back, while frames wait and everybody is held: peers are freed in the
// words of the old mode, held in those of the new one for what waits then, and nothing is lost or stays held.
func TestTrunkChangesItsMode(t *testing.T) {
	marks := trunk.Mark{High: 2 * markOctets, Low: markOctets}
	change := func(r *rig, mode macctl.Mode, ports []PortConfig) {
		t.Helper()
		c := marked(threeToOne(), marks.High, marks.Low)
		if c.Flow.Mode = mode; mode == macctl.ModePause {
			c.Aggregate.Lossless, c.Flow.Lossless, c.Flow.Member, c.Flow.Uplink = 0xff, 0xff, marks, marks
		}
		cfg := r.sw.cfg
		cfg.Trunks = []TrunkConfig{c}
		r.reconfigure(cfg, ports...)
	}
	holds := func(r *rig, when string, want ...uint8) {
		t.Helper()
		for i, held := range want {
			assert.Equal(t, r.heldPriorities(i), held, "%s: port %d is told", when, i)
		}
	}
	r := trunkRig(t, threeToOne(), nil)
	change(r, macctl.ModePFC, testPorts(trunkPorts))
	r.offer(0, several(0, 5, lossless, 3, small)...)
	r.offer(uplinkPort, several(uplinkPort, 0, lossless, 3, small)...)
	r.hear(uplinkPort, lossless, 0xffff)
	const pfc = 1 << lossless
	holds(r, "under PFC", pfc, pfc, pfc, pfc)
	change(r, macctl.ModePause, pausePorts(trunkPorts))
	holds(r, "under PAUSE, of which the uplink's peer has said nothing yet", 0xff, 0, 0, 0xff)
	r.pause(uplinkPort, 0xffff)
	holds(r, "under PAUSE", 0xff, 0xff, 0xff, 0xff)
	change(r, macctl.ModePFC, testPorts(trunkPorts))
	holds(r, "under PFC again", pfc, pfc, pfc, pfc)
	for i := range uplinkPort + 1 {
		got := len(r.drain(i, r.now+second))
		assert.True(t, got != 0, "port %d sent nothing of what waited", i)
	}
	holds(r, "in the end", 0, 0, 0, 0)
	r.empty()
	assert.Equal(t, faults(r.snapshot()), 0, "a lossless frame was lost")
}

// A pause of the uplink that its peer refreshes again and again holds members all that time: the trunk's holds are
// refreshed before they run out, and end with it.
func TestHoldsOfATrunkAreRefreshed(t *testing.T) {
	r := trunkRig(t, threeToOne(), nil)
	var peers [members]*macctl.Receiver
	for i := range peers {
		peers[i] = macctl.NewReceiver(macctl.ModePFC, 1<<lossless, gigabit, [6]byte{})
	}
	wantPaused := func(when string, want uint8) {
		t.Helper()
		for i, peer := range peers {
			for b := r.tell(i); b != nil; b = r.tell(i) {
				peer.Receive(b, r.now, r.now)
			}
			assert.MustEqual(t, peer.Paused(r.now), want, "%s, after %d ns: the peer of member %d is paused", when,
				r.now, i)
		}
	}
	longest := macctl.QuantaDuration(0xffff, gigabit)
	for step := range 200 {
		if step%8 == 0 {
			r.hear(uplinkPort, lossless, 20_000) // 10 ms
		}
		wantPaused("refreshed", 1<<lossless)
		r.now += longest / 40
		r.sw.Tick(r.now)
	}
	r.hear(uplinkPort, lossless, 0)
	wantPaused("free", 0)
}
