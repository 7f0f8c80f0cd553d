package classify

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"pgregory.net/rapid"

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

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newMachine(t failer, raw []bpf.RawInstruction) machine {
	t.Helper()
	program, all := bpf.Disassemble(raw)
	if !all {
		t.Fatalf("an instruction is unknown: %v", program)
	}
	for i, instruction := range program {
		switch load := instruction.(type) {
		case bpf.LoadExtension:
			offset, ok := metadata[load.Num]
			if !ok {
				t.Fatalf("unexpected %v", load)
			}
			program[i] = bpf.LoadAbsolute{Off: offset, Size: 4}
		case bpf.LoadAbsolute:
			load.Off += metadataOctets
			program[i] = load
		}
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return machine{vm}
}

func (m machine) run(t failer, k buffered) int {
	t.Helper()
	var in []byte
	for _, word := range []int{int(k.tagged), int(k.tpid), int(k.tci), int(k.protocol), len(k.packet)} {
		in = binary.BigEndian.AppendUint32(in, uint32(word))
	}
	result, err := m.vm.Run(append(in, k.packet...))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return result
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
			raw, err := c.Fanout(lossless)
			if err != nil {
				t.Fatal(err)
			}
			m := newMachine(t, raw)
			for _, s := range specimens(t) {
				k, ok := untag(s.b)
				if !ok {
					t.Fatalf("%s: the kernel discards it", s.name)
				}
				if got, want := m.run(t, k), wantRing(&c, lossless, s.b); got != want {
					t.Errorf("trust %v, lossless %08b, %s: got ring %d, want %d", trust, lossless, s.name, got, want)
				}
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

		raw, err := c.Fanout(lossless)
		if err != nil {
			t.Fatal(err)
		}
		if k, ok := untag(b); ok {
			if got, want := newMachine(t, raw).run(t, k), wantRing(&c, lossless, b); got != want {
				t.Fatalf("got ring %d, want %d", got, want)
			}
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
			if c.Validate() == nil {
				t.Fatal(err)
			}
			return
		}
		k, received := untag(b)
		if _, ok := frame.Parse(b); !ok && received {
			t.Fatalf("the kernel hands over a malformed frame: %x", b)
		}
		if received {
			if got, want := newMachine(t, raw).run(t, k), wantRing(&c, lossless, b); got != want {
				t.Fatalf("got ring %d, want %d: %x", got, want, b)
			}
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
		{TrustPCP, 0, 13}, {TrustDSCP, 0xFF, 13}, {TrustPort, 8, 13}, {TrustPCP, 8, 24}, {TrustDSCP, 8, 38},
	}
	for _, tt := range tests {
		c := Config{Trust: tt.trust, DSCP: DefaultDSCP()}
		raw, err := c.Fanout(tt.lossless)
		if err != nil || len(raw) != tt.want {
			t.Errorf("trust %v, lossless %08b: got %d instructions, %v, want %d", tt.trust, tt.lossless, len(raw), err,
				tt.want)
		}
	}
}

// Control frames, and nothing else, go to the control ring, whatever the trust.
func TestFanoutControl(t *testing.T) {
	for _, trust := range []Trust{TrustPCP, TrustDSCP, TrustPort} {
		c := Config{Trust: trust, DSCP: DefaultDSCP()}
		raw, err := c.Fanout(0x08)
		if err != nil {
			t.Fatal(err)
		}
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

// SCTP packets above the MTU, and nothing else, go to the ring that nobody reads: not shorter SCTP, not other GSO
// frames.
func TestFanoutRefused(t *testing.T) {
	ipv4 := func(protocol byte, n int) []byte {
		b := make([]byte, n)
		b[0], b[9] = 0x45, protocol
		return b
	}
	ipv6 := func(protocol byte, n int) []byte {
		b := make([]byte, n)
		b[0], b[6] = 0x60, protocol
		return b
	}
	c := Config{Trust: TrustPCP, Default: 3, DSCP: DefaultDSCP(), MTU: 1500}
	raw, err := c.Fanout(0x08)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		k    buffered
		want int
	}{
		{"SCTP, too long", buffered{protocol: frame.TypeIPv4, packet: ipv4(protocolSCTP, 1501)}, RingRefused},
		{"SCTP over IPv6, too long", buffered{protocol: frame.TypeIPv6, packet: ipv6(protocolSCTP, 3000)}, RingRefused},
		{"SCTP that fits", buffered{protocol: frame.TypeIPv4, packet: ipv4(protocolSCTP, 1500)}, RingLossless},
		{"TCP GSO frame", buffered{protocol: frame.TypeIPv4, packet: ipv4(6, 9000)}, RingLossless},
		{"TCP GSO frame over IPv6", buffered{protocol: frame.TypeIPv6, packet: ipv6(6, 9000)}, RingLossless},
		{"neither", buffered{protocol: frame.TypeARP, packet: ipv4(protocolSCTP, 9000)}, RingLossless},
	} {
		if got := newMachine(t, raw).run(t, row.k); got != row.want {
			t.Errorf("%s: ring %d, want %d", row.name, got, row.want)
		}
	}
}
