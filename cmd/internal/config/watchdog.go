package config

import (
	"slices"
	"strings"
	"time"

	"pfcswitch/deadlock"
)

// A Watchdog configures the deadlock watchdog of the lossless egress queues of a port. Resolve sets an automatic Count;
// until then it is 2.
type Watchdog struct {
	Mode      WatchdogMode
	CountAuto bool // Count follows from the longest pause that a peer may ask for
	deadlock.Config
}

// WatchdogMode is the condition for a deadlock.
type WatchdogMode string

// The values of watchdog.mode.
const (
	WatchdogCount WatchdogMode = "count" // blocked looks in a row
	WatchdogSONiC WatchdogMode = "sonic" // blocked time, with the names and defaults of SONiC's pfcwd
)

// defaultWatchdog only reports deadlocks. Actions that drop frames have to be configured.
func defaultWatchdog() Watchdog {
	return Watchdog{Mode: WatchdogCount, CountAuto: true, Config: deadlock.Config{
		Fast: true, Period: 100 * time.Millisecond, Count: deadlock.LeastCount, Recovery: 200 * time.Millisecond,
		SlowPeriod: 10 * time.Second, Threshold: 5,
	}}
}

func defaultSONiC() Watchdog {
	const usual = 200 * time.Millisecond
	return Watchdog{Mode: WatchdogSONiC, Config: deadlock.Config{
		Fast: true, Period: usual, Detection: usual, Recovery: usual, Action: deadlock.Drop, Restore: deadlock.Quiet,
		SlowPeriod: 10 * time.Second, Threshold: 5,
	}}
}

var watchdogMode = oneOf(WatchdogCount, WatchdogSONiC)

// readMode reads the mode before the other keys, because the mode decides which keys are allowed. A changed mode has
// its own defaults. readMode returns false if the value is no mapping.
func (w *Watchdog) readMode(v value) bool {
	before := len(v.doc.faults)
	mode, ok := find(v.pairs(), "mode")
	if !ok || len(v.doc.faults) > before {
		return len(v.doc.faults) == before
	}
	to := w.Mode
	if set(&to, watchdogMode)(mode.value); to == w.Mode {
		return true
	}
	next := defaultWatchdog()
	if to == WatchdogSONiC {
		next = defaultSONiC()
	}
	next.Slow, next.SlowPeriod, next.Threshold = w.Slow, w.SlowPeriod, w.Threshold
	*w = next
	return true
}

// read reads the settings of the switch, which ports inherit, or of a port.
func (w *Watchdog) read(v value) {
	if v.is("off") {
		w.Fast, w.Slow = false, false
		return
	}
	if !w.readMode(v) {
		return
	}
	before := len(v.doc.faults)
	if v.read(w.fields()...); len(v.doc.faults) > before {
		return
	}
	_, detection := find(v.pairs(), "detection")
	_, restoration := find(v.pairs(), "restoration")
	if detection && !restoration && v.doc.lines["watchdog.restoration"] == 0 { // as SONiC's "pfcwd start" does
		w.Recovery = min(2*w.Detection, deadlock.MostRestoration)
	}
	if _, written := find(v.pairs(), "slow"); w.Slow && !w.Fast {
		if written {
			v.fail("slow detection counts what fast detection finds, which is off: write fast: on, or slow: off")
		}
		w.Slow = false
	}
}

func (w *Watchdog) fields() []field {
	return []field{
		{"mode", func(v value) {
			if v.schema != nil { // else readMode has read it
				set(&w.Mode, watchdogMode)(v)
			}
		}, single(func() string { return string(w.Mode) })},
		key("fast", &w.Fast, toggle),
		w.onlyIn(WatchdogCount, key("period", &w.Period, watchdogPeriod)),
		w.onlyIn(WatchdogCount, flagged("count", "auto", &w.CountAuto, &w.Count,
			or(number[int]("count", deadlock.LeastCount, deadlock.MostCount), "auto"))),
		w.onlyIn(WatchdogCount, key("recovery", &w.Recovery, duration(deadlock.LeastRecovery, deadlock.MostRecovery))),
		w.onlyIn(WatchdogSONiC,
			key("detection", &w.Detection, duration(deadlock.LeastDetection, deadlock.MostDetection))),
		w.onlyIn(WatchdogSONiC,
			key("restoration", &w.Recovery, duration(deadlock.LeastRestoration, deadlock.MostRestoration))),
		w.onlyIn(WatchdogSONiC, key("poll", &w.Period, duration(deadlock.LeastPoll, deadlock.MostPoll))),
		key("action", &w.Action, oneOf(deadlock.Forward, deadlock.Drop, deadlock.Alert)),
		key("restore", &w.Restore, named([]string{"elapsed", "quiet"}, deadlock.Elapsed, deadlock.Quiet)),
		{"slow", w.readSlow, w.writeSlow()},
	}
}

