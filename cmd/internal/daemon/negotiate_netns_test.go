package daemon

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/acceptance"
	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/lldp"
	"pfcswitch/macctl"
)

func lossless(list string) string { return "priorities: {lossless: [" + list + "]}\n" }

// Two switches find each other, and each version of the exchange leads to the priorities that both have.
func TestTwoSwitches(t *testing.T) {
	for _, tt := range []struct {
		name, one, two string // keys
		version        string
		reason         [2]string
		mask           [2]uint8
		mismatch       bool
		agreed         bool
	}{
		{"the same", lossless("3"), lossless("3"), "ieee", [2]string{"own", "own"}, [2]uint8{8, 8}, false, true},
		{"one follows", lossless("3, 4"), lossless("5") + "lldp: {willing: true}", "ieee", [2]string{"own", "peer"},
			[2]uint8{0x18, 0x18}, false, true},
		{"both follow", lossless("3") + "lldp: {willing: true}", lossless("5") + "lldp: {willing: true}", "ieee",
			[2]string{"tie-peer", "tie-own"}, [2]uint8{0x20, 0x20}, false, true},
		{"they differ", lossless("3, 4"), lossless("4, 5"), "ieee", [2]string{"mismatch", "mismatch"},
			[2]uint8{0x10, 0x10}, true, true},
		{"one is old", lossless("3"), lossless("3") + "lldp: {bit_ieee: off, bit_legacy: off}", "ieee",
			[2]string{"own", "own"}, [2]uint8{8, 8}, false, false},
		{"one speaks CEE", lossless("3"), lossless("5") + "lldp: {dcbx: cee, willing: true}", "cee",
			[2]string{"own", "peer"}, [2]uint8{8, 8}, false, true},
		{"one speaks CIN", lossless("3") + "lldp: {dcbx: cin}", lossless("5") + "lldp: {willing: true}", "cin",
			[2]string{"own", "peer"}, [2]uint8{8, 8}, false, true},
		{"CEE and they differ", lossless("3, 4") + "lldp: {dcbx: cee}", lossless("4, 5"), "cee",
			[2]string{"mismatch", "mismatch"}, [2]uint8{0x10, 0x10}, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, [2]string{tt.one, tt.two}, both(""))
			for i := range p.ends {
				p.agrees(i, tt.version, tt.reason[i], tt.mask[i])
				d, n := p.lldp(i).DCBX, p.lldp(i).Neighbors
				assert.True(t, d.Mismatch == tt.mismatch && d.MeasurementAgreed == tt.agreed, "%s: %+v", names[i], d)
				assert.True(t, len(n) == 1 && *n[0].SystemName == names[1-i] && n[0].PortID == "p1" &&
					n[0].ChassisID == [2]string{PortMAC(1).String(), HostMAC(1).String()}[i], "%s: neighbors %+v",
					names[i], n)
				if !slices.ContainsFunc(p.lldp(i).Transitions, func(x api.LLDPTransition) bool {
					return x.Machine == "transmit" && x.From == "info-frame" && x.To == "idle" && x.Cause == "sent" &&
						x.AgeNs > 0 && x.AgeNs < int64(time.Minute)
				}) {
					t.Errorf("%s: transitions %+v", names[i], p.lldp(i).Transitions)
				}
				texts := p.events(i, dataplane.EventDCBX, "does not agree with")
				assert.True(t, (len(texts) > 0) == tt.mismatch, "%s: events %q", names[i], texts)
				got := p.ends[i].Source().Ports()[0].Mismatch
				assert.True(t, got == tt.mismatch, "%s: ports say mismatch %t", names[i], got)
				m := p.ends[i].metricsPorts()[0].LLDP
				assert.True(t, m != nil && m.Neighbors == 1 && m.Mismatch == tt.mismatch,
					"%s: metrics %+v", names[i], m)
				if !tt.agreed {
					eventually(t, "the headroom is to be set by hand", func() bool {
						return p.found(i).ManualRequired && len(p.byHand(i)) > 0 &&
							p.ends[i].metricsPorts()[0].Headroom.ManualRequired
					})
					n := p.found(i).Counters.Asked
					assert.True(t, n == 0, "%s: asked %d times without an agreement", names[i], n)
				}
			}
		})
	}
}

