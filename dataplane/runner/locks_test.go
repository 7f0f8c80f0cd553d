package runner

import "testing"

// How often a round takes the lock and reads the clock that receives one burst for one port: the package comment says
// these numbers. Beside these, run reads the clock twice: before the round and after it. XOFF, control frames and
// copies for other workers cost more.
const (
	locksOfBurst  = 3
	clocksOfBurst = 3
)

func TestLocksOfABurst(t *testing.T) {
	const rounds = 100
	for name, m := range loads(t) {
		for range rounds {
			m.round()
		}
		w := m.w
		w.locks, w.clocks = 0, 0
		for range rounds {
			m.round()
		}
		switch name {
		case "lossless", "lossy", "unknown", "cut", "trunk", "trunk with meters":
			if w.locks != rounds*locksOfBurst || w.clocks != rounds*clocksOfBurst {
				t.Errorf("%s: %v locks and %v clock reads a round, want %d and %d", name, float64(w.locks)/rounds,
					float64(w.clocks)/rounds, locksOfBurst, clocksOfBurst)
			}
		default:
			t.Logf("%s: %v locks and %v clock reads a round", name, float64(w.locks)/rounds, float64(w.clocks)/rounds)
		}
	}
}
