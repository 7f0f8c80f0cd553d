package macctl

import (
	"bytes"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

var port = [6]byte{0x02, 0x00, 0x00, 0x00, 0x00, 0x0A}

const (
	group  = "0180c2000001"
	own    = "02000000000a"
	peer   = "02000000000b"
	header = group + peer + "8808"
	times  = "0000 0001 0002 ffff 0004 0005 0006 0700"
)

var allTimes = [8]uint16{0, 1, 2, 0xFFFF, 4, 5, 6, 0x0700} // as times

func padding(octets int) string { return strings.Repeat("00", octets) }

func TestParse(t *testing.T) {
	var (
		pause = Frame{Opcode: OpcodePause, Pause: 0x1234}
		pfc   = Frame{Opcode: OpcodePFC, Vector: 0x88, Time: allTimes}
	)
	tests := []struct {
		name   string
		frame  string
		want   Frame
		reason Reason
	}{
		{"pause", header + "0001 1234" + padding(42), pause, ReasonNone},
		{"pause without padding", header + "0001 1234", pause, ReasonNone},
		{"pause one octet short", header + "0001 12", Frame{Opcode: OpcodePause}, ReasonTruncated},
		{"pause to own address", own + peer + "8808 0001 1234" + padding(42), pause, ReasonNone},
		{"pause longer than usual", header + "0001 1234" + padding(200), pause, ReasonNone},
		{"pause with rubbish in the padding", header + "0001 1234" + strings.Repeat("ff", 42), pause, ReasonNone},
		{"resume", header + "0001 0000" + padding(42), Frame{Opcode: OpcodePause}, ReasonNone},

		{"pfc", header + "0101 0088" + times + padding(26), pfc, ReasonNone},
		{"pfc without padding", header + "0101 0088" + times, pfc, ReasonNone},
		{"pfc one octet short", header + "0101 0088" + times[:len(times)-2], Frame{Opcode: OpcodePFC}, ReasonTruncated},
		{"pfc to own address", own + peer + "8808 0101 0088" + times, pfc, ReasonNone},
		{"pfc with high octet", header + "0101 8088" + times, pfc, ReasonVector},

		{"other group address", "0180c200000e" + peer + "8808 0001 1234" + padding(42), Frame{Opcode: OpcodePause},
			ReasonDestination},
		{"broadcast", "ffffffffffff" + peer + "8808 0101 0088" + times, Frame{Opcode: OpcodePFC}, ReasonDestination},
		{"extension", header + "fffe 025046" + padding(41), Frame{Opcode: OpcodeExtension}, ReasonOpcode},
		{"EPON gate", header + "0002" + padding(44), Frame{Opcode: 0x0002}, ReasonOpcode},
		{"opcode of data sheets with a misprint", header + "1001 0088" + times, Frame{Opcode: 0x1001}, ReasonOpcode},
		{"tagged", group + peer + "8100 6000 8808 0001 1234" + padding(42), Frame{}, ReasonOpcode},
		{"not MAC Control", group + peer + "88cc 0001 1234" + padding(42), Frame{}, ReasonOpcode},

		{"without opcode", header, Frame{}, ReasonTruncated},
		{"half an opcode", header + "00", Frame{}, ReasonTruncated},
		{"empty", "", Frame{}, ReasonTruncated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, reason := Parse(assert.Hex(t, tt.frame), port)
			assert.Equal(t, reason, tt.reason, "reason")
			assert.Equal(t, got, tt.want, "frame")
		})
	}
}

func TestAppend(t *testing.T) {
	for quanta, field := range map[uint16]string{0: "0000", 0x1234: "1234", 0xFFFF: "ffff"} {
		want := assert.Hex(t, group, own, "8808 0001", field, padding(42))
		assert.Same(t, AppendPause(nil, port, quanta), want, "quanta %#x", quanta)
	}
	for vector, field := range map[uint8]string{0: "0000", 0x08: "0008", 0x80: "0080", 0xFF: "00ff"} {
		want := assert.Hex(t, group, own, "8808 0101", field, times, padding(26))
		assert.Same(t, AppendPFC(nil, port, vector, allTimes), want, "vector %#x", vector)
	}
}

// A buffer is used again and again: old octets must not appear in the padding, and octets before the frame stay.
func TestAppendIntoUsedBuffer(t *testing.T) {
	used := bytes.Repeat([]byte{0xEE}, 2*FrameSize+2)
	got := AppendPause(used[:2], port, 7)
	got = AppendPFC(got, port, 0x01, [8]uint16{9})
	want := assert.Hex(t, "eeee", group, own, "8808 0001 0007", padding(42), group, own, "8808 0101 0001 0009",
		padding(40))
	assert.True(t, bytes.Equal(got, want), "\n got %x\nwant %x", got, want)
	assert.Equal(t, &got[0], &used[0], "the frames were not written in place although there was room")
}

func TestNames(t *testing.T) {
	for m, name := range []string{"off", "pause", "pfc", "unknown"} {
		assert.Equal(t, Mode(m).String(), name, "Mode(%d)", m)
	}
	for r, name := range []string{"none", "truncated", "destination", "opcode", "disabled", "priority", "vector",
		"watchdog", "surplus", "unknown"} {
		assert.Equal(t, Reason(r).String(), name, "Reason(%d)", r)
	}
}
