package classify

import (
	"math"

	"golang.org/x/net/bpf"

	"pfcswitch/dataplane/frame"
)

// The rings of a port, in the order in which their sockets join the fanout group: the program returns the index of a
// socket. The kernel takes 0 as the result of a program that cannot finish, so 0 is the ring that may lose frames.
const (
	RingOther    = 0
	RingLossless = 1
	RingControl  = 2
	RingLong     = 3 // added to RingOther and RingLossless for frames above the MTU, and for those that fit no slot
	RingSmall    = 5 // added to RingOther and RingLossless for frames of up to SmallFrame octets
)

// SmallFrame is the longest frame (octets without FCS and without an outer VLAN tag) that goes to a ring of small
// slots. Such a slot takes a sixth of a full slot, so that the ring stays in the caches. A switch that is busy with
// smallest frames is a quarter faster with it. Acknowledgements and congestion notifications are shorter.
const SmallFrame = 144

// Fanout returns the program for PACKET_FANOUT_DATA of a PACKET_FANOUT_CBPF group. It returns RingControl for MAC
// Control (0x8808) and LLDP (0x88CC) frames, also behind an outer tag. For all others it returns RingLossless if their
// priority is in lossless (bit n = priority n), else RingOther, and adds RingSmall for a small frame and RingLong for a
// long one. It decides exactly as Priority does, also for truncated packets. The error is that of Validate.
//
// In the fanout hook the packet starts at its network header. The outer tag of either kind is in metadata, and the
// protocol is the EtherType behind the tag. Loads have plain offsets, not those relative to SKF_NET_OFF, which is the
// same place here: kernels before 6.16 refuse the latter if the header is not in the linear part of the buffer.
func (c *Config) Fanout(lossless uint8) ([]bpf.RawInstruction, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	program := fanoutControl()
	switch {
	case lossless == 0 || lossless == 0xFF || c.Trust == TrustPort:
	case c.Trust == TrustPCP:
		program = append(program, fanoutPCP(lossless)...)
	default:
		program = append(program, c.fanoutDSCP(lossless)...)
	}
	return bpf.Assemble(c.link(program, ring(lossless, c.Default)))
}

// ring returns the ring of a priority, which is its bit in lossless: the programs take the ring out of a word of bits.
func ring(lossless, priority uint8) uint32 { return uint32(lossless >> priority & RingLossless) }

// toFallback marks a jump to the instruction that loads the ring of the default priority.
const toFallback = math.MaxUint8

// link appends the instructions that load the ring of the default priority and add RingSmall for a small frame or
// RingLong for a long one. It also sets the jumps to the former.
func (c *Config) link(program []bpf.Instruction, fallback uint32) []bpf.Instruction {
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
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: c.longest(), SkipTrue: 3},
		bpf.TXA{},
		bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: RingLong},
		bpf.RetA{},
		bpf.TXA{},
		bpf.RetA{},
	)
}

// fanoutControl returns for control frames and falls through for others.
func fanoutControl() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(frame.TypeMACControl), SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(frame.TypeLLDP), SkipTrue: 1},
		bpf.RetConstant{Val: RingControl},
	}
}

// longest returns the octets behind the MAC header of the longest frame that is not long: a longer one does not fit its
// slot, or it is a GSO frame.
func (c *Config) longest() uint32 {
	n := uint32(math.MaxUint32)
	if c.MTU > 0 {
		n = uint32(c.MTU)
	}
	if c.Slot > 0 {
		n = min(n, uint32(c.Slot-frame.HeaderOctets))
	}
	return n
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

// fanoutDSCP leaves the ring of the codepoint's priority in A.
func (c *Config) fanoutDSCP(lossless uint8) []bpf.Instruction {
	var low, high uint32 // the rings of codepoints 0–31 and 32–63, one bit each
	for dscp := range DSCPs / 2 {
		low |= ring(lossless, c.DSCP[dscp]) << dscp
		high |= ring(lossless, c.DSCP[dscp+DSCPs/2]) << dscp
	}
	return []bpf.Instruction{
		// What lies behind a provider's tag is not looked at, though the kernel has removed that tag as well.
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
