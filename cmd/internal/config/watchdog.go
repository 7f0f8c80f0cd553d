package config

import (
	"slices"
	"strings"
	"time"

	"pfcswitch/deadlock"
)

// A Watchdog is how the lossless egress queues of a port are watched for deadlocks. Resolve sets Count where it is
// automatic; until then it is 2.
type Watchdog struct {
	Mode      WatchdogMode
	CountAuto bool // Count follows from the longest pause that a peer may ask for
	deadlock.Config
}

// WatchdogMode is what makes a deadlock.
type WatchdogMode string

// The values of watchdog.mode.
const (
	WatchdogCount WatchdogMode = "count" // blocked looks in a row
	WatchdogSONiC WatchdogMode = "sonic" // blocked time, with the names and defaults of SONiC's pfcwd
)

// defaultWatchdog only tells of deadlocks: what drops or overruns has to be written.
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

// readWatchdog reads the settings of the switch, which ports inherit.
func (c *Config) readWatchdog(v value) {
	w := &c.Watchdog
	if v.is("off") {
		w.Fast = false
		return
	}
	before := len(v.doc.faults)
	mode, ok := find(v.pairs(), "mode")
	if len(v.doc.faults) > before {
		return
	}
	if ok {
		if set(&w.Mode, watchdogMode)(mode.value); w.Mode == WatchdogSONiC {
			*w = defaultSONiC()
		}
	}
	w.read(v, field{"mode", func(v value) {
		if v.schema != nil { // else it was read before the others
			set(&w.Mode, watchdogMode)(v)
		}
	}}, field{"slow", w.readSlow})
}

var watchdogMode = oneOf(WatchdogCount, WatchdogSONiC)

// read reads the keys that a port may have too, and own ones.
func (w *Watchdog) read(v value, own ...field) {
	fields := append(own,
		field{"fast", set(&w.Fast, toggle)},
		field{"action", set(&w.Action, watchdogAction)},
		field{"restore", set(&w.Restore, watchdogRestore)},
		field{"period", w.only(WatchdogCount, set(&w.Period, watchdogPeriod))},
		field{"count", w.only(WatchdogCount, w.readCount)},
		field{"recovery", w.only(WatchdogCount, set(&w.Recovery, duration(deadlock.LeastRecovery, deadlock.MostRecovery)))},
		field{"detection", w.only(WatchdogSONiC, set(&w.Detection, duration(deadlock.LeastDetection, deadlock.MostDetection)))},
		field{"restoration", w.only(WatchdogSONiC, set(&w.Recovery, duration(deadlock.LeastRestoration, deadlock.MostRestoration)))},
		field{"poll", w.only(WatchdogSONiC, set(&w.Period, duration(deadlock.LeastPoll, deadlock.MostPoll)))},
	)
	before := len(v.doc.faults)
	if v.read(fields...); len(v.doc.faults) > before {
		return
	}
	if _, written := find(v.pairs(), "slow"); w.Slow && !w.Fast {
		if _, off := find(v.pairs(), "fast"); written && off {
			v.fail("slow detection counts what fast detection finds: write fast: on, or slow: off")
		}
		w.Slow = false
	}
}

// only refuses a key of the other mode.
func (w *Watchdog) only(mode WatchdogMode, read func(value)) func(value) {
	return func(v value) {
		if w.Mode != mode && v.schema == nil {
			v.fail("belongs to mode: %s, and this is mode: %s, whose keys are %s", mode, w.Mode, watchdogKeys[w.Mode])
			return
		}
		read(v)
	}
}

var watchdogKeys = map[WatchdogMode]string{
	WatchdogCount: "period, count and recovery",
	WatchdogSONiC: "detection, restoration and poll",
}

func (w *Watchdog) readCount(v value) {
	if w.CountAuto = v.is("auto"); !w.CountAuto {
		set(&w.Count, or(number[int]("count", deadlock.LeastCount, deadlock.MostCount), "auto"))(v)
	}
}

// readSlow reads slow detection of the switch: writing what it is switches it on.
func (w *Watchdog) readSlow(v value) {
	if v.is("off") {
		w.Slow = false
		return
	}
	w.Slow = true
	if v.is("on") {
		return
	}
	v.read(
		field{"period", set(&w.SlowPeriod, duration(deadlock.LeastSlow, deadlock.MostSlow))},
		field{"threshold", set(&w.Threshold, number[int]("threshold", deadlock.LeastThreshold, deadlock.MostThreshold))},
	)
}

// readWatchdog reads what a port has for itself.
func (p *Port) readWatchdog(v value) {
	w := &p.Watchdog
	if v.is("off") {
		w.Fast, w.Slow = false, false
		return
	}
	w.read(v, field{"slow", set(&w.Slow, toggle)})
}

var watchdogActions = []string{deadlock.Forward.String(), deadlock.Drop.String(), deadlock.Alert.String()}

var watchdogAction = parser[deadlock.Action]{readWatchdogAction, oneOf(watchdogActions...).forms}

func readWatchdogAction(text string) (deadlock.Action, error) {
	_, err := oneOf(watchdogActions...).read(text)
	for _, a := range []deadlock.Action{deadlock.Alert, deadlock.Forward, deadlock.Drop} {
		if a.String() == text {
			return a, nil
		}
	}
	return 0, err
}

// The values of watchdog.restore.
const (
	restoreElapsed = "elapsed"
	restoreQuiet   = "quiet"
)

