package acceptance

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/porttest"
)

// speeds are the two ways in which ports work: shaped, where GSO frames are cut and checksums finished, and not.
var speeds = []string{"speed: 1G", "speed: none"}

// sockets opens a packet socket at each host.
func (r *Rig) sockets() []*porttest.Socket {
	r.T.Helper()
	var all []*porttest.Socket
	for n := range r.Hosts {
		all = append(all, r.Socket(n+1))
	}
	return all
}

// next returns the next frame that is not the switch's own, which is not the hosts' business.
func next(t *testing.T, s *porttest.Socket) porttest.Packet {
	t.Helper()
	for {
		p, err := s.Receive(Timeout)
		assert.MustNoError(t, err, "no frame came")
		if !isOwn(p.Data) {
			return p
		}
	}
}

// silent fails the test where a frame comes that has no business here.
func silent(t *testing.T, sockets ...*porttest.Socket) {
	t.Helper()
	for _, s := range sockets {
		for {
			p, err := s.Receive(20 * time.Millisecond)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			must(t, err)
			assert.True(t, isOwn(p.Data), "a frame that should not have come: %x", p.Data)
		}
	}
}

func isProbe(b []byte) bool { return len(b) >= 14 && b[12] == 0x88 && b[13] == 0xb6 }

// isOwn tells whether a frame is the switch's own: a loop probe, or MAC Control, with which it may hold its peers at
// any time where it gets no CPU.
func isOwn(b []byte) bool {
	return isProbe(b) || len(b) >= 14 && b[12] == 0x88 && b[13] == 0x08 && bytes.HasPrefix(b[6:], PortMAC(0)[:5])
}

// arrives sends a complete frame in at host in and expects it at host out, complete.
func arrives(t *testing.T, s []*porttest.Socket, in, out int, sent, want []byte) {
	t.Helper()
	must(t, s[in-1].Send(frame.VnetHeader{}, sent))
	got := next(t, s[out-1])
	assert.Same(t, got.Data, want, "frame at h%d", out)
	assert.Equal(t, got.Vnet, frame.VnetHeader{}, "a complete frame came with unfinished business")
}

func TestFramesKeepTheirOctets(t *testing.T) {
	const keys = Lossless3 +
		`fdb: [{mac: "02:00:00:00:00:02", vlan: 1, port: p2}, {mac: "02:00:00:00:00:02", vlan: 10, port: p2}]`
	for _, speed := range speeds {
		t.Run(speed, func(t *testing.T) {
			r := Start(t, 2, Setup{MTU: 9000, Keys: keys, Each: speed + ", mtu: 9000, tagged: [10]"})
			s := r.sockets()
			for _, c := range untouched() {
				t.Run(c.name, func(t *testing.T) { arrives(t, s, 1, 2, c.data, c.data) })
			}
			silent(t, s...)
		})
	}
}

type named struct {
	name string
	data []byte
}

// untouched are frames from host 1 to host 2 that leave as they came where VLAN 1 is untagged and VLAN 10 tagged.
func untouched() []named {
	tag := func(pcp, dei, vid uint16) []uint16 { return []uint16{0x8100, pcp<<13 | dei<<12 | vid} }
	all := []named{
		{"untagged IPv4", IPv4UDP(1, 2, 0, 100)},
		{"untagged IPv6", ipv6UDP(1, 2, 101)},
		{"priority-tagged lossy", Tagged(IPv4UDP(1, 2, 0, 64), tag(5, 0, 0)...)},
		{"priority-tagged lossless", Tagged(IPv4UDP(1, 2, 0, 65), tag(3, 1, 0)...)},
		{"VLAN-tagged lossy", Tagged(IPv4UDP(1, 2, 0, 1400), tag(7, 1, 10)...)},
		{"VLAN-tagged lossless", Tagged(IPv4UDP(1, 2, 0, 1400), tag(3, 0, 10)...)},
		{"two C-tags", Tagged(Tagged(IPv4UDP(1, 2, 0, 300), tag(1, 0, 77)...), tag(3, 0, 10)...)},
		{"provider tag", Tagged(IPv4UDP(1, 2, 0, 300), 0x88a8, 3<<13|55)},
		{"provider and C-tag", Tagged(Tagged(IPv4UDP(1, 2, 0, 300), tag(1, 0, 77)...), 0x88a8, 3<<13|55)},
		{"length field, no EtherType", Ethernet(1, 2, 3, []byte{0xaa, 0xaa, 3})},
		{"wrong UDP checksum stays wrong", spoil(IPv4UDP(1, 2, 0, 100))},
		{"header alone", Ethernet(1, 2, 0x88b5, nil)},
		{"unpadded", Ethernet(1, 2, 0x88b5, pattern(3))},
		{"jumbo", IPv4UDP(1, 2, 0, 9000-28)},
		{"jumbo tagged", Tagged(IPv4UDP(1, 2, 0, 9000-28), tag(3, 0, 10)...)},
	}
	for n := 1470; n <= 1474; n++ {
		all = append(all, named{fmt.Sprintf("around a full frame %d", n), IPv4UDP(1, 2, 0, n)})
	}
	return all
}

