package lldp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// EtherType is that of LLDP frames.
const EtherType = 0x88CC

// NearestBridge is the destination of LLDP frames. No bridge forwards it, and DCBX needs no peer farther away.
var NearestBridge = [6]byte{0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E}

// Sizes of frames in octets, without FCS. No LLDPDU may be fragmented, so larger frames are not LLDP of a neighbour.
const (
	headerLength = 14
	minFrame     = 60
	maxFrame     = 1514
)

// ErrFrame is wrapped by errors about a frame that is not LLDP for this port: truncated or too long, another
// destination than NearestBridge, another EtherType.
var ErrFrame = errors.New("lldp: frame")

// AppendFrame appends the Ethernet frame around an LLDPDU, padded to the smallest size.
func AppendFrame(b []byte, source [6]byte, p *PDU) []byte {
	start := len(b)
	b = append(append(b, NearestBridge[:]...), source[:]...)
	b = AppendPDU(binary.BigEndian.AppendUint16(b, EtherType), p)
	for len(b)-start < minFrame {
		b = append(b, 0)
	}
	return b
}

// ParseFrame removes the Ethernet header from a frame without FCS.
func ParseFrame(b []byte) (source [6]byte, pdu []byte, err error) {
	if len(b) < headerLength || len(b) > maxFrame {
		return source, nil, fmt.Errorf("%w: %d octets", ErrFrame, len(b))
	}
	if [6]byte(b) != NearestBridge {
		return source, nil, fmt.Errorf("%w: destination %x", ErrFrame, b[:6])
	}
	if t := binary.BigEndian.Uint16(b[12:]); t != EtherType {
		return source, nil, fmt.Errorf("%w: EtherType %#04x", ErrFrame, t)
	}
	return [6]byte(b[6:]), b[headerLength:], nil
}
