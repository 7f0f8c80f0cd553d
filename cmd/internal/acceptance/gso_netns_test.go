package acceptance

import (
	"bytes"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/porttest"
)

// A port without a speed carries them whole, with checksum and segmentation left to do where they were.
func TestGSOFramesWhole(t *testing.T) {
	r := Start(t, 3, Setup{
		Keys: Lossless3 + "fdb:\n" +
			`  - {mac: "02:00:00:00:00:02", vlan: 1, port: p2}` + "\n" +
			`  - {mac: "02:00:00:00:00:02", vlan: 10, port: p2}` + "\n" +
			`  - {mac: "02:00:00:00:00:03", vlan: 10, port: p3}` + "\n",
		Each: "speed: none", Ports: map[int]string{1: "tagged: [10]", 2: "tagged: [10]", 3: "pvid: 10"},
	})
	s := r.sockets()
	for _, f := range GSOFrames() {
		t.Run(f.Name, func(t *testing.T) {
			tag := f
			tag.Data, tag.Vnet = Tagged(f.Data, 0x8100, vlanTCI), f.Vnet.Shift(frame.TagOctets)
			toThree := tag
			toThree.Data = append(append([]byte(nil), HostMAC(3)...), tag.Data[6:]...)
			stripped := f
			stripped.Data = append(append([]byte(nil), HostMAC(3)...), f.Data[6:]...)
			for _, c := range []struct {
				name       string
				out        int
				sent, want GSOFrame
			}{
				{"untagged", 2, f, f}, {"tagged", 2, tag, tag}, {"tag stripped", 3, toThree, stripped},
			} {
				t.Run(c.name, func(t *testing.T) {
					must(t, s[0].Send(c.sent.Vnet, c.sent.Data))
					got := next(t, s[c.out-1])
					if !bytes.Equal(got.Data, c.want.Data) {
						t.Errorf("%d octets came, not the %d that were sent:\n got %.100x\nwant %.100x", len(got.Data),
							len(c.want.Data), got.Data, c.want.Data)
					}
					if want := c.want.Vnet; !sameOffload(got.Vnet, want) {
						t.Errorf("what is left to do\n got %+v\nwant %+v", got.Vnet, want)
					}
				})
			}
		})
	}
	silent(t, s...)
}

// sameOffload compares but for the length of the headers, which is a hint that kernels fill in as they like.
func sameOffload(a, b frame.VnetHeader) bool {
	a.HdrLen, b.HdrLen = 0, 0
	return a == b
}

// A port with a speed, or with a neighbour that has one, cuts them and finishes the checksums.
func TestGSOFramesSegmented(t *testing.T) {
	for _, speed := range []string{"speed: 1G", "speed: none"} {
		t.Run(speed, func(t *testing.T) {
			r := Start(t, 3, Setup{Keys: Lossless3, Each: "tagged: [10]",
				Ports: map[int]string{1: speed, 2: speed, 3: "speed: 1G"}})
			s := r.sockets()
			for _, f := range GSOFrames() {
				t.Run(f.Name, func(t *testing.T) {
					must(t, s[0].Send(f.Vnet, f.Data))
					checkSegments(t, f, s[1], false)
					must(t, s[0].Send(f.Vnet.Shift(frame.TagOctets), Tagged(f.Data, 0x8100, 3<<13)))
					checkSegments(t, f, s[1], true)
				})
			}
			silent(t, s...)
		})
	}
}

// checkSegments receives the segments of f and compares each with the frame that gopacket makes of its content.
func checkSegments(t *testing.T, f GSOFrame, s *porttest.Socket, withTag bool) {
	t.Helper()
	whole := gopacket.NewPacket(f.Data, layers.LayerTypeEthernet, gopacket.Default)
	want := whole.TransportLayer().LayerPayload()
	for i := range f.Parts {
		got := next(t, s)
		if got.Vnet != (frame.VnetHeader{}) {
			t.Fatalf("segment %d came with unfinished business: %+v", i, got.Vnet)
		}
		b := got.Data
		if withTag {
			if b = append(b[:12:12], b[16:]...); !bytes.Equal(got.Data[12:16], []byte{0x81, 0, 3 << 5, 0}) {
				t.Fatalf("segment %d has lost its tag: %.20x", i, got.Data)
			}
		}
		n := min(segment, len(want))
		if expected := segmentOf(whole, i, want[:n], i == f.Parts-1); !bytes.Equal(b, expected) {
			t.Fatalf("segment %d of %d\n got %x\nwant %x", i, f.Parts, b, expected)
		}
		want = want[n:]
	}
	if len(want) > 0 {
		t.Errorf("%d octets are missing", len(want))
	}
}

// segmentOf makes segment number i with the given payload anew.
func segmentOf(whole gopacket.Packet, i int, payload []byte, last bool) []byte {
	var network gopacket.SerializableLayer
	var transport gopacket.SerializableLayer
	switch l := whole.NetworkLayer().(type) {
	case *layers.IPv4:
		header := *l
		header.Id += uint16(i)
		network = &header
	case *layers.IPv6:
		network = l
	}
	switch l := whole.TransportLayer().(type) {
	case *layers.TCP:
		header := *l
		header.Seq += uint32(i * segment)
		if !last {
			header.PSH, header.FIN = false, false
		}
		transport = &header
		_ = header.SetNetworkLayerForChecksum(whole.NetworkLayer())
	case *layers.UDP:
		header := *l
		transport = &header
		_ = header.SetNetworkLayerForChecksum(whole.NetworkLayer())
	}
	link := whole.LinkLayer().(*layers.Ethernet)
	return append(append(append(append([]byte(nil), link.DstMAC...), link.SrcMAC...), byte(link.EthernetType>>8),
		byte(link.EthernetType)), mustSerialize(network, transport, gopacket.Payload(payload))...)
}
