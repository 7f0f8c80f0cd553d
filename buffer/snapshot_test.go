package buffer

import (
	"reflect"
	"testing"

	"pfcswitch/dataplane/assert"
)

func TestSnapshot(t *testing.T) {
	m, _ := newTable(t, 1000, Config{RingHold: true, Lossy: PoolConfig{Size: 2050}},
		QueueConfig{Private: 100, Headroom: 300, XonOffset: 50}, QueueConfig{Alpha: 1.0 / 2})
	mustAdmit(t, m, 0, pgA, 600, Accept)
	mustAdmit(t, m, 0, pgA, 300, AcceptHeadroom)
	mustAdmit(t, m, 0, pgA, 150, Wait)
	m.AdmitLossy(1, 2, 1000)
	m.AdmitLossy(1, 2, 100)
	m.Release(3, 3, 1)

	level := func(n int64) Level { return Level{Now: n, Persistent: n, User: n} }
	s := state(m)
	assert.MustEqual(t, len(s.Ports), 2, "ports")
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"lossless pool", s.Lossless, PoolSnapshot{Size: 1400, PrivateSize: 100, SharedSize: 1000, HeadroomSize: 300,
			Used: Occupancy{Private: level(100), Shared: level(500), Headroom: level(300)}}},
		{"lossy pool", s.Lossy, PoolSnapshot{Size: 2000, SharedSize: 2000, Used: Occupancy{Shared: level(1000)}}},
		{"OFF", s.Off, 1},
		{"unbalanced", s.Unbalanced, uint64(1)},
		{"queue", s.Ports[0].Ingress[pgA], QueueSnapshot{Lossless: true, Threshold: 500, Off: true, Waiting: 200,
			Config:   QueueConfig{Private: 100, Headroom: 300, XonOffset: 50, Alpha: 1},
			Used:     Occupancy{Private: level(100), Shared: level(500), Headroom: level(300)},
			Counters: Counters{Admitted: 2, AdmittedHeadroom: 1, Waited: 1, Xoff: 1}}},
		{"threshold by alpha", s.Ports[1].Ingress[pgA].Threshold, int64(250)},
		{"no queue", s.Ports[0].Ingress[0], QueueSnapshot{}},
		{"egress", s.Ports[1].Egress[2], LossySnapshot{Alpha: 1, Threshold: 1000, Used: level(1000),
			LossyCounters: LossyCounters{Admitted: 1, Dropped: 1}}},
	} {
		assert.True(t, reflect.DeepEqual(tt.got, tt.want), "%s\n got: %+v\nwant: %+v", tt.name, tt.got, tt.want)
	}
}

func TestSnapshotReusesStorage(t *testing.T) {
	m, _ := newTable(t, 1000, Config{}, QueueConfig{}, QueueConfig{})
	s := state(m)
	assert.Equal(t, testing.AllocsPerRun(10, func() { m.Snapshot(&s) }), 0, "allocations a snapshot")
	assert.True(t, len(s.Ports) == 2 && s.Ports[1].Port == 1, "ports: %+v", s.Ports)
}
