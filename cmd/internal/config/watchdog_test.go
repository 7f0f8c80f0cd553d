package config

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/deadlock"
)

func drawWatchdog(t *rapid.T, w *Watchdog) {
	if rapid.Bool().Draw(t, "sonic") {
		*w = defaultSONiC()
	}
	if w.Slow = rapid.Bool().Draw(t, "slow"); w.Slow {
		w.SlowPeriod = time.Duration(rapid.IntRange(600, 3600).Draw(t, "slow period")) * time.Second
		w.Threshold = rapid.IntRange(deadlock.LeastThreshold, 5).Draw(t, "threshold")
	}
	drawOwnWatchdog(t, w)
	if !w.Slow {
		w.SlowPeriod, w.Threshold = 10*time.Second, 5 // what is off is not written
	}
}

// drawOwnWatchdog draws what a port may have for itself.
func drawOwnWatchdog(t *rapid.T, w *Watchdog) {
	draw := func(name string, least, most time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(int64(least), int64(most)).Draw(t, name))
	}
	w.Fast = rapid.Bool().Draw(t, "fast")
	w.Slow = w.Fast && rapid.Bool().Draw(t, "slow too") && w.SlowPeriod > 10*time.Second
	w.Action = choose(t, "action", deadlock.Alert, deadlock.Forward, deadlock.Drop)
	w.Restore = choose(t, "restore", deadlock.Elapsed, deadlock.Quiet)
	if w.Mode == WatchdogSONiC {
		w.Detection = draw("detection", 500*time.Millisecond, deadlock.MostDetection)
		w.Recovery = draw("restoration", 500*time.Millisecond, deadlock.MostRestoration)
		w.Period = draw("poll", deadlock.LeastPoll, 500*time.Millisecond)
		return
	}
	w.Period = rapid.SampledFrom(deadlock.Periods).Draw(t, "period")
	w.Recovery = draw("recovery", deadlock.LeastRecovery, deadlock.MostRecovery)
	if w.CountAuto = rapid.Bool().Draw(t, "count auto"); !w.CountAuto {
		w.Count = rapid.IntRange(deadlock.LeastCount, deadlock.MostCount).Draw(t, "count")
	} else {
		w.Count = deadlock.LeastCount
	}
}

// drawPortWatchdog draws what a port has for itself, its own mode and slow detection too.
func drawPortWatchdog(t *rapid.T, w *Watchdog) {
	usual := *w
	if rapid.Bool().Draw(t, "other mode") {
		if *w = defaultWatchdog(); usual.Mode == WatchdogCount {
			*w = defaultSONiC()
		}
		w.SlowPeriod, w.Threshold = usual.SlowPeriod, usual.Threshold
	}
	drawOwnWatchdog(t, w)
	if w.Slow = w.Fast && rapid.Bool().Draw(t, "own slow"); w.Slow {
		w.SlowPeriod = time.Duration(rapid.IntRange(600, 3600).Draw(t, "own slow period")) * time.Second
		w.Threshold = rapid.IntRange(deadlock.LeastThreshold, 5).Draw(t, "own threshold")
	}
}

func parseWatchdog(t *testing.T, yaml string) (*Config, []Warning) {
	t.Helper()
	c, warnings, err := Parse("switch.yaml", []byte("preset: roce\n"+yaml))
	assert.Must(t, err)
	return c, warnings
}

// By default, deadlocks are only reported.
func TestWatchdogDefaults(t *testing.T) {
	c, warnings := parseWatchdog(t, "ports: {p1: {speed: 1G}, p2: {speed: 100M}, p3: {speed: none}}\n")
	for i, count := range []int{2, 4, 2} {
		w := c.Ports[i].Watchdog
		want := deadlock.Config{Fast: true, Period: 100 * time.Millisecond, Count: count,
			Recovery: 200 * time.Millisecond, SlowPeriod: 10 * time.Second, Threshold: 5}
		assert.True(t, w.Config == want && w.Action == deadlock.Alert, "%s: %+v, want %+v", c.Ports[i].Name, w.Config,
			want)
	}
	assert.Equal(t, about(warnings, "deadlock"), 0, "warnings of the default: %v", warnings)
}

