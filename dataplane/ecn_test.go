package dataplane

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// The ECN codepoints of RFC 3168.
const (
	notECT = 0b00
	ect1   = 0b01
	ect0   = 0b10
	ce     = 0b11
)

// packet returns an IP packet of priority lossless from host 0 to host 1 with the given codepoint, padded to small.
func packet(t *testing.T, v6 bool, ecn uint8) []byte {
	t.Helper()
	mac := func(v uint64) net.HardwareAddr {
		b := make([]byte, 6)
		frame.PutAddress(b, v)
		return b
	}
	ethernet := &layers.Ethernet{DstMAC: mac(host(1)), SrcMAC: mac(host(0)), EthernetType: layers.EthernetTypeDot1Q}
	tag := &layers.Dot1Q{Priority: lossless, Type: layers.EthernetTypeIPv4}
	udp := &layers.UDP{SrcPort: 4791, DstPort: 4791}
	var ip gopacket.SerializableLayer
	if v6 {
		tag.Type = layers.EthernetTypeIPv6
		l := &layers.IPv6{Version: 6, TrafficClass: 26<<2 | ecn, FlowLabel: 0x12345, HopLimit: 64,
			NextHeader: layers.IPProtocolUDP, SrcIP: net.ParseIP("fd00::1"), DstIP: net.ParseIP("fd00::2")}
		_ = udp.SetNetworkLayerForChecksum(l)
		ip = l
	} else {
		l := &layers.IPv4{Version: 4, TOS: 26<<2 | ecn, TTL: 64, Protocol: layers.IPProtocolUDP, Id: 0x1234,
			SrcIP: net.IP{10, 0, 0, 1}, DstIP: net.IP{10, 0, 0, 2}}
		_ = udp.SetNetworkLayerForChecksum(l)
		ip = l
	}
	payload := gopacket.Payload(make([]byte, 150))
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ethernet,
		tag, ip, udp, payload); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), make([]byte, small-len(b.Bytes()))...)
}

// codepoint returns the ECN codepoint of a packet, and fails where a checksum is wrong.
func codepoint(t *testing.T, b []byte) uint8 {
	t.Helper()
	p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
	switch ip := p.NetworkLayer().(type) {
	case *layers.IPv4:
		assert.Equal(t, frame.Sum(ip.Contents, 0), 0xffff, "IPv4 header checksum %#x is wrong", ip.Checksum)
		return ip.TOS & 0b11
	case *layers.IPv6:
		assert.True(t, ip.FlowLabel == 0x12345 && ip.TrafficClass>>2 == 26,
			"flow label %#x, DSCP %d were touched", ip.FlowLabel, ip.TrafficClass>>2)
		return ip.TrafficClass & 0b11
	}
	t.Fatalf("no IP packet: %v", p)
	return 0
}

// marking is a rig with ECN on the lossless queue of port 1, and that queue paused.
func marking(t *testing.T, kmin, kmax int64, pmax float64) *rig {
	t.Helper()
	cfg := testConfig(2)
	cfg.Buffer.Lossless.Size += 1 << 20
	ports := []PortConfig{testPort(0), unshaped(1)}
	ports[1].ECN[lossless] = ECN{Kmin: kmin, Kmax: kmax, Pmax: pmax}
	r := newRig(t, cfg, ports...)
	r.hear(1, lossless, 0xffff)
	return r
}

// A frame is marked by the length of its queue before it: none below Kmin, all above Kmax. Frames that came with CE do
// not count as marked here.
func TestMarkByQueueLength(t *testing.T) {
	const kmin, kmax = 10 * small, 20 * small
	rows := []struct {
		name string
		v6   bool
		ecn  uint8
		want uint8 // above Kmax
	}{
		{"IPv4 CE", false, ce, ce},
		{"IPv6 CE", true, ce, ce},
		{"IPv4 ECT(0)", false, ect0, ce},
		{"IPv4 ECT(1)", false, ect1, ce},
		{"IPv4 Not-ECT", false, notECT, notECT},
		{"IPv6 ECT(0)", true, ect0, ce},
		{"IPv6 Not-ECT", true, notECT, notECT},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := marking(t, kmin, kmax, 0) // between the two: never
			came := packet(t, row.v6, row.ecn)
			for range 30 {
				r.arrive(0, came)
				for _, length := range []int{0, 10, 20, small} { // as a capture copies it
					b := slices.Clone(r.burst[0].Data[:length])
					r.burst[0].Unmark(b)
					assert.MustBeTrue(t, bytes.Equal(b, came[:length]), "unmarked: % x, came as % x", b, came[:length])
				}
				r.settle()
			}
			r.hear(1, lossless, 0)
			marked := 0
			for i, b := range r.drain(1, r.now+second) {
				want := row.ecn
				if i > kmax/small {
					want = row.want
				}
				if want != row.ecn {
					marked++
				}
				got := codepoint(t, b)
				assert.True(t, got == want, "frame behind %d octets has codepoint %02b, want %02b", i*small, got, want)
			}
			assert.Equal(t, r.count(1).Marked[lossless], uint64(marked), "counted marks")
			r.empty()
		})
	}
}

// Between Kmin and Kmax the probability rises from 0 to Pmax.
func TestMarkingProbability(t *testing.T) {
	const kmin, kmax, pmax, samples = 0, 100 * small, 0.5, 4000
	r := marking(t, kmin, kmax, pmax)
	for _, waiting := range []int{10, 50, 90} {
		for r.sw.ports[1].queues[lossless].frames < waiting {
			r.offer(0, packet(t, false, notECT))
		}
		before := r.count(1).Marked[lossless]
		for range samples {
			a := r.receive(0, [][]byte{packet(t, false, ect0)})
			r.sw.mark(r.sw.ports[1], &a[0], lossless)
		}
		got := float64(r.count(1).Marked[lossless]-before) / samples
		want := pmax * float64(waiting) / 100
		if got < want-0.04 || got > want+0.04 { // five standard deviations
			t.Errorf("%d of 100 frames wait: marked %.3f, want %.3f", waiting, got, want)
		}
	}
}

// Neither flooded copies, which share their octets, nor frames that are dropped are marked.
func TestNotMarked(t *testing.T) {
	cfg := testConfig(2)
	cfg.Buffer.Lossy.Size = 64 * cell // an egress queue alone takes half of it
	ports := []PortConfig{testPort(0), unshaped(1)}
	ports[1].ECN[0] = ECN{Kmin: 1, Kmax: 1, Pmax: 1}
	r := newRig(t, cfg, ports...)
	lossy := func(dst uint64) []byte {
		b := packet(t, false, ect0)
		frame.PutAddress(b, dst)
		binary.BigEndian.PutUint16(b[tagAt+2:], 0) // priority 0
		return b
	}
	for range 40 {
		r.offer(0, lossy(host(1)))
	}
	if c := r.count(1); r.count(0).Drops[0][DropLossyThreshold] != 8 || c.Marked[0] != 31 {
		t.Errorf("%d dropped and %d marked of 40, want 8 and all but the first of the others, 31",
			r.count(0).Drops[0][DropLossyThreshold], c.Marked[0])
	}
	r.drain(1, r.now+second)
	r.offer(0, lossy(host(1)), lossy(frame.Broadcast))
	got := r.drain(1, r.now+second)
	assert.True(t, len(got) == 2 && codepoint(t, got[0]) == ect0 && codepoint(t, got[1]) == ect0,
		"%d frames left, want two unmarked", len(got))
	r.empty()
}