// An end that gives up PFC takes it from the other one too, which says so; and both have it again with it.
func TestOneEndHasNoPFC(t *testing.T) {
	for _, version := range []string{"cee", "cin"} {
		t.Run(version, func(t *testing.T) {
			keys := [2]string{lossless("3") + "lldp: {change_hold: 0s, dcbx: " + version + "}",
				lossless("3") + "lldp: {change_hold: 0s}"}
			p := newPair(t, keys, both(""))
			p.agrees(1, version, "own", 8)
			speaks := "the port speaks DCBX in version " + version + " now, no longer in ieee"
			texts := p.events(1, dataplane.EventDCBX, "")
			assert.True(t, len(texts) != 0 && strings.HasPrefix(texts[0], speaks), "events %q", texts)
			for _, end := range []struct {
				port, reason string
				mask         uint8
			}{{"flow_control: pause", "disabled", 0}, {"", "own", 8}} {
				p.ports[0] = end.port
				p.apply(0, keys[0])
				for i := range p.ends {
					p.agrees(i, version, end.reason, end.mask)
				}
				mismatch := end.mask == 0
				d, m := p.lldp(1).DCBX, p.ends[1].metricsPorts()[0].LLDP
				assert.True(t, d.Mismatch == mismatch && m != nil && m.Mismatch == mismatch, "%s: %+v, metrics %+v",
					end.reason, d, m)
				texts := p.events(1, dataplane.EventDCBX, "")
				if !strings.Contains(texts[len(texts)-1], map[bool]string{
					true:  "does not agree with a (disabled): it has priorities [], and only [] stay lossless here",
					false: "priorities [3] are lossless (own)"}[mismatch]) {
					t.Errorf("%s: events %q", end.reason, texts)
				}
			}
		})
	}
}

// What was taken over ends with the neighbour: it says goodbye, and the configuration holds again. A neighbour that
// comes back is followed again, also through an interface that is new.
func TestNeighbourComesAndGoes(t *testing.T) {
	p := newPair(t, [2]string{lossless("3"), lossless("5") + "lldp: {willing: true, change_hold: 0s}"}, both(""))
	p.agrees(1, "ieee", "peer", 8)
	p.halt[0]()
	p.agrees(1, "ieee", "no-peer", 0x20)
	p.reports(1, dataplane.EventLLDP, "a, port p1, has stopped speaking LLDP")
	p.start(0, lossless("3"))
	p.agrees(1, "ieee", "peer", 8)

	must(t, p.nodes[1].DeleteLink("p1"))
	eventually(t, "the port speaks no more", func() bool { return len(p.ends[1].Source().LLDP()) == 0 })
	p.Link(1)
	p.agrees(1, "ieee", "peer", 8)
	IP(t, p.nodes[0], "link", "set", "eth0", "down")
	p.agrees(1, "ieee", "no-peer", 0x20)
	IP(t, p.nodes[0], "link", "set", "eth0", "up")
	p.agrees(1, "ieee", "peer", 8)
}

// An interface that comes back without a neighbour has what is configured, however long a neighbour's word holds.
func TestInterfaceComesBackAlone(t *testing.T) {
	p := newPair(t, [2]string{lossless("3"), lossless("5") + "lldp: {willing: true, change_hold: 1000s}"}, both(""))
	p.agrees(1, "ieee", "peer", 8)
	p.halt[0]()
	eventually(t, "the neighbour has gone", func() bool { return len(p.lldp(1).Neighbors) == 0 })
	got := p.lossless(1)
	assert.True(t, got == 8, "lossless are %#x before the time is over", got)
	must(t, p.nodes[1].DeleteLink("p1"))
	p.Link(1)
	p.agrees(1, "ieee", "no-peer", 0x20)
}

