package demo

import (
	"testing"
	"time"
)

const procStat = `cpu  90 1 30 500 9 0 5 7 0 0
cpu0 40 1 10 300 4 0 3 2 0 0
cpu1 50 0 20 200 5 0 2 5 0 0
intr 12345
ctxt 99
`

func TestCPUTimes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		allowed []int
		want    cpuTimes
		ok      bool
	}{
		{"both", []int{0, 1}, cpuTimes{all: 360 + 282, idle: 509, steal: 7}, true},
		{"one", []int{1}, cpuTimes{all: 282, idle: 205, steal: 5}, true},
		{"another one", []int{2}, cpuTimes{}, false},
	} {
		got, err := parseCPUTimes([]byte(procStat), func(cpu int) bool {
			for _, a := range tt.allowed {
				if a == cpu {
					return true
				}
			}
			return false
		})
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
	if now, err := readCPUTimes(); err != nil || now.all == 0 {
		t.Errorf("this machine: %+v, %v", now, err)
	}
}

func TestShortageText(t *testing.T) {
	for _, tt := range []struct {
		s    shortage
		want string
	}{
		{shortage{}, ""},
		{busy, "s1 waited for a CPU for 10.0 % of the load, h2 could not offer 2.0 % of its frames"},
		{shortage{steal: 0.031}, "the hypervisor took 3.1 % of the CPUs"},
	} {
		if got := tt.s.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// Threads that wait at the same time count as one, and what waits seldom does not count as if it always did.
func TestWaitShareOfAProcess(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name              string
		ran, waited, load time.Duration
		want              float64
	}{
		{"never", s, 0, s, 0},
		{"a tenth of the load", s / 10, s / 10, s, 0.1},
		{"four threads, each a quarter of its time", 3 * s, s, s, 0.25},
		{"it ran for a moment", s / 100, s / 100, s, 0.01},
	} {
		if got := waitShare(tt.ran, tt.waited, tt.load); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
