package frame

import (
	"bytes"
	"testing"

	"pfcswitch/dataplane/assert"
)

func seeds(f *testing.F) [][]byte {
	f.Helper()
	var all [][]byte
	for _, s := range []shape{
		{payload: 100},
		{payload: 100, tags: []uint16{TypeVLAN}, tci: 0x600A},
		{payload: 100, options: true, tags: []uint16{TypeServiceTag, TypeVLAN}},
		{payload: 100, ipv6: true, options: true},
		{payload: 100, udp: true},
		{payload: 100, udp: true, ipv6: true},
		{payload: 0, udp: true},
	} {
		b, _, _ := s.build(f)
		all = append(all, b)
	}
	return all
}

// The header that Parse reads, written to an empty frame, equals the frame's header.
func FuzzParse(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
		f.Add(b[:13])
		f.Add(b[:17])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ok := Parse(b)
		if !ok {
			assert.MustBeTrue(t, h == (Header{}) && len(b) < HeaderOctets+TagOctets,
				"%d octets are malformed: %+v", len(b), h)
			return
		}
		again := make([]byte, TagOctets+HeaderOctets)
		PutAddress(again[TagOctets:], h.Dst)
		PutAddress(again[TagOctets+AddressOctets:], h.Src)
		again[len(again)-2], again[len(again)-1] = byte(h.EtherType>>8), byte(h.EtherType)
		start := TagOctets
		if h.Tagged {
			start = InsertTag(again, start, TypeVLAN, h.TCI)
		}
		equalOctets(t, "header", again[start:], b[:h.NetOffset])
	})
}

func FuzzVnetHeader(f *testing.F) {
	f.Add([]byte{1, 0x81, 66, 0, 0xA8, 5, 34, 0, 16, 0}, 4)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0}, -4)
	f.Fuzz(func(t *testing.T, b []byte, delta int) {
		v, ok := DecodeVnetHeader(b)
		assert.MustBeTrue(t, ok == (len(b) >= VnetHeaderOctets), "%d octets: got %v", len(b), ok)
		if !ok {
			return
		}
		again := make([]byte, VnetHeaderOctets)
		v.Encode(again)
		equalOctets(t, "header", again, b[:VnetHeaderOctets])
		s := v.Shift(delta % 8)
		assert.MustBeTrue(t, s.GSOSize == v.GSOSize && s.CsumOffset == v.CsumOffset && s.Flags == v.Flags &&
			s.GSOType == v.GSOType, "Shift changed more than offsets: %+v became %+v", v, s)
	})
}

// CompleteChecksum changes only the checksum field. If it returns true, the octets that the checksum covers sum up
// right.
func FuzzCompleteChecksum(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b, uint16(34), uint16(16))
		f.Add(b, uint16(34), uint16(6))
		f.Add(b, uint16(34), uint16(8))
		f.Add(b, uint16(len(b)-2), uint16(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, start, offset uint16) {
		before := bytes.Clone(b)
		field := int(start) + int(offset)
		seed := uint16(0)
		if field+2 <= len(b) {
			seed = uint16(b[field])<<8 | uint16(b[field+1])
		}
		if !CompleteChecksum(b, VnetHeader{Flags: VnetNeedsCsum, CsumStart: start, CsumOffset: offset}) {
			equalOctets(t, "refused frame", b, before)
			return
		}
		width := 2
		if offset == sctpChecksumOffset {
			width = sctpChecksumOctets
		}
		equalOctets(t, "before the field", b[:field], before[:field])
		equalOctets(t, "behind the field", b[field+width:], before[field+width:])
		// At an odd distance the field's two octets stand in two words; the sum is then not that of a checksum.
		if width == 2 && offset%2 == 0 {
			sum := add(naiveSum(b[start:]), seed)
			assert.MustBeTrue(t, sum == 0xFFFF || sum == 0, "sum with the seed: got %04x", sum)
		}
	})
}

func FuzzMarkCE(f *testing.F) {
	for _, b := range seeds(f) {
		h, _ := Parse(b)
		f.Add(b, h.NetOffset, h.EtherType)
	}
	f.Fuzz(func(t *testing.T, b []byte, offset int, etherType uint16) {
		before := bytes.Clone(b)
		marked := MarkCE(b, offset, etherType)
		if !marked {
			equalOctets(t, "unmarked frame", b, before)
			return
		}
		dscp, ok := DSCP(b, offset, etherType)
		was, _ := DSCP(before, offset, etherType)
		assert.MustBeTrue(t, ok && dscp == was, "DSCP changed from %d to %d, %v", was, dscp, ok)
		equalOctets(t, "before the header", b[:offset], before[:offset])
		if n := offset + ipv4MinOctets; etherType == TypeIPv4 {
			equalOctets(t, "behind the header", b[n:], before[n:])
			got, want := naiveSum(b[offset:n]), naiveSum(before[offset:n])
			assert.MustBeTrue(t, got == want || got+want == 0xFFFF, "sum of the header: got %04x, want %04x", got, want)
		}
	})
}

// No header makes the Segmenter read or write out of bounds, and no segment is longer than promised.
func FuzzSegmenter(f *testing.F) {
	for _, b := range seeds(f) {
		for _, gsoType := range []uint8{GSOTCPv4, GSOTCPv6, GSOUDPL4, GSOTCPv4 | GSOECN} {
			f.Add(b, VnetNeedsCsum, gsoType, uint16(54), uint16(10), uint16(34), uint16(16))
			f.Add(b, VnetDataValid, gsoType, uint16(0), uint16(1), uint16(0), uint16(0))
		}
	}
	for _, w := range []wrapping{vxlan, vxlan6, greTap, ip6InIP} {
		b, v := w.gsoFrame(f, shape{ipv6: w.protocol == ip6InIP.protocol, payload: 100}, 30)
		f.Add(b, v.Flags, v.GSOType, v.HdrLen, v.GSOSize, v.CsumStart, v.CsumOffset)
	}
	f.Fuzz(func(t *testing.T, b []byte, flags, gsoType uint8, hdrLen, gsoSize, csumStart, csumOffset uint16) {
		v := VnetHeader{flags, gsoType, hdrLen, gsoSize, csumStart, csumOffset}
		before := bytes.Clone(b)
		var c Segmenter
		if c.Reset(b, v) != NotRefused {
			return
		}
		assert.MustBeTrue(t, c.Segments() >= 1 && c.Segments() <= MaxSegments && c.MaxOctets() <= len(b),
			"%d segments of up to %d octets from %d", c.Segments(), c.MaxOctets(), len(b))
		dst := make([]byte, c.MaxOctets())
		count, payload := 0, []byte(nil)
		for n := c.Next(dst); n > 0; n = c.Next(dst) {
			count++
			l, ok := locate(dst[:n])
			assert.MustBeTrue(t, ok && l.end == n, "segment %d is not well-formed: %x", count, dst[:n])
			payload = append(payload, dst[c.inner.payload:n]...)
		}
		assert.MustEqual(t, count, c.Segments(), "segments")
		equalOctets(t, "payload", payload, before[c.inner.payload:c.inner.end])
		equalOctets(t, "GSO frame", b, before)
	})
}
