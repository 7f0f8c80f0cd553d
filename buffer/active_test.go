package buffer

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// activeTable is three ports with one lossless queue each, a link of 100 Mbit/s and 120 kB to share, and as large a
// lossy pool.
func activeTable(t *testing.T) (*Manager, *wire) {
	t.Helper()
	const size = 120_000
	w := newWire(t)
	c := Config{Cell: cell, Lossless: PoolConfig{Size: size, Alpha: 1}, Lossy: PoolConfig{Size: size, Alpha: 1},
		Active: true}
	pc := onePriority(QueueConfig{})
	pc.Speed = 100_000_000
	m := assert.Got(New(c, w)).Must(t)
	assert.Must(t, m.Apply(c, map[int]PortConfig{0: pc, 1: pc, 2: pc}))
	return m, w
}

// threshold returns where the queue of a port turns OFF.
func (m *Manager) thresholdOf(port int) int64 { return m.Queue(port, pgA).Threshold }

// The congested queues of a priority share what is free. One that holds less than 20,000 bytes counts in part, one of
// another priority not at all.
func TestActiveThresholdsShareByCongestion(t *testing.T) {
	m, w := activeTable(t)
	steps := []struct {
		port, bytes int
		want        [3]int64
	}{
		{0, 10_000, [3]int64{110_000, 110_000 * 2 / 3, 110_000 * 2 / 3}},
		{0, 10_000, [3]int64{100_000, 50_000, 50_000}},
		{0, 10_000, [3]int64{90_000, 45_000, 45_000}},
		{1, 20_000, [3]int64{35_000, 35_000, 70_000 / 3}},
		{2, 20_000, [3]int64{50_000 / 3, 50_000 / 3, 50_000 / 3}},
	}
	for _, s := range steps {
		mustAdmit(t, m, s.port, pgA, s.bytes, Accept)
		for port, want := range s.want {
			assert.Equal(t, m.thresholdOf(port), want, "%+v: T of port %d", s, port)
		}
	}
	mustAdmit(t, m, 1, pgA, 100, DropHeadroom)
	wantOff(t, m, w, 1, pgA, true)
	for port, n := range []int{30_000, 0, 20_000} {
		m.Release(port, pgA, n)
	}
	m.Resume()
	wantOff(t, m, w, 1, pgA, false)
	assert.Equal(t, m.thresholdOf(1), 100_000, "T of the only queue, want all that is free")
	m.Release(1, pgA, 20_000)
	wantEmpty(t, m, w)
}

// Egress queues of the lossy pool share it alike.
func TestActiveThresholdsOfLossyQueues(t *testing.T) {
	m, _ := activeTable(t)
	assert.True(t, m.AdmitLossy(0, 1, 20_000) && m.AdmitLossy(1, 1, 50_000) && !m.AdmitLossy(2, 1, 50_000/3+1),
		"the second queue gets half of 100,000 bytes, the third a third of 50,000")
	if got := state(m).Ports[2].Egress; got[1].Threshold != 50_000/3 || got[2].Threshold != 50_000 {
		t.Errorf("the thresholds of port 2 are %d and, of another priority, %d", got[1].Threshold, got[2].Threshold)
	}
	m.ReleaseLossy(1, 1, 50_000)
	assert.Equal(t, state(m).Ports[2].Egress[1].Threshold, 50_000, "T beside one congested queue, want half of 100,000")
}

// However many queues of one priority are full, ABM leaves 1/(1+α) of the pool to others. Dynamic Threshold leaves
// 1/(1+Nα).
func TestActiveThresholdsLeaveRoom(t *testing.T) {
	const queues, size, frame = 16, 1_600_000, 1000
	free := map[bool]int64{}
	for _, active := range []bool{false, true} {
		c := Config{Cell: cell, Lossless: PoolConfig{Alpha: 1}, Lossy: PoolConfig{Size: size, Alpha: 1}, Active: active}
		ports := map[int]PortConfig{}
		for port := range queues {
			ports[port] = PortConfig{}
		}
		m := assert.Got(New(c, quiet{})).Must(t)
		assert.Must(t, m.Apply(c, ports))
		for full := 0; full < queues; {
			full = 0
			for port := range queues {
				if !m.AdmitLossy(port, 1, frame) {
					full++
				}
			}
		}
		free[active] = m.lossyFree()
	}
	t.Logf("%d full queues leave %d of %d bytes, with dt %d", queues, free[true], size, free[false])
	for active, want := range map[bool]int64{true: size / 2, false: size / (1 + queues)} {
		if d := free[active] - want; d < -queues*frame || d > queues*frame {
			t.Errorf("active %v: %d of %d bytes are free, want %d", active, free[active], size, want)
		}
	}
}

