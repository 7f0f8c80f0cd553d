package runner

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// A watched port notes who is asked for what.
type watched struct {
	*loopPort
	index    int
	received *[]int
}

func (p *watched) Receive(c port.Class, dst []port.Frame, octets int) int {
	if c == port.Lossless {
		*p.received = append(*p.received, p.index)
	}
	return p.loopPort.Receive(c, dst, octets)
}

// Each round begins with another port.
func TestTurns(t *testing.T) {
	m := newWorkerRig(t, port.Lossless, repeated(data(0, 1, lossless, 0, 60), burstFrames), nil)
	var received []int
	for i, p := range []*loopPort{m.in, m.out} {
		m.w.r.tasks[i].port = &watched{loopPort: p, index: i, received: &received}
	}
	for range 3 {
		m.round()
	}
	assert.Same(t, received, []int{0, 1, 1, 0, 0, 1}, "rings were looked at in the order")
}

// Short sleeps make the spin longer and long ones end it. What is short, and how long the spin
// may become, is a matter of how much credit there is.
func TestSpins(t *testing.T) {
	const some = 50_000
	for _, tt := range []struct{ spinBudget, busy, less int64 }{
		{0, spinFew, spinFew / 2}, {some, some, some / 2}, {spinMax, spinMax, spinMax / 2},
	} {
		w := newWorkerRig(t, port.Other, nil, nil).w
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
		assert.True(t, start == 0 && busy == tt.busy && less == tt.less && w.spin == 0,
			"%d, after short sleeps %d, after a long one %d, after more %d; want %+v", start, busy, less, w.spin, tt)
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
		gap, work int64
		spins     bool
	}{
		{60_000, 80_000, true}, {150_000, 250_000, true}, {10_000, 500, true}, {190_000, 5_000, false},
		{250_000, 5_000, false}, {500_000, 5_000, false}, {120_000, 5_000, false},
	} {
		s := spinner{w: newWorkerRig(t, port.Other, nil, nil).w, now: 1}
		s.w.cpuContention = noContention
		for range 100 { // a heavy load before
			s.frame(50_000, 100_000)
		}
		s.worked, s.spun, s.met, s.slept = 0, 0, 0, 0
		const frames = 1000
		for range frames {
			s.frame(tt.gap, tt.work)
		}
		assert.True(t, tt.gap <= spinFew || s.spun <= (s.worked+int64(s.slept)*spinFew+3*spinMax),
			"%+v: spun for %v, worked for %v, %d sleeps", tt, s.spun, s.worked, s.slept)
		assert.True(t, tt.spins == (s.met > frames*9/10) && (tt.spins || s.met <= frames/10),
			"%+v: %d of %d frames met a worker that spun", tt, s.met, frames)
	}
}

// A worker that has the only CPU neither spins nor coalesces: nobody can send meanwhile.
func TestOneCPU(t *testing.T) {
	for cpus, want := range map[int]bool{1: false, 2: true} {
		w := assert.Got(newWorker(&Runner{sw: newWorkerRig(t, port.Other, nil, nil).w.r.sw, cpus: cpus}, 0)).Must(t)
		assert.True(t, w.manyCPUs == want && !w.spins(1, 1), "%d CPUs: %v", cpus, w.manyCPUs)
		err := w.close()
		assert.True(t, err == nil, "%v", err)
	}
}
