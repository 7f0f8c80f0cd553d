package buffer

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// Room has to be what the queue then really takes, in frames of one byte.
func TestRoomIsWhatIsTaken(t *testing.T) {
	for _, alpha := range []float64{0.25, 1, 8} {
		m := assert.Got(New(Config{Cell: 1, Lossless: PoolConfig{Size: 10400, Alpha: alpha},
			Lossy: PoolConfig{Size: 1000, Alpha: 1}, RingHold: true}, quiet{})).Must(t)
		p := PortConfig{Mode: macctl.ModePFC, Lossless: 1 << 3, MTU: 100}
		p.Queues[3] = QueueConfig{Private: 100, Headroom: 300}
		assert.Must(t, m.SetPort(0, p))
		for _, before := range []int{0, 50, 1000} {
			for range before {
				m.Admit(0, 3, 1)
			}
			want, taken := m.Room(0, 3), int64(0)
			for m.Admit(0, 3, 1).Accepted() {
				taken++
			}
			assert.True(t, taken == want,
				"alpha %v after %d bytes: Room says %d, but %d were taken", alpha, before, want, taken)
			for range taken + int64(before) {
				m.Release(0, 3, 1)
			}
		}
		assert.Equal(t, m.Room(0, 2), 0, "Room of a lossy priority")
	}
}

// Frames that have arrived and would cross the threshold turn the queue OFF before they come in, and it stays OFF until
// they have, or until they do not come. Under PAUSE, whose only ingress queue is 0, what is said of the others is
// nothing.
func TestExpect(t *testing.T) {
	const room, most = 50, 100
	expect := func(m *Manager, queue uint8, bytes int64) {
		for q := range uint8(Priorities) {
			if q == queue {
				m.Expect(0, q, bytes)
			} else {
				m.Expect(0, q, 0)
			}
		}
	}
	for mode, queue := range map[macctl.Mode]uint8{macctl.ModePFC: 3, macctl.ModePause: 0} {
		for coming := int64(0); coming <= most; coming++ {
			for taken := int64(0); taken <= coming; taken++ {
				m := assert.Got(New(Config{Cell: 1, Lossless: PoolConfig{Size: 10400, Alpha: 1},
					Lossy: PoolConfig{Size: 1000, Alpha: 1}}, quiet{})).Must(t)
				p := PortConfig{Mode: mode, Lossless: 1 << 3, MTU: 100}
				p.Queues[queue] = QueueConfig{Headroom: 300, XonOffset: 10}
				assert.Must(t, m.SetPort(0, p))
				for !m.WouldExceedThreshold(0, 3, room+1) {
					m.Admit(0, 3, 1)
				}
				expect(m, queue, coming)
				assert.MustEqual(t, m.Off(0) != 0, coming > room, "%v: %d bytes are coming where %d fit: OFF", mode,
					coming, room)
				for range taken {
					m.Admit(0, 3, 1)
				}
				assert.MustEqual(t, m.Off(0) != 0, coming > room, "%v: %d of %d bytes are in, where %d fit: OFF", mode,
					taken, coming, room)
				expect(m, queue, 0)
				if off := m.Off(0) != 0; (taken == 0 || taken == coming) && off != (taken > room) {
					t.Fatalf("%v: %d of %d bytes came, where %d fit: OFF is %v", mode, taken, coming, room, off)
				}
			}
		}
	}
}