// A configuration that changes while the switch runs reaches the peer.
func TestApplyReachesThePeer(t *testing.T) {
	p := newPair(t, [2]string{lossless("3"), lossless("5") + "lldp: {willing: true, change_hold: 0s}"}, both(""))
	p.agrees(1, "ieee", "peer", 8)
	for _, next := range []struct {
		keys, version string
		mask          uint8
	}{{lossless("3, 6"), "ieee", 0x48}, {lossless("6") + "lldp: {dcbx: cee}", "cee", 0x40}} {
		p.apply(0, next.keys)
		p.agrees(1, next.version, "peer", next.mask)
	}
	p.apply(0, lossless("6")+"lldp: {dcbx: off}")
	p.agrees(1, "cee", "no-peer", 0x20)
	p.apply(0, lossless("6")+"lldp: {agent: off}")
	eventually(t, "there is no neighbour any more", func() bool { return len(p.lldp(1).Neighbors) == 0 })
}

// What the neighbour has does not fit the pool: the port says so, follows it no longer, and keeps what both have.
func TestNeighbourAsksForTooMuch(t *testing.T) {
	p := newPair(t, [2]string{lossless("0, 1, 2, 3, 4, 5, 6, 7"),
		lossless("3") + "buffer: {lossless: {size: 100KiB}, headroom: 20KiB}\nlldp: {willing: true, change_hold: 0s}"},
		both(""))
	p.agrees(1, "ieee", "mismatch", 8)
	p.reports(1, dataplane.EventPort, "does not fit, and the port follows it no longer")
	p.apply(1, lossless("3")+"lldp: {willing: true, change_hold: 0s}")
	p.agrees(1, "ieee", "peer", 0xff)
}

// A neighbour that changes its mind under load: the priority that stays lossless loses nothing, and the port changes no
// faster than change_hold.
func TestNeighbourChangesItsMindUnderLoad(t *testing.T) {
	const hold = 300 * time.Millisecond
	r := start(t, 3, Setup{Keys: Lossless3 + "buffer: {lossless: {size: 512KiB}}\nlldp: {willing: true, " +
		"change_hold: 300ms}", Each: At100M})
	before := r.Snapshot(1).Config.Lossless
	s := r.Socket(1)
	announce := func(ttl uint16, mask uint8) {
		p := lldp.PDU{Chassis: lldp.ID{Subtype: lldp.ChassisLocal, Value: "h1"}, Port: lldp.ID{Subtype: lldp.PortLocal,
			Value: "1"}, TTL: ttl, Organization: []lldp.Organization{{OUI: lldp.OUI{0, 0x80, 0xC2}, Subtype: 11,
			Info: string([]byte{0x08, mask})}}}
		must(t, s.Send(frame.VnetHeader{}, lldp.AppendFrame(nil, [6]byte(HostMAC(1)), &p)))
	}
	_, _, _, end := r.Incast(macctl.ModePFC, 100e6)
	seen, changes, last := map[uint8]bool{}, 0, before
	for begun, i := time.Now(), 0; time.Since(begun) < 3*time.Second; i++ {
		announce(100, []uint8{0x08, 0x18, 0x28, 0x3c}[i%4])
		time.Sleep(7 * time.Millisecond)
		if got := r.Snapshot(1).Config.Lossless; got != last {
			last, seen[got] = got, true
			changes++
		}
	}
	if most := int(3*time.Second/hold) + 1; len(seen) < 2 || changes > most {
		t.Errorf("%d changes to %v, want at most %d, and to more than one", changes, seen, most)
	}
	announce(0, 0)
	eventually(t, "the configuration holds again", func() bool { return r.Snapshot(1).Config.Lossless == before })
	end()
}

