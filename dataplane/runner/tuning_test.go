package runner

import (
	"fmt"
	"slices"
	"testing"

	"pfcswitch/dataplane/port"
)

// A burst is as long as was asked for, and a ring has as many of them in a row.
func TestTunedBursts(t *testing.T) {
	for _, tt := range []struct {
		tuning Tuning
		want   int
	}{
		{Tuning{}, burstFrames}, {Tuning{BurstFrames: 8}, 8}, {Tuning{BurstFrames: 1}, 1}, {Tuning{BurstFrames: 256},
			256}, {Tuning{BurstFrames: 1000}, 256},
		{Tuning{Bursts: 3}, 3 * burstFrames}, {Tuning{BurstFrames: 8, Bursts: 4}, 32}, {Tuning{EachFrame: true},
			burstFrames},
	} {
		m := newTunedRig(t, port.Lossless, repeated(data(0, 1, lossless, 0, 60), 300), tt.tuning, nil)
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
	*loopPort
	index    int
	received *[]int
	looks    int // at its control ring
}

func (p *watched) Receive(c port.Class, dst []port.Frame, octets int) int {
	if c == port.Lossless {
		*p.received = append(*p.received, p.index)
	}
	return p.loopPort.Receive(c, dst, octets)
}

func (p *watched) Control() ([]byte, int64) {
	p.looks++
	return p.loopPort.Control()
}

func watchedRig(t *testing.T, v Tuning) (m *workerRig, out *watched, received *[]int) {
	m = newTunedRig(t, port.Lossless, repeated(data(0, 1, lossless, 0, 60), burstFrames), v, nil)
	received = new([]int)
	out = &watched{loopPort: m.out, index: 1, received: received}
	m.w.r.tasks[0].port, m.w.r.tasks[1].port = &watched{loopPort: m.in, received: received}, out
	return m, out, received
}

// The ports begin a round in turn, or the same one always does.
func TestTurns(t *testing.T) {
	for v, want := range map[Tuning][]int{{}: {0, 1, 1, 0, 0, 1}, {FixedTurn: true}: {0, 1, 0, 1, 0, 1}} {
		m, _, received := watchedRig(t, v)
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
		m, out, _ := watchedRig(t, Tuning{EachFrame: each})
		m.round()
		if out.looks < least || out.looks > least+burstFrames/4 {
			t.Errorf("each frame %v: %d looks at the control ring in a burst of %d frames", each, out.looks,
				burstFrames)
		}
	}
}

// Short sleeps make the spin longer and long ones end it, unless it was chosen. What is short, and how long the spin
// may become, is a matter of how much credit there is.
func TestSpins(t *testing.T) {
	const some = 50_000
	for _, tt := range []struct {
		spin                     Spin
		spinBudget               int64
		start, busy, less, quiet int64
	}{
		{SpinAdaptive, 0, 0, spinFew, spinFew / 2, 0}, {SpinAdaptive, some, 0, some, some / 2, 0}, {SpinAdaptive,
			spinMax, 0, spinMax, spinMax / 2, 0},
		{SpinNone, some, 0, 0, 0, 0}, {SpinMost, 0, spinMax, spinMax, spinMax, spinMax},
		{SpinEndless, 0, noDeadline, noDeadline, noDeadline, noDeadline},
	} {
		w := newTunedRig(t, port.Other, nil, Tuning{Spin: tt.spin}, nil).w
		w.spinBudget, w.cpuContention = tt.spinBudget, noContention
		most := max(tt.spinBudget, spinFew)
		start := w.spin
		for range 10 {
			w.adapt(most - 1)
		}
		busy := w.spin
		w.adapt(4*most + 1)
		less := w.spin
		for range 10 {
			w.adapt(4*most + 1)
		}
		if start != tt.start || busy != tt.busy || less != tt.less || w.spin != tt.quiet {
			t.Errorf("spin %d: %d, after short sleeps %d, after a long one %d, after more %d; want %+v", tt.spin, start,
				busy, less, w.spin, tt)
		}
	}
}

// A spinner is what of a worker decides between spinning and sleeping, under a load of frames that come one by one.
type spinner struct {
	w                 *worker
	now, worked, spun int64
	slept, met        int // sleeps; frames that met a worker that spun
}

// frame lets a frame come after a gap, which takes some work.
func (s *spinner) frame(gap, work int64) {
	idle, next := s.now, s.now+gap
	if s.w.spins(idle, next) {
		s.met++
		s.spun += gap
		s.w.updateSpinBudget(idle, next, next+work)
	} else {
		wait := min(s.w.spin, max(s.w.spinBudget, spinFew))
		s.slept++
		s.spun += wait
		s.w.adapt(gap - wait)
		s.w.updateSpinBudget(idle, idle+wait, idle+wait)
		s.w.updateSpinBudget(0, next, next+work)
	}
	s.now, s.worked = next+work, s.worked+work
}

// Whatever came before, a load is spun for no more than it works, beyond what sleeping itself would cost; a heavy one
// meets a worker that spins, though its gaps are longer than a sleep costs.
func TestSpinBudget(t *testing.T) {
	for _, tt := range []struct {
		spin      Spin
		gap, work int64
		spins     bool
	}{
		{SpinAdaptive, 60_000, 80_000, true}, {SpinAdaptive, 150_000, 250_000, true}, {SpinAdaptive, 10_000, 500, true},
		{SpinAdaptive, 190_000, 5_000, false}, {SpinAdaptive, 250_000, 5_000, false}, {SpinAdaptive, 500_000, 5_000,
			false}, {SpinAdaptive, 120_000, 5_000, false},
		{SpinShort, 60_000, 80_000, false}, {SpinShort, 10_000, 500, true},
	} {
		s := spinner{w: newTunedRig(t, port.Other, nil, Tuning{Spin: tt.spin}, nil).w, now: 1}
		s.w.cpuContention = noContention
		for range 100 { // a heavy load before
			s.frame(50_000, 100_000)
		}
		s.worked, s.spun, s.met, s.slept = 0, 0, 0, 0
		const frames = 1000
		for range frames {
			s.frame(tt.gap, tt.work)
		}
		if most := s.worked + int64(s.slept)*spinFew + 3*spinMax; tt.gap > spinFew && s.spun > most {
			t.Errorf("%+v: spun for %v, worked for %v, %d sleeps", tt, s.spun, s.worked, s.slept)
		}
		if tt.spins != (s.met > frames*9/10) || !tt.spins && s.met > frames/10 {
			t.Errorf("%+v: %d of %d frames met a worker that spun", tt, s.met, frames)
		}
	}
}

// A worker that has the only CPU neither spins nor coalesces: nobody can send meanwhile.
func TestOneCPU(t *testing.T) {
	for cpus, want := range map[int]bool{1: false, 2: true} {
		w, err := newWorker(&Runner{sw: newWorkerRig(t, port.Other, nil, nil).w.r.sw, cpus: cpus}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if w.schedule.adaptive != want || w.schedule.coalesce != want || w.spins(1, 1) {
			t.Errorf("%d CPUs: %+v", cpus, w.schedule)
		}
		if err := w.close(); err != nil {
			t.Error(err)
		}
	}
}

// Whatever is chosen, every lossless frame arrives, in order.
func TestTunedSwitchForwards(t *testing.T) {
	const frames = 40
	for _, v := range []Tuning{
		{Spin: SpinNone}, {Spin: SpinShort}, {Spin: SpinMost}, {Spin: SpinEndless}, {BurstFrames: 1}, {BurstFrames: 256,
			Bursts: 16}, {FixedTurn: true}, {EachFrame: true},
	} {
		t.Run(fmt.Sprintf("%+v", v), func(t *testing.T) {
			e := executors[0]
			e.tuning = v
			l := newTestbed(t, e, roomy(3), unshapedPorts(3)...)
			l.mix(frames)
			l.live(func() bool { return true })
			l.wantAll(frames)
			l.empties()
		})
	}
}
