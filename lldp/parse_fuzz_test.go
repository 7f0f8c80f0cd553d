package lldp

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"pfcswitch/dataplane/assert"
)

// An LLDPDU is the same after it was written and read again, or it is refused.
func FuzzParsePDU(f *testing.F) {
	f.Add(assert.Hex(f, chassis, port, lifetime, end))
	f.Add(assert.Hex(f, chassis, port, lifetime,
		"0802 6131 0a01 62 0c01 63 0e04 0014 0004 100c 05 01 c0000201 02 00000007 00 fe06 0080c2 0b 2808", end))
	f.Add(assert.Hex(f, chassis, port, lifetime, "0a05 6162"))
	f.Add(assert.Hex(f, port, chassis))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, d, err := ParsePDU(b)
		if err != nil || p.TTL == 0 {
			return
		}
		again, d2, err := ParsePDU(AppendPDU(nil, &p))
		assert.True(t, err == nil && d2.Malformed == 0 && d2.Reserved == d.Reserved && reflect.DeepEqual(again, p),
			"read again: %+v, %+v, %v\nwant %+v", again, d2, err, p)
	})
}

// A frame of a neighbour is the same after it was written and read again, or it is refused as a whole. Nothing is read
// beyond its end.
func FuzzParseFrame(f *testing.F) {
	p := leaf
	p.TTL, p.Organization = 121, []Organization{{OUI{0, 0x80, 0xc2}, 11, "\x28\x08"}}
	f.Add(AppendFrame(nil, leafMAC, &p))
	f.Add(AppendFrame(nil, leafMAC, &p)[:headerLength])
	f.Add(assert.Hex(f, "0180c200000e 020000000002 8100 0000 88cc", chassis, port, lifetime, end))
	f.Fuzz(func(t *testing.T, b []byte) {
		source, raw, err := ParseFrame(b)
		if err != nil {
			assert.True(t, source == ([6]byte{}) && raw == nil, "%v, and yet %x from %x", err, raw, source)
			return
		}
		assert.MustBeTrue(t, bytes.HasSuffix(b, raw) && len(b) == headerLength+len(raw) &&
			[6]byte(b) == NearestBridge && [6]byte(b[6:]) == source, "%x from %x of %x", raw, source, b)
		p, _, err := ParsePDU(raw)
		if err != nil {
			return
		}
		once := AppendFrame(nil, source, &p)
		assert.MustBeTrue(t, len(once) <= max(maxFrame, len(b)), "%d octets of %d", len(once), len(b))
		from, raw, err := ParseFrame(once)
		assert.MustBeTrue(t, err == nil && from == source, "its own frame: from %x, %v", from, err)
		again, _, err := ParsePDU(raw)
		assert.True(t, err == nil && bytes.Equal(AppendFrame(nil, source, &again), once),
			"announced again: %+v, %v, first %+v", again, err, p)
	})
}

// A sequence of TLVs is read up to where it ends within one.
func FuzzNextTLV(f *testing.F) {
	f.Add(assert.Hex(f, chassis, port, lifetime, end))
	f.Add(assert.Hex(f, "fe06 0080c2 0b 2808", "0a05 6162"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var again []byte
		rest := b
		for len(rest) > 0 {
			v, next, err := NextTLV(rest)
			if err != nil {
				break
			}
			again, rest = AppendTLV(again, v), next
		}
		assert.True(t, bytes.Equal(append(again, rest...), b), "read and written: %x, then %x, of %x", again, rest, b)
	})
}

// Whatever frames come, in whatever order, an Agent neither grows nor loses its next deadline.
func FuzzAgent(f *testing.F) {
	f.Add(assert.Hex(f, chassis, port, lifetime, end), assert.Hex(f, chassis, "0403 05 7032", "0602 0000", end),
		uint32(1000))
	f.Fuzz(func(t *testing.T, one, two []byte, gap uint32) {
		a := NewAgent(config(leaf, leafMAC))
		a.SetLink(true, 0)
		now := int64(0)
		for range 4 {
			for _, b := range [][]byte{one, two} {
				frame := append(append(append([]byte(nil), NearestBridge[:]...), spineMAC[:]...), 0x88, 0xCC)
				a.Receive(append(frame, b...), now)
				now += int64(gap) * 1_000_000
				a.Advance(now)
			}
		}
		n := len(a.Neighbours())
		assert.True(t, n <= 2, "%d neighbours of two frames", n)
		assert.True(t, a.Next() > now && a.Next() != math.MaxInt64, "at %d: next %d", now, a.Next())
		assert.Equal(t, a.Statistics().FramesReceived, 8, "frames received")
	})
}
