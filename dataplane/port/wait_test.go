package port_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pfcswitch/dataplane/port"
)

func newWaiter(t *testing.T) *port.Waiter {
	t.Helper()
	w, err := port.NewWaiter()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// A sleep lasts as long as it should, whether the runtime knows of it or not.
func TestWaitExpires(t *testing.T) {
	w := newWaiter(t)
	for _, d := range []time.Duration{0, 200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
		from := time.Now()
		why := w.Wait(d)
		for ; why == port.Ready; why = w.Wait(d) { // a signal of the runtime's
			from = time.Now()
		}
		if slept := time.Since(from); why != port.Expired || slept < d {
			t.Errorf("%v: slept %v, %v", d, slept, why)
		}
	}
}

// Wake ends a sleep of either kind, and the one that begins after it.
func TestWake(t *testing.T) {
	w := newWaiter(t)
	for _, before := range []time.Duration{0, 300 * time.Microsecond, 20 * time.Millisecond} {
		for _, d := range []time.Duration{-1, 20 * time.Second} {
			wake := time.AfterFunc(before, w.Wake)
			from := time.Now()
			for !woken(w, d, from.Add(before)) && time.Since(from) < 10*time.Second {
			}
			if slept := time.Since(from); slept > 10*time.Second {
				t.Errorf("Wake after %v, sleep of %v: slept %v", before, d, slept)
			}
			wake.Stop()
		}
	}
}

// woken sleeps and tells whether Wake may have ended that: a signal of the runtime's ends it as well.
func woken(w *port.Waiter, d time.Duration, wake time.Time) bool {
	return w.Wait(d) == port.Ready && time.Now().After(wake)
}

// While a worker sleeps and wakes, the runtime's own threads sleep: without that they ran more often than it.
func TestShortSleepsLeaveTheRuntimeAsleep(t *testing.T) {
	w := newWaiter(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const sleeps = 2000
	own := unix.Gettid()
	mine, others := timesRun(t, own)
	for range sleeps {
		w.Wait(200 * time.Microsecond)
	}
	mineAfter, othersAfter := timesRun(t, own)
	if ran := mineAfter - mine; ran < sleeps/2 {
		t.Fatalf("%d sleeps, but the thread ran only %d times: it did not sleep", sleeps, ran)
	}
	if ran := othersAfter - others; ran > sleeps/3 {
		t.Errorf("%d sleeps, meanwhile the runtime's threads ran %d times", sleeps, ran)
	}
}

// timesRun returns how often a thread of this process was given a CPU, and how often all others were.
func timesRun(t *testing.T, own int) (mine, others int) {
	t.Helper()
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // it has just ended
		}
		var ran, waited, n int
		if _, err := fmt.Sscan(string(b), &ran, &waited, &n); err != nil {
			t.Fatalf("%s: %q: %v", f, b, err)
		}
		if filepath.Base(filepath.Dir(f)) == strconv.Itoa(own) {
			mine = n
		} else {
			others += n
		}
	}
	return mine, others
}

func TestWaitAllocatesNothing(t *testing.T) {
	w := newWaiter(t)
	for _, d := range []time.Duration{0, 1500 * time.Microsecond} {
		if n := testing.AllocsPerRun(50, func() { w.Wait(d) }); n != 0 {
			t.Errorf("a sleep of %v allocates %v times", d, n)
		}
	}
}