var watchdogRestore = parser[deadlock.Restore]{readWatchdogRestore, oneOf(restoreElapsed, restoreQuiet).forms}

func readWatchdogRestore(text string) (deadlock.Restore, error) {
	word, err := oneOf(restoreElapsed, restoreQuiet).read(text)
	if word == restoreQuiet {
		return deadlock.Quiet, err
	}
	return deadlock.Elapsed, err
}

var watchdogPeriod = parser[time.Duration]{readWatchdogPeriod, func() []*Schema { return oneOf(periodWords()...).forms() }}

func periodWords() (all []string) {
	for _, p := range deadlock.Periods {
		all = append(all, formatTime(p))
	}
	return all
}

func readWatchdogPeriod(text string) (time.Duration, error) {
	all := periodWords()
	if _, err := oneOf(all...).read(text); err != nil {
		return 0, err
	}
	return deadlock.Periods[slices.Index(all, text)], nil
}

// longestPause is the longest single pause that a peer can ask for.
func (p *Port) longestPause() time.Duration { return p.pauseTime(65535) }

// resolveWatchdog sets an automatic count.
func (p *Port) resolveWatchdog() {
	if w := &p.Watchdog; w.CountAuto {
		w.Count = deadlock.DefaultCount(p.longestPause(), w.Period)
	}
}

// watchdogKey is where the watchdog of a port is written: with the port, or for the switch.
func (c *Config) watchdogKey(p *Port) string {
	if key := "ports." + p.Name + ".watchdog"; c.source.lines[key] != 0 {
		return key
	}
	return "watchdog"
}

// checkWatchdogs finds settings that contradict each other.
func (c *Config) checkWatchdogs() (faults []*Error) {
	for i := range c.Ports {
		p := &c.Ports[i]
		w := &p.Watchdog
		switch limit := w.slowLimit(); {
		case !w.Fast:
		case w.Mode == WatchdogSONiC && w.Period > min(w.Detection, w.Recovery):
			faults = append(faults, c.Errorf(c.watchdogKey(p), "port %s: poll %s is longer than detection %s or restoration %s: lower poll",
				p.Name, formatTime(w.Period), formatTime(w.Detection), formatTime(w.Recovery)))
		case w.Slow && w.Threshold >= limit:
			faults = append(faults, c.Errorf(c.watchdogKey(p), "port %s: no more than %d detections fit into a slow period of %s, so that a threshold "+
				"of %d is never exceeded: lower slow.threshold, or raise slow.period", p.Name, limit, formatTime(w.SlowPeriod), w.Threshold))
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

// firstOfEach keeps one fault of each key: a fault of the switch's settings is one of every port.
func firstOfEach(faults []*Error) (first []*Error) {
	seen := map[string]bool{}
	for _, f := range faults {
		if !seen[f.Key] {
			first = append(first, f)
		}
		seen[f.Key] = true
	}
	return first
}

// warnWatchdogs compares the time that makes a deadlock with the longest pause that is none.
func (c *Config) warnWatchdogs() (all []Warning) {
	for i := range c.Ports {
		p := &c.Ports[i]
		w := &p.Watchdog
		if !w.Fast || len(p.losslessPriorities(c)) == 0 || w.DetectionTime() > p.longestPause() {
			continue
		}
		remedy := "raise count or period"
		if w.Mode == WatchdogSONiC {
			remedy = "raise detection"
		}
		all = append(all, c.warning(c.watchdogKey(p), "port %s: a queue that is blocked for %s is taken for a deadlock, and one pause may last %s at %s "+
			"(65535 quanta): %s", p.Name, formatTime(w.DetectionTime()), p.longestPause().Round(time.Millisecond), p.speedName(), remedy))
	}
	return all
}

func (p *Port) speedName() string {
	if p.Speed == 0 {
		return "speed: none"
	}
	return formatRate(p.Speed)
}

// watchdog writes the settings of the switch.
func (w *writer) watchdog(d *Watchdog) {
	slow := "off"
	if d.Slow {
		slow = "{period: " + formatTime(d.SlowPeriod) + ", threshold: " + formatNumber(float64(d.Threshold)) + "}"
	}
	w.line("watchdog: {mode: %s, %s, slow: %s}", d.Mode, d.keys(d.CountAuto), slow)
}

// portWatchdog writes those of a port.
func (w *writer) portWatchdog(d *Watchdog) {
	note := ""
	if d.CountAuto {
		note = " # count: " + formatNumber(float64(d.Count))
	}
	w.line("    watchdog: {%s, slow: %s}%s", d.keys(d.CountAuto), formatToggle(d.Slow), note)
}

// keys are those that switch and ports share.
func (w *Watchdog) keys(auto bool) string {
	restore := restoreElapsed
	if w.Restore == deadlock.Quiet {
		restore = restoreQuiet
	}
	all := []string{"fast: " + formatToggle(w.Fast)}
	if w.Mode == WatchdogSONiC {
		all = append(all, "detection: "+formatTime(w.Detection), "restoration: "+formatTime(w.Recovery), "poll: "+formatTime(w.Period))
	} else {
		count := formatNumber(float64(w.Count))
		if auto {
			count = "auto"
		}
		all = append(all, "period: "+formatTime(w.Period), "count: "+count, "recovery: "+formatTime(w.Recovery))
	}
	return strings.Join(append(all, "action: "+w.Action.String(), "restore: "+restore), ", ")
}
