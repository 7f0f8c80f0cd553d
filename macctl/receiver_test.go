package macctl

import (
	"cmp"
	"math"
	"reflect"
	"testing"

	"pfcswitch/dataplane/assert"
)

// oneNS is the speed at which a quantum lasts 1 ns, so that tests can be read.
const oneNS = QuantumBits * giga

// pfc makes a frame that names the priorities of the map.
func pfc(quanta map[int]uint16) []byte {
	var (
		vector uint8
		time   [8]uint16
	)
	for n, q := range quanta {
		vector |= 1 << n
		time[n] = q
	}
	return AppendPFC(nil, [6]byte{2, 0, 0, 0, 0, 0x0B}, vector, time)
}

// xoff3 makes a frame that pauses priority 3.
func xoff3(quanta uint16) []byte { return pfc(map[int]uint16{3: quanta}) }

func pause(quanta uint16) []byte { return AppendPause(nil, [6]byte{2, 0, 0, 0, 0, 0x0B}, quanta) }

// A look is what a Receiver must answer at a moment.
type look struct {
	at        int64
	paused    uint8
	next      int64 // 0: none
	freeSince int64 // of priority 3
	total     int64 // ns for which priority 3 was paused
}

func (l look) check(t *testing.T, r *Receiver) {
	t.Helper()
	assert.Equal(t, r.Paused(l.at), l.paused, "at %d: paused", l.at)
	next := l.next
	next = cmp.Or(next, math.MaxInt64)
	assert.Equal(t, r.NextExpiry(), next, "at %d: next expiry", l.at)
	assert.Equal(t, r.FreeSince(3), l.freeSince, "at %d: free since", l.at)
	assert.Equal(t, r.PausedTime(3, l.at), l.total, "at %d: ns paused", l.at)
}

// Other sequences of frames are compared with a model: TestReceiverAgainstModel.
func TestReceiverTimers(t *testing.T) {
	type step struct {
		frame []byte // received, or nil
		stamp int64
		now   int64
		look  look
	}
	xon := xoff3(0)
	tests := []struct {
		name  string
		steps []step
	}{
		{"runs out", []step{
			{xoff3(100), 1000, 1000, look{1000, 0x08, 1100, 1100, 0}},
			{nil, 0, 0, look{1099, 0x08, 1100, 1100, 99}},
			{nil, 0, 0, look{1100, 0x00, 0, 1100, 100}},
			{nil, 0, 0, look{5000, 0x00, 0, 1100, 100}},
		}},
		{"time 0 resumes at once", []step{
			{xoff3(1000), 1000, 1000, look{1000, 0x08, 2000, 2000, 0}},
			{xon, 1050, 1050, look{1050, 0x00, 0, 1050, 50}},
		}},
		{"time 0 for a free priority changes nothing", []step{
			{xon, 900, 900, look{900, 0x00, 0, 0, 0}},
			{xoff3(100), 1000, 1000, look{1000, 0x08, 1100, 1100, 0}},
			{xon, 1500, 1500, look{1500, 0x00, 0, 1100, 100}},
		}},
		{"resumed before it is looked at", []step{
			{xoff3(100), 1000, 1070, look{1070, 0x08, 1100, 1100, 70}},
			{xon, 1020, 1070, look{1070, 0x00, 0, 1020, 70}}, // 20, but 70 was said already
			{xoff3(100), 2000, 2000, look{2040, 0x08, 2100, 2100, 70}},
			{nil, 0, 0, look{2060, 0x08, 2100, 2100, 80}},
			{nil, 0, 0, look{2100, 0x00, 0, 2100, 120}},
		}},
		{"stamps that jitter backwards count nothing twice", []step{
			{xoff3(100), 1000, 1000, look{1000, 0x08, 1100, 1100, 0}},
			{xoff3(100), 990, 1001, look{1001, 0x08, 1090, 1090, 1}},
			{xon, 980, 1002, look{1002, 0x00, 0, 1000, 1}},
		}},
		{"stamp of the future counts as now", []step{{xoff3(100), 1001, 1000, look{1000, 0x08, 1100, 1100, 0}}}},
		{"oldest stamp", []step{{xoff3(100), 1000, 1000 + MaxStampAge, look{1000 + MaxStampAge, 0x00, 0, 1100, 100}}}},
		{"older stamp counts as now", []step{
			{xoff3(100), 999, 1000 + MaxStampAge,
				look{1000 + MaxStampAge, 0x08, 1100 + MaxStampAge, 1100 + MaxStampAge, 0}},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := NewReceiver(ModePFC, 0x38, oneNS, port)
			for _, s := range tt.steps {
				if s.frame != nil {
					assert.Equal(t, r.Receive(s.frame, s.stamp, s.now), ReasonNone, "frame of %d, want none", s.stamp)
				}
				s.look.check(t, r)
			}
		})
	}
}

