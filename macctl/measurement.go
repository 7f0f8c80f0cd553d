package macctl

import "encoding/binary"

// Operations of measurement frames.
const (
	MeasureRequest   uint16 = 1 + iota // to the group address
	MeasureAnswer                      // to the source of the request
	MeasureResult                      // what one end has found, for the other
	MeasureResultAck                   // the same frame, with what is in force at the end that acknowledges
	MeasureStream                      // asks for a bounded stream of test frames, or grants one
)

// Flags of measurement frames, the low four bits of the octet behind the identifier. A request states how it is to be
// answered. Its answer repeats the flags.
const (
	MeasureAtLink    uint8 = 1 << iota // answer where flow control is handled, not by the probe above
	MeasureLoopback                    // send the request back as it is, instead of a new frame
	MeasureTwoStamps                   // only the stamps of the requesting end count
	MeasureClient                      // stamps are those of the MAC's client, not of the MAC

	measureFlags = 1<<4 - 1
)

const measureVersion = 1

// A Measurement is the contents of a frame that measures the headroom of a link. Package headroom decides what a
// Measurement says; macctl knows the form.
type Measurement struct {
	Flags     uint8  // Measure…
	Operation uint16 // 1 to 5
	Session   uint16 // of the end that began the exchange
	Sequence  uint32 // counts its frames
	// Area has two values, by operation:
	//   - request, answer: stamps in ns, t2 and t3 of four stamps, t1 and t4 of two;
	//   - result: the headroom found and the wire part of it, in bits;
	//   - acknowledgement of a result: the headroom in force at the end that acknowledges, and that wire part;
	//   - stream: priority and ns.
	Area      [2]uint64
	Precision uint32 // ns by which a stamp may be wrong
	Reaction  uint32 // ns from an XOFF to the end of the last send call; 0: not known
	SendLimit uint32 // bits of the largest send call; 0: not stated
	Burst     uint32 // bits that the sender's shaper lets pass above its rate
}

// A MeasurementFormat tells private measurement frames from other frames. Both ends must have the same.
type MeasurementFormat struct {
	Opcode     uint16  // in MAC Control frames
	Identifier [3]byte // whose extension it is
	Fallback   uint16  // EtherType of the same frame for links whose MACs discard MAC Control frames
}

// DefaultMeasurementFormat is the extension opcode with the locally administered identifier 02-50-46, and Local
// Experimental EtherType 1 of IEEE 802.
var DefaultMeasurementFormat = MeasurementFormat{
	Opcode: OpcodeExtension, Identifier: [3]byte{0x02, 0x50, 0x46}, Fallback: 0x88B5}

// FallbackAddress is the destination of requests that are no MAC Control frames: the nearest bridge. No bridge forwards
// it.
var FallbackAddress = [6]byte{0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E}

// Offsets of the fields of a measurement frame.
const (
	identifierOffset = paramsOffset
	flagsOffset      = 19
	operationOffset  = 20
	sessionOffset    = 22
	sequenceOffset   = 24
	areaOffset       = 28
	precisionOffset  = 44
	reactionOffset   = 48
	sendLimitOffset  = 52
	burstOffset      = 56
)

