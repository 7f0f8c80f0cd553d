package port

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

func TestRunnable(t *testing.T) {
	for line, want := range map[string]int{
		"0.35 1.21 1.51 1/87 29163\n": 1, "12.00 0.00 0.00 128/4711 1\n": 128,
		"": -1, "0.1 0.2 0.3": -1, "0.1 0.2 0.3 /87 1": -1, "0.1 0.2 0.3 12": -1, "0.1 0.2 0.3 -1/87 1": -1, "0.1 " +
			"0.2 0.3 x/87 1": -1,
	} {
		got, err := runnable([]byte(line))
		assert.True(t, (err == nil) == (want >= 0) && (err != nil || got == want), "%q: %d, %v", line, got, err)
	}
}

// Busy threads beyond the number of CPUs are counted too. Other programs may change the count in between, so the test
// tries several times.
func TestThreadsAreCounted(t *testing.T) {
	threads := assert.Got(OpenThreads()).Must(t)
	defer threads.Close()
	busy := runtime.NumCPU() + 6
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(busy + 2))
	least := func() int {
		n := math.MaxInt
		for until := time.Now().Add(20 * time.Millisecond); time.Now().Before(until); time.Sleep(time.Millisecond) {
			now := assert.Got(threads.Runnable()).Must(t)
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
	assert.Must(t, err)
	defer threads.Close()
	n := testing.AllocsPerRun(100, func() { _, err = threads.Runnable() })
	assert.True(t, n == 0 && err == nil, "%v allocations, %v", n, err)
}

func TestBacklogDrops(t *testing.T) {
	file := filepath.Join(t.TempDir(), "softnet_stat")
	assert.Equal(t, BacklogDrops(file), 0, "no file")
	assert.Must(t, os.WriteFile(file, []byte("0000ffff 00000010 00000001\n00000001 00000002 0\nx\n1 zz\n"), 0o600))
	assert.Equal(t, BacklogDrops(file), 18, "frames")
}

func TestClockStep(t *testing.T) {
	for name, test := range map[string]struct {
		step func(look int64) int64
		want int64
	}{
		"every look":           {func(look int64) int64 { return 40 * look }, 40},
		"every tenth look":     {func(look int64) int64 { return look / 10 * 250 }, 250},
		"it is set back":       {func(look int64) int64 { return 7*look - look/100*10_000 }, 7},
		"it never moves":       {func(int64) int64 { return 5 }, 1000},
		"it only goes back":    {func(look int64) int64 { return -look }, 1000},
		"the step is not even": {func(look int64) int64 { return 100*look + look%2*30 }, 70},
	} {
		look := int64(0)
		got := ClockStep(func() int64 { look++; return test.step(look) })
		assert.Equal(t, got, test.want, "%s: ns", name)
	}
}

func TestClockError(t *testing.T) {
	for name, test := range map[string]struct {
		apart func(look int64) int64
		want  int64
	}{
		"always the same":             {func(int64) int64 { return 1e15 }, leastError},
		"by 2 µs more or less":        {func(look int64) int64 { return 1e15 + look%2*2000 }, 4000},
		"once in a while much less":   {func(look int64) int64 { return 1e15 - look%100/99*1_000_000 }, leastError},
		"no two looks are alike":      {func(look int64) int64 { return look * 1_000_000 }, worstError},
		"the real-time clock was set": {func(look int64) int64 { return look / 990 * 1_000_000 }, leastError},
	} {
		look := int64(0)
		got := ClockError(func() (a, b int64) { look++; return look * 50, look*50 + test.apart(look) })
		assert.Equal(t, got, test.want, "%s: ns", name)
	}
}
