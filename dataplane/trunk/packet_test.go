package trunk

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// packet is an Ethernet frame with a tag, an IPv4 header and a UDP header.
func packet() []byte {
	b := make([]byte, 64)
	copy(b, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0x60, 5, 8, 0})
	ip := b[18:]
	copy(ip, []byte{0x45, 0, 0, 46, 0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2})
	copy(ip[20:], []byte{0x12, 0x34, 0, 53, 0, 26, 0, 0})
	return b
}

func packet6() []byte {
	b := make([]byte, 80)
	copy(b, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xDD, 0x60, 0, 0, 0, 0, 26, 6, 64})
	b[14+8], b[14+24], b[14+40], b[14+43] = 0xFE, 0xFE, 0x12, 80
	return b
}

func FuzzPacketOctets(f *testing.F) {
	f.Add(packet())
	f.Add(packet6())
	f.Add(packet()[:18])
	f.Add(packet6()[:14])
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ok := frame.Parse(b)
		if !ok {
			return
		}
		n := PacketOctets(b, &h)
		assert.True(t, n >= 0 && n <= len(b)-h.NetOffset, "a packet of %d octets in a frame of %d", n, len(b))
	})
}
