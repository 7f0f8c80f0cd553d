package buffer

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

const pgB = 4 // a second priority of the same port

// dynamicTable is two ports with two queues each, η 400 B, an insurance of 400 B each, and 3000 B to share.
func dynamicTable(t *testing.T) (*Manager, *wire) {
	t.Helper()
	w := newWire(t)
	c := Config{Cell: cell, Lossless: PoolConfig{Size: 3800, Alpha: 1}, Lossy: PoolConfig{Alpha: 1},
		Headroom: HeadroomSharing{Dynamic: true}}
	pc := PortConfig{Mode: macctl.ModePFC, Lossless: 1<<pgA | 1<<pgB, MTU: cell}
	pc.Queues[pgA] = QueueConfig{Headroom: 400}
	pc.Queues[pgB] = QueueConfig{Headroom: 300} // the same link: it has the port's insurance too
	m := assert.Got(New(c, w)).Must(t)
	assert.Must(t, m.Apply(c, map[int]PortConfig{0: pc, 1: pc}))
	return m, w
}

// A queue turns OFF above T - η, what comes after goes to the shared segment, and a port above the T of its queues
// stops as a whole, with its insurance for what is under way.
func TestDynamicHeadroom(t *testing.T) {
	m, w := dynamicTable(t)
	for range 13 { // up to ω = T - η = 3000 - 1200 - 400 before the last one
		mustAdmit(t, m, 0, pgA, 100, Accept)
	}
	assert.Equal(t, m.Queue(0, pgA).Threshold, 1300, "T - η")
	mustAdmit(t, m, 0, pgA, 200, AcceptHeadroom)
	wantOff(t, m, w, 0, pgA, true)
	wantOff(t, m, w, 0, pgB, false)
	wantHeld(t, m, 0, pgA, segmentBytes{shared: 1500})
	mustAdmit(t, m, 0, pgA, 400, AcceptHeadroom)
	wantHeld(t, m, 0, pgA, segmentBytes{shared: 1900})
	mustAdmit(t, m, 0, pgB, 300, Accept) // 2200 of 2 T = 2200
	wantOff(t, m, w, 0, pgB, false)
	assert.True(t, !m.WouldExceedThreshold(1, pgA, 100) && m.WouldExceedThreshold(0, pgB, 100),
		"port 0 alone is at its limit")
	assert.Equal(t, m.Room(0, pgB), 400, "room of port 0, want its insurance")
	mustAdmit(t, m, 0, pgB, 100, AcceptHeadroom)
	wantOff(t, m, w, 0, pgB, true)
	wantOff(t, m, w, 1, pgA, false)
	wantHeld(t, m, 0, pgB, segmentBytes{shared: 300, headroom: 100})
	mustAdmit(t, m, 0, pgA, 300, AcceptHeadroom)
	mustAdmit(t, m, 0, pgA, 100, DropHeadroom) // the peer did not obey
	wantSound(t, m, w)
	m.Release(0, pgA, 2200)
	wantOff(t, m, w, 0, pgA, true) // the insurance still holds 100 B of the other queue
	m.Release(0, pgB, 100)
	m.Resume()
	wantOff(t, m, w, 0, pgA, false)
	wantOff(t, m, w, 0, pgB, false)
	wantSound(t, m, w)
}

// Frames that have arrived, and would bring the port above its limit, stop all of it before they come in.
func TestExpectStopsPort(t *testing.T) {
	m, w := dynamicTable(t)
	m.Expect(0, pgA, 2100) // 2 T = 1800 then
	wantOff(t, m, w, 0, pgA, true)
	wantOff(t, m, w, 0, pgB, true)
	m.Resume()
	wantOff(t, m, w, 0, pgB, true)
	m.Expect(0, pgA, 0)
	m.Resume()
	wantOff(t, m, w, 0, pgA, false)
	wantOff(t, m, w, 0, pgB, false)
}

