package runner

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// waiters are the threads of a machine that run or wait.
type waiters struct {
	n     int
	err   error
	looks int
}

func (q *waiters) Runnable() (int, error) { q.looks++; return q.n, q.err }
func (q *waiters) Close() error           { return nil }

// noContention is what a worker measures where no other thread waits for its CPU.
var noContention = cpuContention{threads: &waiters{n: 1}, cpus: 2}

// Where one look in ten meets a waiting thread, as beside one sender, a worker spins on; where one in two does it
// stops, and begins again when they are gone.
func TestCrowdShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c cpuContention
		looks := rapid.SampledFrom([][]bool{{true}, {true, false}, {true, true, false}, {false},
			{true, false, false, false, false, false, false, false, false, false}})
		for range rapid.IntRange(1, 4).Draw(t, "phases") {
			some := rapid.Permutation(looks.Draw(t, "looks")).Draw(t, "order")
			for range 400 {
				for _, waits := range some {
					c.record(waits)
				}
			}
			waiting := 0
			for _, waits := range some {
				if waits {
					waiting++
				}
			}
			assert.MustBeTrue(t, c.share >= 0 && c.share <= contentionWhole && c.contended() != (2*waiting < len(some)),
				"%d of %d looks met a waiting thread: share %d of %d", waiting, len(some), c.share, contentionWhole)
		}
	})
}

// A look costs a system call: there is one in 20 µs at most. One that meets a waiting thread ends the spin at once.
func TestCrowdLooks(t *testing.T) {
	q := &waiters{n: 2}
	c := cpuContention{threads: q, cpus: 2}
	for now := int64(1); now <= 5*contentionEvery; now += 500 {
		assert.MustBeTrue(t, c.spinAllowed(now/(2*contentionEvery)*2*contentionEvery+1, now),
			"%d ns: as many threads as CPUs, and no spin", now)
	}
	assert.Equal(t, q.looks, 5, "looks in %d ns", 5*contentionEvery)
	q.n = 3
	assert.True(t, !c.contended() && !c.spinAllowed(10*contentionEvery-1, 10*contentionEvery),
		"a thread waits, and the worker spins on")
	q.n, q.err = 1, errors.New("gone")
	assert.True(t, !c.spinAllowed(20*contentionEvery-1, 20*contentionEvery),
		"nobody knows who waits, and the worker spins on")
	unknown := cpuContention{share: contentionWhole}
	assert.True(t, !unknown.spinAllowed(1, 2) && unknown.contended(),
		"the threads cannot be counted, and the worker spins on")
}

// For as long as a sleep costs a worker spins whoever waits; for longer only alone, and as far as its credit reaches.
func TestSpinsInACrowd(t *testing.T) {
	const start, much = 1, 100_000
	for _, tt := range []struct {
		threads int
		spun    int64
		want    bool
	}{
		{9, spinFew - 1, true}, {9, spinFew, false}, {2, spinFew, true}, {2, much - 1, true}, {2, much, false},
	} {
		w := newWorkerRig(t, port.Other, nil, nil).w
		w.cpuContention = cpuContention{threads: &waiters{n: tt.threads}, cpus: 2}
		w.spinBudget = much
		for range 10 {
			w.adapt(spinFew - 1)
		}
		assert.Equal(t, w.spins(start, start+tt.spun), tt.want, "%+v", tt)
	}
}

// Where threads wait most of the time a worker forgets the long spins that it had learned, and what sleep is worth one.
func TestSpinForgetsInACrowd(t *testing.T) {
	w := newWorkerRig(t, port.Other, nil, nil).w
	w.cpuContention, w.spinBudget = noContention, spinMax
	for range 10 {
		w.adapt(spinMax - 1)
	}
	long := w.spin
	for range 100 {
		w.cpuContention.record(true)
	}
	w.adapt(spinFew - 1)
	short := w.spin
	for range 10 {
		w.adapt(spinMax - 1)
	}
	assert.True(t, long == spinMax && short == spinFew && w.spin == 0,
		"spin %d alone, %d beside waiting threads, %d after sleeps of %d there", long, short, w.spin, spinMax-1)
}

// The first look at a load meets waiting threads every so often. Only how often decides whether the worker spins for
// long, and not how long it spun before.
func TestContentionForgetsEarlierSpins(t *testing.T) {
	const gap = 150_000
	for _, tt := range []struct {
		every int // of how many gaps one is crowded
		long  bool
	}{{2, false}, {3, false}, {8, true}, {1000, true}} {
		for _, share := range []int{0, contentionWhole} {
			w := newWorkerRig(t, port.Other, nil, nil).w
			q := &waiters{}
			w.cpuContention = cpuContention{threads: q, cpus: 2, share: share}
			now, met := int64(1), 0
			for i := range 2000 {
				q.n = 2
				if i%tt.every == 0 {
					q.n = 3
				}
				w.spinBudget = spinMax
				idle := now
				for now < idle+gap && w.spins(idle, now) {
					now += 1000
				}
				if i >= 1000 && now >= idle+gap {
					met++
				}
				if now < idle+gap {
					w.adapt(idle + gap - now)
				}
				now = idle + gap
			}
			assert.True(t, tt.long == (met > 500) && (tt.long || met <= 0),
				"one gap in %d crowded, at first %d of %d: %d of 1000 gaps ended in a spin", tt.every, share,
				contentionWhole, met)
		}
	}
}
