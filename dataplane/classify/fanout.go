package classify

import (
	"math"

	"golang.org/x/net/bpf"

	"pfcswitch/dataplane/frame"
)

// The rings of a port, in the order in which their sockets join the fanout group: the program returns the index of a socket.
// A kernel that cannot finish a program takes its result for 0, so 0 is the ring that may lose.
const (
	RingOther    = 0
	RingLossless = 1
	RingControl  = 2
	RingRefused  = 3 // what no ring can take: nobody reads it
	RingSmall    = 4 // added to RingOther and RingLossless for frames of up to SmallFrame octets
)

// SmallFrame is the longest frame (octets without FCS, not counting an outer VLAN tag) that goes to a ring of small slots. A
// slot there takes a sixth of one for a full frame, so that the ring stays in the caches: a switch that is busy with smallest
// frames is a quarter faster with it. Acknowledgements and congestion notifications are shorter.
const SmallFrame = 144

// Fanout returns the program for PACKET_FANOUT_DATA of a PACKET_FANOUT_CBPF group: RingControl for MAC Control (0x8808) and
// LLDP (0x88CC) frames, also behind an outer tag; RingRefused for SCTP GSO frames; of all others RingLossless for those
// whose priority is in lossless (bit n = priority n), and RingOther, with RingSmall added where the frame is small. It decides
// exactly as Priority does, for truncated packets too. The error is that of Validate.
//
// In the fanout hook the packet starts at its network header, the outer tag of either kind is in metadata, and the protocol is
// the EtherType behind it. Loads from the packet have plain offsets and not those relative to SKF_NET_OFF, which is the same
// place here: kernels before 6.16 refuse the latter where the header is not in the linear part of the buffer.
func (c *Config) Fanout(lossless uint8) ([]bpf.RawInstruction, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	program := fanoutControl()
	if c.MTU > 0 {
		program = append(program, fanoutRefused(c.MTU)...)
	}
	switch {
	case lossless == 0 || lossless == 0xFF || c.Trust == TrustPort:
	case c.Trust == TrustPCP:
		program = append(program, fanoutPCP(lossless)...)
	default:
		program = append(program, c.fanoutDSCP(lossless)...)
	}
	return bpf.Assemble(link(program, ring(lossless, c.Default)))
}

// ring returns the ring of a priority. The programs take it out of a word of bits, so it is bit n of lossless.
func ring(lossless, priority uint8) uint32 { return uint32(lossless >> priority & RingLossless) }

// toFallback marks a jump to where the ring of the default priority is loaded.
const toFallback = math.MaxUint8

// link appends what loads the ring of the default priority, and what adds RingSmall for a small frame, and sets the jumps that
// lead there.
func link(program []bpf.Instruction, fallback uint32) []bpf.Instruction {
	for i, instruction := range program {
		if jump, ok := instruction.(bpf.JumpIf); ok && jump.SkipTrue == toFallback {
			jump.SkipTrue = uint8(len(program) - i - 1)
			program[i] = jump
		}
	}
	return append(program,
		bpf.LoadConstant{Dst: bpf.RegA, Val: fallback},
		bpf.TAX{},
		bpf.LoadExtension{Num: bpf.ExtLen},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: SmallFrame - frame.HeaderOctets, SkipTrue: 3},
		bpf.TXA{},
		bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: RingSmall},
		bpf.RetA{},
		bpf.TXA{},
		bpf.RetA{},
	)
}

// fanoutControl ends for control frames, and goes on for others.
func fanoutControl() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(frame.TypeMACControl), SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(frame.TypeLLDP), SkipTrue: 1},
		bpf.RetConstant{Val: RingControl},
	}
}

const protocolSCTP = 132

// fanoutRefused ends for SCTP packets above the MTU, and goes on for others. There is no virtio_net_hdr for the GSO frames
// of SCTP, and a kernel that has to write one into a ring of version 2 leaves the ring's head marked as taken for ever
// (tpacket_rcv up to 6.18 at least): one such frame would stop the ring.
func fanoutRefused(mtu int) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtLen},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: uint32(mtu), SkipTrue: 8},
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(frame.TypeIPv4), SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(frame.TypeIPv6), SkipTrue: 5},
		bpf.LoadAbsolute{Off: 6, Size: 1}, // next header
		bpf.Jump{Skip: 1},
		bpf.LoadAbsolute{Off: 9, Size: 1}, // protocol
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protocolSCTP, SkipTrue: 1},
		bpf.RetConstant{Val: RingRefused},
	}
}

// fanoutPCP leaves bit PCP of lossless in A.
func fanoutPCP(lossless uint8) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtVLANTagPresent},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: toFallback},
		bpf.LoadExtension{Num: bpf.ExtVLANProto},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(frame.TypeVLAN), SkipTrue: toFallback},
		bpf.LoadExtension{Num: bpf.ExtVLANTag},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 13},
		bpf.TAX{},
		bpf.LoadConstant{Dst: bpf.RegA, Val: uint32(lossless)},
		bpf.ALUOpX{Op: bpf.ALUOpShiftRight},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 1},
		bpf.Jump{Skip: 1}, // over the fallback
	}
}

// fanoutDSCP leaves the ring of the priority that the map has for the codepoint in A.
func (c *Config) fanoutDSCP(lossless uint8) []bpf.Instruction {
	var low, high uint32 // rings of codepoints 0–31 and 32–63, a bit each
	for dscp := range DSCPs / 2 {
		low |= ring(lossless, c.DSCP[dscp]) << dscp
		high |= ring(lossless, c.DSCP[dscp+DSCPs/2]) << dscp
	}
	return []bpf.Instruction{
		// What is behind a provider's tag is not ours to read, though the kernel has taken that tag off as well.
		bpf.LoadExtension{Num: bpf.ExtVLANTagPresent},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2},
		bpf.LoadExtension{Num: bpf.ExtVLANProto},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(frame.TypeVLAN), SkipTrue: toFallback},
		// A load beyond the packet would end the program; a truncated packet has the default priority.
		bpf.LoadExtension{Num: bpf.ExtLen},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: frame.DSCPOctets, SkipTrue: toFallback},
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(frame.TypeIPv4), SkipTrue: 5},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(frame.TypeIPv6), SkipTrue: toFallback},
		// IPv6: four bits of version before the codepoint, two of ECN and four of the flow label behind it.
		bpf.LoadAbsolute{Off: 0, Size: 2},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 6},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: DSCPs - 1},
		bpf.Jump{Skip: 2},
		// IPv4: the upper six bits of the second octet.
		bpf.LoadAbsolute{Off: 1, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 2},
		// Bit 5 of the codepoint chooses the word, the others the bit in it.
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: DSCPs / 2, SkipTrue: 3},
		bpf.TAX{},
		bpf.LoadConstant{Dst: bpf.RegA, Val: low},
		bpf.Jump{Skip: 3},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: DSCPs/2 - 1},
		bpf.TAX{},
		bpf.LoadConstant{Dst: bpf.RegA, Val: high},
		bpf.ALUOpX{Op: bpf.ALUOpShiftRight},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 1},
		bpf.Jump{Skip: 1}, // over the fallback
	}
}
