package classify

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// machine runs a program in the virtual machine of x/net/bpf, which has no metadata. So the program gets the metadata
// as five words in front of the packet, and its loads are moved accordingly.
type machine struct{ vm *bpf.VM }

const metadataOctets = 5 * 4

// metadata is the place of each ancillary load in front of the packet.
var metadata = map[bpf.Extension]uint32{
	bpf.ExtVLANTagPresent: 0, bpf.ExtVLANProto: 4, bpf.ExtVLANTag: 8, bpf.ExtProto: 12, bpf.ExtLen: 16,
}

func newMachine(t assert.TB, raw []bpf.RawInstruction) machine {
	t.Helper()
	program, all := bpf.Disassemble(raw)
	assert.MustBeTrue(t, all, "an instruction is unknown: %v", program)
	for i, instruction := range program {
		switch load := instruction.(type) {
		case bpf.LoadExtension:
			offset, ok := metadata[load.Num]
			assert.MustBeTrue(t, ok, "unexpected %v", load)
			program[i] = bpf.LoadAbsolute{Off: offset, Size: 4}
		case bpf.LoadAbsolute:
			load.Off += metadataOctets
			program[i] = load
		}
	}
	vm := assert.Got(bpf.NewVM(program)).Must(t)
	return machine{vm}
}

func (m machine) run(t assert.TB, k buffered) int {
	t.Helper()
	var in []byte
	for _, word := range []int{int(k.tagged), int(k.tpid), int(k.tci), int(k.protocol), len(k.packet)} {
		in = binary.BigEndian.AppendUint32(in, uint32(word))
	}
	return assert.Got(m.vm.Run(append(in, k.packet...))).Must(t)
}

func wantRing(c *Config, lossless uint8, b []byte) int {
	if k, ok := untag(b); ok && (k.protocol == frame.TypeMACControl || k.protocol == frame.TypeLLDP) {
		return RingControl
	}
	h, _ := frame.Parse(b)
	want := RingOther
	if lossless>>c.Priority(b, h)&1 == 1 {
		want = RingLossless
	}
	if k, ok := untag(b); ok && frame.HeaderOctets+len(k.packet) <= SmallFrame {
		want += RingSmall
	}
	return want
}

// For every kind of frame and trust, with every single priority as the lossless one, the program agrees with Priority.
func TestFanoutAgreesWithPriority(t *testing.T) {
	for _, trust := range []Trust{TrustPCP, TrustDSCP, TrustPort} {
		for _, lossless := range []uint8{0, 1, 2, 4, 8, 16, 32, 64, 128, 0x0F, 0xF0, 0x7F, 0xFF} {
			c := distinct(trust)
			raw := assert.Got(c.Fanout(lossless)).Must(t)
			m := newMachine(t, raw)
			for _, s := range specimens(t) {
				k, ok := untag(s.b)
				assert.MustBeTrue(t, ok, "%s: the kernel discards it", s.name)
				assert.Equal(t, m.run(t, k), wantRing(&c, lossless, s.b), "trust %v, lossless %08b, %s: ring", trust,
					lossless, s.name)
			}
		}
	}
}

// The same for any configuration, tag, EtherType and packet.
func TestFanoutProperty(t *testing.T) {
	etherTypes := []uint16{frame.TypeIPv4, frame.TypeIPv6, frame.TypeARP, frame.TypeVLAN, frame.TypeServiceTag, 46,
		frame.TypeMACControl, frame.TypeLLDP}
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Trust:   Trust(rapid.IntRange(0, 2).Draw(t, "trust")),
			Default: uint8(rapid.IntRange(0, 7).Draw(t, "default")),
		}
		copy(c.DSCP[:], rapid.SliceOfN(rapid.ByteMax(7), DSCPs, DSCPs).Draw(t, "dscp"))
		lossless := rapid.Byte().Draw(t, "lossless")
		b := make([]byte, 12)
		for range rapid.IntRange(0, 2).Draw(t, "tags") {
			b = binary.BigEndian.AppendUint16(b, rapid.SampledFrom([]uint16{frame.TypeVLAN,
				frame.TypeServiceTag}).Draw(t, "tpid"))
			b = binary.BigEndian.AppendUint16(b, rapid.Uint16().Draw(t, "tci"))
		}
		b = binary.BigEndian.AppendUint16(b, rapid.SampledFrom(etherTypes).Draw(t, "type"))
		b = append(b, rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "packet")...)

		raw := assert.Got(c.Fanout(lossless)).Must(t)
		if k, ok := untag(b); ok {
			assert.MustEqual(t, newMachine(t, raw).run(t, k), wantRing(&c, lossless, b), "ring")
		}
	})
}

