package api

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/deadlock"
	"pfcswitch/headroom"
)

// levels are the fields of a snapshot that are no counters: gauges, maxima and configuration. A clear leaves them.
var levels = []string{
	"Time", "Index", "Config", "Up", "Loop", "Held", "Delayed", "Paused", "Wanted", "RingSlots", "Port", "Name", "Mode",
	"Removed", "Begun",
	"QueueBytes", "QueueBytesMax", "RingFramesMax", "Entries", "Static", "Lossless", "Lossy", "Off", "Threshold",
	"Waiting", "Used", "Alpha", "Peak", "Paced", "LeastLeft", "Ring", "LateNs", "Last", "ToUplink",
	"ToMembers", "Share", "Area", "Insurance",
}

// everyCounter calls do for every counter below v.
func everyCounter(v reflect.Value, path string, do func(path string, n reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !slices.Contains(levels, name) {
				everyCounter(v.Field(i), path+"."+name, do)
			}
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			everyCounter(v.Index(i), path, do)
		}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		do(path, v)
	}
}

func snapshotOf(n uint64) *dataplane.Snapshot {
	v := &dataplane.Snapshot{Ports: make([]dataplane.PortSnapshot, 1),
		Trunks: []dataplane.TrunkSnapshot{{Members: make([]dataplane.TrunkMember, 1)}}}
	v.Buffer.Ports = make([]buffer.PortSnapshot, 1)
	v.Ports[0].Config.Name, v.Buffer.Ports[0].Name, v.Trunks[0].Config.Name = "p1", "p1", "up"
	everyCounter(reflect.ValueOf(v).Elem(), "", func(_ string, c reflect.Value) {
		if c.CanUint() {
			c.SetUint(n)
		} else {
			c.SetInt(int64(n))
		}
	})
	return v
}

// TestEveryCounterIsSubtracted fails for a counter that Combine leaves out.
func TestEveryCounterIsSubtracted(t *testing.T) {
	v := snapshotOf(10)
	(&baseline{counters: snapshotOf(7)}).subtract(v)
	var wrong []string
	everyCounter(reflect.ValueOf(v).Elem(), "", func(path string, c reflect.Value) {
		got := int64(0)
		if c.CanUint() {
			got = int64(c.Uint())
		} else {
			got = c.Int()
		}
		if got != 3 && !slices.Contains(wrong, path) {
			wrong = append(wrong, path)
		}
	})
	assert.True(t, len(wrong) == 0, "not 10 - 7:\n%s", strings.Join(wrong, "\n"))
}

func TestLevelsStay(t *testing.T) {
	v, old := snapshotOf(1), snapshotOf(1)
	for _, s := range []*dataplane.Snapshot{v, old} {
		s.Ports[0].Counters.QueueBytes[3], s.Ports[0].Counters.QueueBytesMax[3], s.Ports[0].Counters.RingFramesMax = 5,
			6, 7
		s.Buffer.Ports[0].Ingress[3].Used.Shared = buffer.Level{Now: 1, Persistent: 4, User: 3, Window: 2}
		s.Bridge.Entries, s.Trunks[0].ToUplink[3] = 9, 8
	}
	(&baseline{counters: old}).subtract(v)
	c := &v.Ports[0].Counters
	assert.True(t, c.QueueBytes[3] == 5 && c.QueueBytesMax[3] == 6 && c.RingFramesMax == 7 && v.Bridge.Entries == 9 &&
		v.Trunks[0].ToUplink[3] == 8 &&
		v.Buffer.Ports[0].Ingress[3].Used.Shared == (buffer.Level{Now: 1, Persistent: 4, User: 3, Window: 2}),
		"a clear of the counters moved a level: %+v", c)
}

// A port that was forgotten counts from 0 when it comes back, however far; a new port has no baseline.
func TestPortsThatComeAndGo(t *testing.T) {
	const cleared = 50
	ports := func(sent uint64, begun int64, names ...string) *dataplane.Snapshot {
		v := &dataplane.Snapshot{Ports: make([]dataplane.PortSnapshot, len(names))}
		v.Buffer.Ports = make([]buffer.PortSnapshot, len(names))
		for i, name := range names {
			v.Ports[i].Config.Name, v.Ports[i].Counters.SentFrames, v.Ports[i].Begun = name, sent, begun
			v.Buffer.Ports[i].Name, v.Buffer.Ports[i].Ingress[3].Admitted = name, sent
		}
		return v
	}
	for _, row := range []struct {
		name  string
		begun int64 // 1 at the clear
		sent  uint64
		want  uint64 // of the port that came back
	}{{"remembered", 1, cleared + 10, 10}, {"forgotten", 2, 2, 2}, {"forgotten, and beyond", 2, cleared + 10,
		cleared + 10}} {
		v := ports(row.sent, row.begun, "back", "new")
		(&baseline{counters: ports(cleared, 1, "gone", "back")}).subtract(v)
		if a, b := v.Ports[0].Counters.SentFrames, v.Ports[1].Counters.SentFrames; a != row.want || b != row.sent {
			t.Errorf("%s: got %d and %d frames, want %d and %d", row.name, a, b, row.want, row.sent)
		}
		a, b := v.Buffer.Ports[0].Ingress[3].Admitted, v.Buffer.Ports[1].Ingress[3].Admitted
		assert.True(t, a == row.want && b == row.sent, "%s: %d and %d frames admitted, want %d and %d", row.name, a, b,
			row.want, row.sent)
	}
}

