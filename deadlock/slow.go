package deadlock

// slow is the slow detection of one port. Periods follow each other from its start on. Only those are judged in which
// something was detected or a queue is closed: in the others nothing has happened.
type slow struct {
	start  int64 // of period 0, which stores a baseline and is not judged
	period int64 // number of the period that the baselines belong to
	closed bool  // slow detection is closed until the next period
	due    int64 // end of a period that has to be judged
}

// restartSlow begins slow detection anew.
func (w *Watchdog) restartSlow(p *port, now int64) {
	p.slow = slow{start: now, due: noDeadline}
	for q := range p.queues {
		if q := &p.queues[q]; q.state == closed {
			w.reopen(q, reasonSettings, now)
		}
	}
	p.baselines()
}

// baselines stores the number of detections at the beginning of a period.
func (p *port) baselines() {
	for q := range p.queues {
		p.queues[q].baseline = p.queues[q].Detected
	}
}

// countDetection counts a detection and schedules the end of its slow period.
func (w *Watchdog) countDetection(q *queue, now int64) {
	p := q.port
	if p.config.Slow {
		if k := p.slowPeriod(now); k > p.slow.period && p.slow.due == noDeadline {
			p.slow.period = k
			p.baselines()
		}
		w.scheduleSlow(p)
	}
	q.Detected++
}

// slowPeriod returns the number of the period that a moment lies in.
func (p *port) slowPeriod(now int64) int64 { return (now - p.slow.start) / int64(p.config.SlowPeriod) }

func (w *Watchdog) scheduleSlow(p *port) {
	p.slow.due = p.slow.start + (p.slow.period+1)*int64(p.config.SlowPeriod)
	w.slow = min(w.slow, p.slow.due)
	w.next = min(w.next, w.slow)
}

// endSlowPeriods judges every port whose period has ended.
func (w *Watchdog) endSlowPeriods(now int64) {
	w.slow = noDeadline
	for _, p := range w.ports {
		if p == nil {
			continue
		}
		if p.slow.due <= now {
			w.judgeSlowPeriod(p, now)
		}
		w.slow = min(w.slow, p.slow.due)
	}
}

// judgeSlowPeriod closes the queues with more detections in the ended period than the threshold. After a period in
// which slow detection was closed, closed queues open again instead.
func (w *Watchdog) judgeSlowPeriod(p *port, now int64) {
	judged := p.slow.period > 0 && !p.slow.closed
	p.slow.closed, p.slow.due = false, noDeadline
	for q := range p.queues {
		q := &p.queues[q]
		switch {
		case q.state == closed:
			w.reopen(q, reasonPeriod, now)
		case judged && q.Detected-q.baseline > uint64(p.config.Threshold):
			w.closeRecurring(q, now)
			p.slow.closed = true
		}
	}
	p.baselines()
	p.slow.period = p.slowPeriod(now)
	if p.slow.closed {
		w.scheduleSlow(p)
	}
}

// closeRecurring switches PFC off for a queue whose deadlock keeps coming back. A storm of the queue ends: the frames
// that leave from now on do not count as its own.
func (w *Watchdog) closeRecurring(q *queue, now int64) {
	e := w.emit(q, Recurring, reasonThreshold, now)
	e.Held = w.read(q, now).Held
	if q.state == stormed {
		w.endStorm(q, e, now)
	}
	q.Recurred++
	q.state = closed
	q.keep(w.read(q, now), now)
	w.order(q, now)
	w.schedule(q, noDeadline)
}

// reopen obeys PFC again.
func (w *Watchdog) reopen(q *queue, reason string, now int64) {
	w.emit(q, Reopened, reason, now).Held = w.read(q, now).Held
	q.state = idle
	w.order(q, now)
	w.await(q, now)
}
