package macctl

import "encoding/binary"

// Sizes and numbers of MAC Control frames, IEEE 802.3 clause 31 and Annex 31A.
const (
	FrameSize = 60     // octets of every frame sent, without FCS: minFrameSize less 4
	EtherType = 0x8808 // MAC Control

	OpcodePause     = 0x0001 // Annex 31B
	OpcodePFC       = 0x0101 // Annex 31D
	OpcodeExtension = 0xFFFE // Annex 31C; ignored, but for measurement frames (measurement.go)
)

// GroupAddress is the destination of PAUSE and PFC frames. No bridge forwards it.
var GroupAddress = [6]byte{0x01, 0x80, 0xC2, 0x00, 0x00, 0x01}

// Offsets of the fields, counted from the destination address, and the shortest frame that holds what is read.
const (
	sourceOffset = 6
	typeOffset   = 12
	opcodeOffset = 14
	paramsOffset = 16
	timeOffset   = 18 // PFC: pause_time of priority 0

	pauseLength = paramsOffset + 2
	pfcLength   = timeOffset + 2*8
)

// A Frame is a MAC Control frame as received. The fields behind Opcode are set for the opcode that has them.
type Frame struct {
	Destination, Source [6]byte

	Opcode uint16 // OpcodePause, OpcodePFC or what was received; 0 where the EtherType is not MAC Control

	Pause uint16 // PAUSE: pause_time in quanta, 0 = resume

	VectorHigh uint8     // PFC: high octet of the class-enable vector, must be 0
	Vector     uint8     // PFC: bit n set = Time[n] is for priority n, clear = leave priority n alone
	Time       [8]uint16 // PFC: pause_time in quanta, 0 = resume
}

// Parse reads the frame that starts at b with the destination address and has no FCS. Padding may be missing, since
// virtual links pass unpadded frames. The destination must be GroupAddress or own, the address of the port.
// The frame is to be obeyed if the reason is ReasonNone or ReasonVector.
func Parse(b []byte, own [6]byte) (Frame, Reason) {
	if len(b) < paramsOffset {
		return Frame{}, ReasonTruncated
	}
	f := Frame{Destination: [6]byte(b), Source: [6]byte(b[sourceOffset:])}
	isControl := binary.BigEndian.Uint16(b[typeOffset:]) == EtherType
	if isControl {
		f.Opcode = binary.BigEndian.Uint16(b[opcodeOffset:])
	}
	switch {
	case f.Destination != GroupAddress && f.Destination != own:
		return f, ReasonDestination
	case f.Opcode == OpcodePause:
		return f, f.parsePause(b)
	case f.Opcode == OpcodePFC:
		return f, f.parsePFC(b)
	}
	return f, ReasonOpcode
}

// parsePause reads
//
//	2 octets: pause_time
func (f *Frame) parsePause(b []byte) Reason {
	if len(b) < pauseLength {
		return ReasonTruncated
	}
	f.Pause = binary.BigEndian.Uint16(b[paramsOffset:])
	return ReasonNone
}

// parsePFC reads
//
//	 2 octets: class-enable vector, bit n = priority n, bits 8-15 zero
//	16 octets: pause_time of priorities 0-7
func (f *Frame) parsePFC(b []byte) Reason {
	if len(b) < pfcLength {
		return ReasonTruncated
	}
	f.VectorHigh, f.Vector = b[paramsOffset], b[paramsOffset+1]
	for n := range f.Time {
		f.Time[n] = binary.BigEndian.Uint16(b[timeOffset+2*n:])
	}
	if f.VectorHigh != 0 {
		return ReasonVector
	}
	return ReasonNone
}
