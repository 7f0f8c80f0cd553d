package macctl

// A pauseTimer is the pause timer of one unit, and the sum of the time for which it ran. The latest pause is the
// interval from since up to, not including, expiry; it may be over.
type pauseTimer struct {
	since, expiry int64
	total         int64 // ns of the pauses before the latest
	highest       int64 // highest sum ever returned
	reported      bool  // the length of the latest pause was told
}

// load replaces what is left of the timer by a pause of d ns from at on. A pause that is still running at that moment
// goes on as the same interval, so that nothing is counted twice; d = 0 ends it.
func (t *pauseTimer) load(at, d int64) {
	if at >= t.expiry {
		if d == 0 {
			return // free already, and since when must not change
		}
		t.total += t.expiry - t.since
		t.since, t.reported = at, false
	}
	t.expiry = max(at+d, t.since)
}

// paused returns the time for which the timer ran until now. at of load may lie before a now that was asked for
// earlier, and the sum then shrinks; since it feeds counters, it stands still instead until time has caught up.
func (t *pauseTimer) paused(now int64) int64 {
	sum := t.total + max(0, min(now, t.expiry)-t.since)
	t.highest = max(t.highest, sum)
	return t.highest
}

// takeEnded returns how long the latest pause was, once, when it is over at time now. One that goes on later after all, by a
// frame that was received before it ended and looked at afterwards, stays as it was told.
func (t *pauseTimer) takeEnded(now int64) (ns int64, ok bool) {
	if t.reported || t.expiry == t.since || now < t.expiry {
		return 0, false
	}
	t.reported = true
	return t.expiry - t.since, true
}
