package lab

import (
	"slices"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

const procStat = `cpu  90 1 30 500 9 0 5 7 0 0
cpu0 40 1 10 300 4 0 3 2 0 0
cpu1 50 0 20 200 5 0 2 5 0 0
intr 12345
ctxt 99
`

func TestCPUTimes(t *testing.T) {
	ticks := func(busy, idle, steal time.Duration) CPUTimes {
		return CPUTimes{busy * tick, idle * tick, steal * tick}
	}
	for _, tt := range []struct {
		name    string
		allowed []int
		want    CPUTimes
		ok      bool
	}{
		{"both", []int{0, 1}, ticks(126, 509, 7), true},
		{"one", []int{1}, ticks(72, 205, 5), true},
		{"another one", []int{2}, CPUTimes{}, false},
	} {
		got, err := parseCPUTimes([]byte(procStat), func(cpu int) bool { return slices.Contains(tt.allowed, cpu) })
		assert.True(t, got == tt.want && (err == nil) == tt.ok, "%s: %+v, %v, want %+v", tt.name, got, err, tt.want)
	}
	now, err := ReadCPUTimes()
	assert.True(t, err == nil && now.Busy != 0, "this machine: %+v, %v", now, err)
}

func TestCPUShares(t *testing.T) {
	from := CPUTimes{Busy: time.Second, Idle: time.Second, Steal: time.Second}
	until := CPUTimes{Busy: 2 * time.Second, Idle: 3*time.Second + 500*time.Millisecond, Steal: 1500 * time.Millisecond}
	got, want := until.Since(from), (CPUShares{Busy: 0.25, Idle: 0.625, Steal: 0.125})
	assert.True(t, got == want, "%+v, want %+v", got, want)
	assert.Equal(t, from.Since(from), CPUShares{}, "no time has passed")
}
