package traffic

import (
	"bytes"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

func TestFrameIsARealPacket(t *testing.T) {
	m := message{kind: kindFinAck, priority: 5, flow: 7, sequence: 8, time: 9, total: 10, received: 11, reordered: 12,
		duplicated: 13}
	for _, tagged := range []bool{true, false} {
		e := addressing{destination: 0x020000000002, source: 0x020000000001, tagged: tagged,
			tci: frame.MakeTCI(5, false, 9), dscp: 26, octets: 200}
		b := wrap(e, m)
		p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
		if err := p.ErrorLayer(); err != nil {
			t.Fatal(err.Error())
		}
		ip, udp := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4), p.Layer(layers.LayerTypeUDP).(*layers.UDP)
		assert.True(t, ip.TOS == 26<<2 && int(udp.Length) == len(udp.Payload)+udpOctets &&
			uint16(udp.DstPort) == udpPort, "tagged %v: %v %v", tagged, ip, udp)
		assert.True(t, frame.Sum(ip.Contents, 0) == 0xffff, "tagged %v: the IP header sums to %#04x, want 0xffff",
			tagged, frame.Sum(ip.Contents, 0))
		got, h, err := parse(b)
		assert.True(t, err == nil && got == m && h.Tagged == tagged,
			"tagged %v: parse gives %+v, %v\nwant %+v", tagged, got, err, m)
		assert.True(t, bytes.Equal(b[e.messageAt():e.messageAt()+4], []byte("PFCT")),
			"tagged %v: the message does not stand at %d", tagged, e.messageAt())
	}
}

func FuzzParse(f *testing.F) {
	f.Add(wrap(addressing{destination: 1, source: 2, tagged: true, octets: minMessage},
		message{kind: kindData, flow: 3}))
	f.Add(wrap(addressing{destination: 1, source: 2, octets: 1514}, message{kind: kindFin, total: 3}))
	f.Add(wrap(addressing{destination: 1, source: 2, tagged: true, octets: minRaw},
		message{kind: kindData, priority: 6, flow: 3}))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, h, err := parse(b)
		if err != nil {
			return
		}
		e := addressing{destination: h.Dst, source: h.Src, tagged: h.Tagged, tci: h.TCI, octets: minMessage}
		said := m
		if m.short {
			e.octets = minRaw
			said.time <<= shortTick // from ticks to ns
		}
		again, _, err := parse(wrap(e, said))
		assert.MustBeTrue(t, err == nil && again == m, "%+v becomes %+v, %v", m, again, err)
	})
}