// A removed port that still holds frames has no counters. It stands beside the new port of the same name.
func TestBufferOfPortsThatCameBack(t *testing.T) {
	ports := func(admitted uint64) (v dataplane.Snapshot) {
		v.Buffer.Ports = []buffer.PortSnapshot{{Name: "p1"}, {Name: "p1", Removed: true}}
		v.Buffer.Ports[0].Ingress[3].Admitted = admitted
		return v
	}
	old, v := ports(50), ports(60)
	(&baseline{counters: &old}).subtract(&v)
	a, b := v.Buffer.Ports[0].Ingress[3].Admitted, v.Buffer.Ports[1].Ingress[3].Admitted
	assert.True(t, a == 10 && b == 0, "admitted %d and %d since the clear, want 10 and 0", a, b)
}

// Storms, and the frames of a storm that lasts, are counted since the clear.
func TestStormsSinceTheClear(t *testing.T) {
	before := deadlock.Status{Name: "p1", Queue: 3, State: deadlock.Stormed, Since: 7, Detected: 5, Recovered: 4,
		Recurred: 1, Sent: 10, Dropped: 20, LastSent: 1, LastDropped: 2}
	goesOn, over := before, before
	goesOn.Sent, goesOn.LastSent, goesOn.Dropped, goesOn.LastDropped = 13, 4, 27, 9
	over.Detected, over.Recovered, over.Recurred, over.Sent, over.LastSent, over.Dropped, over.LastDropped = 7, 6, 3,
		60, 30, 80, 40
	for name, tt := range map[string]struct{ now, want deadlock.Status }{
		"the same":   {before, deadlock.Status{}},
		"it goes on": {goesOn, deadlock.Status{Sent: 3, LastSent: 3, Dropped: 7, LastDropped: 7}},
		"others came": {over, deadlock.Status{Detected: 2, Recovered: 2, Recurred: 2, Sent: 50, LastSent: 30,
			Dropped: 60, LastDropped: 40}},
		"another port": {deadlock.Status{Name: "p2", Queue: 3, Detected: 9}, deadlock.Status{Name: "p2", Detected: 9}},
		"its other priority": {deadlock.Status{Name: "p1", Queue: 4, Detected: 9}, deadlock.Status{Name: "p1", Queue: 4,
			Detected: 9}},
	} {
		all := []deadlock.Status{tt.now}
		(&baseline{storms: []deadlock.Status{before}}).subtractStorms(all)
		want := tt.now // what is now stays
		want.Detected, want.Recovered, want.Recurred = tt.want.Detected, tt.want.Recovered, tt.want.Recurred
		want.Sent, want.LastSent, want.Dropped, want.LastDropped = tt.want.Sent, tt.want.LastSent, tt.want.Dropped,
			tt.want.LastDropped
		assert.Equal(t, all[0], want, "%s", name)
	}
}

// The sums of lossless and of discarded frames keep those of a removed port.
func TestLosslessDropsOfPortsThatAreGone(t *testing.T) {
	f := &fake{}
	s := NewServer(f, start, 0)
	first := s.moment(0)
	s.clearCounters()
	f.gone = true
	m := s.moment(0)
	assert.True(t, m.LosslessDropsSinceStart == first.LosslessDropsSinceStart && m.LosslessDrops == 0 &&
		first.LosslessDrops != 0, "lost %d since the start and %d since the clear, want %d and 0",
		m.LosslessDropsSinceStart, m.LosslessDrops, first.LosslessDropsSinceStart)
	assert.True(t, m.LosslessDiscardedSinceStart == 62_731 && m.LosslessDiscarded == 0 &&
		first.LosslessDiscarded == 62_731, "discarded %d since the start and %d since the clear, want 62731 and 0",
		m.LosslessDiscardedSinceStart, m.LosslessDiscarded)
}

