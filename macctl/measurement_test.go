package macctl

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

var sample = Measurement{
	Flags: MeasureTwoStamps | MeasureClient, Operation: MeasureAnswer, Session: 0x1234, Sequence: 0x89abcdef,
	Area: [2]uint64{0x0102030405060708, 0x1112131415161718}, Precision: 0x21222324, Reaction: 0x31323334,
	SendLimit: 0x41424344, Burst: 0x51525354,
}

const sampleFields = "025046 1c 0002 1234 89abcdef 0102030405060708 1112131415161718 " +
	"21222324 31323334 41424344 51525354"

func TestMeasurementFormatAppend(t *testing.T) {
	tests := []struct {
		name        string
		destination [6]byte
		fallback    bool
		want        []byte
	}{
		{"to the group", [6]byte{}, false, assert.Hex(t, "0180c2000001", "0a0b0c0d0e0f", "8808 fffe", sampleFields)},
		{"to one", [6]byte{2, 1}, false, assert.Hex(t, "020100000000", "0a0b0c0d0e0f", "8808 fffe", sampleFields)},
		{"fallback to the group", [6]byte{}, true, assert.Hex(t, "0180c200000e", "0a0b0c0d0e0f", "88b5 fffe",
			sampleFields)},
	}
	for _, tt := range tests {
		got := DefaultMeasurementFormat.Append(nil, tt.destination, [6]byte{10, 11, 12, 13, 14, 15}, tt.fallback,
			sample)
		assert.Same(t, got, tt.want, "%s: Append", tt.name)
	}
}

func TestMeasurementFormatParse(t *testing.T) {
	tests := []struct {
		name       string
		frame      []byte
		recognized bool
		reason     Reason
	}{
		{"to the group", assert.Hex(t, header, "fffe", sampleFields), true, ReasonNone},
		{"to this port", assert.Hex(t, own, peer, "8808 fffe", sampleFields), true, ReasonNone},
		{"fallback", assert.Hex(t, "0180c200000e", peer, "88b5 fffe", sampleFields), true, ReasonNone},
		{"longer", assert.Hex(t, header, "fffe", sampleFields, padding(4)), true, ReasonNone},
		{"to another", assert.Hex(t, "020000000099", peer, "8808 fffe", sampleFields), true, ReasonDestination},
		{"fallback to the group of MAC Control", assert.Hex(t, "0180c2000001", peer, "88b5 fffe", sampleFields), true,
			ReasonDestination},
		{"from a group", assert.Hex(t, "0180c2000001 ffffffffffff 8808 fffe", sampleFields), true, ReasonDestination},
		{"from nobody", assert.Hex(t, "0180c2000001 000000000000 8808 fffe", sampleFields), true, ReasonDestination},
		{"one octet short", assert.Hex(t, header, "fffe", sampleFields)[:FrameSize-1], true, ReasonTruncated},
		{"identifier and no more", assert.Hex(t, header, "fffe 025046"), true, ReasonTruncated},
		{"version 2", assert.Hex(t, header, "fffe 025046 20 0001", padding(38)), true, ReasonOpcode},
		{"operation 0", assert.Hex(t, header, "fffe 025046 10 0000", padding(38)), true, ReasonOpcode},
		{"operation 6", assert.Hex(t, header, "fffe 025046 10 0006", padding(38)), true, ReasonOpcode},
		{"identifier of another", assert.Hex(t, header, "fffe 025047 10 0001", padding(38)), false, 0},
		{"another opcode", assert.Hex(t, header, "0101 025046 10 0001", padding(38)), false, 0},
		{"another EtherType", assert.Hex(t, own, peer, "88b6 fffe", sampleFields), false, 0},
		{"nothing", nil, false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.MustEqual(t, DefaultMeasurementFormat.Recognizes(tt.frame), tt.recognized, "Recognizes")
			if !tt.recognized {
				return
			}
			m, reason := DefaultMeasurementFormat.Parse(tt.frame, port)
			assert.Equal(t, reason, tt.reason, "reason")
			assert.True(t, reason != ReasonNone || m.Measurement == sample,
				"Parse\n got %+v\nwant %+v", m.Measurement, sample)
		})
	}
}

func TestMeasurementFormatDoesNotAllocate(t *testing.T) {
	b := make([]byte, 0, FrameSize)
	allocs := testing.AllocsPerRun(100, func() {
		frame := DefaultMeasurementFormat.Append(b, [6]byte{}, port, false, sample)
		if _, reason := DefaultMeasurementFormat.Parse(frame, port); reason != ReasonNone {
			t.Fatal(reason)
		}
	})
	assert.Equal(t, allocs, 0, "allocations")
}

// Only a whole frame of this version is read, and it is the same when it is written again.
func FuzzMeasurement(f *testing.F) {
	f.Add(assert.Hex(f, header, "fffe", sampleFields))
	f.Add(assert.Hex(f, own, peer, "88b5 fffe", sampleFields))
	f.Add(assert.Hex(f, header, "fffe 025046"))
	f.Fuzz(func(t *testing.T, b []byte) {
		format := DefaultMeasurementFormat
		if !format.Recognizes(b) {
			return
		}
		m, reason := format.Parse(b, port)
		if reason != ReasonNone {
			return
		}
		to := port
		if m.Group {
			to = [6]byte{}
		}
		again := format.Append(nil, to, m.Peer, m.Fallback, m.Measurement)
		assert.Same(t, again, b[:FrameSize], "written again")
	})
}
