package lab

import (
	"fmt"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// Times of threads and CPUs are read as the kernel writes them, and a line that is none of its own changes nothing.
func FuzzCPUTimes(f *testing.F) {
	f.Add([]byte(procStat), uint32(5), uint32(7))
	f.Add([]byte("1 2 3"), uint32(0), uint32(1))
	f.Fuzz(func(t *testing.T, b []byte, ran, waited uint32) {
		_, _ = parseSchedstat(string(b))
		want := threadTime{time.Duration(ran), time.Duration(waited)}
		if got, err := parseSchedstat(fmt.Sprintf("%d %d 9\n", ran, waited)); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		ours := func(cpu int) bool { return cpu == 12345 }
		before, _ := parseCPUTimes(b, ours)
		text := fmt.Appendf(append(b, '\n'), "cpu12345 %d 0 0 %d 0 0 0 1\n", ran, waited)
		got, err := parseCPUTimes(text, ours)
		assert.True(t, err == nil && got.Busy-before.Busy == time.Duration(ran)*tick && got.Steal-before.Steal == tick,
			"%+v before, %+v, %v", before, got, err)
	})
}
