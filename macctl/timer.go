package macctl

// A pauseTimer is the pause timer of one unit, with the sum of the time for which it ran. The latest pause is the
// interval from since up to, not including, expiry; the pause may be over.
type pauseTimer struct {
	since, expiry int64
	total         int64 // ns of the pauses before the latest
	highest       int64 // highest sum that was ever returned
	reported      bool  // report has told of the latest pause
}

// load replaces what is left of the timer by a pause of d ns from at on. A pause that still runs at that moment goes on
// as the same interval, so that nothing is counted twice; d = 0 ends the pause.
func (t *pauseTimer) load(at, d int64) {
	if at >= t.expiry {
		if d == 0 {
			return // the unit is free already, and since must not change
		}
		t.total += t.expiry - t.since
		t.since, t.reported = at, false
	}
	t.expiry = max(at+d, t.since)
}

// paused returns the time for which the timer ran until now. A frame may be stamped before a now that was asked for
// earlier, and the sum then shrinks. The sum feeds counters, so the last value stands until time has caught up.
func (t *pauseTimer) paused(now int64) int64 {
	sum := t.total + max(0, min(now, t.expiry)-t.since)
	t.highest = max(t.highest, sum)
	return t.highest
}

// report calls f, if any, with the length of the latest pause: once, when the pause is over at time now. A frame that
// came before the end and is handled afterwards may prolong a reported pause; the reported length stands.
func (t *pauseTimer) report(now int64, f func(ns int64)) {
	if f == nil || t.reported || t.expiry == t.since || now < t.expiry {
		return
	}
	t.reported = true
	f(t.expiry - t.since)
}
