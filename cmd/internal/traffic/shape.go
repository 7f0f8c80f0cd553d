package traffic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"pfcswitch/dataplane/frame"
)

// A Shape is how the load of a flow varies, and what it consists of.
type Shape struct {
	On, Off time.Duration // it sends for On and is silent for Off, again and again from its start; 0: it always sends
	Poisson bool          // frames come at random: the times between them are exponential, and Rate is their mean
	Replay  *Replay       // it sends the frames of a file; nil: test frames
}

// maxPeriod bounds On and Off: their sum stays in an int64.
const maxPeriod = 24 * time.Hour

func (f *Flow) checkShape() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("priority %d: %s", f.Priority, fmt.Sprintf(format, args...))
	}
	switch {
	case f.On < 0 || f.Off < 0 || f.On > maxPeriod || f.Off > maxPeriod || (f.On == 0) != (f.Off == 0):
		return bad("on for %v and off for %v: give both, from 1ns to %v, or none", f.On, f.Off, maxPeriod)
	case f.Poisson && f.Rate <= 0:
		return bad("arrivals at random need a rate, which is their mean")
	case f.Poisson && f.On > 0:
		return bad("arrivals at random and on with off exclude each other")
	case f.Poisson && f.DCQCN:
		return bad("arrivals at random and DCQCN exclude each other: the times of its frames are fixed")
	}
	return nil
}

// on returns how much of a time since the flow's start it sends.
func (f *Flow) on(lasted int64) int64 {
	if f.On == 0 {
		return lasted
	}
	period := int64(f.On + f.Off)
	return lasted/period*int64(f.On) + min(lasted%period, int64(f.On))
}

// arrivals are the moments in ns at which the frames of a flow with Poisson come, from the next to be sent on.
type arrivals struct {
	last   int64 // of the frame before
	next   []int64
	random *rand.Rand
}

// arrival returns when the frame comes that stands n places behind the next.
func (f *flowState) arrival(n uint64) int64 {
	a := &f.arrivals
	if a.random == nil {
		a.last, a.random = f.from, rand.New(rand.NewPCG(uint64(f.id), 0))
	}
	for uint64(len(a.next)) <= n {
		last := a.last
		if k := len(a.next); k > 0 {
			last = a.next[k-1]
		}
		mean := float64(frame.WireOctets(f.Octets)) * 8 * 1e9 / float64(f.Rate)
		a.next = append(a.next, last+int64(a.random.ExpFloat64()*mean))
	}
	return a.next[n]
}

// catchUp delays the arrivals by what the next lags by beyond maxCatchUp.
func (a *arrivals) catchUp(now int64) {
	if len(a.next) == 0 {
		return
	}
	lag := max(0, now-int64(maxCatchUp)-a.next[0])
	for i := range a.next {
		a.next[i] += lag
	}
}

// arrived takes note that the next frame was sent.
func (a *arrivals) arrived() {
	if len(a.next) > 0 {
		a.last, a.next = a.next[0], slices.Delete(a.next, 0, 1)
	}
}

// shapedDue returns when the frame after the planned ones may go, where the shape decides that.
func (f *flowState) shapedDue(now int64) (at int64, decided bool) {
	if now < f.from || f.until != 0 && now >= f.until {
		return 0, false
	}
	if f.Count > 0 && f.sent+f.planned >= f.Count {
		return math.MaxInt64, true
	}
	if f.Replay != nil {
		if due := f.Replay.due(f.sent+f.planned, now-f.from); due > now-f.from {
			return max(due, due+f.from), true // also where there is none, and no moment
		}
	}
	if f.On > 0 {
		period := int64(f.On + f.Off)
		phase := (now - f.from) % period
		if phase >= int64(f.On) {
			return now - phase + period, true
		}
		if begins := now - phase; begins != f.burst {
			f.fillMeter(begins)
		}
	}
	if f.Poisson {
		f.arrivals.catchUp(now)
		return max(now, f.arrival(f.planned)), true
	}
	return 0, false
}
