package dataplane

import (
	"testing"

	"pfcswitch/dataplane/port"
)

// A transmit task that has sent all that there is looks again when something comes, and not before; one that has sent as much as
// is good for the others goes on at once.
func TestTransmitComesToRest(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Config, []PortConfig)
		rounds int
	}{
		{"one send call", nil, 1},
		{"send calls of 7 frames", func(_ *Config, ports []PortConfig) { ports[1] = slow(1) }, 2},
	} {
		m := newMill(t, port.Lossless, nil, tt.change)
		out := m.w.r.tasks[1]
		m.w.round(Now()) // what there is to tell at the beginning
		m.in.frames = repeated(data(0, 1, lossless, 0, 60), burstFrames)
		for n := 1; n <= tt.rounds; n++ {
			if m.w.round(Now()); n == 1 {
				m.in.frames = nil
			}
			_, rest := m.w.quiet(Now())
			if done := n == tt.rounds; out.again == done || rest != done || (m.out.sent == burstFrames) != done {
				t.Errorf("%s, round %d: %d frames sent, again %v, rest %v", tt.name, n, m.out.sent, out.again, rest)
			}
		}
		if due := m.w.due(Now()); len(due) != 0 {
			t.Errorf("%s: %d transmit tasks have work", tt.name, len(due))
		}
	}
}
