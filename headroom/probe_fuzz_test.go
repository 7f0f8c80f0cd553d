package headroom

import (
	"encoding/binary"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// Whatever a peer sends, a Probe that requests and answers neither fails nor grows. Its target stays within its bounds.
func FuzzProbe(f *testing.F) {
	f.Add([]byte{1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
		27, 28, 29, 30, 31, 32, 33, 34})
	f.Add(make([]byte, 400))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := settings(7)
		s.Streams, s.Lossless = true, 1<<3
		if len(b) > 0 {
			s.Min, s.Max = int64(b[0])*8_000, int64(b[len(b)-1])*8_000
			s.Limit = int64(b[len(b)/2]&7) * 80_000
		}
		least, most := bounds(s)
		p, at := NewProbe(s), Moment{Now: 1_000_000_000}
		p.SetUp(true, at.Now)
		p.SetAgreed(true, true, "b", at.Now)
		var asked macctl.MeasurementFrame
		for len(b) >= 34 {
			in := decode(b[:34], asked)
			b = b[34:]
			at.Now += int64(in.Sequence % 50_000_000)
			stamp := at.Now - int64(in.Burst%200_000)
			p.Receive(in, stamp, at)
			for n := 0; ; n++ {
				out, ok := p.Out(at)
				if !ok {
					break
				}
				assert.MustBeTrue(t, n <= maxPendingReplies+4, "more and more to send: %+v", out)
				if out.Operation == macctl.MeasureRequest {
					asked = out
				}
			}
			if prio, until := p.Stream(); until > at.Now+int64(MaxStream) || until > 0 && prio != 3 {
				t.Fatalf("a stream of priority %d for %v", prio, time.Duration(until-at.Now))
			}
			r := p.Report(at.Now)
			assert.MustBeTrue(t, r.Target == 0 || (r.Target >= least && r.Target <= most),
				"target %d, want %d to %d", r.Target, least, most)
		}
		n := len(p.Notes())
		assert.MustBeTrue(t, n <= maxNotes, "%d notes", n)
	})
}

// decode makes a packet of fuzzed octets; half of them answer what was asked.
func decode(b []byte, asked macctl.MeasurementFrame) macctl.MeasurementFrame {
	var in macctl.MeasurementFrame
	in.Operation, in.Flags = uint16(b[0]%7), b[1]&15
	in.Group, in.Fallback = b[1]&16 != 0, b[1]&32 != 0
	in.Session = binary.BigEndian.Uint16(b[2:])
	in.Sequence = binary.BigEndian.Uint32(b[4:])
	in.Area[0], in.Area[1] = binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
	in.Precision = binary.BigEndian.Uint32(b[24:]) >> (b[1] >> 4)
	in.Reaction = binary.BigEndian.Uint32(b[26:]) >> (b[1] >> 4)
	in.SendLimit, in.Burst = binary.BigEndian.Uint32(b[28:]), binary.BigEndian.Uint32(b[30:])
	if b[1]&64 != 0 {
		in.Session, in.Sequence, in.Flags, in.Group, in.Fallback = asked.Session, asked.Sequence, asked.Flags, false,
			asked.Fallback
		in.Area[1] = in.Area[0] + uint64(b[32])
	}
	return in
}
