package frame

import (
	"encoding/binary"
	"math"
)

// VnetHeaderOctets is the length of struct virtio_net_hdr, which stands before each frame of a socket with
// PACKET_VNET_HDR.
const VnetHeaderOctets = 10

// Flags of a VnetHeader.
const (
	VnetNeedsCsum uint8 = 1 // the checksum field holds the sum of the pseudo header only
	VnetDataValid uint8 = 2 // the receiver need not check the checksum
)

// GSO types of a VnetHeader. GSOECN is a flag beside GSOTCPv4 and GSOTCPv6.
const (
	GSONone  uint8 = 0
	GSOTCPv4 uint8 = 1
	GSOUDP   uint8 = 3 // fragmentation of one UDP datagram (UFO), gone from Linux since 4.14
	GSOTCPv6 uint8 = 4
	GSOUDPL4 uint8 = 5    // several UDP datagrams in one (USO)
	GSOECN   uint8 = 0x80 // CWR belongs to the first segment only (RFC 3168 clause 6.1.2)
)

// VnetHeader is struct virtio_net_hdr (virtio 1.2 clause 5.1.6): how much of a frame's checksum and segmentation is
// still to do. Offsets count from the frame's first octet. The zero value says that nothing is.
type VnetHeader struct {
	Flags      uint8
	GSOType    uint8
	HdrLen     uint16 // a hint: how much the kernel should hold in one piece
	GSOSize    uint16 // payload octets of a segment
	CsumStart  uint16 // where summing starts: the TCP or UDP header
	CsumOffset uint16 // of the checksum field, from CsumStart
}

// DecodeVnetHeader reads the header at the start of b; false means that b is shorter than VnetHeaderOctets. AF_PACKET
// writes it in the machine's own order of octets.
func DecodeVnetHeader(b []byte) (VnetHeader, bool) {
	if len(b) < VnetHeaderOctets {
		return VnetHeader{}, false
	}
	return VnetHeader{
		Flags:      b[0],
		GSOType:    b[1],
		HdrLen:     binary.NativeEndian.Uint16(b[2:]),
		GSOSize:    binary.NativeEndian.Uint16(b[4:]),
		CsumStart:  binary.NativeEndian.Uint16(b[6:]),
		CsumOffset: binary.NativeEndian.Uint16(b[8:]),
	}, true
}

// Encode writes v to the first VnetHeaderOctets of b, which has room for them.
func (v VnetHeader) Encode(b []byte) {
	_ = b[VnetHeaderOctets-1]
	b[0] = v.Flags
	b[1] = v.GSOType
	binary.NativeEndian.PutUint16(b[2:], v.HdrLen)
	binary.NativeEndian.PutUint16(b[4:], v.GSOSize)
	binary.NativeEndian.PutUint16(b[6:], v.CsumStart)
	binary.NativeEndian.PutUint16(b[8:], v.CsumOffset)
}

// NeedsCsum reports whether the checksum is unfinished. CompleteChecksum completes it.
func (v VnetHeader) NeedsCsum() bool { return v.Flags&VnetNeedsCsum != 0 }

// IsGSO reports whether the frame is a GSO frame, which a Segmenter segments or refuses.
func (v VnetHeader) IsGSO() bool { return v.GSOType != GSONone }

// Shift returns v for a frame that has grown by delta octets before its network header: TagOctets for an inserted tag,
// −TagOctets for a removed tag. Unused fields stay as they are.
func (v VnetHeader) Shift(delta int) VnetHeader {
	if v.NeedsCsum() {
		v.CsumStart = shift(v.CsumStart, delta)
	}
	if v.IsGSO() {
		v.HdrLen = shift(v.HdrLen, delta)
	}
	return v
}

// shift saturates: a GSO frame in one piece has an HdrLen near 65,535, and a wrapped value would be wrong.
func shift(field uint16, delta int) uint16 {
	return uint16(min(max(int(field)+delta, 0), math.MaxUint16))
}
