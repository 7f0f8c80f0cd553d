package runner

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/sched"
)

// A lateLine is a saturated port with a delay line whose worker stands still as it likes.
type lateLine struct {
	rate, burst int64
	now, paused int64
	shaper      sched.Shaper
	line        *delayLine
	put, left   []int64 // when each frame entered the line and left it
	octets      []int64
	out         sink
}

func newLateLine(t *rapid.T) *lateLine {
	w := &lateLine{rate: rapid.SampledFrom([]int64{10_000_000, 100_000_000, gigabit}).Draw(t, "rate"), now: 1}
	w.burst = max(2*1538, w.rate/8*500/1_000_000)
	w.line = newDelayLine(rapid.SampledFrom([]int64{500, 50_000, 100_000, 1_000_000}).Draw(t, "delay"), w.rate, w.burst)
	w.shaper.Configure(w.rate, w.burst, w.now)
	return w
}

// send puts what the shaper lets pass into the line, up to a number of frames.
func (w *lateLine) send(t *rapid.T, most int) {
	if w.paused != 0 { // until then, or until now where it had no frame
		w.shaper.Start(rapid.Int64Range(w.paused-1, w.now).Draw(t, "free since"), w.now)
		w.paused = 0
	}
	w.shaper.Held(w.line.holds, w.line.delay, w.now)
	for range most {
		b := make([]byte, rapid.SampledFrom([]int{60, 1514}).Draw(t, "length"))
		n := int64(frame.WireOctets(len(b)))
		if !w.shaper.Ready(n, w.now) {
			return
		}
		assert.MustBeTrue(t, put(w.line, w.now, b), "the line is full")
		w.shaper.Take(n)
		w.put, w.octets = append(w.put, w.now), append(w.octets, n)
	}
}

// flush sends what is due, in calls that take some time.
func (w *lateLine) flush(t *rapid.T) {
	for until := w.now; w.line.due(0) <= until; {
		held := w.line.holds
		sent, _, _, _ := w.line.flush(&w.out, until)
		w.now += rapid.SampledFrom([]int64{0, 1_000, 400_000}).Draw(t, "call")
		w.shaper.Held(held, w.line.delay, w.now)
		for range sent {
			w.left = append(w.left, w.now)
		}
	}
}

// check: whenever a frame leaves, it and what is still to come of the frames that entered up to any time later is no
// more than the burst and what the rate lets pass in the delay and until then.
func (w *lateLine) check(t *rapid.T) {
	for i, leaves := range w.left {
		sum := int64(0)
		for k := i; k < len(w.put); k++ {
			sum += w.octets[k]
			until := max(0, w.put[k]-leaves)
			if limit := float64(w.burst) + float64(w.rate)/8e9*float64(w.line.delay+until) + 1; float64(sum) > limit {
				t.Fatalf("of what left from %d ns on, %d octets had entered by %d ns, limit %.0f", leaves, sum,
					leaves+until, limit)
			}
		}
	}
}

// However late its line is, a port lets no more follow after XOFF than its burst and what is on its way on time.
func TestLateLineStaysWithinTheBurst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newLateLine(t)
		t.Repeat(map[string]func(*rapid.T){
			"send":  func(t *rapid.T) { w.send(t, rapid.SampledFrom([]int{1, 4, 64}).Draw(t, "frames")) },
			"flush": w.flush,
			"pause": func(*rapid.T) {
				if w.paused == 0 {
					w.shaper.Stop(w.now)
					w.paused = w.now
				}
			},
			"time": func(t *rapid.T) {
				w.now += rapid.SampledFrom([]int64{1_000, 20_000, 100_000, 1_000_000}).Draw(t, "ns")
			},
		})
		w.check(t)
	})
}

// A line that is on time costs nothing: a saturated port loses none of its rate.
func TestPunctualLineCostsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newLateLine(t)
		end := w.now + 20*w.line.delay + 1_000_000
		for w.now < end {
			w.now = min(w.shaper.When(1538, w.now), w.line.due(0))
			for w.line.due(0) <= w.now {
				held := w.line.holds
				_, _, _, _ = w.line.flush(&w.out, w.now)
				w.shaper.Held(held, w.line.delay, w.now)
			}
			w.send(t, 64)
		}
		sum := int64(1538) // may wait for its last token
		for _, n := range w.octets {
			sum += n
		}
		want := float64(w.burst) + float64(w.rate)/8e9*float64(w.now-1)
		assert.True(t, float64(sum) >= want, "%d octets in %d ns, want %.0f", sum-1538, w.now-1, want)
	})
}

