package deadlock

import (
	"cmp"
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
	if err := c.checkFast(); err != nil || !c.Slow {
		return err
	}
	err := cmp.Or(checkRange("slow period", c.SlowPeriod, LeastSlow, MostSlow),
		checkRange("threshold", c.Threshold, LeastThreshold, MostThreshold))
	if err == nil && c.Threshold >= c.SlowLimit() {
		return fmt.Errorf("%w: threshold %d is never exceeded: no more than %d detections fit into %v", ErrConfig,
			c.Threshold, c.SlowLimit(), c.SlowPeriod)
	}
	return err
}

func (c *Config) checkFast() error {
	switch {
	case int(c.Action) >= len(actionNames) || c.Restore > Quiet:
		return fmt.Errorf("%w: no such action or end of a storm: %d, %d", ErrConfig, c.Action, c.Restore)
	case c.Count == 0:
		return c.checkTimes()
	case !slices.Contains(Periods, c.Period):
		return fmt.Errorf("%w: period %v: 1ms, 10ms and 100ms are possible", ErrConfig, c.Period)
	}
	return cmp.Or(checkRange("count", c.Count, LeastCount, MostCount),
		checkRange("recovery", c.Recovery, LeastRecovery, MostRecovery))
}

func (c *Config) checkTimes() error {
	err := cmp.Or(checkRange("detection", c.Detection, LeastDetection, MostDetection),
		checkRange("restoration", c.Recovery, LeastRestoration, MostRestoration),
		checkRange("poll", c.Period, LeastPoll, MostPoll))
	if err == nil && c.Period > min(c.Detection, c.Recovery) {
		return fmt.Errorf("%w: poll %v is longer than detection %v or restoration %v", ErrConfig, c.Period, c.Detection,
			c.Recovery)
	}
	return err
}

// checkRange refuses a value that is not within least and most.
func checkRange[T cmp.Ordered](name string, value, least, most T) error {
	if value < least || value > most {
		return fmt.Errorf("%w: %s %v: %v to %v are possible", ErrConfig, name, value, least, most)
	}
	return nil
}
