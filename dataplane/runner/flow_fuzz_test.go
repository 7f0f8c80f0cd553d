package runner

import (
	"bytes"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/assist"
)

// The flow of a frame is that of the same frame with a tag, but for the tag.
func FuzzFlowOf(f *testing.F) {
	f.Add(data(0, 1, lossless, 7, 60), uint16(0x6001))
	f.Add(append(make([]byte, 12), 0x08, 0x00, 0x45, 0x88), uint16(1))
	f.Add(append(make([]byte, 12), 0x86, 0xDD, 0x6B, 0x80), uint16(0xFFFF))
	f.Fuzz(func(t *testing.T, b []byte, tci uint16) {
		if len(b) < frame.HeaderOctets {
			return
		}
		flow := flowOf(b)
		assert.MustBeTrue(t, bytes.Equal(flow.Dst[:], b[:6]) && bytes.Equal(flow.Src[:], b[6:12]) && (flow.DSCP <= 63 ||
			flow.DSCP == assist.NoDSCP), "%+v of % x", flow, b)
		slot := append(make([]byte, frame.TagOctets), b...)
		start := frame.InsertTag(slot, frame.TagOctets, frame.TypeVLAN, frame.TCI(tci))
		tagged := flowOf(slot[start:])
		if flow.TCI != assist.Untagged { // now behind a second tag, where no program looks
			flow.DSCP = assist.NoDSCP
		}
		flow.TCI = tci
		assert.True(t, tagged == flow, "% x: %+v with a tag, want %+v", b, tagged, flow)
	})
}
