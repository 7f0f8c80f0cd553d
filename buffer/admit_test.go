package buffer

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// An arrival is one frame offered to, or departing from, priority pgA of a port.
type arrival struct {
	port, n int
	departs bool
	want    Verdict
}

func TestAdmitClauses(t *testing.T) {
	const (
		a, b = 0, 1 // ports
	)
	hog := QueueConfig{Alpha: MaxAlpha} // takes the whole shared segment if it likes
	plain, guaranteed := QueueConfig{Headroom: 300}, QueueConfig{Private: 200, Headroom: 300}
	full, headroom := arrival{port: b, n: 1000, want: Accept}, arrival{port: a, n: 300, want: AcceptHeadroom}
	drained := arrival{port: b, n: 1000, departs: true}
	tests := []struct {
		name    string
		noHold  bool
		queue   QueueConfig // of port a; port b is the hog
		before  []arrival
		n       int
		verdict Verdict
		held    segmentBytes
		off     bool
	}{
		{name: "private takes all", queue: guaranteed, n: 200, verdict: Accept, held: segmentBytes{private: 200}},
		{name: "the rest goes to shared", queue: guaranteed,
			n: 500, verdict: Accept, held: segmentBytes{private: 200, shared: 300}},
		{name: "what private takes needs no room in shared", queue: guaranteed, before: []arrival{full}, n: 200,
			verdict: Accept, held: segmentBytes{private: 200}},
		{name: "shared up to T exactly", queue: plain,
			before: []arrival{{port: a, n: 400, want: Accept}}, n: 200, verdict: Accept,
			held: segmentBytes{shared: 600}},
		{name: "above T the whole frame goes to headroom and the queue turns OFF",
			queue: plain, before: []arrival{{port: a, n: 400, want: Accept}}, n: 300,
			verdict: AcceptHeadroom, held: segmentBytes{shared: 400, headroom: 300}, off: true},
		{name: "above B_s though below T", queue: QueueConfig{Headroom: 300, Alpha: 8},
			before: []arrival{{port: b, n: 900, want: Accept}},
			n:      200, verdict: AcceptHeadroom, held: segmentBytes{headroom: 200}, off: true},
		{name: "headroom never leaves a part of the frame in private", queue: guaranteed, before: []arrival{full},
			n: 300, verdict: AcceptHeadroom, held: segmentBytes{headroom: 300}, off: true},
		{name: "with headroom in use a frame that private would take goes to headroom",
			queue:  QueueConfig{Private: 100, Headroom: 300},
			before: []arrival{full, {port: a, n: 200, want: AcceptHeadroom}},
			n:      100, verdict: AcceptHeadroom, held: segmentBytes{headroom: 300}, off: true},
		{name: "with headroom in use a frame that shared would take goes to headroom", queue: plain,
			before: []arrival{full, {port: a, n: 200, want: AcceptHeadroom}, drained}, n: 100, verdict: AcceptHeadroom,
			held: segmentBytes{headroom: 300}, off: true},
		{name: "headroom full, shared has room again", queue: QueueConfig{Private: 100, Headroom: 300},
			before: []arrival{full, headroom, drained}, n: 200, verdict: Accept,
			held: segmentBytes{shared: 200, headroom: 300}, off: true},
		{name: "headroom full, shared full: wait", queue: plain, before: []arrival{full, headroom}, n: 100,
			verdict: Wait, held: segmentBytes{headroom: 300}, off: true},
		{name: "headroom full, shared full: drop without ring hold", noHold: true, queue: plain,
			before: []arrival{full, headroom}, n: 100, verdict: DropHeadroom, held: segmentBytes{headroom: 300},
			off: true},
		{name: "headroom too small for the frame: OFF and wait", queue: QueueConfig{Headroom: 100},
			before: []arrival{full}, n: 200, verdict: Wait, held: segmentBytes{}, off: true},
		{name: "headroom too small for the frame: OFF and drop", noHold: true, queue: QueueConfig{Headroom: 100},
			before: []arrival{full}, n: 200, verdict: DropHeadroom, held: segmentBytes{}, off: true},
		{name: "no headroom at all", queue: QueueConfig{},
			before: []arrival{full}, n: 100, verdict: Wait, held: segmentBytes{}, off: true},
		{name: "T fell because others filled: still ON, above T, saved by headroom", queue: plain,
			before: []arrival{{port: a, n: 500, want: Accept}, {port: b, n: 500, want: Accept}}, n: 100,
			verdict: AcceptHeadroom, held: segmentBytes{shared: 500, headroom: 100}, off: true},
		{name: "T fell because others filled: still ON, no headroom: PAUSE and wait",
			queue: QueueConfig{}, before: []arrival{{port: a, n: 500, want: Accept}, {port: b, n: 500, want: Accept}},
			n: 100, verdict: Wait, held: segmentBytes{shared: 500}, off: true},
		{name: "oversize: larger than threshold and headroom in an empty buffer",
			queue: QueueConfig{Private: 100, Headroom: 300},
			n:     1200, verdict: DropOversize, held: segmentBytes{}, off: false},
		{name: "oversize: below threshold, larger than the shared segment",
			queue: QueueConfig{Headroom: 300, Alpha: 8}, n: 1001, verdict: DropOversize},
		{name: "not oversize: the largest that fits", queue: QueueConfig{Private: 100, Headroom: 300},
			n: 1100, verdict: Accept, held: segmentBytes{private: 100, shared: 1000}},
		{name: "not oversize: waits for others to leave", queue: QueueConfig{Private: 100, Headroom: 300},
			before: []arrival{{port: b, n: 100, want: Accept}}, n: 1100, verdict: Wait,
			held: segmentBytes{}, off: true},
		{name: "not oversize: fits headroom only", queue: QueueConfig{Headroom: 2000},
			n: 1100, verdict: AcceptHeadroom, held: segmentBytes{headroom: 1100}, off: true},
		{name: "oversize is a drop without ring hold too, and no reason to pause", noHold: true,
			queue: plain, n: 1100, verdict: DropOversize, held: segmentBytes{}},
		{name: "smallest alpha: nothing but headroom", queue: QueueConfig{Headroom: 300, Alpha: MinAlpha},
			n: 100, verdict: AcceptHeadroom, held: segmentBytes{headroom: 100}, off: true},
		{name: "largest alpha: to the last byte of shared", queue: QueueConfig{Headroom: 300, Alpha: MaxAlpha},
			before: []arrival{{port: a, n: 900, want: Accept}}, n: 100, verdict: Accept,
			held: segmentBytes{shared: 1000}},
		{name: "largest alpha: no byte more", queue: QueueConfig{Headroom: 300, Alpha: MaxAlpha},
			before: []arrival{{port: a, n: 1000, want: Accept}},
			n:      1, verdict: AcceptHeadroom, held: segmentBytes{shared: 1000, headroom: 100}, off: true},
		{name: "xon above T does not change admission", queue: QueueConfig{Headroom: 300, Xon: 5000},
			before: []arrival{{port: a, n: 500, want: Accept}},
			n:      100, verdict: AcceptHeadroom, held: segmentBytes{shared: 500, headroom: 100}, off: true},
		{name: "one octet takes a cell", queue: QueueConfig{}, n: 1, verdict: Accept, held: segmentBytes{shared: 100}},
		{name: "one octet more than a cell takes two", queue: QueueConfig{Private: 100},
			n: 101, verdict: Accept, held: segmentBytes{private: 100, shared: 100}},
		{name: "no octets, no cell", queue: QueueConfig{}, n: 0, verdict: Accept, held: segmentBytes{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, w := newTable(t, 1000, Config{RingHold: !tt.noHold}, tt.queue, hog)
			for _, f := range tt.before {
				if f.departs {
					m.Release(f.port, pgA, f.n)
				} else {
					mustAdmit(t, m, f.port, pgA, f.n, f.want)
				}
			}
			mustAdmit(t, m, a, pgA, tt.n, tt.verdict)
			wantHeld(t, m, a, pgA, tt.held)
			wantOff(t, m, w, a, pgA, tt.off)
			wantSound(t, m, w)
		})
	}
}

