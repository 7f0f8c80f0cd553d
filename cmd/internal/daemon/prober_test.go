package daemon

import (
	"math"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

func TestProbeSettings(t *testing.T) {
	tests := []struct {
		name, yaml, port string
		flags            uint8
		auto             bool
		key              string
		least, most      int64 // bits; most 0: 4 times what is calculated
	}{
		{"as it is", "", "", 0, true, "ports.p1.priorities.3.headroom", 0, 0},
		{"everything else",
			"headroom: {answer: link, stamps: 2, mode: loopback, variant: client, min: 1KiB, max: 1MiB}", "",
			macctl.MeasureAtLink | macctl.MeasureTwoStamps | macctl.MeasureLoopback | macctl.MeasureClient, true,
			"ports.p1.priorities.3.headroom", 8 << 10, 8 << 20},
		{"pause", "", "flow_control: pause", 0, true, "ports.p1.priorities.all.headroom", 0, 0},
		{"by hand", "", "priorities: {3: {headroom: 64KiB}}", 0, false, "ports.p1.priorities.3.headroom", 0, 0},
		{"calculated", "buffer: {headroom: calculated}", "", 0, false, "ports.p1.priorities.3.headroom", 0, 0},
		{"calculated, but for this port", "buffer: {headroom: calculated}", "priorities: {3: {headroom: auto}}", 0,
			true, "ports.p1.priorities.3.headroom", 0, 0},
	}
	d := &Daemon{precision: 40 * time.Nanosecond}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := parse(t, "preset: roce\n"+tt.yaml+"\nports: {p1: {"+tt.port+"}}\n")
			s := ProbeSettings(c, &c.Ports[0], d.precision)
			assert.True(t, s.Flags == tt.flags && s.Auto == tt.auto && s.Key == tt.key && s.Min == tt.least,
				"got flags %#x, auto %v, key %s, least %d\nwant %#x, %v, %s, %d", s.Flags, s.Auto, s.Key, s.Min,
				tt.flags, tt.auto, tt.key, tt.least)
			if most := max(tt.most, 0); most == 0 && s.Max != 4*s.Calculated || most > 0 && s.Max != most {
				t.Errorf("most %d, calculated %d", s.Max, s.Calculated)
			}
			assert.True(t, s.Limit == tt.most, "limit %d, want that of a size, %d", s.Limit, tt.most)
			assert.True(t, s.Precision == 40 && math.Abs(s.Percentile-0.999) <= 1e-9 && s.Interval == time.Second,
				"got %+v", s)
		})
	}
}

func TestClockPrecision(t *testing.T) {
	p := clockPrecision()
	assert.True(t, p >= 1 && p <= time.Millisecond, "the clock moves by %v", p)
}

// What the data plane passes on is what a Probe understands, and the other way round.
func TestProber(t *testing.T) {
	found, now := 0, int64(21)
	p := NewProber(headroom.Settings{
		Inputs: headroom.Inputs{Speed: 1e9, MaxFrame: 1514}, Packing: headroom.Packing{Cell: 256},
		Calculated: 1 << 20, Percentile: 0.999, Interval: time.Second, Session: 9}, func() { found++ })
	p.SetUp(true, 1)
	p.SetAgreed(true, true, "b", 1)
	own, _, fallback, ok := p.Out(2, 0)
	assert.MustBeTrue(t, ok && own.Operation == macctl.MeasureRequest && own.Session == 9 && !fallback,
		"Out\n got %+v, %v\nwant a request", own, ok)
	if _, _, _, ok := p.Out(2, 0); ok || p.Next() <= 2 {
		t.Error("one more at once")
	}
	p.Stamped(&own, 5, 6, 0)
	in := macctl.MeasurementFrame{Measurement: macctl.Measurement{Operation: macctl.MeasureRequest,
		Flags: macctl.MeasureAtLink, Sequence: 3}, Peer: [6]byte{2, 2}, Group: true}
	assert.True(t, p.Receive(&in, 10, 11, 0, false), "an answer at the link layer is not urgent")
	out, to, _, ok := p.Out(12, 0)
	assert.True(t, ok && out.Operation == macctl.MeasureAnswer && out.Sequence == 3 && out.Area == [2]uint64{10, 12} &&
		to == in.Peer, "Out\n got %+v to %v\nwant the answer", out, to)
	p.Stamped(&out, 13, 14, 0) // of an answer: too late to matter
	p.Reacted(7, false)
	assert.Equal(t, found, 0, "something was found")
	p.Receive(&in, 14, 14, 0, false)
	if out, _, _, _ := p.Out(15, 0); out.Reaction != 7 || p.Report(15).ReactionsIdle.Samples != 1 {
		t.Errorf("the answer states a reaction of %d ns, want 7", out.Reaction)
	}
	result := macctl.MeasurementFrame{Measurement: macctl.Measurement{Operation: macctl.MeasureResult,
		Sequence: 1, Area: [2]uint64{2_000_000, 1000}}, Group: true}
	p.Receive(&result, 20, 21, 0, true)
	assert.True(t, found == 1 && p.Target() == 250_000, "told %d times, target %d", found, p.Target())
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{headroomPeriod - 1, 1}, {1, 2}, {headroomPeriod - 1, 2}, {1, 3}} {
		now += int64(step.after)
		if p.found(now); found != step.want {
			t.Errorf("messages went on for %v: told %d times, want %d", step.after, found, step.want)
		}
	}
}
