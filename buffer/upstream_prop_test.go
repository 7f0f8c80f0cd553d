package buffer

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// A peer sends to one ingress queue. It knows nothing of cells: after XOFF so many octets on the wire still arrive, in
// frames of any size, counted from the frame that turned the queue OFF. A headroom promises to hold them. An insurance
// promises to hold what the link still brings to all queues of a port: there frames of the others count too.
type peer struct {
	reaction int64 // octets on the wire
	late     int64 // octets on the wire that arrived since the queue turned OFF, or since just before
	off      bool
}

const (
	minOctets    = 60 // of a frame without FCS
	wireOverhead = 24 // octets of a frame on the wire beyond them: FCS, preamble, gap
)

// headroomFor is the headroom that holds so many octets on the wire, in frames of whichever length takes most.
func headroomFor(octets, cell int64) (most int64) {
	for n := int64(minOctets); n <= fabricMTU; n++ {
		wire := n + wireOverhead
		most = max(most, (octets+wire-1)/wire*wholeCells(n, cell))
	}
	return most
}

// obeys reports whether the peer keeps back a frame of n octets.
func (p *peer) obeys(n int) bool { return p.off && p.late+int64(n)+wireOverhead > p.reaction }

// A fabric has peers around one Manager, and is the Manager's flow controller.
type fabric struct {
	*wire
	peers map[QueueID]*peer
}

func (f *fabric) Hold(port int, queue uint8) {
	f.wire.Hold(port, queue)
	p := f.peers[QueueID{port, queue}]
	p.off, p.late = true, 0
}

func (f *fabric) Release(port int, queue uint8) {
	f.wire.Release(port, queue)
	f.peers[QueueID{port, queue}].off = false
}

const (
	fabricPorts = 6
	fabricMTU   = 1518
)

// newFabric returns a tight buffer: little shared segment, and for each queue headroom for one to four MTU on the wire.
func newFabric(t *rapid.T, ringHold bool) (*Manager, *fabric, map[int]PortConfig) {
	c := Config{
		Cell: drawCell.Draw(t, "cell"), RingHold: ringHold,
		Lossless: PoolConfig{Alpha: drawAlpha.Draw(t, "alpha")}, Lossy: PoolConfig{Alpha: 1},
		Threshold: rapid.SampledFrom([]Threshold{DynamicThreshold{}, StaticThreshold{}}).Draw(t, "threshold"),
		Headroom:  drawSharing.Draw(t, "sharing"),
	}
	c.Active = !c.Headroom.Dynamic && rapid.Bool().Draw(t, "active")
	var need HeadroomNeed
	mtu := wholeCells(fabricMTU, int64(c.Cell))
	f := &fabric{wire: newWire(t), peers: map[QueueID]*peer{}}
	ports := map[int]PortConfig{}
	for port := range fabricPorts {
		pc := PortConfig{Mode: macctl.ModePFC, Lossless: 1<<3 | 1<<4, MTU: fabricMTU,
			Speed: rapid.SampledFrom([]int64{0, 1_000_000, 1_000_000_000}).Draw(t, "speed")}
		if rapid.Bool().Draw(t, "pause") {
			pc.Mode = macctl.ModePause
		}
		var headrooms [Priorities]int64
		for k := range pc.Queues {
			if !pc.isIngress(uint8(k)) {
				continue
			}
			pc.Queues[k] = drawQueue.Draw(t, "queue")
			p := &peer{reaction: rapid.Int64Range(1, 4).Draw(t, "reaction in MTU") * (fabricMTU + wireOverhead)}
			if first := f.peers[QueueID{port, 3}]; c.Headroom.Dynamic && first != nil {
				p.reaction = first.reaction // one link, one reaction
			}
			pc.Queues[k].Headroom = headroomFor(p.reaction, int64(c.Cell))
			f.peers[QueueID{port, uint8(k)}] = p
			c.Lossless.Size += 2*mtu + pc.Queues[k].Private + int64(c.Cell)
			headrooms[k] = wholeCells(pc.Queues[k].Headroom, int64(c.Cell))
		}
		need.Add(headrooms)
		ports[port] = pc
	}
	c.Lossless.Size += c.Headroom.Segment(need, int64(c.Cell)) + int64(c.Cell)
	c.Lossless.Size += rapid.Int64Range(0, 20_000).Draw(t, "more to share")
	m := assert.Got(New(c, f)).Must(t)
	assert.MustNoError(t, m.Apply(c, ports), "Apply")
	return m, f, ports
}

var drawOctets = rapid.OneOf(rapid.SampledFrom([]int{minOctets, minOctets, 256, 257, 1000, fabricMTU, fabricMTU}),
	rapid.IntRange(minOctets, fabricMTU))

func drawFrame(t *rapid.T, ports map[int]PortConfig) frame {
	f := frame{port: rapid.IntRange(0, fabricPorts-1).Draw(t, "port"), prio: drawPrio.Draw(t, "prio"),
		n: drawOctets.Draw(t, "octets")}
	if ports[f.port].Mode == macctl.ModePFC {
		f.prio = 3 + f.prio&1
	}
	return f
}