// One send call takes a MAC Control frame, or as much data as one of a port without a delay.
func TestDelayLineSendCalls(t *testing.T) {
	l, s := newDelayLine(1000, gigabit, 62_500), &sink{}
	for range 5 {
		put(l, 1, make([]byte, mtu))
	}
	l.putControl(1, []byte("control"))
	put(l, 1, make([]byte, mtu))
	const onWire = mtu + 24
	tests := []struct {
		sent    int
		entered bool
		holds   int64
	}{{0, true, 6 * onWire}, {4, false, 2 * onWire}, {2, false, 0}, {0, false, 0}}
	l.entered = 7
	for i, tt := range tests {
		sent, octets, _, err := l.flush(s, 1001)
		assert.True(t, sent == tt.sent && octets == sent*mtu && err == nil && (l.entered != 0) == tt.entered &&
			l.holds == tt.holds, "call %d: %d frames, %d octets, %v, control %d, holds %d, want %+v", i, sent, octets,
			err, l.entered, l.holds, tt)
	}
}

// What never left holds no tokens back: neither a frame that the kernel refused, nor one that was given up, nor a
// line that was cleared.
func TestDelayLineHoldsWhatIsInIt(t *testing.T) {
	l, s := newDelayLine(1000, gigabit, 62_500), &sink{refuse: []error{unix.EINVAL, port.ErrDropped}}
	for range 4 {
		put(l, 0, make([]byte, 60))
	}
	_, _, refused, err := flushAll(l, s, 1000)
	assert.True(t, len(refused) == 1 && errors.Is(err, port.ErrDropped) && l.holds == 3*84,
		"%d refused, %v, holds %d", len(refused), err, l.holds)
	l.giveUp(nil)
	assert.Equal(t, l.holds, 2*84, "holds after one was given up")
	l.clear()
	assert.Equal(t, l.holds, 0, "holds")
}

// A worker that comes late to a delay line pays for it with its port's tokens, both when it sends what is due and
// before it puts more in, and counts how late every frame is.
func TestWorkerPaysForALateLine(t *testing.T) {
	const delay, late, slow = 100_000, 50_000_000, 1_000_000
	tests := []struct {
		name  string
		serve func(w *worker, t *portTask)
		count uint64
	}{
		{"nothing", func(*worker, *portTask) {}, 0},
		{"flush", func(w *worker, t *portTask) { w.flushDelay(t) }, 40},
		{"dequeue", func(w *worker, t *portTask) {
			a := []dataplane.Arrival{{Data: data(0, 1, lossless, 0, 60), At: Now()}}
			a[0].Prepare(&t.classify, mtu)
			w.r.sw.Ingress(0, a, 0, Now(), 0)
			w.lock()
			w.dequeue(t, a, Now())
			w.unlock()
			w.r.sw.Store(w.r.sw.Settle(a, nil))
		}, 0},
	}
	for _, tt := range tests {
		m := newWorkerRig(t, port.Lossless, nil, func(_ *dataplane.Config, ports []dataplane.PortConfig) {
			ports[1] = testPort(1)
			ports[1].Delay, ports[1].Speed = delay, slow
		})
		task := m.w.r.tasks[1]
		then := Now() - late
		for range 40 {
			assert.MustBeTrue(t, put(task.delay, then, make([]byte, mtu)), "the line is full")
		}
		tt.serve(m.w, task)
		half := int(task.cfg.Burst) / 2 / frame.WireOctets(mtu)
		r := &rig{tb: t, sw: m.w.r.sw, now: Now(), batch: port.NewBatch()}
		r.offer(0, several(0, 1, lossless, half+1, mtu)...)
		if left := r.send(1); left > half != (tt.name == "nothing") { // beside a line that holds a burst
			t.Errorf("%s: %d frames leave, half the bucket is %d", tt.name, left, half)
		}
		assert.True(t, task.lateness.Count == tt.count && (tt.count == 0 || task.lateness.Quantile(0.01) >= late-delay),
			"%s: %d frames were late, most of them by %d ns, want %d by %d", tt.name, task.lateness.Count,
			task.lateness.Quantile(0.01), tt.count, late-delay)
	}
}
