package deadlock

import "time"

// storm begins a storm after a detection: detection of the queue closes, and the action comes in force.
func (w *Watchdog) storm(q *queue, r *QueueState, now int64) {
	reason := reasonCount
	if q.port.config.Count == 0 {
		reason = reasonTime
	}
	e := w.emit(q, Detected, reason, now)
	e.Held, e.Lasted = r.Held, time.Duration(q.elapsed)
	w.countDetection(q, now)
	q.state, q.since, q.elapsed, q.unproven = stormed, now, 0, 0
	q.first, q.xoffs, q.requested = frameCounts{r.Sent, r.Dropped}, r.Xoffs, r.Requested
	q.seen = q.first
	w.order(q, now)
	w.schedule(q, q.stormDue(now))
}

// order puts the Order in force that follows from the state of the queue and the port's action.
func (w *Watchdog) order(q *queue, now int64) {
	o := Obey
	switch {
	case q.state == closed:
		o = Ignore
	case q.state != stormed:
	case q.port.config.Action == Forward:
		o = Ignore
	case q.port.config.Action == Drop:
		o = Discard
	}
	w.sw.Order(q.port.number, q.number, o, now)
}

// stormDue returns when the storm has to be polled: at its end where that is known, else after a period.
func (q *queue) stormDue(now int64) int64 {
	c := &q.port.config
	if c.Restore == Elapsed {
		return q.since + int64(c.Recovery)
	}
	return now + int64(c.Period)
}

func (w *Watchdog) pollStormed(q *queue, r *QueueState, now int64) {
	c := &q.port.config
	reason, over := reasonElapsed, now-q.since >= int64(c.Recovery)
	if c.Restore == Quiet {
		q.addQuietTime(r, now)
		reason, over = reasonQuiet, q.elapsed >= int64(c.Recovery)
		if c.Action == Alert {
			reason = reasonUnblocked
		}
	}
	q.keep(r, now)
	q.xoffs, q.requested = r.Xoffs, r.Requested
	if !over {
		w.schedule(q, q.stormDue(now))
		return
	}
	w.recover(q, reason, now)
}

// addQuietTime adds up the time for which the peer has not asked for a pause. Under Alert, where XOFF is obeyed, the
// peer may ask for pauses while frames leave, so the time counts for which the queue was not blocked. A poll that comes
// too late proves nothing: what the peer sent meanwhile may not have been read. If the next poll finds no XOFF either,
// it counts for one period, so that a storm also ends where every poll is late.
func (q *queue) addQuietTime(r *QueueState, now int64) {
	elapsed := now - q.last.at
	v := q.judge(r, elapsed)
	paused, quiet := r.Requested || r.Xoffs != q.xoffs, !q.requested // neither, where a pause ended between the polls
	if q.port.config.Action == Alert {
		paused, quiet = v == blocked, v == free || v == late && r.Sent != q.last.sent
	}
	unproven := int64(0)
	switch {
	case paused:
		q.elapsed = 0
	case quiet && v == late:
		q.elapsed += q.unproven
		unproven = int64(q.port.config.Period)
	case quiet:
		q.elapsed += q.unproven + elapsed
	}
	q.unproven = unproven
}

// recover ends a storm: XOFF is obeyed again, detection opens again.
func (w *Watchdog) recover(q *queue, reason string, now int64) {
	e := w.emit(q, Recovered, reason, now)
	w.endStorm(q, e, now)
	q.state = idle
	w.order(q, now)
	w.await(q, now)
}

// endStorm counts a storm that is over, and fills in its event.
func (w *Watchdog) endStorm(q *queue, e *Event, now int64) {
	r := w.read(q, now)
	e.Held, e.Lasted = r.Held, q.stormAge(now)
	e.Sent, e.Dropped = q.stormFrames(r)
	q.Recovered++
	q.Sent += e.Sent
	q.Dropped += e.Dropped
	q.LastSent, q.LastDropped = e.Sent, e.Dropped
}

// stormFrames returns the frames that the running storm let out and discarded. Where the port and its counters are
// gone, the last SaveCounts counts.
func (q *queue) stormFrames(r *QueueState) (sent, dropped uint64) {
	now := frameCounts{r.Sent, r.Dropped}
	if now.sent < q.seen.sent || now.dropped < q.seen.dropped {
		now = q.seen
	}
	return now.sent - q.first.sent, now.dropped - q.first.dropped
}

// SaveCounts keeps the frames that the storms of a port have let out and discarded so far. The port is about to go, and
// its counters with it.
func (w *Watchdog) SaveCounts(number int, now int64) {
	p := w.port(number)
	if p == nil {
		return
	}
	for i := range p.queues {
		if q := &p.queues[i]; q.state == stormed {
			r := w.read(q, now)
			q.seen = frameCounts{r.Sent, r.Dropped}
		}
	}
}

// linkDown ends whatever the peer caused, since the next peer is obeyed.
func (w *Watchdog) linkDown(q *queue, now int64) {
	w.release(q, reasonLink, now)
	q.baseline = q.Detected
	if q.watched() {
		w.await(q, now)
	}
}

// release ends whatever the watchdog does with a queue.
func (w *Watchdog) release(q *queue, reason string, now int64) {
	before := q.state
	q.state = idle
	w.schedule(q, noDeadline)
	switch before {
	case armed:
		w.emit(q, Disarmed, reason, now)
	case stormed:
		w.endStorm(q, w.emit(q, Recovered, reason, now), now)
	case closed:
		w.emit(q, Reopened, reason, now).Held = w.read(q, now).Held
	}
	if before == stormed || before == closed {
		w.order(q, now)
	}
	w.sw.NotifyPaused(q.port.number, q.number, false)
}