func (w *Watchdog) write() writer { return nested{flow, w.fields()} }

// onlyIn refuses a key of the other mode, and does not write it.
func (w *Watchdog) onlyIn(mode WatchdogMode, f field) field {
	read := f.read
	f.read = func(v value) {
		if w.Mode != mode && v.schema == nil {
			v.fail("belongs to mode: %s, and this is mode: %s, whose keys are %s", mode, w.Mode, watchdogKeys[w.Mode])
			return
		}
		read(v)
	}
	return f.when(w.Mode == mode)
}

var watchdogKeys = map[WatchdogMode]string{
	WatchdogCount: "period, count and recovery",
	WatchdogSONiC: "detection, restoration and poll",
}

// readSlow reads slow detection. Any setting turns it on.
func (w *Watchdog) readSlow(v value) {
	if v.is("off") {
		w.Slow = false
		return
	}
	w.Slow = true
	if v.is("on") {
		return
	}
	v.read(w.slowFields()...)
}

func (w *Watchdog) slowFields() []field {
	return []field{
		key("period", &w.SlowPeriod, duration(deadlock.LeastSlow, deadlock.MostSlow)),
		key("threshold", &w.Threshold, number[int]("threshold", deadlock.LeastThreshold, deadlock.MostThreshold)),
	}
}

func (w *Watchdog) writeSlow() writer {
	if !w.Slow {
		return literal("off")
	}
	return nested{flow, w.slowFields()}
}

var watchdogPeriod = oneOf(deadlock.Periods...)

// maxPause is the longest single pause that a peer can ask for.
func (p *Port) maxPause() time.Duration { return p.pauseTime(65535) }

// resolveWatchdog sets an automatic count.
func (p *Port) resolveWatchdog() {
	if w := &p.Watchdog; w.CountAuto {
		w.Count = deadlock.DefaultCount(p.maxPause(), w.Period)
	}
}

// watchdogKey is the key of a port's watchdog settings: at the port, or switch-wide.
func (c *Config) watchdogKey(p *Port) string {
	if key := "ports." + p.Name + ".watchdog"; c.source.lines[key] != 0 {
		return key
	}
	return "watchdog"
}

// checkWatchdogs finds contradicting settings.
func (c *Config) checkWatchdogs() (faults []*Error) {
	for p := range c.ports() {
		w := &p.Watchdog
		switch limit := w.slowLimit(); {
		case !w.Fast:
		case w.Mode == WatchdogSONiC && w.Period > min(w.Detection, w.Recovery):
			faults = append(faults, c.Errorf(c.watchdogKey(p),
				"port %s: poll %s is longer than detection %s or restoration %s: lower poll",
				p.Name, formatTime(w.Period), formatTime(w.Detection), formatTime(w.Recovery)))
		case w.Slow && w.Threshold >= limit:
			faults = append(faults, c.Errorf(c.watchdogKey(p),
				"port %s: no more than %d detections fit into a slow period of %s, so that a threshold of %d is "+
					"never exceeded: lower slow.threshold, or raise slow.period", p.Name, limit,
				formatTime(w.SlowPeriod), w.Threshold))
		}
	}
	return firstOfEach(faults)
}

func (w *Watchdog) slowLimit() int {
	if !w.Fast {
		return 0
	}
	return w.SlowLimit()
}

// firstOfEach keeps one fault of each key, because a switch-wide fault shows at every port.
func firstOfEach(faults []*Error) []*Error {
	seen := map[string]bool{}
	return slices.DeleteFunc(faults, func(f *Error) bool {
		again := seen[f.Key]
		seen[f.Key] = true
		return again
	})
}

