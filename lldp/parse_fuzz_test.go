package lldp

import (
	"math"
	"reflect"
	"testing"
)

// What can be understood says the same after it was written and read again; anything else is only refused.
func FuzzParsePDU(f *testing.F) {
	f.Add(unhex(f, chassis, port, lifetime, end))
	f.Add(unhex(f, chassis, port, lifetime, "0802 6131 0a01 62 0c01 63 0e04 0014 0004 100c 05 01 c0000201 02 00000007 00 fe06 0080c2 0b 2808", end))
	f.Add(unhex(f, chassis, port, lifetime, "0a05 6162"))
	f.Add(unhex(f, port, chassis))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, d, err := ParsePDU(b)
		if err != nil || p.TTL == 0 {
			return
		}
		again, d2, err := ParsePDU(AppendPDU(nil, &p))
		if err != nil || d2.Malformed != 0 || d2.Reserved != d.Reserved || !reflect.DeepEqual(again, p) {
			t.Errorf("read again: %+v, %+v, %v\nwant %+v", again, d2, err, p)
		}
	})
}

// Whatever arrives, in whatever order: an Agent neither grows nor stops telling when it wants to be asked again.
func FuzzAgent(f *testing.F) {
	f.Add(unhex(f, chassis, port, lifetime, end), unhex(f, chassis, "0403 05 7032", "0602 0000", end), uint32(1000))
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
		if n := len(a.Neighbours()); n > 2 {
			t.Errorf("%d neighbours of two frames", n)
		}
		if a.Next() <= now || a.Next() == math.MaxInt64 {
			t.Errorf("at %d: next %d", now, a.Next())
		}
		if s := a.Statistics(); s.FramesReceived != 8 {
			t.Errorf("%d frames received", s.FramesReceived)
		}
	})
}
