package traffic

import "encoding/binary"

// A frame that is too short for a whole message, down to the shortest of Ethernet, carries a short one, of data. Behind the UDP
// header, whose source port tells the priority:
//
//	2 octets  magic "PS"
//	4 octets  flow
//	4 octets  sequence number, the low 32 bits
//	4 octets  time of sending in ticks of 64 ns of CLOCK_REALTIME, the low 32 bits: they tell latencies up to 137 s
const (
	shortOctets     = 14
	shortMagic      = 0x5053
	shortSequenceAt = 6
	shortTimeAt     = 10
	shortTick       = 6 // 2⁶ ns
)

// encodeShort writes what a short message says of m.
func (m *message) encodeShort(b []byte) {
	binary.BigEndian.PutUint16(b, shortMagic)
	binary.BigEndian.PutUint32(b[2:], m.flow)
	putNumber(b[:shortOctets], m.sequence, int64(m.time))
}

// putNumber changes the sequence number and the time, in ns, of an encoded message, of which b is all that the frame has room for.
func putNumber(b []byte, sequence uint64, wall int64) {
	if len(b) >= messageOctets {
		binary.BigEndian.PutUint64(b[sequenceAt:], sequence)
		binary.BigEndian.PutUint64(b[timeAt:], uint64(wall))
		return
	}
	binary.BigEndian.PutUint32(b[shortSequenceAt:], uint32(sequence))
	binary.BigEndian.PutUint32(b[shortTimeAt:], uint32(wall>>shortTick))
}

// parseShort reads a short message from a UDP packet to the test port.
func parseShort(udp []byte) (message, bool) {
	m := udp[udpOctets:]
	priority := binary.BigEndian.Uint16(udp) - udpPort
	if len(m) < shortOctets || len(m) >= messageOctets || binary.BigEndian.Uint16(m) != shortMagic || priority > 7 {
		return message{}, false
	}
	return message{kind: kindData, short: true, priority: uint8(priority), flow: binary.BigEndian.Uint32(m[2:]),
		sequence: uint64(binary.BigEndian.Uint32(m[shortSequenceAt:])), time: uint64(binary.BigEndian.Uint32(m[shortTimeAt:]))}, true
}

// complete fills in what a short message leaves out: the number is the one nearest to next, the time the one nearest to stamp.
func (m *message) complete(next uint64, stamp int64) {
	if !m.short {
		return
	}
	if ahead := int64(int32(uint32(m.sequence) - uint32(next))); ahead >= 0 || uint64(-ahead) <= next {
		m.sequence = next + uint64(ahead)
	}
	late := int64(int32(uint32(stamp>>shortTick) - uint32(m.time)))
	m.time = uint64(stamp - late<<shortTick)
	m.short = false
}
