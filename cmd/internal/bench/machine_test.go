package bench

import (
	"os"
	"pfcswitch/dataplane/assert"
	"testing"
	"time"
)

func TestParseRollup(t *testing.T) {
	text := "5581 [rollup]\nRss:   2048 kB\nPss:    512 kB\nPss_Anon: 1 kB\n"
	if rss, pss, err := parseRollup([]byte(text)); err != nil || rss != 2<<20 || pss != 512<<10 {
		t.Errorf("%v, %v, %v", rss, pss, err)
	}
	for _, text := range []string{"", "Rss: 1 kB\n", "Rss: x kB\nPss: 1 kB\n"} {
		_, _, err := parseRollup([]byte(text))
		assert.True(t, err != nil, "%q was read", text)
	}
	b := assert.Got(os.ReadFile("/proc/self/smaps_rollup")).Must(t)
	rss, pss, err := parseRollup(b)
	assert.True(t, err == nil && rss >= 1<<20 && pss <= rss, "the kernel's own file: %v, %v, %v", rss, pss, err)
}

// A process that works has the CPU time that it knows of itself, and one that is gone none.
func TestCPUTime(t *testing.T) {
	before := assert.Got(cpuTime(os.Getpid())).Must(t)
	const work = 50 * time.Millisecond
	start := time.Now()
	for time.Since(start) < 20*work {
		now := assert.Got(cpuTime(os.Getpid())).Must(t)
		if now-before >= work {
			took := time.Since(start)
			assert.True(t, took >= work/2, "%v of CPU time within %v", now-before, took)
			return
		}
	}
	t.Errorf("no %v of CPU time within %v", work, time.Since(start))
}

func TestCPUUsage(t *testing.T) {
	u := cpuUsage{took: 2 * time.Second, process: 500 * time.Millisecond, share: 0.25}
	if v := u.shares(); v[0] != (value{coreShare, 25}) || v[1] != (value{allCores, 25}) {
		t.Errorf("half a second of two, and a quarter of all CPUs: %v", v)
	}
}
