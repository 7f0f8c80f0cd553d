package deadlock

import (
	"errors"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

func TestConfigCheck(t *testing.T) {
	for name, c := range map[string]Config{"usual": patent(), "SONiC": sonic(), "slow": recurring(), "nothing": {}} {
		assert.NoError(t, c.Check(), "%s", name)
	}
	for name, change := range map[string]func(c *Config){
		"period 2 ms":           func(c *Config) { c.Period = 2 * time.Millisecond },
		"period 0":              func(c *Config) { c.Period = 0 },
		"count 1":               func(c *Config) { c.Count = 1 },
		"count 16":              func(c *Config) { c.Count = 16 },
		"count -1":              func(c *Config) { c.Count = -1 },
		"no recovery":           func(c *Config) { c.Recovery = 0 },
		"recovery of an hour":   func(c *Config) { c.Recovery = time.Hour },
		"no such action":        func(c *Config) { c.Action = 3 },
		"no such end":           func(c *Config) { c.Restore = 2 },
		"slow period 0":         func(c *Config) { c.SlowPeriod = 0 },
		"slow period 2 h":       func(c *Config) { c.SlowPeriod = 2 * time.Hour },
		"threshold 0":           func(c *Config) { c.Threshold = 0 },
		"threshold 501":         func(c *Config) { c.Threshold, c.SlowPeriod = 501, time.Hour },
		"threshold unreachable": func(c *Config) { c.Threshold = 25 },
		"slow without fast":     func(c *Config) { c.Fast = false },
	} {
		c := recurring()
		change(&c)
		refused(t, name, c)
	}
	for name, change := range map[string]func(c *Config){
		"detection 99 ms":      func(c *Config) { c.Detection = 99 * time.Millisecond },
		"detection 6 s":        func(c *Config) { c.Detection = 6 * time.Second },
		"restoration 2 min":    func(c *Config) { c.Recovery = 2 * time.Minute },
		"poll 99 ms":           func(c *Config) { c.Period = 99 * time.Millisecond },
		"poll 2 s":             func(c *Config) { c.Period = 2 * time.Second },
		"poll above detection": func(c *Config) { c.Period = 300 * time.Millisecond },
	} {
		c := sonic()
		change(&c)
		refused(t, name, c)
	}
}

// refused also checks that a watchdog with that configuration stays as it is.
func refused(t *testing.T, name string, c Config) {
	t.Helper()
	r, q := watchOne(t, patent())
	err := r.w.Set(0, "a", 1<<3, c, r.now)
	assert.True(t, errors.Is(err, ErrConfig), "%s: %v", name, err)
	r.block(q)
	assert.Equal(t, r.w.Next(), r.now+100*ms, "%s: something has changed", name)
}

func TestPortNumbers(t *testing.T) {
	for _, n := range []int{-1, maxPorts} {
		err := newRig().w.Set(n, "a", 1, patent(), 0)
		assert.True(t, errors.Is(err, ErrConfig), "%d: %v", n, err)
	}
}

// The longest single pause, 65535 quanta of 512 bit times, by speed.
func TestDefaultCount(t *testing.T) {
	for longest, want := range map[time.Duration]int{
		3_355_392 * time.Microsecond: 15, // 10 Mbit/s: 34 would be needed
		335_539 * time.Microsecond:   4,  // 100 Mbit/s
		33_553 * time.Microsecond:    2,  // 1 Gbit/s
		100 * time.Millisecond:       2,
		0:                            2,
	} {
		assert.Equal(t, DefaultCount(longest, 100*time.Millisecond), want, "%v", longest)
	}
	c := recurring()
	assert.Equal(t, c.SlowLimit(), 25, "detections fit into 10 s of 400 ms each")
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		Alert.String(): "alert", Drop.String(): "drop", Action(9).String(): "unknown",
		Armed.String(): "armed", Reopened.String(): "reopened", Kind(99).String(): "unknown",
	} {
		assert.True(t, got == want, "%q, want %q", got, want)
	}
}
