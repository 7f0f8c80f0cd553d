package port_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

func newPoller(t *testing.T) *port.Poller {
	t.Helper()
	w := assert.Got(port.NewPoller()).Must(t)
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// sleeps are the two ways to sleep.
var sleeps = map[string]func(*port.Poller, time.Duration) port.Wakeup{"Wait": (*port.Poller).Wait,
	"Poll": (*port.Poller).Poll}

func TestSleepExpires(t *testing.T) {
	w := newPoller(t)
	for name, sleep := range sleeps {
		for _, d := range []time.Duration{0, 200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond} {
			from := time.Now()
			why := sleep(w, d)
			for why == port.Ready { // a signal of the runtime's
				from = time.Now()
				why = sleep(w, d)
			}
			slept := time.Since(from)
			assert.True(t, why == port.Expired && slept >= d, "%s(%v): slept %v, %v", name, d, slept, why)
		}
	}
}

// Wake ends a short sleep, a long sleep, and the next sleep.
func TestWakeEndsASleep(t *testing.T) {
	const patience = 10 * time.Second
	w := newPoller(t)
	for name, sleep := range sleeps {
		for _, before := range []time.Duration{0, 300 * time.Microsecond, 20 * time.Millisecond} {
			for _, d := range []time.Duration{-1, 20 * time.Second} {
				from := time.Now()
				wake, late := time.AfterFunc(before, w.Wake), time.AfterFunc(patience, w.Wake)
				// a signal of the runtime's ends it as well
				for sleep(w, d) != port.Woken || time.Since(from) < before {
					assert.MustBeTrue(t, time.Since(from) < 2*patience, "%s(%v): nothing is woken", name, d)
				}
				slept := time.Since(from)
				assert.True(t, slept < patience, "%s(%v), Wake after %v: slept %v", name, d, before, slept)
				wake.Stop()
				late.Stop()
			}
		}
	}
}

// The runtime's own threads sleep while a worker polls.
func TestShortSleepsLeaveTheRuntimeAsleep(t *testing.T) {
	w := newPoller(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const number = 2000
	own := unix.Gettid()
	from := time.Now()
	mine, others := timesRun(t, own)
	for range number {
		w.Poll(200 * time.Microsecond)
	}
	mineAfter, othersAfter := timesRun(t, own)
	ran := mineAfter - mine
	assert.MustBeTrue(t, ran >= number/2, "%d sleeps, but the thread ran only %d times: it did not sleep", number, ran)
	most := 100 + int(time.Since(from)/time.Millisecond) // they preempt a goroutine every 10 ms, with some switches
	if ran := othersAfter - others; ran > most {
		t.Errorf("%d sleeps, meanwhile the runtime's threads ran %d times, want at most %d", number, ran, most)
	}
}

// A goroutine whose sleeps are long gives up its CPU once a sleep, so that an idle switch is quiet. How often other
// threads take the CPU from it does not count.
func TestLongSleepsAreOneSleep(t *testing.T) {
	w := newPoller(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const number = 100
	before := timesSlept(t)
	for range number {
		w.Poll(5 * time.Millisecond)
	}
	slept := timesSlept(t) - before
	assert.True(t, slept <= number*3/2, "%d sleeps, but the thread slept %d times", number, slept)
}

// timesSlept is how often the calling thread has given up its CPU by itself.
func timesSlept(t *testing.T) (n int) {
	t.Helper()
	status := assert.Got(os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", unix.Gettid()))).Must(t)
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "voluntary_ctxt_switches: %d", &n); err == nil {
			return n
		}
	}
	t.Fatal("the kernel does not count how often a thread sleeps")
	return 0
}

// An ignored descriptor does not end a sleep. Wake and all other descriptors do, and so does an included one.
func TestIgnoredDescriptorsEndNoSleep(t *testing.T) {
	const short, long = 5 * time.Millisecond, 20 * time.Second
	w := newPoller(t)
	var ends [2][2]int
	var fds []int32
	for i := range ends {
		assert.Must(t, unix.Pipe2(ends[i][:], unix.O_CLOEXEC))
		defer func() { _, _ = unix.Close(ends[i][0]), unix.Close(ends[i][1]) }()
		fds = append(fds, int32(ends[i][0]))
	}
	w.Watch(fds)
	write := func(i int) {
		assert.Got(unix.Write(ends[i][1], []byte{0})).Must(t)
	}
	write(1)
	for range 2 { // ignored twice is ignored
		w.Ignore(1, 2, true)
		var longest time.Duration
		for range 20 { // a signal of the runtime's ends a sleep as well
			from := time.Now()
			w.Poll(short)
			longest = max(longest, time.Since(from))
		}
		assert.True(t, longest >= short, "what is ignored ended each sleep: the longest lasted %v", longest)
	}
	for name, wake := range map[string]func(){"Wake": w.Wake, "another descriptor": func() { write(0) }} {
		wake()
		from := time.Now()
		w.Poll(long)
		assert.True(t, time.Since(from) < long, "%s did not end a sleep", name)
	}
	w.Wake()
	assert.Equal(t, w.Wait(long), port.Ready, "Wake while a descriptor is readable, want ready")
	w.Ignore(0, 2, true)
	w.Ignore(1, 2, false)
	assert.Equal(t, w.Wait(long), port.Ready, "a descriptor that was ignored before, want ready")
	w.Ignore(0, 2, true)
	w.Watch(fds[:1])
	assert.Equal(t, w.Wait(long), port.Ready, "a descriptor that is watched anew, want ready")
}

// Sleep ignores descriptors, and ends early only for signals.
func TestSleep(t *testing.T) {
	for _, d := range []time.Duration{100 * time.Microsecond, 2 * time.Millisecond, 5 * time.Millisecond} {
		var longest time.Duration
		for range 10 {
			from := time.Now()
			port.Sleep(d)
			longest = max(longest, time.Since(from))
		}
		assert.True(t, longest >= d, "sleeps of %v: the longest lasted %v", d, longest)
	}
}

// timesRun returns how often a thread of this process got a CPU, and how often all its other threads did.
func timesRun(t *testing.T, own int) (mine, others int) {
	t.Helper()
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // it has just ended
		}
		var ran, waited, n int
		_, err = fmt.Sscan(string(b), &ran, &waited, &n)
		assert.MustNoError(t, err, "%s: %q", f, b)
		if filepath.Base(filepath.Dir(f)) == strconv.Itoa(own) {
			mine = n
		} else {
			others += n
		}
	}
	return mine, others
}