// VLAN 10 is tagged at p1 and p3, untagged at p2 and p4; p2 keeps priority tags, p4 strips them.
func TestFramesChangeTheirTags(t *testing.T) {
	var fdb strings.Builder
	for n := 1; n <= 4; n++ {
		fmt.Fprintf(&fdb, "  - {mac: %q, vlan: 10, port: %s}\n", HostMAC(n), PortName(n))
	}
	s := Setup{MTU: 9000, Keys: Lossless3 + "fdb:\n" + fdb.String(), Ports: map[int]string{
		1: "tagged: [10]", 2: "pvid: 10", 3: "tagged: [10]",
		4: "pvid: 10, admit: all, priority_tags: strip, default_priority: 5"}}
	for _, speed := range speeds {
		t.Run(speed, func(t *testing.T) {
			s.Each = speed + ", mtu: 9000"
			r := Start(t, 4, s)
			sockets := r.sockets()
			for _, c := range retagged() {
				t.Run(c.name, func(t *testing.T) { arrives(t, sockets, c.in, c.out, c.sent, c.want) })
			}
			silent(t, sockets...)
		})
	}
}

type conversion struct {
	name       string
	in, out    int
	sent, want []byte
}

func retagged() []conversion {
	plain := func(in, out int) []byte { return IPv4UDP(in, out, 0, 200) }
	with := func(in, out int, tci uint16) []byte { return Tagged(plain(in, out), 0x8100, tci) }
	return []conversion{
		{"tagged to untagged", 1, 2, with(1, 2, 3<<13|10), plain(1, 2)},
		{"tagged to tagged", 1, 3, with(1, 3, 3<<13|1<<12|10), with(1, 3, 3<<13|1<<12|10)},
		{"untagged to tagged", 2, 1, plain(2, 1), with(2, 1, 10)},
		{"untagged to tagged with the port's priority", 4, 1, plain(4, 1), with(4, 1, 5<<13|10)},
		{"priority-tagged to tagged", 2, 1, with(2, 1, 3<<13|1<<12), with(2, 1, 3<<13|1<<12|10)},
		{"priority tag kept", 4, 2, with(4, 2, 3<<13), with(4, 2, 3<<13)},
		{"priority tag stripped", 2, 4, with(2, 4, 3<<13), plain(2, 4)},
		{"tag of the port's own VLAN", 4, 2, with(4, 2, 3<<13|10), plain(4, 2)},
		{"jumbo grows by a tag", 2, 1, IPv4UDP(2, 1, 0, 8972), Tagged(IPv4UDP(2, 1, 0, 8972), 0x8100, 10)},
	}
}

// What must not be forwarded is counted under its reason.
func TestFramesThatStay(t *testing.T) {
	r := Start(t, 2, Setup{MTU: 9000, Keys: Lossless3, Each: "speed: 1G"})
	s := r.sockets()
	to := func(mac string, b []byte) []byte { return append([]byte(mac), b[6:]...) }
	sctp := Ethernet(1, 2, 0x0800, mustSerialize(ipv4Header(1, 2, 0, layers.IPProtocolSCTP),
		gopacket.Payload(pattern(1481))))
	for _, tt := range []struct {
		name   string
		sent   []byte
		reason dataplane.DropReason
		prio   int
	}{
		{"bridge protocol", to("\x01\x80\xc2\x00\x00\x00", Ethernet(1, 2, 38, pattern(38))), dataplane.DropFiltered, 0},
		{"last reserved address", to("\x01\x80\xc2\x00\x00\x0f", IPv4UDP(1, 2, 0, 50)), dataplane.DropFiltered, 0},
		{"all LANs bridge management", to("\x01\x80\xc2\x00\x00\x10", IPv4UDP(1, 2, 0, 50)), dataplane.DropFiltered, 0},
		{"foreign VLAN", Tagged(IPv4UDP(1, 2, 0, 50), 0x8100, 4<<13|11), dataplane.DropFiltered, 4},
		{"back to where it came from", IPv4UDP(1, 1, 0, 50), dataplane.DropSamePort, 0},
		{"longer than the MTU", IPv4UDP(1, 2, 0, 1473), dataplane.DropOversize, 0},
		{"longer than the MTU, lossless", Tagged(IPv4UDP(1, 2, 0, 1473), 0x8100, 3<<13), dataplane.DropOversize, 3},
		{"longer than the MTU, SCTP", sctp, dataplane.DropOversize, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := r.Snapshot(1).Counters.Drops[tt.prio][tt.reason]
			must(t, s[0].Send(frame.VnetHeader{}, tt.sent))
			eventually(t, "the drop is counted",
				func() bool { return r.Snapshot(1).Counters.Drops[tt.prio][tt.reason] == before+1 })
			silent(t, s...)
		})
	}
	whole := IPv4UDP(1, 2, 0, 1472)
	arrives(t, s, 1, 2, whole, whole)
	r.NoLosslessDrops()
}