func TestReceiverPause(t *testing.T) {
	r := NewReceiver(ModePause, 0, oneNS, port)
	r.Receive(pause(100), 1000, 1000)
	look{1040, 0xFF, 1100, 1100, 0}.check(t, r) // PFC time is counted apart
	assert.Equal(t, r.PausedTime(WholePort, 1040), 40, "ns paused")
	r.Receive(pause(0), 1060, 1060)
	look{1060, 0x00, 0, 1060, 0}.check(t, r)
	assert.Equal(t, r.PausedTime(WholePort, 2000), 60, "ns paused")
	r.Receive(pause(100), 2000, 2000)
	r.Reset(2010)
	look{2010, 0x00, 0, 2010, 0}.check(t, r)
}

// Quanta are those of the port's own speed.
func TestReceiverSpeed(t *testing.T) {
	for speed, want := range map[int64]int64{
		100 * mega: 5_120_000, giga: 512_000, 10 * giga: 51_200, 100 * giga: 5_120, 0: 51_200,
	} {
		r := NewReceiver(ModePFC, 0x08, speed, port)
		r.Receive(pfc(map[int]uint16{3: 1000}), 0, 0)
		assert.Equal(t, r.NextExpiry(), want, "1000 quanta at %d bit/s run out at", speed)
	}
}

func TestReceiverReasons(t *testing.T) {
	every := map[int]uint16{0: 9, 1: 9, 2: 9, 3: 9, 4: 9, 5: 9, 6: 9, 7: 9}
	high := pfc(map[int]uint16{3: 9})
	high[16] = 0x01
	highAndOther := pfc(map[int]uint16{2: 9, 3: 9})
	highAndOther[16] = 0xFF
	foreign := pause(9)
	foreign[5] = 0x0E
	tests := []struct {
		name    string
		mode    Mode
		enabled uint8
		frame   []byte
		want    Reason
		also    Reason // counted besides
		paused  uint8
		pfc     [8]uint64
		pause   uint64
	}{
		{"pause", ModePause, 0, pause(9), ReasonNone, 0, 0xFF, [8]uint64{}, 1},
		{"pause where PFC is on", ModePFC, 0xFF, pause(9), ReasonDisabled, 0, 0, [8]uint64{}, 1},
		{"pause where both are off", ModeOff, 0xFF, pause(9), ReasonDisabled, 0, 0, [8]uint64{}, 1},
		{"pfc", ModePFC, 0x08, pfc(map[int]uint16{3: 9}), ReasonNone, 0, 0x08, [8]uint64{3: 1}, 0},
		{"pfc where pause is on", ModePause, 0x08, pfc(map[int]uint16{3: 9}), ReasonDisabled, 0, 0, [8]uint64{3: 1}, 0},
		{"pfc where both are off", ModeOff, 0x08, pfc(map[int]uint16{3: 9}), ReasonDisabled, 0, 0, [8]uint64{3: 1}, 0},
		{"other priority", ModePFC, 0x08, pfc(map[int]uint16{4: 9}), ReasonPriority, 0, 0, [8]uint64{4: 1}, 0},
		{"other priorities besides", ModePFC, 0x28, pfc(every), ReasonPriority, 0, 0x28,
			[8]uint64{1, 1, 1, 1, 1, 1, 1, 1}, 0},
		{"no priority", ModePFC, 0x08, pfc(nil), ReasonNone, 0, 0, [8]uint64{}, 0},
		{"high octet", ModePFC, 0x08, high, ReasonVector, 0, 0x08, [8]uint64{3: 1}, 0},
		{"high octet and other", ModePFC, 0x08, highAndOther, ReasonPriority, ReasonVector, 0x08, [8]uint64{2: 1, 3: 1},
			0},
		{"foreign destination", ModePause, 0, foreign, ReasonDestination, 0, 0, [8]uint64{}, 0},
		{"truncated", ModePFC, 0x08, pfc(every)[:33], ReasonTruncated, 0, 0, [8]uint64{}, 0},
		{"extension", ModePFC, 0x08, assert.Hex(t, header, "fffe 025046", padding(41)), ReasonOpcode, 0, 0, [8]uint64{},
			0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := NewReceiver(tt.mode, tt.enabled, oneNS, port)
			assert.Equal(t, r.Receive(tt.frame, 0, 0), tt.want, "reason")
			assert.Equal(t, r.Paused(0), tt.paused, "paused")
			want := ReceiverCounters{PFCFrames: tt.pfc, PauseFrames: tt.pause}
			want.Ignored[tt.want], want.Ignored[tt.also] = 1, 1
			want.Ignored[ReasonNone] = 0
			assert.Equal(t, r.Counters(), want, "counters")
		})
	}
}

