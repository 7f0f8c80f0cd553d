package acceptance

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/lldp"
	"pfcswitch/macctl"
)

// A host that sends with another one's address, as often as that one does, takes few of its frames, and none of those
// of a secure port. An event names both ports.
func TestStolenAddressOnTheWire(t *testing.T) {
	for _, secure := range []string{"off", "sticky"} {
		t.Run("secure "+secure, func(t *testing.T) {
			r := Start(t, 4, Setup{Keys: Lossless3 + "fdb: []", Each: "storm: off",
				Ports: map[int]string{2: "secure: " + secure}})
			s := r.sockets()
			hello := Ethernet(2, 3, 0x88b5, pattern(50)) // a thief sends the same
			ask := Ethernet(1, 2, 0x88b5, pattern(60))
			put := func(n int, b []byte) { must(t, s[n-1].Send(frame.VnetHeader{}, b)) }
			put(2, hello)
			eventually(t, "h2 is known", func() bool { return len(r.Source().FDB()) > 0 })
			const rounds = 500
			taken := 0
			for n := range rounds {
				put(2, hello)
				put(4, hello)
				put(1, ask)
				end := Ethernet(1, 4, 0x88b5, binary.BigEndian.AppendUint32(pattern(46), uint32(n)))
				copy(end, bytes.Repeat([]byte{0xff}, 6))
				put(1, end)
				taken += arrived(t, s[3], ask, end)
			}
			limit := rounds / 5
			kind := dataplane.EventMoves
			if secure == "sticky" {
				limit, kind = 0, dataplane.EventSourceGuard
				eventually(t, "each frame of the thief is dropped", func() bool {
					return r.Snapshot(4).Counters.Drops[0][dataplane.DropSourceGuard] == rounds
				})
			}
			e := r.Events(kind, 4)
			assert.True(t, len(e) != 0 && strings.Contains(e[0].Text, "p2") && e[0].Peer == frame.Address(HostMAC(2)),
				"events %+v, want one that names p2 and the address", e)
			assert.True(t, taken <= limit, "h4 took %d of %d frames to h2, want at most %d", taken, rounds, limit)
		})
	}
}

// The LLDP neighbour of a port does not move to another port, whoever sends with its address. A host that announces the
// address of another one as its own gains nothing.
func TestAddressOfANeighbour(t *testing.T) {
	for name, tt := range map[string]struct {
		announces int  // host, with h2's address
		stays     bool // h2
	}{"h2 announces": {2, true}, "the thief announces": {4, false}, "a third host announces": {3, false}} {
		t.Run(name, func(t *testing.T) {
			r := Start(t, 4, Setup{Keys: Lossless3 + "fdb: []", Each: "storm: off"})
			s := r.sockets()
			hello, thief := Ethernet(2, 3, 0x88b5, pattern(50)), Ethernet(2, 2, 0x88b5, pattern(50))
			put := func(n int, b []byte) { must(t, s[n-1].Send(frame.VnetHeader{}, b)) }
			put(2, hello)
			eventually(t, "h2 is known", func() bool { return len(r.Source().FDB()) > 0 })
			id := lldp.ID{Subtype: 7, Value: name}
			put(tt.announces, lldp.AppendFrame(nil, [6]byte(HostMAC(2)), &lldp.PDU{Chassis: id, Port: id, TTL: 120,
				Organization: []lldp.Organization{{OUI: [3]byte{0x00, 0x80, 0xc2}, Subtype: 0x0b, Info: "\x28\x18"}}}))
			moves := func() bool { // to p4, with a frame to itself
				f, ok := r.Source().Trace(api.TraceRequest{Port: PortName(4), Frame: thief})
				return !ok || f.Dropped
			}
			eventually(t, "the switch knows the neighbour", func() bool {
				for _, p := range r.Source().LLDP() {
					if p.Port == PortName(tt.announces) {
						return len(p.Neighbors) == 1 && moves() != tt.stays
					}
				}
				return false
			})
			const rounds = 300
			held := func() (n int) {
				for _, e := range r.Events(dataplane.EventMoves, 4) {
					if strings.Contains(e.Text, "the LLDP neighbour of p2") && e.Peer == frame.Address(HostMAC(2)) {
						n++
					}
				}
				return n
			}
			taken, ask := 0, Ethernet(1, 2, 0x88b5, pattern(60))
			for n := range rounds {
				put(2, hello)
				put(4, thief)
				put(1, ask)
				end := Ethernet(1, 4, 0x88b5, binary.BigEndian.AppendUint32(pattern(46), uint32(n)))
				copy(end, bytes.Repeat([]byte{0xff}, 6))
				put(1, end)
				taken += arrived(t, s[3], ask, end)
			}
			switch {
			case tt.stays && (taken > 0 || held() == 0):
				t.Errorf("h4 took %d of %d frames to h2, and %d events call h2 a neighbour", taken, rounds, held())
			case !tt.stays && (taken > rounds/5 || held() > 0):
				t.Errorf("h4 took %d of %d frames to h2, and %d events call h2 a neighbour", taken, rounds, held())
			}
		})
	}
}

// arrived counts the frames that come before another one.
func arrived(t *testing.T, s *porttest.Socket, want, end []byte) (n int) {
	t.Helper()
	for {
		p := next(t, s)
		switch {
		case bytes.Equal(p.Data, want):
			n++
		case bytes.Equal(p.Data, end):
			return n
		}
	}
}

// A host that moves to another port is there at once, from a secure port as soon as its link is down.
func TestHostMovesAtOnce(t *testing.T) {
	r := Start(t, 3, Setup{Keys: Lossless3 + "fdb: []", Ports: map[int]string{2: "secure: sticky"}})
	s := r.sockets()
	ask := Ethernet(1, 2, 0x88b5, pattern(60))
	at := func(from, at int, b []byte) {
		t.Helper()
		must(t, s[from-1].Send(frame.VnetHeader{}, b))
		eventually(t, PortName(at)+" has it", func() bool {
			for _, e := range r.Source().FDB() {
				if e.MAC == frame.Address(b[6:]) && e.Port == r.Snapshot(at).Index {
					return true
				}
			}
			return false
		})
	}
	at(2, 2, Ethernet(2, 1, 0x88b5, pattern(50)))
	must(t, r.Host(2).LinkDown("eth0"))
	r.WaitUp(2, false)
	at(3, 3, Ethernet(2, 1, 0x88b5, pattern(50)))
	must(t, s[0].Send(frame.VnetHeader{}, ask))
	for !bytes.Equal(next(t, s[2]).Data, ask) {
	}
	at(1, 1, Ethernet(3, 2, 0x88b5, pattern(50))) // another address, between open ports
	at(3, 3, Ethernet(3, 2, 0x88b5, pattern(50)))
}

// A thief that keeps what it has taken paused, by one XOFF in 20 ms, is found by the watchdog as it is by default.
func TestPausedLootIsSeen(t *testing.T) {
	r := Start(t, 3, Setup{Keys: Lossless3 + "fdb: []"})
	h1, h3 := r.Station(1, macctl.ModePFC, 1e9), r.Station(3, macctl.ModePFC, 1e9)
	must(t, r.Socket(3).Send(frame.VnetHeader{}, Ethernet(2, 1, 0x88b5, pattern(50))))
	eventually(t, "the address is taken", func() bool { return len(r.Source().FDB()) > 0 })
	release := h3.pausesForGood(r)
	stop := h1.Send(Stream{To: 2, Prio: 3, Rate: 10e6})
	eventually(t, "an event names the port", func() bool { return len(r.Events(dataplane.EventDeadlock, 3)) > 0 })
	release()
	stop()
}
