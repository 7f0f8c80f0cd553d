package macctl

import "testing"

// A trunk's hold asks for the longest time, whatever the port's other holds ask for.
func TestInitiatorTrunkHoldsForLongest(t *testing.T) {
	for name, change := range map[string]func(*InitiatorConfig){
		"a fixed time":       func(c *InitiatorConfig) { c.Quanta = 20_000 },
		"the remaining time": func(c *InitiatorConfig) { c.Quanta, c.Remaining = 20_000, true },
	} {
		s := newSender(t, change)
		s.SetRemaining(3, 20_000*QuantumBits)
		s.SetRemaining(4, 20_000*QuantumBits)
		times := func() [8]uint16 {
			b, ok := s.AppendFrame(nil, 0)
			f, reason := Parse(b, [6]byte{})
			if !ok || reason != ReasonNone {
				t.Fatalf("%s: %v, %v", name, ok, reason)
			}
			return f.Time
		}
		s.Hold(3, CauseTrunk)
		s.Hold(4, CauseBuffer)
		if got, want := times(), [8]uint16{3: 0xFFFF, 4: 20_000}; got != want {
			t.Errorf("%s: times %v, want %v", name, got, want)
		}
		s.Hold(3, CauseBuffer)
		s.Release(3, CauseTrunk)
		if got, want := times(), [8]uint16{3: 20_000, 4: 20_000}; got != want {
			t.Errorf("%s: without the trunk's hold times %v, want %v", name, got, want)
		}
	}
}