func FuzzFanout(f *testing.F) {
	for _, s := range specimens(f) {
		f.Add(s.b, uint8(1), uint8(0), uint8(0x08))
		f.Add(s.b, uint8(0), uint8(3), uint8(0x48))
	}
	f.Fuzz(func(t *testing.T, b []byte, trust, fallback, lossless uint8) {
		c := Config{Trust: Trust(trust), Default: fallback, DSCP: DefaultDSCP()}
		raw, err := c.Fanout(lossless)
		if err != nil {
			assert.MustBeTrue(t, c.Validate() != nil, "%v", err)
			return
		}
		k, received := untag(b)
		_, ok := frame.Parse(b)
		assert.MustBeTrue(t, ok || !received, "the kernel hands over a malformed frame: %x", b)
		if received {
			assert.MustEqual(t, newMachine(t, raw).run(t, k), wantRing(&c, lossless, b), "ring of %x", b)
		}
	})
}

// A configuration that needs no look at the frame has a short program.
func TestFanoutIsShort(t *testing.T) {
	tests := []struct {
		trust    Trust
		lossless uint8
		want     int
	}{
		{TrustPCP, 0, 17}, {TrustDSCP, 0xFF, 17}, {TrustPort, 8, 17}, {TrustPCP, 8, 28}, {TrustDSCP, 8, 42},
	}
	for _, tt := range tests {
		c := Config{Trust: tt.trust, DSCP: DefaultDSCP()}
		raw, err := c.Fanout(tt.lossless)
		assert.True(t, err == nil && len(raw) == tt.want,
			"trust %v, lossless %08b: got %d instructions, %v, want %d", tt.trust, tt.lossless, len(raw), err, tt.want)
	}
}

// Control frames, and nothing else, go to the control ring, whatever the trust.
func TestFanoutControl(t *testing.T) {
	for _, trust := range []Trust{TrustPCP, TrustDSCP, TrustPort} {
		c := Config{Trust: trust, DSCP: DefaultDSCP()}
		raw := assert.Got(c.Fanout(0x08)).Must(t)
		m := newMachine(t, raw)
		for protocol, control := range map[uint16]bool{
			frame.TypeMACControl: true, frame.TypeLLDP: true,
			frame.TypeIPv4: false, frame.TypeIPv6: false, frame.TypeARP: false, 0x8809: false, 0x88CB: false, 4: false,
		} {
			if got := m.run(t, buffered{protocol: protocol, packet: make([]byte,
				46)}); control != (got == RingControl) {
				t.Errorf("trust %v, EtherType %04x: ring %d, control ring wanted: %v", trust, protocol, got, control)
			}
		}
	}
}

// Frames above the MTU, and those that fit no slot, go to the ring for long frames of their class, whatever they hold.
func TestFanoutLong(t *testing.T) {
	ipv4 := func(n int) buffered { return buffered{protocol: frame.TypeIPv4, packet: make([]byte, n)} }
	for _, row := range []struct {
		name      string
		mtu, slot int
		k         buffered
		want      int
	}{
		{"at the MTU", 1500, 0, ipv4(1500), RingLossless},
		{"above the MTU", 1500, 0, ipv4(1501), RingLossless + RingLong},
		{"above the MTU and in a slot", 1500, 9014, ipv4(1501), RingLossless + RingLong},
		{"fits its slot", 9000, 1514, ipv4(1500), RingLossless},
		{"fits no slot", 9000, 1514, ipv4(1501), RingLossless + RingLong},
		{"no limit", 0, 0, ipv4(65_000), RingLossless},
		{"small", 1500, 1514, ipv4(SmallFrame - frame.HeaderOctets), RingLossless + RingSmall},
		{"no IP", 1500, 1514, buffered{protocol: frame.TypeARP, packet: make([]byte, 9000)}, RingLossless + RingLong},
		{"of a lossy priority", 1500, 1514, buffered{tagged: 1, tpid: frame.TypeVLAN, tci: 4 << 13,
			protocol: frame.TypeIPv4, packet: make([]byte, 9000)}, RingOther + RingLong},
	} {
		c := Config{Trust: TrustPCP, Default: 3, DSCP: DefaultDSCP(), MTU: row.mtu, Slot: row.slot}
		raw := assert.Got(c.Fanout(0x08)).Must(t)
		assert.Equal(t, newMachine(t, raw).run(t, row.k), row.want, "%s: ring", row.name)
	}
}