// Ports inherit, key by key, in either order of the file.
func TestWatchdogInheritance(t *testing.T) {
	c, _ := parseWatchdog(t, `ports:
  p1: {}
  p2: {watchdog: {action: drop, count: 7, slow: off}}
  p3: {watchdog: off}
watchdog: {period: 10ms, action: forward, slow: {period: 20s}}
`)
	p1, p2, p3 := c.Ports[0].Watchdog, c.Ports[1].Watchdog, c.Ports[2].Watchdog
	assert.True(t, p1.Action == deadlock.Forward && p1.Period == 10*time.Millisecond && p1.Count == 4 && p1.Slow &&
		p1.SlowPeriod == 20*time.Second && p1.Threshold == 5, "p1: %+v", p1)
	assert.True(t, p2.Action == deadlock.Drop && p2.Period == 10*time.Millisecond && p2.Count == 7 && !p2.Slow,
		"p2: %+v", p2)
	assert.True(t, !p3.Fast && !p3.Slow, "p3: %+v", p3)
	c, _ = parseWatchdog(t, "watchdog: {mode: sonic}\nports: {p1: {}}\n")
	assert.Equal(t, c.Ports[0].Watchdog, defaultSONiC(), "SONiC's defaults")
	c, _ = parseWatchdog(t, `ports: {p1: {watchdog: {slow: {period: 5s, threshold: 3}}},
  p2: {watchdog: {mode: sonic, poll: 100ms}}, p3: {}}
watchdog: {slow: {period: 20s}}
`)
	if w := c.Ports[0].Watchdog; !w.Slow || w.SlowPeriod != 5*time.Second || w.Threshold != 3 {
		t.Errorf("slow detection of a port's own: %+v", w)
	}
	w := c.Ports[1].Watchdog
	assert.True(t, w.Mode == WatchdogSONiC && w.Period == 100*time.Millisecond && w.Action == deadlock.Drop && w.Slow &&
		w.SlowPeriod == 20*time.Second, "a mode of a port's own: %+v", w)
	w = c.Ports[2].Watchdog
	assert.True(t, w.Mode == WatchdogCount && w.Action == deadlock.Alert, "the port beside it: %+v", w)
	c, _ = parseWatchdog(t, `watchdog: {mode: sonic, detection: 300ms}
ports: {p1: {}, p2: {watchdog: {detection: 400ms}}, p3: {watchdog: {detection: 5s, restoration: 500ms}}}
`)
	for i, want := range []time.Duration{600 * time.Millisecond, 800 * time.Millisecond, 500 * time.Millisecond} {
		assert.Equal(t, c.Ports[i].Watchdog.Recovery, want,
			"port %d: restoration, want twice a detection that is written alone", i+1)
	}
	c, _ = parseWatchdog(t, `watchdog: {mode: sonic, restoration: 900ms}
ports: {p1: {watchdog: {detection: 300ms}}, p2: {watchdog: {detection: 300ms, restoration: 700ms}}}
`)
	for i, want := range []time.Duration{900 * time.Millisecond, 700 * time.Millisecond} {
		if w := c.Ports[i].Watchdog; w.Recovery != want || w.Detection != 300*time.Millisecond {
			t.Errorf("port %d: %+v, want a restoration of %v: that of the switch is written", i+1, w, want)
		}
	}
	c, _ = parseWatchdog(t, "watchdog: off\nports: {p1: {}, p2: {watchdog: {fast: on, slow: on}}}\n")
	a, b := c.Ports[0].Watchdog, c.Ports[1].Watchdog
	assert.True(t, !a.Fast && b.Fast && b.Slow, "off, and on for a port: %+v, %+v", a, b)
}

// A detection time within a single legal pause has a warning.
func TestWatchdogWarning(t *testing.T) {
	for yaml, want := range map[string]int{
		"watchdog: {period: 100ms, count: 4}\nports: {p1: {speed: 100M}}\n":             0,
		"watchdog: {period: 100ms, count: 3}\nports: {p1: {speed: 100M}}\n":             1,
		"watchdog: {period: 10ms, count: 3}\nports: {p1: {speed: 1G}, p2: {}}\n":        2,
		"watchdog: {period: 10ms, count: 4}\nports: {p1: {speed: 1G}}\n":                0,
		"watchdog: {mode: sonic}\nports: {p1: {speed: 100M}}\n":                         1,
		"watchdog: {period: 1ms}\nports: {p1: {flow_control: off}}\n":                   0,
		"ports: {p1: {speed: 10M}}\n":                                                   1,
		"watchdog: {mode: sonic, detection: 335539199ns}\nports: {p1: {speed: 100M}}\n": 1,
		"watchdog: {mode: sonic, detection: 335539200ns}\nports: {p1: {speed: 100M}}\n": 1, // as long as a pause
		"watchdog: {mode: sonic, detection: 335539201ns}\nports: {p1: {speed: 100M}}\n": 0,
	} {
		_, warnings := parseWatchdog(t, yaml)
		assert.True(t, about(warnings, "deadlock") == want, "%s: %v, want %d of a deadlock", yaml, warnings, want)
	}
}

