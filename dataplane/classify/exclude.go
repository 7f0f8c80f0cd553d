package classify

import (
	"math"

	"golang.org/x/net/bpf"

	"pfcswitch/dataplane/frame"
)

// Exclude returns the filter for SO_ATTACH_FILTER of a data socket: it refuses MAC Control (0x8808) and LLDP (0x88CC) frames
// and accepts all others whole. What it refuses is exactly what a socket bound to one of these EtherTypes receives, a frame
// with one of them behind an outer tag included, so that each frame arrives at one socket and at one only.
func Exclude() []bpf.RawInstruction {
	program := []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(frame.TypeMACControl), SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(frame.TypeLLDP), SkipTrue: 1},
		bpf.RetConstant{Val: math.MaxUint32},
		bpf.RetConstant{Val: 0},
	}
	raw := make([]bpf.RawInstruction, len(program))
	for i, instruction := range program {
		raw[i], _ = instruction.Assemble() // fails for operands out of range only, and these are constants
	}
	return raw
}
