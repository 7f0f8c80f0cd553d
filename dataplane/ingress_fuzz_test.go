package dataplane

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// Whatever a host sends, a switch takes it, keeps its accounts, and ends up empty. What leaves has the frame's
// addresses, and is no longer than a tag allows. The question what would become of it (explain) has an answer.
func FuzzIngress(f *testing.F) {
	f.Add(data(0, 1, lossless, 7, 60), []byte(nil), uint8(0))
	f.Add(ether(host(1), host(0), nil, frame.TypeIPv4, 0, 1514), pfc(lossless, 9), uint8(1))
	f.Add(ether(0xFFFF_FFFF_FFFF, host(0), tci(0, 2), frame.TypeVLAN, 0, 60), data(1, 0, 0, 0, 60), uint8(7))
	f.Add([]byte{1}, []byte{2}, uint8(3))
	r := newRig(f, roomy(3), testPorts(3)...)
	runs := 0
	f.Fuzz(func(t *testing.T, first, next []byte, in uint8) {
		r.tb = t
		r.now += second // what was paused before is not any more
		i := int(in) % 3
		_, _ = r.sw.Trace(i, first, frame.VnetHeader{}, r.now)
		r.offer(i, first, next)
		r.sw.Control(i, next, r.now, r.now)
		r.now += second
		for o := range 3 {
			for _, b := range r.drain(o, r.now) {
				longest := max(len(first), len(next)) + frame.TagOctets
				assert.True(t, len(b) <= longest && len(b) >= frame.HeaderOctets && o != i,
					"%d octets leave by port %d: % x", len(b), o, b)
			}
			for r.tell(o) != nil {
			}
		}
		if runs++; runs%64 == 0 { // it takes ten times as long as the rest
			r.empty()
			_ = r.snapshot()
		}
	})
}

// What the fast path tells of stations makes none known, and moves none.
func FuzzSeeStation(f *testing.F) {
	f.Add(uint8(0), host(1), true, uint16(1), int64(5))
	f.Add(uint8(255), uint64(1)<<40, false, uint16(0), int64(-1))
	r := plainRig(f, 3)
	before, _ := r.sw.FDB(nil, 0, r.now)
	f.Fuzz(func(t *testing.T, i uint8, src uint64, tagged bool, tag uint16, at int64) {
		r.tb = t
		r.sw.SeeStation(int(i), src&0xFFFF_FFFF_FFFF, tagged, frame.TCI(tag), min(at, r.now))
		after, _ := r.sw.FDB(nil, 0, r.now)
		assert.MustEqual(t, len(after), len(before), "%+v became %+v", before, after)
		for n := range after {
			a, b := after[n], before[n]
			assert.True(t, a.MAC == b.MAC && a.Port == b.Port && a.VID == b.VID, "%+v became %+v", b, a)
		}
	})
}
