package traffic

import (
	"encoding/binary"
	"errors"
	"slices"

	"pfcswitch/dataplane/frame"
)

// kind is the type of a test frame.
type kind uint8

const (
	kindData     kind = iota + 1
	kindHello         // a sender asks for a sink
	kindHelloAck      // a sink answers
	kindFin           // a sender's total of a flow
	kindFinAck        // the sink's totals of the flow
	kindCNP           // the sink saw congestion on the flow
	kindAck           // what of a flow with a window has come
)

// Addresses of the packets: the benchmarking range of RFC 2544, and an unused port.
const (
	sourceIP      = 198<<24 | 18<<16 | 1
	destinationIP = 198<<24 | 19<<16 | 1
	udpPort       = 49374

	ipOctets      = 20
	udpOctets     = 8
	messageOctets = 64
	magic         = 0x50464354 // "PFCT"
	version       = 1
)

// minMessage is the shortest frame with a whole message, octets without FCS, with a tag.
const minMessage = frame.HeaderOctets + frame.TagOctets + ipOctets + udpOctets + messageOctets

// MinAsking is the shortest frame of a flow with a window.
const MinAsking = minMessage

// minRaw is the shortest test frame: the shortest of Ethernet (802.3 4.4.2), without FCS.
const minRaw = 60

// errNotTestFrame is returned for a frame that
//   - is no IPv4 UDP packet to the test port,
//   - is too short even for a short message,
//   - has another magic number or version.
var errNotTestFrame = errors.New("traffic: not a test frame")

// A message is the payload of a test frame. After the UDP header:
//
//	 4 octets  magic "PFCT"
//	 1 octet   version
//	 1 octet   kind
//	 1 octet   priority of the flow
//	 1 octet   1: the sender waits for acknowledgements; else 0
//	 4 octets  flow
//	 8 octets  sequence number, from 0
//	 8 octets  time of sending, ns of CLOCK_REALTIME
//	 8 octets  total of frames sent (fin, finAck)
//	24 octets  received, reordered, duplicated (finAck)
type message struct {
	kind                            kind
	short                           bool // sequence and time are low bits only: see complete
	asks                            bool // for acknowledgements
	priority                        uint8
	flow                            uint32
	sequence, time, total           uint64
	received, reordered, duplicated uint64
}

func (m *message) encode(b []byte) {
	binary.BigEndian.PutUint32(b, magic)
	if b[4], b[5], b[6], b[7] = version, byte(m.kind), m.priority, 0; m.asks {
		b[7] = 1
	}
	binary.BigEndian.PutUint32(b[8:], m.flow)
	for i, v := range [...]uint64{m.sequence, m.time, m.total, m.received, m.reordered, m.duplicated} {
		binary.BigEndian.PutUint64(b[12+8*i:], v)
	}
}

// sequenceAt and timeAt are offsets in an encoded message. A sender changes only these two fields: see putNumber.
const (
	sequenceAt = 12
	timeAt     = 20
)

func parse(b []byte) (message, frame.Header, error) {
	h, ok := frame.Parse(b)
	if !ok || h.EtherType != frame.TypeIPv4 || len(b) < h.NetOffset+ipOctets+udpOctets+shortOctets {
		return message{}, h, errNotTestFrame
	}
	ip := b[h.NetOffset:]
	if ip[0] != 0x45 || ip[9] != 17 || binary.BigEndian.Uint16(ip[ipOctets+2:]) != udpPort {
		return message{}, h, errNotTestFrame
	}
	if short, ok := parseShort(ip[ipOctets:]); ok {
		return short, h, nil
	}
	m := ip[ipOctets+udpOctets:]
	if len(m) < messageOctets || binary.BigEndian.Uint32(m) != magic || m[4] != version {
		return message{}, h, errNotTestFrame
	}
	v := func(i int) uint64 { return binary.BigEndian.Uint64(m[12+8*i:]) }
	return message{kind: kind(m[5]), priority: m[6], asks: m[7]&1 != 0, flow: binary.BigEndian.Uint32(m[8:]),
		sequence: v(0), time: v(1), total: v(2), received: v(3), reordered: v(4), duplicated: v(5)}, h, nil
}

// An addressing has the addresses, the tag and the length of a frame.
type addressing struct {
	destination, source uint64
	tci                 frame.TCI
	dscp                uint8
	ecn                 bool // ECT(0)
	tagged              bool
	octets              int // of the frame, without FCS
}

// wrap returns a frame of e.octets with message m, in the short form where the long one does not fit.
func wrap(e addressing, m message) []byte {
	b := make([]byte, e.octets)
	frame.PutAddress(b, e.destination)
	frame.PutAddress(b[frame.AddressOctets:], e.source)
	at := 2 * frame.AddressOctets
	if e.tagged {
		binary.BigEndian.PutUint16(b[at:], frame.TypeVLAN)
		binary.BigEndian.PutUint16(b[at+2:], uint16(e.tci))
		at += frame.TagOctets
	}
	binary.BigEndian.PutUint16(b[at:], frame.TypeIPv4)
	ip := b[at+2:]
	ip[0], ip[1] = 0x45, e.dscp<<2
	if e.ecn {
		ip[1] |= frame.ECT0
	}
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	ip[8], ip[9] = 64, 17
	binary.BigEndian.PutUint32(ip[12:], sourceIP)
	binary.BigEndian.PutUint32(ip[16:], destinationIP)
	binary.BigEndian.PutUint16(ip[10:], ^frame.Sum(ip[:ipOctets], 0))
	udp := ip[ipOctets:]
	binary.BigEndian.PutUint16(udp, udpPort+uint16(m.priority)) // so that each priority is a flow of its own
	binary.BigEndian.PutUint16(udp[2:], udpPort)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp))) // checksum 0: none (RFC 768)
	if len(udp) >= udpOctets+messageOctets {
		m.encode(udp[udpOctets:])
	} else {
		m.encodeShort(udp[udpOctets:])
	}
	return b
}

// head returns what is not zero of a frame of wrap: all up to the end of the message.
func (e *addressing) head(m message) []byte {
	return slices.Clone(wrap(*e, m)[:min(e.octets, e.messageAt()+messageOctets)])
}

// messageAt is the offset of the message in a frame of wrap.
func (e *addressing) messageAt() int {
	at := frame.HeaderOctets + ipOctets + udpOctets
	if e.tagged {
		at += frame.TagOctets
	}
	return at
}

// A data frame that is too short for a whole message carries a short one. The UDP source port gives the priority. After
// the UDP header:
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

func (m *message) encodeShort(b []byte) {
	binary.BigEndian.PutUint16(b, shortMagic)
	binary.BigEndian.PutUint32(b[2:], m.flow)
	putNumber(b[:shortOctets], m.sequence, int64(m.time))
}

// putNumber changes the sequence number and the time, in ns, of the encoded message in b, which is the rest of the
// frame.
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
		sequence: uint64(binary.BigEndian.Uint32(m[shortSequenceAt:])),
		time:     uint64(binary.BigEndian.Uint32(m[shortTimeAt:]))}, true
}

// complete adds the high bits of a short message: the sequence number is the nearest to next, the time the nearest to
// stamp.
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
