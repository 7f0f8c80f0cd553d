package macctl

import (
	"pfcswitch/dataplane/assert"
	"testing"
)

// A frame that is to be obeyed is the same after it was written and read again. All other input is ignored with a
// reason.
func FuzzParse(f *testing.F) {
	f.Add(assert.Hex(f, header, "0001 1234", padding(42)))
	f.Add(assert.Hex(f, header, "0101 0088", times, padding(26)))
	f.Add(assert.Hex(f, own, peer, "8808 0101 ff88", times))
	f.Add(assert.Hex(f, header, "fffe 025046"))
	f.Add(assert.Hex(f, header, "01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, reason := Parse(b, port)
		var again []byte
		switch {
		case reason != ReasonNone && reason != ReasonVector:
			return
		case frame.Opcode == OpcodePause:
			again = AppendPause(nil, port, frame.Pause)
		case frame.Opcode == OpcodePFC:
			again = AppendPFC(nil, port, frame.Vector, frame.Time)
		default:
			t.Fatalf("opcode %#x is to be obeyed", frame.Opcode)
		}
		if got, reason := Parse(again, port); got != frame || reason != ReasonNone {
			t.Errorf("%x read again\n got %+v, %v\nwant %+v", again, got, reason, frame)
		}
	})
}

// Whatever arrives, a Receiver pauses only what is under flow control, and never for longer than 65535 quanta.
func FuzzReceive(f *testing.F) {
	f.Add(assert.Hex(f, header, "0101 00ff", times), uint8(ModePFC), uint8(0x0A))
	f.Add(assert.Hex(f, header, "0001 ffff"), uint8(ModePause), uint8(0))
	f.Add(assert.Hex(f, header, "0001 ffff"), uint8(ModeOff), uint8(0xFF))
	f.Fuzz(func(t *testing.T, b []byte, mode, enabled uint8) {
		const now = 1_000_000_000
		m := Mode(mode % 3)
		r := NewReceiver(m, enabled, NominalSpeed, port)
		reason := r.Receive(b, now, now)
		allowed := map[Mode]uint8{ModeOff: 0, ModePause: 0xFF, ModePFC: enabled}[m]
		paused := r.Paused(now)
		assert.True(t, paused&^allowed == 0, "paused %#x, of which only %#x may be", paused, allowed)
		paused = r.Paused(now + QuantaDuration(0xFFFF, NominalSpeed))
		assert.True(t, paused == 0, "still paused after 65535 quanta: %#x", paused)
		n := r.Counters().Ignored[reason]
		assert.True(t, (reason == ReasonNone) == (n == 0), "reason %v is counted %d times", reason, n)
	})
}