// The remedy in the warning works, and the line is that of the port.
func TestWatchdogRemedy(t *testing.T) {
	_, warnings := parseWatchdog(t, "\n\nports:\n  p1: {speed: 10M}\n")
	n := 0
	for _, w := range warnings {
		if strings.Contains(w.Text, "deadlock") {
			n++
			assert.True(t, w.Line == 5 && strings.Contains(w.Text, "mode: sonic, detection: 5s, action: alert") &&
				!strings.Contains(w.Text, "raise count"), "line %d: %s", w.Line, w.Text)
		}
	}
	assert.Equal(t, n, 1, "%v", warnings)
	_, warnings = parseWatchdog(t, "ports: {p1: {speed: 10M, watchdog: {mode: sonic, detection: 5s, action: alert}}}\n")
	assert.True(t, about(warnings, "deadlock") == 0, "the remedy does not help: %v", warnings)
}

// Settings of a port have no effect where the switch's watchdog is off.
func TestWatchdogOffByInheritance(t *testing.T) {
	for port, want := range map[string]int{
		"{action: drop}": 1, "{count: 3}": 1, "{slow: off}": 1, "off": 0, "{fast: off, action: drop}": 0,
		"{fast: on, action: drop}": 0,
	} {
		_, warnings := parseWatchdog(t, "watchdog: off\nports: {p1: {speed: 1G, watchdog: "+port+"}}\n")
		assert.True(t, about(warnings, "has no effect, since the watchdog is off") == want, "%s: %v, want %d", port,
			warnings, want)
	}
	for _, yaml := range []string{
		"watchdog: off\nports: {p1: {watchdog: {slow: on}}}\n",
		"watchdog: {fast: off}\nports: {p1: {watchdog: {slow: {period: 20s}}}}\n",
		"ports: {p1: {watchdog: {fast: off, slow: on}}}\n",
		"watchdog: {fast: off, slow: on}\nports: {p1: {}}\n",
	} {
		_, _, err := Parse("switch.yaml", []byte(yaml))
		assert.Fails(t, err, "write fast: on, or slow: off", "%s", yaml)
	}
}

// Check says of every port with a watchdog of its own that is not watched, and, where the switch's is written, which
// ports it does not watch.
func TestUnwatchedPorts(t *testing.T) {
	for _, tt := range []struct {
		yaml           string
		warnings, note string
	}{
		{"ports: {p1: {}, p2: {flow_control: off}}", "", ""},
		{"ports: {p1: {}, p2: {flow_control: off, watchdog: {action: drop}}}", "ports.p2.watchdog", ""},
		{"ports: {p1: {}, p2: {flow_control: off, watchdog: {mode: sonic}}}", "ports.p2.watchdog", ""},
		{"ports: {p1: {}, p2: {flow_control: off, watchdog: off}}", "", ""},
		{"priorities: {lossless: []}\nports: {p1: {watchdog: {slow: on}}}", "ports.p1.watchdog", ""},
		{"ports: {p1: {}, t: {kind: tap, wire: p1, watchdog: {action: drop}}}", "ports.t.watchdog", ""},
		{"watchdog: {action: drop}\nports: {p1: {}, t: {kind: tap, wire: p1}}", "", ""},
		{"watchdog: {action: drop}\nports: {p1: {}, p2: {flow_control: off}, p3: {flow_control: off}}", "", "p2, p3"},
		{"watchdog: off\nports: {p1: {}, p2: {flow_control: off}}", "", ""},
	} {
		c, _ := parseWatchdog(t, tt.yaml+"\n")
		warnings, note := "", ""
		for _, w := range c.Check(Machine{}) {
			switch {
			case !strings.Contains(w.Text, "not watched"):
			case w.Note:
				_, note, _ = strings.Cut(w.Text, "not watched: ")
				note, _, _ = strings.Cut(note, ":")
			default:
				warnings += w.Key
			}
		}
		assert.True(t, warnings == tt.warnings && note == tt.note,
			"%s\n got warnings %q, note %q\nwant %q, %q", tt.yaml, warnings, note, tt.warnings, tt.note)
	}
}

func about(warnings []Warning, word string) (n int) {
	for _, w := range warnings {
		if strings.Contains(w.Text, word) {
			n++
		}
	}
	return n
}