// Made-up neighbours that speak first after link-up, and say that they hold for hours, do not keep the real one out.
func TestMadeUpNeighboursComeFirst(t *testing.T) {
	r := newRig(t, 1)
	keys := lossless("3") + "lldp: {willing: true, change_hold: 0s}"
	p := &pair{rig: r, nodes: [2]*lab.Node{r.Host(1), r.Node}, interfaces: [2]string{"eth0", "p1"}}
	p.start(1, keys)
	t.Cleanup(func() { acceptance.Together(p.halt[:]) })
	eventually(t, "the link is up", func() bool { return p.snapshot(1).Up })
	s := r.Socket(1)
	for i := range lldp.MaxNeighbours + 1 {
		announced := lldp.PDU{Chassis: lldp.ID{Subtype: lldp.ChassisLocal, Value: fmt.Sprint(i)},
			Port: lldp.ID{Subtype: lldp.PortLocal, Value: "1"}, TTL: 0xFFFF,
			Organization: []lldp.Organization{{OUI: lldp.OUI{0, 0x80, 0xC2}, Subtype: 11, Info: "\x08\xf0"}}}
		must(t, s.Send(frame.VnetHeader{}, lldp.AppendFrame(nil, [6]byte(HostMAC(1)), &announced)))
	}
	eventually(t, "they are stored", func() bool { return len(p.lldp(1).Neighbors) == lldp.MaxNeighbours })
	p.start(0, lossless("5"))
	p.agrees(1, "ieee", "peer", 0x20)
	p.agreed(0, 1)
	p.reports(1, dataplane.EventLLDP, "is one more neighbour on this link")
	for _, n := range p.lldp(1).Neighbors {
		isPeer := n.SystemName != nil && *n.SystemName == "a"
		assert.True(t, isPeer == n.Followed && n.ExpiresNs <= int64(121*time.Second), "neighbor %+v", n)
	}
}

// A thousand neighbours and frames that are none: a few are kept for as long as they say, nobody is followed, and the
// port forwards meanwhile.
func TestThousandNeighboursOnALink(t *testing.T) {
	r := start(t, 2, Setup{Keys: Lossless3 + "lldp: {willing: true, change_hold: 0s}"})
	s := r.Socket(1)
	begun := time.Now()
	for i := range 1000 {
		p := lldp.PDU{Chassis: lldp.ID{Subtype: lldp.ChassisLocal, Value: fmt.Sprint(i)},
			Port: lldp.ID{Subtype: lldp.PortLocal, Value: "1"}, TTL: 2,
			Organization: []lldp.Organization{{OUI: lldp.OUI{0, 0x80, 0xC2}, Subtype: 11, Info: "\x08\xf0"}}}
		b := lldp.AppendFrame(nil, [6]byte(HostMAC(1)), &p)
		must(t, s.Send(frame.VnetHeader{}, b))
		must(t, s.Send(frame.VnetHeader{}, b[:20+i%40])) // cut anywhere
	}
	taken := r.LLDP().Statistics.ReceivedFrames
	windows := uint64(time.Since(begun)/frameWindow) + 2
	assert.True(t, taken <= windows*frameBudget, "%d frames were taken in %d times %v", taken, windows, frameWindow)
	eventually(t, "only a few are kept", func() bool {
		p := r.LLDP()
		return len(p.Neighbors) == lldp.MaxNeighbours && p.DCBX.Reason == "several-peers" &&
			p.Statistics.DiscardedFrames > 0
	})
	// as the first was
	eventually(t, "nobody of them is followed", func() bool { return r.Snapshot(1).Config.Lossless == 0x08 })
	r.Passes(1, 2)
	eventually(t, "they are forgotten", func() bool { return len(r.LLDP().Neighbors) == 0 })
	got := len(r.Events(dataplane.EventLLDP, 1))
	assert.True(t, got != 0 && got <= 20, "%d events", got)
}
