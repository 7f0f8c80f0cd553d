package metrics

import (
	"strconv"

	"pfcswitch/deadlock"
)

// collectWatchdog exports every egress queue that is watched for deadlocks, the zeros too.
func collectWatchdog(o *output, queues []deadlock.Status) {
	for i := range queues {
		s := &queues[i]
		label := strconv.Itoa(int(s.Queue))
		if s.Queue == deadlock.All {
			label = all
		}
		o.value(watchdogDetected, float64(s.Detected), s.Name, label)
		o.value(watchdogRecovered, float64(s.Recovered), s.Name, label)
		o.value(watchdogRecurred, float64(s.Recurred), s.Name, label)
		o.value(watchdogSent, float64(s.Sent), s.Name, label)
		o.value(watchdogDropped, float64(s.Dropped), s.Name, label)
		o.value(watchdogBlocked, boolValue(s.Blocked()), s.Name, label)
	}
}
