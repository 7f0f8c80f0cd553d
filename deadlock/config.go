package deadlock

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// An Action is what the watchdog does with a queue that is locked up.
type Action uint8

// The actions.
const (
	Alert   Action = iota // nothing but the events: XOFF stays obeyed
	Forward               // XOFF for the queue is counted and not obeyed
	Drop                  // as Forward, and the frames that the queue holds and gets are discarded
)

var actionNames = [...]string{"alert", "forward", "drop"}

// String returns the action as it stands in the configuration.
func (a Action) String() string {
	if int(a) >= len(actionNames) {
		return "unknown"
	}
	return actionNames[a]
}

// A Restore says when a storm is over.
type Restore uint8

// The ends of a storm.
const (
	Elapsed Restore = iota // the recovery time after detection, whatever the peer sent meanwhile
	Quiet                  // when the peer has not asked for a pause for the recovery time
)

// A Config says how the queues of one port are watched. The zero value watches nothing.
type Config struct {
	Fast   bool          // poll queues that hold frames and are paused
	Period time.Duration // between two polls
	// Count is how many blocked polls in a row are a deadlock, 2 to 15. With Count 0, the time Detection counts
	// instead: for so long polls have to find the queue blocked.
	Count     int
	Detection time.Duration
	Action    Action
	Restore   Restore
	Recovery  time.Duration // until the queue is treated like others again

	Slow       bool          // find deadlocks that keep coming back
	SlowPeriod time.Duration // how often the number of detections is compared with that of one period ago
	Threshold  int           // most new detections in a period, 1 to 500
}

// Limits of a Config.
const (
	LeastCount, MostCount         = 2, 15
	LeastThreshold, MostThreshold = 1, 500
	LeastRecovery, MostRecovery   = 10 * time.Millisecond, time.Minute
	LeastSlow, MostSlow           = time.Second, time.Hour
)

// Limits of a Config with a Detection time. They are those of SONiC's pfcwd.
const (
	LeastDetection, MostDetection     = 100 * time.Millisecond, 5 * time.Second
	LeastRestoration, MostRestoration = 100 * time.Millisecond, time.Minute
	LeastPoll, MostPoll               = 100 * time.Millisecond, time.Second
)

// Periods are the periods of a Config with a Count.
var Periods = []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond}

// DefaultCount is how many polls outlast a single pause of the duration longest: at least 2 and at most 15.
func DefaultCount(longest, period time.Duration) int {
	return min(MostCount, max(LeastCount, int(longest/period)+1))
}

// DetectionTime is the time for which a queue has to be blocked.
func (c *Config) DetectionTime() time.Duration {
	if c.Count == 0 {
		return c.Detection
	}
	return time.Duration(c.Count) * c.Period
}

// SlowLimit is the number of detections that fit into a slow period. A threshold at or above it could never be
// exceeded.
func (c *Config) SlowLimit() int { return int(c.SlowPeriod / (c.DetectionTime() + c.Recovery)) }

// ErrConfig is what the errors of Config.Check wrap.
var ErrConfig = errors.New("deadlock: configuration")

// Check reports what is out of range.
func (c *Config) Check() error {
	if !c.Fast {
		if c.Slow {
			return fmt.Errorf("%w: slow detection counts what fast detection finds, and that is off", ErrConfig)
		}
		return nil
	}
	if err := c.checkFast(); err != nil {
		return err
	}
	switch {
	case !c.Slow:
	case c.SlowPeriod < LeastSlow || c.SlowPeriod > MostSlow:
		return fmt.Errorf("%w: slow period %v: %v to %v are possible", ErrConfig, c.SlowPeriod, LeastSlow, MostSlow)
	case c.Threshold < LeastThreshold || c.Threshold > MostThreshold:
		return fmt.Errorf("%w: threshold %d: %d to %d are possible", ErrConfig, c.Threshold, LeastThreshold,
			MostThreshold)
	case c.Threshold >= c.SlowLimit():
		return fmt.Errorf("%w: threshold %d is never exceeded: no more than %d detections fit into %v", ErrConfig,
			c.Threshold,
			c.SlowLimit(), c.SlowPeriod)
	}
	return nil
}

func (c *Config) checkFast() error {
	if int(c.Action) >= len(actionNames) || c.Restore > Quiet {
		return fmt.Errorf("%w: no such action or end of a storm: %d, %d", ErrConfig, c.Action, c.Restore)
	}
	if c.Count == 0 {
		return c.checkTimes()
	}
	switch {
	case !slices.Contains(Periods, c.Period):
		return fmt.Errorf("%w: period %v: 1ms, 10ms and 100ms are possible", ErrConfig, c.Period)
	case c.Count < LeastCount || c.Count > MostCount:
		return fmt.Errorf("%w: count %d: %d to %d are possible", ErrConfig, c.Count, LeastCount, MostCount)
	case c.Recovery < LeastRecovery || c.Recovery > MostRecovery:
		return fmt.Errorf("%w: recovery %v: %v to %v are possible", ErrConfig, c.Recovery, LeastRecovery, MostRecovery)
	}
	return nil
}

func (c *Config) checkTimes() error {
	switch {
	case c.Detection < LeastDetection || c.Detection > MostDetection:
		return fmt.Errorf("%w: detection %v: %v to %v are possible", ErrConfig, c.Detection, LeastDetection,
			MostDetection)
	case c.Recovery < LeastRestoration || c.Recovery > MostRestoration:
		return fmt.Errorf("%w: restoration %v: %v to %v are possible", ErrConfig, c.Recovery, LeastRestoration,
			MostRestoration)
	case c.Period < LeastPoll || c.Period > MostPoll:
		return fmt.Errorf("%w: poll %v: %v to %v are possible", ErrConfig, c.Period, LeastPoll, MostPoll)
	case c.Period > min(c.Detection, c.Recovery):
		return fmt.Errorf("%w: poll %v is longer than detection %v or restoration %v", ErrConfig, c.Period, c.Detection,
			c.Recovery)
	}
	return nil
}
