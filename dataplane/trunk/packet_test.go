package trunk

import (
	"testing"

	"pfcswitch/dataplane/frame"
)

// A packet is as long as it says where its frame is short enough to be padded, and as long as what is there else.
func TestPacketOctets(t *testing.T) {
	stated := func(b []byte, at int, n byte) []byte { b[at+1] = n; return b }
	for _, tt := range []struct {
		name string
		b    []byte
		want int
	}{
		{"IPv4, whole", packet(), 46},
		{"IPv4, padded", stated(packet(), 18+2, 28), 28},
		{"IPv4, cut off", stated(packet(), 18+2, 200), 46},
		{"IPv4, less than its header", stated(packet(), 18+2, 3), 20},
		{"IPv4, understated in a long frame", stated(append(packet(), 0), 18+2, 28), 47},
		{"IPv6, padded", stated(packet6()[:60], 14+4, 1), 41},
		{"IPv6, understated in a long frame", stated(packet6(), 14+4, 1), 66},
		{"too short for a header", packet()[:18+19], 19},
		{"no IP", append(packet()[:16], 0x88, 0xB5, 0, 0), 2},
	} {
		h, ok := frame.Parse(tt.b)
		if !ok {
			t.Fatalf("%s: malformed", tt.name)
		}
		if got := PacketOctets(tt.b, &h); got != tt.want {
			t.Errorf("%s: %d octets, want %d", tt.name, got, tt.want)
		}
	}
}
