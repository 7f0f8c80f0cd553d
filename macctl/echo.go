package macctl

import "encoding/binary"

// Operations of echo frames, which try how frames pass a link. They need no agreement of the two ends.
const (
	echoRequest uint16 = 6
	echoAnswer  uint16 = 7
)

// EchoAddress is the destination of requests that bridges between the ends forward. It is a locally administered group
// address, next to that of loop probes.
var EchoAddress = [6]byte{0x03, 0x50, 0x46, 0x43, 0x00, 0x02}

// An EchoPath is how an echo frame is addressed, and so which devices pass it on.
type EchoPath uint8

// The paths.
const (
	PathControl  EchoPath = iota // as PAUSE and PFC do: EtherType 0x8808 to GroupAddress
	PathFallback                 // as an ordinary frame to FallbackAddress, which bridges keep
	PathBridged                  // as an ordinary frame that bridges forward
	NumPaths
)

// A Checksum says how a checksum arrived that the request had left to the link to finish.
type Checksum uint8

// The states of a checksum.
const (
	ChecksumNone       Checksum = iota // none was asked for
	ChecksumRight                      // finished
	ChecksumUnfinished                 // left to the receiver, and marked so
	ChecksumWrong                      // unfinished, and not marked
)

// An Echo is the contents of an echo frame.
type Echo struct {
	Answer   bool
	Session  uint16 // of the requesting end
	Sequence uint32

	Received, Sent int64 // answer: ns of the answering end's clock

	// A request states how its answer is to come. The answer states how the request came.
	Octets   int      // length with the tag
	Path     EchoPath // addressing
	Tagged   bool     // has a tag
	TCI      uint16   // of the tag
	Checksum Checksum // request: any but ChecksumNone asks for a look at the checksum; answer: what was found
}

// An EchoFrame is an Echo as received.
type EchoFrame struct {
	Echo
	Source       [6]byte
	ReceivedPath EchoPath
	Length       int // of the frame, with its tag
	HasTag       bool
	Tag          uint16 // TCI
	ChecksumOK   bool   // the checksum of its body is right
}

// Offsets of an echo frame's fields, without a tag. The checksum is that of the Internet (RFC 1071) over what follows
// EchoSumOffset.
const (
	echoReceived  = areaOffset
	echoSent      = areaOffset + 8
	echoOctets    = precisionOffset
	echoTCI       = precisionOffset + 2
	echoBits      = reactionOffset
	echoPath      = reactionOffset + 1
	EchoSumOffset = sendLimitOffset

	echoTagged  = 1 << 0
	echoSumBits = 1 // shift of the checksum's state

	tagOctets = 4
	typeTag   = 0x8100
)

// AppendEcho appends an echo frame of that many octets, at least FrameSize and its tag, and returns the longer slice.
// An answer by PathBridged goes to the station to. With tagged the frame has the tag tci, but never by PathControl.
//
//	 6 octets: destination
//	 6 octets: source
//	(4 octets: tag)
//	16 octets: as in a measurement frame, from EtherType to sequence
//	 8 octets: received, ns
//	 8 octets: sent, ns
//	 2 octets: octets
//	 2 octets: TCI
//	 1 octet:  bit 0 tagged, bits 1-2 checksum
//	 1 octet:  path
//	 2 octets: zero
//	 2 octets: checksum, zero where the link is to finish it
//	 6 octets: a pattern
//	 rest:     zero
func (f *MeasurementFormat) AppendEcho(
	b []byte, to, source [6]byte, path EchoPath, octets int, tagged bool, tci uint16, e Echo) []byte {
	kind, operation := f.Fallback, echoRequest
	switch {
	case path == PathControl:
		kind = EtherType
		to = GroupAddress
	case path == PathFallback:
		to = FallbackAddress
	case !e.Answer:
		to = EchoAddress
	}
	if e.Answer {
		operation = echoAnswer
	}
	bits := byte(e.Checksum&3) << echoSumBits
	if e.Tagged {
		bits |= echoTagged
	}
	end := len(b) + octets
	b = append(append(b, to[:]...), source[:]...)
	if tagged && path != PathControl {
		b = binary.BigEndian.AppendUint16(b, typeTag)
		b = binary.BigEndian.AppendUint16(b, tci)
	}
	start := len(b) - typeOffset // of an untagged frame with the same end
	b = f.appendHeader(b, kind, 0, operation, e.Session, e.Sequence)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Received))
	b = binary.BigEndian.AppendUint64(b, uint64(e.Sent))
	b = binary.BigEndian.AppendUint16(b, uint16(min(max(e.Octets, 0), 0xFFFF)))
	b = binary.BigEndian.AppendUint16(b, e.TCI)
	b = append(b, bits, byte(e.Path), 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, e.Sequence^0x50464331)
	b = binary.BigEndian.AppendUint16(b, e.Session|1)
	b = append(b, make([]byte, max(0, end-len(b)))...)
	if sum := b[start+EchoSumOffset:]; e.Answer || e.Checksum == ChecksumNone {
		binary.BigEndian.PutUint16(sum, ^internetChecksum(sum))
	}
	return b
}