func TestPollAllocatesNothing(t *testing.T) {
	w := newPoller(t)
	for _, d := range []time.Duration{0, 1500 * time.Microsecond} {
		assert.Equal(t, testing.AllocsPerRun(50, func() { w.Poll(d) }), 0, "allocations of a sleep of %v", d)
	}
}

// A long sleep leaves no work to the runtime's monitor thread.
func TestLongSleepsLeaveTheRuntimeAsleep(t *testing.T) {
	w := newPoller(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const number, most = 20, 25 // other threads' runs of a sleep
	own := unix.Gettid()
	w.Poll(20 * time.Millisecond) // from now on a sleep is expected to be long
	_, others := timesRun(t, own)
	for range number {
		others := make(chan struct{}) // something runs between two sleeps, as in a switch
		go close(others)
		<-others
		w.Poll(20 * time.Millisecond)
	}
	_, after := timesRun(t, own)
	assert.True(t, after-others <= number*most,
		"%d sleeps, meanwhile the runtime's threads ran %d times, want at most %d", number, after-others, number*most)
}

// Looks for drops, however long they take, do not lengthen a sleep: each of its parts ends at a time of its own.
func TestLooksDoNotLengthenASleep(t *testing.T) {
	const sleep = 2500 * time.Millisecond // with two looks
	w := newPoller(t)
	look := port.SlowDrops(w, 200*time.Millisecond)
	from := time.Now()
	for w.Wait(sleep) == port.Ready { // a signal of the runtime's
		from = time.Now()
	}
	late := time.Since(from) - sleep
	assert.True(t, w.Looked() && late < look, "looks of %v: the sleep ended %v late", look, late)
}
