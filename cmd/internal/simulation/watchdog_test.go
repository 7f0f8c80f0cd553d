package simulation

import (
	"os"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

// The ring that locks up goes on where its watchdog drops or forwards what stands still, and not where it only tells.
func TestWatchdog(t *testing.T) {
	ring := assert.Got(os.ReadFile("../../../scripts/lab/ring.yaml")).Must(t)
	for action, locks := range map[string]bool{"alert": true, "drop": false, "forward": false} {
		text := strings.ReplaceAll(string(ring), "preset: roce",
			"preset: roce\n    watchdog: {action: "+action+", period: 10ms, count: 2}")
		r := assert.Got(simulate(t, text, standard)).Must(t)
		discarded := uint64(0)
		for _, s := range r.Switches {
			discarded += s.Discarded
		}
		assert.True(t, r.Deadlock == locks && (discarded > 0) == (action == "drop"),
			"%s: deadlock %v, want %v; %d frames were discarded on purpose", action, r.Deadlock, locks, discarded)
	}
}