// internetChecksum is the one's complement sum of RFC 1071.
func internetChecksum(b []byte) uint16 {
	var s uint32
	for ; len(b) > 1; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	s = s>>16 + s&0xFFFF
	return uint16(s>>16 + s)
}

// RecognizesTagged is Recognizes for a frame with or without a tag.
func (f *MeasurementFormat) RecognizesTagged(b []byte) bool {
	w, _ := skipTag(b)
	return f.Recognizes(w)
}

// RecognizesEcho reports whether b, with or without a tag, is an echo frame of this format, whatever else may be wrong
// with it.
func (f *MeasurementFormat) RecognizesEcho(b []byte) bool {
	w, _ := skipTag(b)
	if len(w) < operationOffset+2 || !f.Recognizes(w) {
		return false
	}
	operation := binary.BigEndian.Uint16(w[operationOffset:])
	return operation == echoRequest || operation == echoAnswer
}

// StaysOnLink reports whether b, with or without a tag, is a frame of this format that no bridge may forward: any but
// an echo frame, which tries how bridges pass it on.
func (f *MeasurementFormat) StaysOnLink(b []byte) bool {
	return f.RecognizesTagged(b) && !f.RecognizesEcho(b)
}

// isStation reports whether an address can be that of a station: no group, and not zero.
func isStation(address [6]byte) bool { return address[0]&1 == 0 && address != [6]byte{} }

// skipTag returns b such that the offsets of an untagged frame hold from the EtherType on.
func skipTag(b []byte) (w []byte, tagged bool) {
	if len(b) >= typeOffset+tagOctets+2 && binary.BigEndian.Uint16(b[typeOffset:]) == typeTag {
		return b[tagOctets:], true
	}
	return b, false
}

// ParseEcho reads a frame that RecognizesEcho has accepted. The reason is ReasonNone, or why the frame is not for this
// port: ReasonTruncated, ReasonDestination (neither the group of its path nor own, or from a source that no answer
// reaches), ReasonOpcode (an unknown version or path).
func (f *MeasurementFormat) ParseEcho(b []byte, own [6]byte) (e EchoFrame, reason Reason) {
	w, tagged := skipTag(b)
	if len(w) < FrameSize {
		return e, ReasonTruncated
	}
	e.Source, e.Length, e.HasTag = [6]byte(b[sourceOffset:]), len(b), tagged
	if !isStation(e.Source) {
		return e, ReasonDestination
	}
	if tagged {
		e.Tag = binary.BigEndian.Uint16(b[typeOffset+2:])
	}
	switch destination := [6]byte(b); {
	case binary.BigEndian.Uint16(w[typeOffset:]) == EtherType:
		e.ReceivedPath = PathControl
		if destination != GroupAddress && destination != own {
			return e, ReasonDestination
		}
	case destination == FallbackAddress:
		e.ReceivedPath = PathFallback
	case destination == EchoAddress || destination == own:
		e.ReceivedPath = PathBridged
	default:
		return e, ReasonDestination
	}
	e.Answer = binary.BigEndian.Uint16(w[operationOffset:]) == echoAnswer
	e.Session = binary.BigEndian.Uint16(w[sessionOffset:])
	e.Sequence = binary.BigEndian.Uint32(w[sequenceOffset:])
	e.Received = int64(binary.BigEndian.Uint64(w[echoReceived:]))
	e.Sent = int64(binary.BigEndian.Uint64(w[echoSent:]))
	e.Octets = int(binary.BigEndian.Uint16(w[echoOctets:]))
	e.TCI = binary.BigEndian.Uint16(w[echoTCI:])
	e.Tagged = w[echoBits]&echoTagged != 0
	e.Checksum = Checksum(w[echoBits] >> echoSumBits & 3)
	e.Path = EchoPath(w[echoPath])
	e.ChecksumOK = internetChecksum(w[EchoSumOffset:]) == 0xFFFF
	if w[flagsOffset]>>4 != measureVersion || e.Path >= NumPaths {
		return e, ReasonOpcode
	}
	return e, ReasonNone
}
