package runner

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// A Refresher that has nothing to send, and nobody to watch, has no threads. What is set while they end is sent again
// all the same.
func TestRefresherHasThreadsWhereItHasWork(t *testing.T) {
	r := assert.Got(NewRefresher(1, nil)).Must(t)
	t.Cleanup(func() { assert.NoError(t, r.Close(), "Close") })
	for i := range r.threads[1:] {
		assert.NoError(t, r.threads[1+i].poller.Close(), "Close")
	}
	r.threads = r.threads[:1] // others would do what this one forgets
	runs := func() (n int) {
		for i := range r.threads {
			if r.threads[i].runs.Load() {
				n++
			}
		}
		return n
	}
	assert.Equal(t, runs(), 0, "threads at first")
	p, f, thread := &loopPort{}, &r.ports[0], &r.threads[0]
	thread.runs.Store(true) // it has just found nothing to do
	r.Set(0, p, []byte{1}, Now(), 1e15)
	assert.True(t, !r.end(thread) && thread.runs.Load(), "a thread ends that has got something to send")
	r.Set(0, p, []byte{2}, Now(), 0)
	assert.True(t, r.end(thread) && !thread.runs.Load(), "a thread that has nothing to send does not end")
	for range 2000 {
		r.Set(0, p, []byte{1}, Now(), 10_000)
		r.Repeat(0, Now())
		for from := Now(); f.sent.Load() == 0 && Now() < from+patience.Nanoseconds(); {
			relax(100) // eventually would sleep for as long as threads take to end
		}
		assert.MustBeTrue(t, r.Taken(0).N > 0, "XOFF is not sent again")
		r.Set(0, p, []byte{2}, Now(), 0)
		r.Repeat(0, Now())
		relax(1 + rand.Uint32N(2000)) // in which the threads may end
	}
	eventually(t, "they have ended", func() bool { return runs() == 0 })
	f.guard.Store(&guard{port: p, waiting: func() bool { return false }, watched: nobody})
	r.wakeFor(math.MinInt64)
	eventually(t, "who watches runs", func() bool { return runs() > 0 })
	time.Sleep(time.Millisecond)
	assert.True(t, runs() > 0, "they have ended, though they watch a port")
	r.Stop(0)
	eventually(t, "they end again", func() bool { return runs() == 0 })
}

// A real-time thread is enough. When it has ended, all start, until the first is one again.
func TestOneRealTimeThreadIsEnough(t *testing.T) {
	r := assert.Got(NewRefresher(1, nil)).Must(t)
	t.Cleanup(func() { assert.NoError(t, r.Close(), "Close") })
	p, f := &loopPort{}, &r.ports[0]
	xoff := func(every int64) {
		r.Set(0, p, []byte{1}, Now(), every)
		r.Repeat(0, Now())
	}
	runs := func(want ...bool) func() bool {
		return func() bool {
			for i := range r.threads {
				if r.threads[i].runs.Load() != want[min(i, len(want)-1)] {
					return false
				}
			}
			return true
		}
	}
	xoff(10_000)
	eventually(t, "all run", runs(true))
	r.alone.Store(true) // as the first does that has become a real-time thread
	r.wake()
	eventually(t, "the first runs alone", runs(true, false))
	sent := f.sent.Load()
	xoff(20_000)
	eventually(t, "it repeats XOFF", func() bool { return f.sent.Load() > sent+2 })
	assert.True(t, runs(true, false)(), "another has started")
	xoff(0)
	eventually(t, "none runs", runs(false))
	assert.Equal(t, r.alone.Load(), false, "an ended thread is enough")
	xoff(10_000)
	eventually(t, "all run again", runs(true))
}

// A queued is a port whose frames come by a queue.
type queued struct{ port.Port }

func (q queued) Slots(port.Class) port.Slots { return port.Slots{Full: 100, Queued: true} }

// The Refresher watches a port unless that is not in use, and a program that sees all its frames holds its peer.
func TestWhoHoldsThePeer(t *testing.T) {
	l := newTestbed(t, executors[0], roomy(2), unshapedPorts(2)...)
	for name, tt := range map[string]struct {
		used, holds bool // the program does
		assist      *Assist
		watched     bool
	}{
		"the program alone":               {false, true, &Assist{First: true}, false},
		"no program":                      {false, false, nil, true},
		"the program holds nobody":        {false, false, &Assist{First: true}, true},
		"another program stands before":   {false, true, &Assist{}, true},
		"the port is in use":              {true, true, &Assist{First: true}, true},
		"in use, and without the program": {true, false, nil, true},
	} {
		l.must(l.r.Do(func(sw *dataplane.Switch) error { // the worker stands still
			task := l.r.tasks[0]
			defer func(p port.Port) {
				task.port, task.assist, task.kernelHolds = p, nil, false
				task.used.Store(false)
				task.watch(sw, l.r)
			}(task.port)
			task.port, task.assist, task.kernelHolds = queued{task.port}, tt.assist, tt.holds
			task.used.Store(tt.used)
			task.watch(sw, l.r)
			g := task.refresh.guard.Load()
			assert.Equal(t, !g.watched.ByKernel, tt.watched, "%s: the Refresher watches", name)
			assert.Equal(t, task.lookWithin > 0, tt.watched, "%s: somebody has to look", name)
			assert.Equal(t, task.refresh.idle() != nil, tt.watched, "%s: it listens to idle rings", name)
			return nil
		}))
	}
}

// There is a place for each worker and each Refresher among GOMAXPROCS, and three for others, once a port is in use:
// ports that have their rings from the start on are. Before, there are fewer.
func TestProcessorForEachWorker(t *testing.T) {
	was, before := processors.used.Swap(false), runtime.GOMAXPROCS(1)
	defer func() {
		processors.used.Store(was)
		runtime.GOMAXPROCS(before)
	}()
	users := func() (workers, refreshers int) {
		processors.Lock()
		defer processors.Unlock()
		return processors.workers, processors.refreshers
	}
	for _, tt := range [][2]int{{1, 2}, {3, 4}, {20, idleWorkers + 1}} {
		addProcessors(tt[0], 1)
		assert.Equal(t, runtime.GOMAXPROCS(0), tt[1], "GOMAXPROCS of an idle process with so many workers")
		addProcessors(-tt[0], -1)
	}
	forExecutors(t, func(t *testing.T, e executor) {
		processors.used.Store(false)
		runtime.GOMAXPROCS(1)
		workers, refreshers := users()
		l := newTestbed(t, e, roomy(4), unshapedPorts(4)...)
		w, r := users()
		assert.Equal(t, w-workers, len(l.r.workers), "workers more")
		assert.Equal(t, r-refreshers, 1, "Refreshers more")
		least := w + r + 3
		eventually(t, "GOMAXPROCS has risen", func() bool { return runtime.GOMAXPROCS(0) >= least })
	})
}