// Peers that obey XOFF lose nothing and never wait, in any order of arrivals, departures and changes of configuration,
// also where they use their whole reaction with frames of any size. An over-subscribed headroom pool refuses a frame
// only while queues are OFF whose headrooms are together more than the pool.
func TestObedientPeersLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, f, ports := newFabric(t, rapid.Bool().Draw(t, "ring hold"))
		var held []frame
		now := int64(0)
		release := func(t *rapid.T) {
			if fr, ok := removeRandom(t, &held); ok {
				m.Release(fr.port, fr.prio, fr.n)
			}
		}
		arrive := func(t *rapid.T, fr frame) {
			pc := ports[fr.port]
			p := f.peers[QueueID{fr.port, fr.prio & pc.queueMask()}]
			if p.obeys(fr.n) {
				return
			}
			size := m.Charge(fr.n)
			wouldCross := m.WouldExceedThreshold(fr.port, fr.prio, size)
			wasOn := !p.off
			v := m.Admit(fr.port, fr.prio, fr.n)
			switch off, pool := m.headroomOfOff(), m.lossless.limit.headroom; {
			case v.Accepted():
				held = append(held, fr)
			case v != Wait && v != DropHeadroomPool || off <= pool || m.dynamic:
				t.Fatalf("%+v: verdict %v, %+v; queues with %d B of headroom are OFF, %d B are there", fr, v, *p, off,
					pool)
			default:
				m.CancelWait(fr.port, fr.prio)
			}
			assert.MustBeTrue(t, !wasOn || !p.off || wouldCross,
				"%+v turned its queue OFF, WouldExceedThreshold did not say so", fr)
			for id, other := range f.peers {
				if other == p || m.dynamic && id.Port == fr.port {
					other.late += int64(fr.n) + wireOverhead
				}
			}
		}
		useReaction := func(t *rapid.T) {
			fr := drawFrame(t, ports)
			pc := ports[fr.port]
			p := f.peers[QueueID{fr.port, fr.prio & pc.queueMask()}]
			for p.off && !p.obeys(fr.n) {
				arrive(t, fr)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				for range drawCount.Draw(t, "flows") {
					fr := drawFrame(t, ports)
					for range drawCount.Draw(t, "frames") {
						arrive(t, fr)
						fr.n = drawOctets.Draw(t, "octets")
					}
				}
			},
			"use the whole reaction": useReaction,
			"release": func(t *rapid.T) {
				for range drawCount.Draw(t, "frames") {
					release(t)
				}
			},
			"resume": func(*rapid.T) { m.Resume() },
			"time": func(t *rapid.T) {
				now += rapid.Int64Range(1, 3*activeInterval).Draw(t, "ns")
				m.SetTime(now)
			},
			"reconfigure": func(t *rapid.T) { reconfigure(t, m, ports) },
			"":            func(t *rapid.T) { wantSound(t, m, f.wire) },
		})
		for len(held) > 0 {
			release(t)
		}
		m.Resume()
		wantEmpty(t, m, f.wire)
	})
}

// headroomOfOff adds up the headrooms of the queues that are OFF.
func (m *Manager) headroomOfOff() (sum int64) {
	for _, q := range m.off {
		sum += q.config.Headroom
	}
	return sum
}

// reconfigure changes all of a queue but its headroom, on which bytes under way count.
func reconfigure(t *rapid.T, m *Manager, ports map[int]PortConfig) {
	fr := drawFrame(t, ports)
	pc := ports[fr.port]
	k := fr.prio & pc.queueMask()
	headroom := pc.Queues[k].Headroom
	pc.Queues[k] = drawQueue.Draw(t, "queue")
	pc.Queues[k].Headroom = headroom
	if m.SetPort(fr.port, pc) == nil {
		ports[fr.port] = pc
	}
}

// Peers that never stop lose nothing either, as long as their frames may wait in the ring. Every frame gets in, in its
// port's order, and the buffer is empty in the end.
func TestRingHoldLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, f, ports := newFabric(t, true)
		var rings [fabricPorts][]frame
		var held []frame
		receive := func(port int) {
			for len(rings[port]) > 0 {
				fr := rings[port][0]
				switch v := m.Admit(fr.port, fr.prio, fr.n); v {
				case Accept, AcceptHeadroom:
					held = append(held, fr)
					rings[port] = rings[port][1:]
				case Wait:
					queue := fr.prio
					if ports[port].Mode == macctl.ModePause {
						queue = 0
					}
					m.Resume()
					assert.MustBeTrue(t, f.held[QueueID{port, queue}], "%+v waits, its peer is not held", fr)
					return
				default:
					t.Fatalf("%+v: verdict %v", fr, v)
				}
			}
		}
		arrived := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) frame { return drawFrame(t, ports) }), 20, 300).Draw(t,
			"frames")
		for _, fr := range arrived {
			rings[fr.port] = append(rings[fr.port], fr)
			receive(fr.port)
			wantSound(t, m, f.wire)
		}
		for left := len(arrived); left > 0; left-- {
			assert.MustBeTrue(t, len(held) != 0, "%d frames wait, the buffer is empty", left)
			fr, _ := removeRandom(t, &held)
			m.Release(fr.port, fr.prio, fr.n)
			for port := range rings {
				receive(port)
			}
			m.Resume()
			wantSound(t, m, f.wire)
		}
		wantEmpty(t, m, f.wire)
	})
}