// A waiting frame is counted once until its wait is cancelled. A dropped frame waits no more.
func TestWaitingFrameIsCountedOnce(t *testing.T) {
	m, w := newTable(t, 1000, Config{RingHold: true}, QueueConfig{Headroom: 100})
	mustAdmit(t, m, 0, pgA, 500, Accept)
	mustAdmit(t, m, 0, pgA, 100, AcceptHeadroom)
	mustAdmit(t, m, 0, pgA, 100, Wait)
	again := func(cancel bool, waited uint64) {
		t.Helper()
		if cancel {
			m.CancelWait(0, pgA)
		}
		mustAdmit(t, m, 0, pgA, 100, Wait)
		if got := m.Queue(0, pgA); got.Waited != waited || got.Waiting != 100 {
			t.Errorf("%d frames waited, %d octets wait, want %d and 100", got.Waited, got.Waiting, waited)
		}
	}
	again(false, 1)
	again(true, 2)
	m.CancelWait(0, Priorities) // no queue
	wantSound(t, m, w)

	c := m.config
	c.RingHold = false
	assert.Must(t, m.Apply(c, m.configs))
	mustAdmit(t, m, 0, pgA, 100, DropHeadroom)
	assert.Equal(t, m.Queue(0, pgA).Waiting, 0, "octets of a frame that was dropped wait")
}