// A clear starts the counters of a removed port again too. The port comes back with what it counts from then on.
func TestClearWhilePortIsGone(t *testing.T) {
	f := &fake{gone: true}
	s := NewServer(f, start, 0)
	s.clearCounters()
	f.gone, f.more = false, 7
	m := s.moment(0)
	storm := m.readWatchdog().Queues[0]
	assert.True(t, storm.Detected == 0, "%d storms, want 0: %+v", storm.Detected, storm)
	p1 := &m.snapshot.Ports[0]
	assert.True(t, p1.Config.Name == "p1" && p1.Counters.ReceivedFrames == 7 &&
		p1.Counters.LosslessDrops[dataplane.Unknown] == 0, "%s received %d frames and lost %d, want 7 and 0",
		p1.Config.Name, p1.Counters.ReceivedFrames, p1.Counters.LosslessDrops[dataplane.Unknown])
	assert.True(t, m.LosslessDrops == 0 && m.LosslessDropsSinceStart == 2,
		"lost %d since the clear, %d since the start, want 0 and 2", m.LosslessDrops, m.LosslessDropsSinceStart)
}

// What the machine's backlog dropped counts from the switch's start on, and from a clear on.
func TestBacklogCountsSinceTheStart(t *testing.T) {
	f := &fake{}
	s := NewServer(f, start, 0)
	assert.Equal(t, s.moment(0).readPorts().KernelBacklogDrops, 0, "dropped before the start")
	f.more = 5
	assert.Equal(t, s.moment(0).readPorts().KernelBacklogDrops, 5, "since the start")
	s.clearCounters()
	f.more = 6
	assert.Equal(t, s.moment(0).readPorts().KernelBacklogDrops, 1, "since the clear")
}

// addRemoved adds removed ports, trunks and trunk members by name.
func TestAddGone(t *testing.T) {
	port := func(name string) (p dataplane.PortSnapshot) {
		p.Config.Name = name
		return p
	}
	trunk := func(name string, members ...string) (v dataplane.TrunkSnapshot) {
		v.Config.Name = name
		for _, m := range members {
			v.Members = append(v.Members, dataplane.TrunkMember{Port: m})
		}
		return v
	}
	v := &dataplane.Snapshot{Ports: []dataplane.PortSnapshot{port("p1")},
		Trunks: []dataplane.TrunkSnapshot{trunk("up", "p1")}}
	v.Buffer.Ports = []buffer.PortSnapshot{{Name: "p1"}, {Name: "p2", Removed: true}}
	gone := &dataplane.Snapshot{Ports: []dataplane.PortSnapshot{port("p1"), port("p2")},
		Trunks: []dataplane.TrunkSnapshot{trunk("down", "p3"), trunk("up", "p1", "p2")}}
	gone.Buffer.Ports = []buffer.PortSnapshot{{Name: "p1"}, {Name: "p2"}}
	addRemoved(v, gone)
	want := &dataplane.Snapshot{Ports: []dataplane.PortSnapshot{port("p1"), port("p2")},
		Trunks: []dataplane.TrunkSnapshot{trunk("up", "p1", "p2"), trunk("down", "p3")}}
	want.Buffer.Ports = []buffer.PortSnapshot{{Name: "p1"}, {Name: "p2", Removed: true}, {Name: "p2"}}
	assert.True(t, reflect.DeepEqual(v, want), "\n got %+v\nwant %+v", v, want)
}

// Measurement frames are counted since the clear: every counter, also of a port that was gone then.
func TestProbesSinceTheClear(t *testing.T) {
	counters := func(n uint64) (c headroom.Counters) {
		everyCounter(reflect.ValueOf(&c).Elem(), "", func(_ string, v reflect.Value) { v.SetUint(n) })
		return c
	}
	b := &baseline{probes: map[string]headroom.Counters{"p1": counters(7)}}
	assert.Equal(t, b.probesSince("p1", counters(10)), counters(3), "since 7 of 10")
	assert.Equal(t, b.probesSince("new", counters(10)), counters(10), "a new port")
	f := &fake{}
	s := NewServer(f, start, 0)
	s.clearCounters()
	for _, p := range s.moment(0).readHeadroom().Ports {
		m := p.Messages
		assert.True(t, m.Asked+m.Answered+m.Lost+m.Replies+m.Results+m.Streams == 0, "%s: %+v after a clear", p.Port, m)
		for _, why := range p.Messages.Ignored {
			assert.Equal(t, why.Frames, 0, "%s: %+v after a clear", p.Port, why)
		}
	}
	assert.Equal(t, s.user.baseline.probes["gone"].Asked, 5, "of a port that is gone, counted until the clear")
}
