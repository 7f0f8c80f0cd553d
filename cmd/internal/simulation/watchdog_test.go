package simulation

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/deadlock"
)

// The ring that locks up goes on where its watchdog drops what stands still, or forwards it, which loses no frame; not
// where it only tells. Each deadlock is over before the next, and the last one may outlast the run. Two runs tell the
// same.
func TestWatchdog(t *testing.T) {
	ring := assert.Got(os.ReadFile("../../../scripts/lab/ring.yaml")).Must(t)
	for action, locks := range map[string]bool{"alert": true, "drop": false, "forward": false} {
		text := strings.ReplaceAll(string(ring), "preset: roce",
			"preset: roce\n    watchdog: {action: "+action+", period: 10ms, count: 2}")
		var told []string
		detected, recovered, dropped := 0, 0, uint64(0)
		o := standard
		o.Watchdog = func(name string, e deadlock.Event) {
			told = append(told, fmt.Sprint(name, e))
			switch e.Kind {
			case deadlock.Detected:
				detected++
			case deadlock.Recovered:
				recovered, dropped = recovered+1, dropped+e.Dropped
			}
		}
		r := assert.Got(simulate(t, text, o)).Must(t)
		discarded, first := uint64(0), told
		for _, s := range r.Switches {
			discarded += s.Discarded
		}
		assert.True(t, r.Deadlock == locks && (dropped > 0) == (action == "drop") &&
			(discarded > 0) == (action == "drop") && discarded >= dropped,
			"%s: deadlock %v, want %v; %d frames were discarded on purpose, %d by deadlocks that are over", action,
			r.Deadlock, locks, discarded, dropped)
		assert.True(t, locks && detected == 0 || detected > 1 && recovered >= detected-1,
			"%s: %d detected, %d recovered", action, detected, recovered)
		if lost, _ := r.losses(); action == "forward" {
			assert.Equal(t, lost, 0, "lossless frames that forward has lost")
		}
		told = nil
		assert.Got(simulate(t, text, o)).Must(t)
		assert.True(t, slices.Equal(told, first), "%s: two runs differ:\n%s\n%s", action, first, told)
	}
}
