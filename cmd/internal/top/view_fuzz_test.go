package top

import (
	"encoding/json"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
)

// Whatever state a switch tells, a screen of any size shows it, and no more than it has room for.
func FuzzView(f *testing.F) {
	reason := "link down"
	for _, s := range []api.State{{Ports: []api.Port{{Port: "p1", Reason: &reason}},
		PFC: []api.PFCPort{{Port: "p1", Priorities: []api.PFCPriority{{}}}}}, {Trunks: []api.Trunk{{Trunk: "t"}},
		Watchdog: []api.WatchdogQueue{{}}, Events: []api.Event{{Kind: "port"}}}} {
		text := assert.Got(json.Marshal(s)).Must(f)
		f.Add(text, uint8(80), uint8(24))
		f.Add(text, uint8(0), uint8(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, width, height uint8) {
		s := new(api.State)
		if json.Unmarshal(b, s) != nil {
			return
		}
		m := seen(s, s.Events...)
		for range 2 {
			rows := m.view(int(width), int(height), time.Unix(0, 0))
			assert.True(t, len(rows) <= int(height), "%d rows", len(rows))
			for _, r := range rows {
				n := len([]rune(r.text))
				assert.True(t, n <= int(width), "%d columns: %q", n, r.text)
			}
			m.key(keyEnter) // the chosen port alone
		}
	})
}