// An unpadded frame to the port's own address is obeyed after the address has changed, and not before.
func TestReceiverOwnAddress(t *testing.T) {
	frame := assert.Hex(t, own, peer, "8808 0101 0008", times)
	r := NewReceiver(ModePFC, 0x08, oneNS, [6]byte{2, 0, 0, 0, 0, 0x0C})
	assert.Equal(t, r.Receive(frame, 0, 0), ReasonDestination, "reason, want destination")
	r.Configure(ModePFC, 0x08, oneNS, port, 0)
	if got := r.Receive(frame, 0, 0); got != ReasonNone || r.Paused(0) != 0x08 {
		t.Errorf("reason %v, paused %#02x, want none, 0x08", got, r.Paused(0))
	}
}

func TestReceiverConfigure(t *testing.T) {
	tests := []struct {
		name    string
		mode    Mode
		enabled uint8
		speed   int64
		look    look
	}{
		{"nothing new", ModePFC, 0x18, oneNS, look{1010, 0x18, 1100, 1100, 10}},
		{"one priority less", ModePFC, 0x08, oneNS, look{1010, 0x08, 1100, 1100, 10}},
		{"the other less, one more", ModePFC, 0x50, oneNS, look{1010, 0x10, 1100, 1010, 10}},
		{"new speed: deadlines stay", ModePFC, 0x18, giga, look{1010, 0x18, 1100, 1100, 10}},
		{"other mode", ModePause, 0x18, oneNS, look{1010, 0x00, 0, 1010, 10}},
		{"off", ModeOff, 0x18, oneNS, look{1010, 0x00, 0, 1010, 10}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := NewReceiver(ModePFC, 0x18, oneNS, port)
			r.Receive(pfc(map[int]uint16{3: 100, 4: 100}), 1000, 1000)
			r.Configure(tt.mode, tt.enabled, tt.speed, port, 1010)
			tt.look.check(t, r)
		})
	}
}

// A change from PAUSE to PFC frees the whole port, and each priority remembers since when it is free.
func TestReceiverConfigureFromPause(t *testing.T) {
	r := NewReceiver(ModePause, 0, oneNS, port)
	r.Receive(pause(100), 1000, 1000)
	r.Configure(ModePFC, 0x08, oneNS, port, 1010)
	look{1010, 0x00, 0, 1010, 0}.check(t, r)
	assert.Equal(t, r.PausedTime(WholePort, 2000), 10, "ns paused")
}

const nsQuantum = 512 // at 1 Gbit/s

// Each pause is reported once, when it is over, with its whole length.
func TestReceiverReportsPauses(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(r *Receiver)
		want []int64
	}{
		{"resumed", func(r *Receiver) { r.Receive(xoff3(100), 10, 10); r.Receive(xoff3(0), 5_000, 5_000) },
			[]int64{4_990}},
		{"run out", func(r *Receiver) { r.Receive(xoff3(100), 10, 10); r.Paused(90_000); r.Paused(95_000) },
			[]int64{100 * nsQuantum}},
		{"refreshed", func(r *Receiver) {
			r.Receive(xoff3(100), 10, 10)
			r.Receive(xoff3(100), 20_010, 20_010)
			r.Paused(99_000)
		}, []int64{20_000 + 100*nsQuantum}},
		{"run out unseen, and held again", func(r *Receiver) {
			r.Receive(xoff3(1), 10, 10)
			r.Receive(xoff3(2), 10_000, 10_000)
			r.Reset(10_100)
		}, []int64{nsQuantum, 100}},
		{"goes on", func(r *Receiver) { r.Receive(xoff3(100), 10, 10); r.Paused(20) }, nil},
		{"told, and a late look at an earlier frame", func(r *Receiver) {
			r.Receive(xoff3(10), 10, 10)
			r.Paused(6_000)
			r.Receive(xoff3(100), 5_000, 6_001)
			r.Paused(90_000)
		}, []int64{10 * nsQuantum}},
		{"free already", func(r *Receiver) { r.Receive(xoff3(0), 10, 10); r.Paused(99) }, nil},
	} {
		var got []int64
		r := NewReceiver(ModePFC, 1<<3, 1e9, [6]byte{2, 1})
		r.OnPauseEnd(func(ns int64) { got = append(got, ns) })
		test.run(r)
		assert.True(t, reflect.DeepEqual(got, test.want), "%s: told %v, want %v", test.name, got, test.want)
	}
}