// An OFF queue calls Hold once, and a waiting frame is counted once, however often it is offered.
func TestHoldOncePerTurn(t *testing.T) {
	m, w := newTable(t, 1000, Config{RingHold: true}, QueueConfig{Headroom: 100})
	mustAdmit(t, m, 0, pgA, 500, Accept)
	mustAdmit(t, m, 0, pgA, 100, AcceptHeadroom)
	for range 3 {
		mustAdmit(t, m, 0, pgA, 100, Wait)
	}
	assert.True(t, w.holds == 1 && m.OffCount() == 1, "holds %d, OffCount %d, want 1, 1", w.holds, m.OffCount())
	got := m.ports[0].ingress[pgA].count
	want := Counters{Admitted: 2, AdmittedHeadroom: 1, Waited: 1, Xoff: 1}
	assert.Equal(t, got, want, "counters")
}

func TestAdmitCountsDrops(t *testing.T) {
	m, _ := newTable(t, 1000, Config{}, QueueConfig{})
	mustAdmit(t, m, 0, pgA, 500, Accept)
	mustAdmit(t, m, 0, pgA, 100, DropHeadroom)
	mustAdmit(t, m, 0, pgA, 100, DropHeadroom)
	mustAdmit(t, m, 0, pgA, 1100, DropOversize)
	got := m.ports[0].ingress[pgA].count
	want := Counters{Admitted: 1, Dropped: 2, Oversize: 1, Xoff: 1}
	assert.Equal(t, got, want, "counters")
}

func TestAdmitWithoutQueue(t *testing.T) {
	m, w := newTable(t, 1000, Config{}, QueueConfig{Headroom: 100})
	assert.Must(t, m.SetPort(4, PortConfig{}))
	for _, id := range []QueueID{{-1, pgA}, {0, pgA + 1}, {0, 8}, {0, 255}, {1, pgA}, {4, 0}, {9, pgA}} {
		mustAdmit(t, m, id.Port, id.Queue, 100, NoQueue)
		assert.True(t, !m.WouldExceedThreshold(id.Port, id.Queue, 1<<30),
			"WouldExceedThreshold(%v) where there is no queue", id)
		assert.Equal(t, m.Off(id.Port), 0, "Off(%d) where nothing", id.Port)
	}
	wantEmpty(t, m, w)
}

func TestWouldExceedThreshold(t *testing.T) {
	m, _ := newTable(t, 1000, Config{RingHold: true}, QueueConfig{Private: 200, Headroom: 300},
		QueueConfig{Alpha: MaxAlpha})
	tests := []struct {
		backlog int64
		want    bool
	}{{0, false}, {200, false}, {700, false}, {701, true}, {5000, true}} // 500 in shared is the fixed point of α = 1
	for _, tt := range tests {
		assert.Equal(t, m.WouldExceedThreshold(0, pgA, tt.backlog), tt.want, "WouldExceedThreshold(%d)", tt.backlog)
	}
	mustAdmit(t, m, 1, pgA, 1000, Accept)
	assert.True(t, !m.WouldExceedThreshold(0, pgA, 200) && m.WouldExceedThreshold(0, pgA, 201),
		"shared full: private alone must take 200 and no more")
	mustAdmit(t, m, 0, pgA, 300, AcceptHeadroom)
	m.Release(1, pgA, 1000)
	assert.True(t, m.WouldExceedThreshold(0, pgA, 0), "in headroom already: want true")
}

func TestWouldExceedThresholdStatic(t *testing.T) {
	m, _ := newTable(t, 1000, Config{Threshold: StaticThreshold{}}, QueueConfig{Xoff: 900}, QueueConfig{Xoff: 900})
	mustAdmit(t, m, 1, pgA, 500, Accept)
	assert.True(t, !m.WouldExceedThreshold(0, pgA, 500) && m.WouldExceedThreshold(0, pgA, 501),
		"below xoff, but the shared segment has 500 B left")
}

func TestVerdictNames(t *testing.T) {
	tests := map[Verdict]string{
		0: "invalid", Accept: "accept", AcceptHeadroom: "accept-headroom", Wait: "wait",
		DropHeadroom: "lossless-headroom", DropOversize: "oversize", NoQueue: "no-queue", 99: "invalid",
	}
	for v, want := range tests {
		assert.Equal(t, v.String(), want, "Verdict(%d)", v)
		assert.Equal(t, v.Accepted(), v == Accept || v == AcceptHeadroom, "%v.Accepted()", v)
	}
}