// An insurance takes nothing over from headrooms of queues: the change comes when they are empty.
func TestChangeToDynamicHeadroomWaits(t *testing.T) {
	m, w := dynamicTable(t)
	own, dynamic := m.config, m.config
	own.Headroom = HeadroomSharing{}
	own.Threshold, dynamic.Threshold = StaticThreshold{}, StaticThreshold{}
	ports := map[int]PortConfig{0: m.configs[0], 1: m.configs[1]}
	for port, pc := range ports {
		pc.Queues[pgA].Xoff, pc.Queues[pgB].Xoff = 500, 500
		ports[port] = pc
	}
	assert.Must(t, m.Apply(own, ports))
	mustAdmit(t, m, 0, pgA, 500, Accept)
	mustAdmit(t, m, 0, pgA, 100, AcceptHeadroom)
	var busy *BusyError
	if err := m.Apply(dynamic, ports); !errors.As(err, &busy) || busy.Excess != 100 || busy.Ports[0] != 0 {
		t.Fatalf("error %v, want 100 B of port 0", err)
	}
	m.Release(0, pgA, 100)
	assert.Must(t, m.Apply(dynamic, ports))
	wantSound(t, m, w)
}

// Peers that obey lose nothing while the way in which headroom is shared changes under them.
func TestChangeOfSharingLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &fabric{wire: newWire(t), peers: map[QueueID]*peer{}}
		c := Config{Cell: drawCell.Draw(t, "cell"), RingHold: rapid.Bool().Draw(t, "ring hold"),
			Lossless: PoolConfig{Alpha: drawAlpha.Draw(t, "alpha")}, Lossy: PoolConfig{Alpha: 1}}
		ports := map[int]PortConfig{}
		for port := range fabricPorts {
			pc := PortConfig{Mode: macctl.ModePFC, Lossless: 1<<3 | 1<<4, MTU: fabricMTU}
			reaction := rapid.Int64Range(1, 4).Draw(t, "reaction in MTU") * (fabricMTU + wireOverhead)
			for _, k := range []uint8{3, 4} {
				pc.Queues[k] = QueueConfig{Headroom: headroomFor(reaction, int64(c.Cell)), Xoff: 4 * fabricMTU}
				f.peers[QueueID{port, k}] = &peer{reaction: reaction}
			}
			ports[port] = pc
		}
		var need HeadroomNeed
		for _, pc := range ports {
			need.Add([Priorities]int64{3: wholeCells(pc.Queues[3].Headroom, int64(c.Cell)),
				4: wholeCells(pc.Queues[4].Headroom, int64(c.Cell))})
		}
		c.Lossless.Size = need.Sum + int64(2*len(f.peers)+1)*wholeCells(fabricMTU, int64(c.Cell)) // a tight one
		m := assert.Got(New(c, f)).Must(t)
		assert.Must(t, m.Apply(c, ports))
		var held []frame
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				fr := drawFrame(t, ports)
				for range drawCount.Draw(t, "frames") {
					p := f.peers[QueueID{fr.port, fr.prio}]
					if fr.n = drawOctets.Draw(t, "octets"); p.obeys(fr.n) {
						return
					}
					v := m.Admit(fr.port, fr.prio, fr.n)
					assert.MustBeTrue(t, v.Accepted(), "%+v: verdict %v, %+v", fr, v, *p)
					for id, other := range f.peers {
						if id.Port == fr.port {
							other.late += int64(fr.n) + wireOverhead
						}
					}
					held = append(held, fr)
				}
			},
			"release": func(t *rapid.T) {
				for range drawCount.Draw(t, "frames") {
					if fr, ok := removeRandom(t, &held); ok {
						m.Release(fr.port, fr.prio, fr.n)
					}
				}
				m.Resume()
			},
			"change": func(t *rapid.T) {
				c.Headroom.Dynamic = rapid.Bool().Draw(t, "dynamic")
				c.Threshold = rapid.SampledFrom([]Threshold{DynamicThreshold{}, StaticThreshold{}}).Draw(t, "policy")
				err := m.Apply(c, ports)
				assert.MustBeTrue(t, err == nil || errors.Is(err, ErrBusy), "Apply: %v", err)
			},
			"": func(t *rapid.T) { wantSound(t, m, f.wire) },
		})
		for _, fr := range held {
			m.Release(fr.port, fr.prio, fr.n)
		}
		m.Resume()
		wantEmpty(t, m, f.wire)
	})
}
