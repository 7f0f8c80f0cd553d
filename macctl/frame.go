package macctl

import "encoding/binary"

// Sizes and numbers of MAC Control frames, IEEE 802.3 clause 31 and Annex 31A.
const (
	FrameSize = 60     // octets of every frame sent, without FCS: minFrameSize less 4
	EtherType = 0x8808 // MAC Control

	OpcodePause     = 0x0001 // Annex 31B
	OpcodePFC       = 0x0101 // Annex 31D
	OpcodeExtension = 0xFFFE // Annex 31C; only measurement frames are read (measurement.go)
)

// GroupAddress is the destination of PAUSE and PFC frames. No bridge forwards it.
var GroupAddress = [6]byte{0x01, 0x80, 0xC2, 0x00, 0x00, 0x01}

// Offsets of the fields, counted from the destination address, and the shortest frame of each opcode.
const (
	sourceOffset = 6
	typeOffset   = 12
	opcodeOffset = 14
	paramsOffset = 16
	timeOffset   = 18 // PFC: pause_time of priority 0

	pauseLength = paramsOffset + 2
	pfcLength   = timeOffset + 2*8
)

// A Reason says why a received MAC Control frame was ignored, or obeyed but noted.
type Reason uint8

const (
	ReasonNone        Reason = iota // obeyed
	ReasonTruncated                 // shorter than its opcode requires
	ReasonDestination               // neither GroupAddress nor the port's own address
	ReasonOpcode                    // not a MAC Control frame, or an opcode that is not handled
	ReasonDisabled                  // PAUSE where PFC is on, PFC where PAUSE is on, or flow control is off
	ReasonPriority                  // PFC for a priority that is not enabled; enabled ones in the frame are obeyed
	ReasonVector                    // high octet of the PFC vector is not zero; the frame is obeyed all the same
	ReasonWatchdog                  // XOFF that Receiver.Ignore has switched off, to break a deadlock
	ReasonSurplus                   // one of a flood of frames, followed by a newer one

	NumReasons = int(iota) // for arrays indexed by Reason
)

var reasonNames = [NumReasons]string{
	"none", "truncated", "destination", "opcode", "disabled", "priority", "vector", "watchdog", "surplus"}

// String returns the reason as it stands in metric labels.
func (r Reason) String() string {
	if int(r) >= NumReasons {
		return "unknown"
	}
	return reasonNames[r]
}

// A Frame is a MAC Control frame as received. Only the fields of its opcode are set.
type Frame struct {
	Opcode uint16    // 0 where the EtherType is not MAC Control
	Pause  uint16    // PAUSE: pause_time in quanta, 0 = resume
	Vector uint8     // PFC: bit n set = Time[n] is for priority n, clear = leave priority n alone
	Time   [8]uint16 // PFC: pause_time in quanta, 0 = resume
}

// Parse reads the frame b, which starts with the destination address and has no FCS. Padding may be missing, since
// virtual links pass unpadded frames. The destination must be GroupAddress or own, the address of the port. The frame
// is to be obeyed if the reason is ReasonNone or ReasonVector.
func Parse(b []byte, own [6]byte) (f Frame, reason Reason) {
	if len(b) < paramsOffset {
		return f, ReasonTruncated
	}
	if binary.BigEndian.Uint16(b[typeOffset:]) == EtherType {
		f.Opcode = binary.BigEndian.Uint16(b[opcodeOffset:])
	}
	switch destination := [6]byte(b); {
	case destination != GroupAddress && destination != own:
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
	f.Vector = b[paramsOffset+1]
	for n := range f.Time {
		f.Time[n] = binary.BigEndian.Uint16(b[timeOffset+2*n:])
	}
	if b[paramsOffset] != 0 {
		return ReasonVector
	}
	return ReasonNone
}

// mode returns the mode in which a port obeys f.
func (f *Frame) mode() Mode {
	if f.Opcode == OpcodePause {
		return ModePause
	}
	return ModePFC
}

// units returns the units that f has a time for.
func (f *Frame) units() unitSet {
	if f.Opcode == OpcodePause {
		return onlyWholePort
	}
	return unitSet(f.Vector)
}

func (f *Frame) quanta(unit int) uint16 {
	if unit == WholePort {
		return f.Pause
	}
	return f.Time[unit]
}

// Prebuilt frames: only source, vector and times are written into them.
var (
	pauseFrame = [FrameSize]byte{0x01, 0x80, 0xC2, 0, 0, 0x01, typeOffset: 0x88, 0x08, 0x00, 0x01}
	pfcFrame   = [FrameSize]byte{0x01, 0x80, 0xC2, 0, 0, 0x01, typeOffset: 0x88, 0x08, 0x01, 0x01}
)

// AppendPause appends a PAUSE frame of FrameSize octets to GroupAddress and returns the longer slice.
// It does not allocate when cap(b) suffices.
func AppendPause(b []byte, source [6]byte, quanta uint16) []byte {
	start := len(b)
	b = append(b, pauseFrame[:]...)
	f := b[start:]
	copy(f[sourceOffset:], source[:])
	binary.BigEndian.PutUint16(f[paramsOffset:], quanta)
	return b
}

// AppendPFC appends a PFC frame of FrameSize octets to GroupAddress and returns the longer slice. The receiver leaves
// priorities alone whose bit in vector is clear, whatever their time. It does not allocate when cap(b) suffices.
func AppendPFC(b []byte, source [6]byte, vector uint8, time [8]uint16) []byte {
	start := len(b)
	b = append(b, pfcFrame[:]...)
	f := b[start:]
	copy(f[sourceOffset:], source[:])
	f[paramsOffset+1] = vector
	for n, quanta := range time {
		binary.BigEndian.PutUint16(f[timeOffset+2*n:], quanta)
	}
	return b
}
