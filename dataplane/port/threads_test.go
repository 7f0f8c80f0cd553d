package port

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestRunnable(t *testing.T) {
	for line, want := range map[string]int{
		"0.35 1.21 1.51 1/87 29163\n": 1, "12.00 0.00 0.00 128/4711 1\n": 128,
		"": -1, "0.1 0.2 0.3": -1, "0.1 0.2 0.3 /87 1": -1, "0.1 0.2 0.3 12": -1, "0.1 0.2 0.3 -1/87 1": -1, "0.1 0.2 0.3 x/87 1": -1,
	} {
		if got, err := runnable([]byte(line)); (err == nil) != (want >= 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v", line, got, err)
		}
	}
}

// Threads that want a CPU all the time are counted, those beyond the number of CPUs too: there are so many more than before and after.
// What else runs on the machine may change in between, so it is tried again.
func TestThreadsAreCounted(t *testing.T) {
	threads, err := OpenThreads()
	if err != nil {
		t.Fatal(err)
	}
	defer threads.Close()
	busy := runtime.NumCPU() + 6
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(busy + 2))
	least := func() int {
		n := math.MaxInt
		for until := time.Now().Add(20 * time.Millisecond); time.Now().Before(until); time.Sleep(time.Millisecond) {
			now, err := threads.Runnable()
			if err != nil {
				t.Fatal(err)
			}
			n = min(n, now)
		}
		return n
	}
	var tried [][3]int
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		before := least()
		var stop atomic.Bool
		var begun, ended sync.WaitGroup
		begun.Add(busy)
		for range busy {
			ended.Go(func() {
				for begun.Done(); !stop.Load(); {
				}
			})
		}
		begun.Wait()
		during := least()
		stop.Store(true)
		ended.Wait()
		after := least()
		if during-busy >= max(before, after) {
			return
		}
		tried = append(tried, [3]int{before, during, after})
	}
	t.Errorf("%d threads more run or wait, and before, with them and after there are %v", busy, tried)
}

func TestThreadsAllocateNothing(t *testing.T) {
	threads, err := OpenThreads()
	if err != nil {
		t.Fatal(err)
	}
	defer threads.Close()
	if n := testing.AllocsPerRun(100, func() { _, err = threads.Runnable() }); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}