// Append appends a frame of FrameSize octets and returns the longer slice. A zero destination stands for the group
// address. It does not allocate when cap(b) suffices.
//
//	 6 octets: destination
//	 6 octets: source
//	 2 octets: EtherType 0x8808, or that of the fallback
//	 2 octets: opcode
//	 3 octets: identifier
//	 4 bits:   version 1
//	 4 bits:   flags
//	 2 octets: operation
//	 2 octets: session
//	 4 octets: sequence
//	16 octets: area
//	 4 octets: precision, ns
//	 4 octets: reaction, ns
//	 4 octets: send limit, bits
//	 4 octets: burst, bits
func (f *MeasurementFormat) Append(b []byte, destination, source [6]byte, fallback bool, m Measurement) []byte {
	kind, group := uint16(EtherType), GroupAddress
	if fallback {
		kind, group = f.Fallback, FallbackAddress
	}
	if destination == ([6]byte{}) {
		destination = group
	}
	b = append(append(b, destination[:]...), source[:]...)
	b = f.appendHeader(b, kind, m.Flags, m.Operation, m.Session, m.Sequence)
	for _, v := range m.Area {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	for _, v := range [...]uint32{m.Precision, m.Reaction, m.SendLimit, m.Burst} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// appendHeader appends the fields from the EtherType to the sequence.
func (f *MeasurementFormat) appendHeader(
	b []byte, kind uint16, flags uint8, operation, session uint16, sequence uint32) []byte {
	b = binary.BigEndian.AppendUint16(b, kind)
	b = binary.BigEndian.AppendUint16(b, f.Opcode)
	b = append(append(b, f.Identifier[:]...), measureVersion<<4|flags&measureFlags)
	b = binary.BigEndian.AppendUint16(b, operation)
	b = binary.BigEndian.AppendUint16(b, session)
	return binary.BigEndian.AppendUint32(b, sequence)
}

// A MeasurementFrame is a Measurement that was received from Peer, or is to be sent to Peer.
type MeasurementFrame struct {
	Measurement
	Peer     [6]byte // zero: to the group address
	Group    bool    // received at the group address, not at the port's own
	Fallback bool    // an ordinary frame, for links whose MACs discard MAC Control
	Busy     bool    // the link carried traffic when the frame came; the caller of Parse sets this
}

// Beginning is how fallback frames begin behind the addresses: with what Recognizes looks for.
func (f *MeasurementFormat) Beginning() (b [7]byte) {
	copy(b[:], f.appendHeader(nil, f.Fallback, 0, 0, 0, 0))
	return b
}

// Recognizes reports whether b has the EtherType, the opcode and the identifier of this format, whatever else may be
// wrong with it.
func (f *MeasurementFormat) Recognizes(b []byte) bool {
	if len(b) < flagsOffset || [3]byte(b[identifierOffset:]) != f.Identifier ||
		binary.BigEndian.Uint16(b[opcodeOffset:]) != f.Opcode {
		return false
	}
	kind := binary.BigEndian.Uint16(b[typeOffset:])
	return kind == EtherType || kind == f.Fallback
}

// Parse reads a frame that Recognizes has accepted. The frame starts with the destination address and has no FCS. The
// reason is ReasonNone, or why the frame is to be ignored: ReasonTruncated, ReasonDestination (neither the group
// address nor own, or from a group or the zero address), ReasonOpcode (an unknown version or operation).
func (f *MeasurementFormat) Parse(b []byte, own [6]byte) (MeasurementFrame, Reason) {
	var m MeasurementFrame
	if len(b) < FrameSize {
		return m, ReasonTruncated
	}
	m.Peer = [6]byte(b[sourceOffset:])
	m.Fallback = binary.BigEndian.Uint16(b[typeOffset:]) != EtherType
	group := GroupAddress
	if m.Fallback {
		group = FallbackAddress
	}
	destination := [6]byte(b)
	m.Group = destination == group
	m.Flags = b[flagsOffset] & measureFlags
	m.Operation = binary.BigEndian.Uint16(b[operationOffset:])
	m.Session = binary.BigEndian.Uint16(b[sessionOffset:])
	m.Sequence = binary.BigEndian.Uint32(b[sequenceOffset:])
	m.Area[0] = binary.BigEndian.Uint64(b[areaOffset:])
	m.Area[1] = binary.BigEndian.Uint64(b[areaOffset+8:])
	m.Precision = binary.BigEndian.Uint32(b[precisionOffset:])
	m.Reaction = binary.BigEndian.Uint32(b[reactionOffset:])
	m.SendLimit = binary.BigEndian.Uint32(b[sendLimitOffset:])
	m.Burst = binary.BigEndian.Uint32(b[burstOffset:])
	switch {
	case !m.Group && destination != own, !isStation(m.Peer):
		return m, ReasonDestination
	case b[flagsOffset]>>4 != measureVersion, m.Operation < MeasureRequest, m.Operation > MeasureStream:
		return m, ReasonOpcode
	}
	return m, ReasonNone
}