// What left a congested queue in the last interval, as a part of its port's speed, scales its threshold. A queue that
// nothing left, or that is short, has all of it.
func TestActiveThresholdsFollowTheRate(t *testing.T) {
	m, w := activeTable(t)
	mustAdmit(t, m, 0, pgA, 40_000, Accept)
	m.SetTime(activeInterval / 2)
	m.Release(0, pgA, 5000) // 40 % of 12,500
	assert.Equal(t, m.thresholdOf(0), 85_000, "T before the interval ends")
	m.SetTime(activeInterval)
	m.Resume()
	mustAdmit(t, m, 0, pgA, 100, DropHeadroom)
	assert.Equal(t, m.thresholdOf(0), 34_000, "T, want 40 %% of 85,000")
	m.SetTime(2 * activeInterval) // nothing has left: too small a sample
	m.Resume()
	wantOff(t, m, w, 0, pgA, false)
	assert.Equal(t, m.thresholdOf(0), 85_000, "T after an interval without departures")
	m.Release(0, pgA, 20_000)
	m.SetTime(3 * activeInterval)
	mustAdmit(t, m, 0, pgA, 100, Accept)
	assert.Equal(t, m.thresholdOf(0), 104_900, "T of a short queue")
}

// A queue's share does not count for what a frame may be at most: a frame that fits later waits.
func TestActiveThresholdsRefuseNoLongFrame(t *testing.T) {
	m, _ := activeTable(t)
	m.ringHold = true
	for port := range 2 {
		mustAdmit(t, m, port, pgA, 50_000-port*20_000, Accept)
	}
	mustAdmit(t, m, 2, pgA, 30_000, Wait)
}

func TestActiveThresholdsExcludeDynamicHeadroom(t *testing.T) {
	c := Config{Cell: cell, Lossless: PoolConfig{Size: 1000, Alpha: 1}, Lossy: PoolConfig{Alpha: 1}, Active: true,
		Headroom: HeadroomSharing{Dynamic: true}}
	_, err := New(c, quiet{})
	assert.Fails(t, err, "exclude each other", "error")
}

// A change of configuration counts what is held, also of a port that goes.
func TestActiveThresholdsCountAfterAChange(t *testing.T) {
	m, w := activeTable(t)
	mustAdmit(t, m, 0, pgA, 20_000, Accept)
	m.RemovePort(0)
	assert.Equal(t, m.thresholdOf(1), 50_000, "T beside the queue of a port that went, want half of 100,000")
	m.Release(0, pgA, 20_000)
	assert.Equal(t, m.thresholdOf(1), 120_000, "T in an empty buffer")
	c := m.config
	c.Active = false
	mustAdmit(t, m, 1, pgA, 20_000, Accept)
	assert.Must(t, m.Apply(c, m.configs))
	assert.Equal(t, m.thresholdOf(2), 100_000, "T without ABM")
	m.Release(1, pgA, 20_000)
	c.Active = true
	assert.Must(t, m.Apply(c, m.configs))
	mustAdmit(t, m, 1, pgA, 20_000, Accept)
	m.Release(1, pgA, 20_000)
	wantEmpty(t, m, w)
	assert.Equal(t, *m.ports[1].ingress[pgA].active.congestion, 0, "congestion in an empty buffer")
}

// An interval that ends too late says nothing, whatever left in it: the queue has all of its threshold.
func TestActiveThresholdsMeasureNoLongInterval(t *testing.T) {
	for end, want := range map[int64]int64{2*activeInterval - 1: 17_000, 2 * activeInterval: 85_000} {
		m, _ := activeTable(t)
		mustAdmit(t, m, 0, pgA, 40_000, Accept)
		m.Release(0, pgA, 5000) // 20 % of 25,000
		m.SetTime(end)
		if m.Resume(); m.WouldExceedThreshold(0, pgA, 0) || m.thresholdOf(0) != want {
			t.Errorf("T is %d where the interval ends at %d ns, want %d", m.thresholdOf(0), end, want)
		}
	}
}

// Trace and TraceLossy say what Admit and AdmitLossy do when the interval is over, and leave the measurement to them.
func TestTraceMeasures(t *testing.T) {
	m, _ := activeTable(t)
	mustAdmit(t, m, 0, pgA, 40_000, Accept)
	m.Release(0, pgA, 5000) // 40 % of 12,500
	assert.MustBeTrue(t, m.AdmitLossy(0, 1, 40_000), "the lossy frame is dropped")
	m.ReleaseLossy(0, 1, 5000)
	m.SetTime(activeInterval)
	for range 2 {
		if got := m.Trace(0, pgA, 100); got.Verdict != DropHeadroom || got.Queue.Threshold != 34_000 {
			t.Errorf("Trace says %v at a threshold of %d", got.Verdict, got.Queue.Threshold)
		}
		if got := m.TraceLossy(0, 1, 100, 0); got.Accepted || got.Queue.Threshold != 34_000 {
			t.Errorf("TraceLossy accepts %v at a threshold of %d", got.Accepted, got.Queue.Threshold)
		}
	}
	assert.Equal(t, m.thresholdOf(0), 85_000, "T after a trace")
	mustAdmit(t, m, 0, pgA, 100, DropHeadroom)
	assert.True(t, !m.AdmitLossy(0, 1, 100), "the lossy frame is admitted")
}
