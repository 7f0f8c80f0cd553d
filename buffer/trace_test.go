package buffer

import (
	"testing"

	"pfcswitch/macctl"
)

// Room has to be what the queue then really takes, in frames of one byte.
func TestRoomIsWhatIsTaken(t *testing.T) {
	for _, alpha := range []float64{0.25, 1, 8} {
		m, err := New(Config{Cell: 1, Lossless: PoolConfig{Size: 10400, Alpha: alpha},
			Lossy: PoolConfig{Size: 1000, Alpha: 1}, RingHold: true}, quiet{})
		if err != nil {
			t.Fatal(err)
		}
		p := PortConfig{Mode: macctl.ModePFC, Lossless: 1 << 3, MTU: 100}
		p.Queues[3] = QueueConfig{Private: 100, Headroom: 300}
		must(t, m.SetPort(0, p))
		for _, before := range []int{0, 50, 1000} {
			for range before {
				m.Admit(0, 3, 1)
			}
			want, taken := m.Room(0, 3), int64(0)
			for m.Admit(0, 3, 1).Accepted() {
				taken++
			}
			if taken != want {
				t.Errorf("alpha %v after %d bytes: Room says %d, but %d were taken", alpha, before, want, taken)
			}
			for range taken + int64(before) {
				m.Release(0, 3, 1)
			}
		}
		if got := m.Room(0, 2); got != 0 {
			t.Errorf("Room of a lossy priority is %d, want 0", got)
		}
	}
}
