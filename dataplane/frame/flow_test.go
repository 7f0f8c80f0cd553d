package frame

import (
	"testing"

	"pfcswitch/dataplane/assert"
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

func flowOf(t *testing.T, b []byte) uint64 {
	t.Helper()
	h, ok := Parse(b)
	assert.MustBeTrue(t, ok, "malformed")
	return Flow(b, &h)
}

func TestFlowGoesByAddressesAndPorts(t *testing.T) {
	for name, build := range map[string]func() []byte{"IPv4": packet, "IPv6": packet6} {
		net := 18
		if name == "IPv6" {
			net = 14
		}
		own := map[string][]int{
			"IPv4": {0, 11, 15, net + 12, net + 19, net + 20, net + 23},
			"IPv6": {0, 11, net + 8, net + 39, net + 40, net + 43},
		}[name]
		same := map[string][]int{
			"IPv4": {14 /* priority */, net + 1 /* DSCP */, net + 5 /* identification */, net + 8 /* TTL */, net + 25,
				net + 30},
			"IPv6": {net + 3 /* flow label */, net + 7 /* hop limit */, net + 44},
		}[name]
		want := flowOf(t, build())
		for _, at := range own {
			b := build()
			b[at] ^= 0x40
			if at == 15 {
				b[at] ^= 0x41
			}
			assert.True(t, flowOf(t, b) != want, "%s: octet %d does not change the flow", name, at)
		}
		for _, at := range same {
			b := build()
			b[at] ^= 0x40
			assert.Equal(t, flowOf(t, b), want, "%s: octet %d changes the flow", name, at)
		}
	}
}

// All fragments of a packet stay together: only the first has ports.
func TestFragmentsStayTogether(t *testing.T) {
	first, second := packet(), packet()
	first[18+6] = 0x20 // more fragments
	second[18+7] = 2   // an offset
	second[18+20] = 99 // payload where the ports were
	assert.Equal(t, flowOf(t, first), flowOf(t, second), "fragments of a packet are in two flows")
}

func FuzzFlow(f *testing.F) {
	f.Add(packet())
	f.Add(packet6())
	f.Add(packet()[:18])
	f.Add(packet6()[:14])
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ok := Parse(b)
		if !ok {
			return
		}
		assert.Equal(t, Flow(b, &h), Flow(append([]byte(nil), b...), &h), "the same frame in two flows")
	})
}
