package frame

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// Sum returns the ones' complement sum (RFC 1071) of b as big-endian 16-bit words, with an odd octet padded with zero,
// added to initial. The sum is not inverted: a checksum is ^Sum, and data that includes its checksum sums to 0xFFFF.
// Sums of parts of even length may be chained.
func Sum(b []byte, initial uint16) uint16 {
	// The sum may be taken in either order of octets (RFC 1071 clause 2B). Little-endian loads are plain loads on the
	// machines that matter, and swapping the result once is cheaper than swapping each word.
	sum := uint64(bits.ReverseBytes16(initial))
	var carry uint64
	for len(b) >= 64 {
		p := (*[64]byte)(b)
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(p[0:8]), 0)
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(p[8:16]), carry)
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(p[16:24]), carry)
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(p[24:32]), carry)
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(p[32:40]), carry)
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(p[40:48]), carry)
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(p[48:56]), carry)
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(p[56:64]), carry)
		sum += carry // cannot overflow: a sum that carried is at most 2^64−2
		b = b[64:]
	}
	for len(b) >= 8 {
		sum, carry = bits.Add64(sum, binary.LittleEndian.Uint64(b), 0)
		sum += carry
		b = b[8:]
	}
	sum, carry = bits.Add64(sum, tail(b), 0)
	return bits.ReverseBytes16(fold(sum + carry))
}

// tail returns the up to seven octets of b as a little-endian number.
func tail(b []byte) uint64 {
	var v uint64
	for i, octet := range b {
		v |= uint64(octet) << (8 * i)
	}
	return v
}

// fold brings a 64-bit ones' complement sum down to 16 bits.
func fold(sum uint64) uint16 {
	sum = sum>>32 + sum&0xFFFF_FFFF
	sum = sum>>32 + sum&0xFFFF_FFFF
	sum = sum>>16 + sum&0xFFFF
	sum = sum>>16 + sum&0xFFFF
	return uint16(sum)
}

// add returns the ones' complement sum of two words; subtract a word by adding its inverse.
func add(a, b uint16) uint16 {
	sum := uint32(a) + uint32(b)
	return uint16(sum) + uint16(sum>>16)
}

// sctpChecksumOffset is where SCTP keeps its checksum. No other protocol that the kernel leaves unfinished uses it.
const (
	sctpChecksumOffset = 8
	sctpChecksumOctets = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CompleteChecksum completes in place the checksum that the sender of b left to its network card (CHECKSUM_PARTIAL),
// at the place that v gives. It returns true if the frame is now complete, also if v asks for nothing. It returns
// false and does not change b if v points outside of the frame or into its addresses. A GSO frame is segmented, not
// completed.
func CompleteChecksum(b []byte, v VnetHeader) bool {
	if !v.NeedsCsum() {
		return true
	}
	start, field := int(v.CsumStart), int(v.CsumStart)+int(v.CsumOffset)
	if start < HeaderOctets || field+2 > len(b) {
		return false
	}
	if v.CsumOffset == sctpChecksumOffset {
		return completeSCTP(b[start:])
	}
	// The field holds the sum of the pseudo header, so that summing over it adds the pseudo header.
	checksum := ^Sum(b[start:], 0)
	if v.CsumOffset == udpChecksumOffset {
		checksum = nonZero(checksum)
	}
	binary.BigEndian.PutUint16(b[field:], checksum)
	return true
}

// nonZero replaces a checksum of 0 by its equal in ones' complement. In UDP 0 means that there is no checksum (RFC
// 768).
func nonZero(checksum uint16) uint16 {
	if checksum == 0 {
		return 0xFFFF
	}
	return checksum
}

// completeSCTP writes the CRC32c of an SCTP packet (RFC 9260 appendix A). The kernel flags it like an internet
// checksum. Only the offset of the field tells them apart.
func completeSCTP(p []byte) bool {
	if len(p) < sctpChecksumOffset+sctpChecksumOctets {
		return false
	}
	field := p[sctpChecksumOffset : sctpChecksumOffset+sctpChecksumOctets]
	clear(field)
	binary.LittleEndian.PutUint32(field, crc32.Checksum(p, castagnoli))
	return true
}
