package dataplane

import (
	"fmt"
	"slices"
	"testing"

	"pfcswitch/dataplane/port"
)

func withTuning(v Tuning) func(*Config, []PortConfig) {
	return func(c *Config, _ []PortConfig) { c.Tuning = v }
}

// A burst is as long as was asked for, and a ring has as many of them in a row.
func TestTunedBursts(t *testing.T) {
	for _, tt := range []struct {
		tuning Tuning
		want   int
	}{
		{Tuning{}, burstFrames}, {Tuning{BurstFrames: 8}, 8}, {Tuning{BurstFrames: 1}, 1}, {Tuning{BurstFrames: 256}, 256}, {Tuning{BurstFrames: 1000}, 256},
		{Tuning{Bursts: 3}, 3 * burstFrames}, {Tuning{BurstFrames: 8, Bursts: 4}, 32}, {Tuning{EachFrame: true}, burstFrames},
	} {
		m := newMill(t, port.Lossless, repeated(data(0, 1, lossless, 0, 60), 300), withTuning(tt.tuning))
		m.round()
		if m.out.sent != tt.want {
			t.Errorf("%+v: %d frames in a round, want %d", tt.tuning, m.out.sent, tt.want)
		}
		if n := testing.AllocsPerRun(50, m.round); n != 0 {
			t.Errorf("%+v: %v allocations a round", tt.tuning, n)
		}
	}
}

// A watched port notes who is asked for what.
type watched struct {
	*treadmill
	index    int
	received *[]int
	looks    int // at its control ring
}

func (p *watched) Receive(c port.Class, dst []port.Frame, octets int) int {
	if c == port.Lossless {
		*p.received = append(*p.received, p.index)
	}
	return p.treadmill.Receive(c, dst, octets)
}

func (p *watched) Control() ([]byte, int64) {
	p.looks++
	return p.treadmill.Control()
}

func watchedMill(t *testing.T, v Tuning) (m *mill, out *watched, received *[]int) {
	m = newMill(t, port.Lossless, repeated(data(0, 1, lossless, 0, 60), burstFrames), withTuning(v))
	received = new([]int)
	out = &watched{treadmill: m.out, index: 1, received: received}
	m.w.r.tasks[0].port, m.w.r.tasks[1].port = &watched{treadmill: m.in, received: received}, out
	return m, out, received
}

// The ports begin a round in turn, or the same one always does.
func TestTurns(t *testing.T) {
	for v, want := range map[Tuning][]int{{}: {0, 1, 1, 0, 0, 1}, {FixedTurn: true}: {0, 1, 0, 1, 0, 1}} {
		m, _, received := watchedMill(t, v)
		for range 3 {
			m.round()
		}
		if !slices.Equal(*received, want) {
			t.Errorf("%+v: rings were looked at in the order %v, want %v", v, *received, want)
		}
	}
}

// Control rings are looked at a few times a burst, or after each frame.
func TestControlWorkOfFrames(t *testing.T) {
	for each, least := range map[bool]int{false: 1, true: burstFrames} {
		m, out, _ := watchedMill(t, Tuning{EachFrame: each})
		m.round()
		if out.looks < least || out.looks > least+burstFrames/4 {
			t.Errorf("each frame %v: %d looks at the control ring in a burst of %d frames", each, out.looks, burstFrames)
		}
	}
}

// Short sleeps make the spin longer and long ones end it, unless it was chosen.
func TestSpins(t *testing.T) {
	for _, tt := range []struct {
		spin                     Spin
		start, busy, less, quiet int64
	}{
		{SpinAdaptive, 0, spinMax, spinMax / 2, 0}, {SpinNone, 0, 0, 0, 0}, {SpinMost, spinMax, spinMax, spinMax, spinMax},
		{SpinEndless, noDeadline, noDeadline, noDeadline, noDeadline},
	} {
		w := newMill(t, port.Other, nil, withTuning(Tuning{Spin: tt.spin})).w
		start := w.spin
		for range 10 {
			w.adapt(1)
		}
		busy := w.spin
		w.adapt(5 * spinMax)
		less := w.spin
		for range 10 {
			w.adapt(5 * spinMax)
		}
		if start != tt.start || busy != tt.busy || less != tt.less || w.spin != tt.quiet {
			t.Errorf("spin %d: %d, after short sleeps %d, after a long one %d, after more %d; want %+v", tt.spin, start, busy, less, w.spin, tt)
		}
	}
}

// Whatever is chosen, every lossless frame arrives, in order.
func TestTunedSwitchForwards(t *testing.T) {
	const frames = 40
	for _, v := range []Tuning{
		{Spin: SpinNone}, {Spin: SpinMost}, {Spin: SpinEndless}, {BurstFrames: 1}, {BurstFrames: 256, Bursts: 16}, {FixedTurn: true}, {EachFrame: true},
	} {
		t.Run(fmt.Sprintf("%+v", v), func(t *testing.T) {
			cfg := roomy(3)
			cfg.Tuning = v
			l := newLan(t, executors[0], cfg, unshapedPorts(3)...)
			l.mix(frames)
			l.live(func() bool { return true })
			l.wantAll(frames)
			l.empties()
		})
	}
}