// warnWatchdogs finds detection times within the longest legal pause, and settings of ports that are not watched.
func (c *Config) warnWatchdogs() (all []Warning) {
	for p := range c.ports() {
		w := &p.Watchdog
		switch {
		case !w.Fast:
			if key := "ports." + p.Name + ".watchdog"; c.hasNoEffect(key) {
				all = append(all, c.warning(key,
					"port %s: has no effect, since the watchdog is off for the switch: write fast: on here too",
					p.Name))
			}
		case c.ownWatchdog(p) && c.unwatched(p) != "":
			all = append(all, c.warning("ports."+p.Name+".watchdog",
				"port %s is not watched: the watchdog looks at lossless queues that a peer pauses, and %s", p.Name,
				c.unwatched(p)))
		case len(p.losslessPriorities(c)) > 0 && w.DetectionTime() <= p.maxPause():
			all = append(all, c.warning(c.nearestWritten(c.watchdogKey(p), "ports."+p.Name),
				"port %s: a queue that is blocked for %s is taken for a deadlock, and one pause may last %s at %s "+
					"(65535 quanta): %s", p.Name, formatTime(w.DetectionTime()),
				p.maxPause().Round(time.Millisecond), p.speedName(), w.remedy(p.maxPause())))
		}
	}
	return all
}

// ownWatchdog tells whether a port's watchdog differs from the switch's.
func (c *Config) ownWatchdog(p *Port) bool {
	own := p.Watchdog
	if own.CountAuto {
		own.Count = c.Watchdog.Count // that of the port is resolved
	}
	return own != c.Watchdog
}

// unwatched says why no queue of a port is watched; empty: some are.
func (c *Config) unwatched(p *Port) string {
	switch {
	case p.isTAP():
		return "the host behind a TAP pauses nobody"
	case p.FlowControl == FlowOff:
		return "flow_control is off here"
	case len(p.losslessPriorities(c)) == 0:
		return "nothing is lossless here"
	}
	return ""
}

// WantsWatchdog tells whether a port's watchdog was configured, at the port or, unless it is a TAP, for the switch.
func (c *Config) WantsWatchdog(p *Port) bool {
	return p.Watchdog.Fast && (c.ownWatchdog(p) || c.source.lines["watchdog"] != 0 && !p.isTAP())
}

// watchdogNotes name the ports that a watchdog which was configured for the switch does not watch.
func (c *Config) watchdogNotes() []Warning {
	var names []string
	for p := range c.ports() {
		if c.WantsWatchdog(p) && !c.ownWatchdog(p) && c.unwatched(p) != "" {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	w := c.warning("watchdog", "ports that are not watched: %s: they have no lossless priority", list(names))
	w.Note = true
	return []Warning{w}
}

// hasNoEffect tells whether a port has settings while its watchdog is off. A written fast key means that they are kept
// for later.
func (c *Config) hasNoEffect(key string) bool {
	for name := range c.source.lines {
		if strings.HasPrefix(name, key+".") {
			return c.source.lines[key+".fast"] == 0
		}
	}
	return false
}

// nearestWritten returns the first key that is in the file, or the last one.
func (c *Config) nearestWritten(keys ...string) string {
	for _, key := range keys {
		if c.source.lines[key] != 0 {
			return key
		}
	}
	return keys[len(keys)-1]
}

// remedy says how to tell a deadlock from the longest pause.
func (w *Watchdog) remedy(longest time.Duration) string {
	switch most := deadlock.Periods[len(deadlock.Periods)-1] * deadlock.MostCount; {
	case w.Mode == WatchdogSONiC:
		return "raise detection"
	case longest < most:
		return "raise count or period"
	default:
		return "write watchdog: {mode: sonic, detection: " + formatTime(deadlock.MostDetection) + ", action: " +
			w.Action.String() + "}, since count and period reach " +
			formatTime(most) + " at most"
	}
}

func (p *Port) speedName() string {
	if p.Speed == 0 {
		return "speed: none"
	}
	return formatRate(p.Speed)
}
