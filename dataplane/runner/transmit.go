package runner

import (
	"cmp"
	"slices"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// readControl is obeyControl where the switch is not locked: without a frame the lock is not taken.
func (w *worker) readControl(t *portTask) bool {
	if b, _ := t.port.Control(); b == nil {
		return false
	}
	w.lock()
	defer w.unlock()
	return w.obeyControl(t)
}

// obeyControl obeys the MAC Control frames that have arrived, at most a whole ring of them; of a flood only the newest.
// It runs before every send call: after XOFF's arrival, at most the running call follows. The switch is locked.
func (w *worker) obeyControl(t *portTask) bool {
	b, stamp := t.port.Control()
	if b == nil {
		return false
	}
	now, wall := w.clockPair()
	answer := false
	for n := 0; b != nil && n < controlFrames; n++ {
		if n%controlYield == controlYield-1 {
			w.yield()
		}
		if stamp > wall { // it came after the clock was read; an early stamp would make the link seem shorter
			now, wall = w.clockPair()
		}
		at := macctl.ReceiveTime(now-(wall-stamp), now)
		w.received = append(w.received[:0], b...)
		t.port.ControlDone()
		b, stamp = t.port.Control()
		if !t.police.allow(now) && b != nil {
			w.r.sw.ControlSurplus(t.index)
		} else if w.obey(t, w.received, at, now, wall) {
			answer = true
		}
	}
	if answer {
		w.sendMeasurements(t)
	}
	return true
}

// obey obeys one MAC Control frame that came at time at. It reports whether the frame is to be answered at once.
func (w *worker) obey(t *portTask, b []byte, at, now, wall int64) (answer bool) {
	sw := w.r.sw
	taken, answer := sw.Measurement(t.index, b, false, at, now, wall-now)
	if taken {
		t.measureAt = now
	} else {
		t.recordReaction(sw, sw.Control(t.index, b, at, now), at, now)
	}
	w.captureControl(t, b, at)
	return answer
}

// recordReaction records the reaction to an XOFF that arrived at time at, for each priority that it paused: until the
// end of the last send call of the priority. A priority that had nothing to send has no reaction.
func (t *portTask) recordReaction(sw *dataplane.Switch, paused uint8, at, now int64) {
	occupied := sw.Occupied(t.index, now)
	for q := range uint8(dataplane.NumPriorities) {
		if paused&(1<<q) != 0 && (occupied&(1<<q) != 0 || t.lastSent[q] > at) {
			t.reaction.Record(t.lastSent[q] - at)
			sw.Reacted(t.index, t.lastSent[q]-at)
		}
	}
}

// sendControl sends MAC Control frames until there are no more, and returns the time after the last one. The switch is
// locked, but not while a frame is sent.
func (w *worker) sendControl(t *portTask) (now int64) {
	for {
		now = w.clock()
		f, ok := w.nextPause(t, now)
		if !ok {
			return now
		}
		w.unlock()
		var err error
		now, err = w.emitPause(t, &f)
		w.lock()
		if err != nil {
			w.note = w.note[:0]
			t.retryAt = now + retryDelay
			t.deadline = min(t.deadline, t.retryAt)
			return now
		}
		w.pauseSent(t, &f, now)
	}
}

// A pauseFrame is a MAC Control frame that holds or frees the peer.
type pauseFrame struct {
	b     []byte
	every int64  // ns after which it is to be sent again; 0: never
	holds uint32 // how many holds of the Refresher the switch knew of when it decided the frame
}

// nextPause returns the frame that has to leave now, and whether there is one. The switch is locked.
func (w *worker) nextPause(t *portTask, now int64) (f pauseFrame, ok bool) {
	f.holds = w.countRefreshes(t)
	f.b, ok = w.r.sw.ControlOut(t.index, w.control[:0], now)
	w.explain(t, ok)
	if ok {
		f.every = t.refreshEvery(w.r.sw)
		w.r.lookSooner(t, now) // a peer that is freed sends again, and may take the CPU from this worker at once
	}
	return f, ok
}

// pauseSent says that a frame has left since time now, or is in the delay line. A hold that began while the switch was
// not locked may have left before the frame or after it, and by now another worker may have ended that hold. It counts
// as the newer one, and the peer is told again what is wanted now. Behind a delay line the frame will not leave. The
// switch is locked.
func (w *worker) pauseSent(t *portTask, f *pauseFrame, now int64) {
	overtaken := w.r.refresher.Holds(t.index) != f.holds
	if overtaken && t.delay != nil {
		return
	}
	crossed, arrived := w.r.sw.ControlSent(t.index, now)
	if overtaken {
		w.r.sw.ControlRefreshed(t.index, 0, now, true)
	}
	if crossed != 0 {
		w.r.xoff.Record(now - crossed)
		w.r.xoffAge.Record(now - arrived)
	}
}

// countRefreshes takes over what the Refresher has sent. Where it holds the peer because no worker looked, that hold
// stays until one has looked. It returns how many such holds the switch knows of now. The switch is locked.
func (w *worker) countRefreshes(t *portTask) (holds uint32) {
	w.takeKernelHold(t)
	holds = w.r.refresher.Holds(t.index)
	w.count(t, w.r.refresher.Taken(t.index))
	return holds
}

// count takes over what the Refresher has sent, where the hold of the program in the kernel has been taken.
func (w *worker) count(t *portTask, s Sendings) {
	if s.N == 0 && !s.All {
		return
	}
	if w.r.sw.ControlRefreshed(t.index, s.N, s.At, s.All); s.All && t.refresh.hold.late() {
		w.r.sw.HoldPeerForRing(t.index, true, s.At)
	}
}

// emitPause sends a frame that holds or frees the peer. It returns the time of sending. The switch is not locked.
func (w *worker) emitPause(t *portTask, f *pauseFrame) (now int64, err error) {
	now = w.clock()
	if t.delay != nil {
		w.r.refresher.Answer(t.index, f.holds)
		t.delay.putPause(now, f.b, f.holds, f.every)
		w.captureOwn(t, f.b, now)
		return now, nil
	}
	was := w.r.refresher.Set(t.index, t.port, f.b, now, f.every)
	if err = w.emit(t, f.b, now); err == nil {
		w.r.refresher.Repeat(t.index, w.clock())
	} else if w.r.refresher.Undo(t.index, was) {
		err = nil
	}
	return now, err
}

// emit sends one frame of the switch itself, through the delay line where there is one. The switch is not locked.
func (w *worker) emit(t *portTask, b []byte, now int64) error {
	if t.delay != nil {
		if !t.delay.putControl(now, b) {
			return port.ErrAgain
		}
	} else if err := t.port.SendControl(b); err != nil {
		return err
	}
	w.captureOwn(t, b, now)
	return nil
}

// sendMeasurements sends the measurement frames that are due on a port. It sends one echo answer at most, because a
// pause is looked for before the next one. The switch is locked, but not while a frame is sent.
func (w *worker) sendMeasurements(t *portTask) {
	for {
		now, wall := w.clockPair()
		b, m, ok := w.r.sw.MeasureOut(t.index, w.control[:0], now, wall-now)
		if !ok {
			t.measureAt = noDeadline // until setDeadline
			return
		}
		echo := m == macctl.Measurement{}
		w.unlock()
		stamp := int64(0)
		if t.delay != nil {
			_ = w.emit(t, b, now)
		} else {
			var err error
			if stamp, err = t.port.SendStamped(b); err == nil {
				w.captureOwn(t, b, now)
			}
		}
		after, wall := w.clockPair()
		w.lock()
		if sent := after - (wall - stamp); stamp != 0 && sent >= now && sent <= after {
			w.r.sw.MeasurementSent(t.index, &m, sent, after, wall-after)
		}
		if echo {
			t.measureAt = now
			return
		}
	}
}

// transmit runs the transmit task of a port: MAC Control frames, then data frames. arrivals is the burst that has not
// been settled. The switch is locked, but not while frames are sent.
func (w *worker) transmit(t *portTask, arrivals []dataplane.Arrival) bool {
	work, calls, now := false, 0, int64(0)
	for ; calls < sendCalls; calls++ {
		w.obeyControl(t)
		if now = w.sendControl(t); now >= t.measureAt {
			w.sendMeasurements(t)
			now = w.clock()
		}
		if now < t.retryAt {
			break
		}
		t.retryAt = 0
		if w.dequeue(t, arrivals, now) == 0 {
			break
		}
		work = true
		more := false
		if now, more = w.send(t, arrivals); !more {
			break
		}
	}
	t.more = calls == sendCalls // else a new frame or the deadline starts the next run
	w.sendLoopProbe(t, now)
	if t.delay != nil {
		w.unlock()
		w.flushDelay(t)
		w.lock()
		now = w.clock()
	}
	w.openGates(t, now)
	w.setDeadline(t, now)
	return work
}

// dequeue plans a send call of a port, and returns the number of frames. The switch is locked.
func (w *worker) dequeue(t *portTask, arrivals []dataplane.Arrival, now int64) int {
	sw := w.r.sw
	if w.leaves(t) {
		sw.LineFirst(t.index)
		return 0
	}
	if t.delay != nil {
		sw.LineHolds(t.index, t.delay.holds)
	}
	w.lookAtMembers(t, now)
	return sw.Dequeue(t.index, now, arrivals)
}

// send hands the planned frames to the kernel and confirms how many it took. It returns the time after the call, and
// whether there is more to do at once. The switch is locked, but not during the call.
func (w *worker) send(t *portTask, arrivals []dataplane.Arrival) (now int64, more bool) {
	sw := w.r.sw
	w.unlock()
	w.batch.Reset()
	sw.Fill(t.index, w.batch, arrivals)
	from := w.captureTime()
	n, err := w.sendBatch(t)
	w.captureSent(t, n, from)
	now = w.clock()
	w.lock()
	failed := sw.Plan(t.index, n)
	priorities, longest := sw.Sent(t.index, n, now)
	t.stuck.passed(longest)
	if err != nil && (refused(err) || t.givenUp(sw, err, attempt{failed.ID, failed.Length, now})) {
		w.captureRefused(t, n, failed, refusedFor(err), now)
		sw.Refuse(t.index, failed, refusedFor(err), now)
		err = nil
	}
	more = sw.Occupied(t.index, now) != 0 || sw.Pending(t.index)
	for q := range t.lastSent {
		if priorities&(1<<q) != 0 {
			t.lastSent[q] = now
		}
	}
	if err != nil {
		t.retryAt = now + retryDelay
		return now, false
	}
	return now, more
}

// sendBatch gives the batch to the kernel or to the delay line.
func (w *worker) sendBatch(t *portTask) (int, error) {
	if t.delay == nil {
		n, err := t.port.Send(w.batch)
		return n, t.mtu.judge(err, w.batch, n)
	}
	now := w.clock()
	for i := range w.batch.Len() {
		v := w.batch.Vnet(i)
		w.scratch = w.batch.Frame(i, w.scratch[:0])
		if !t.delay.put(now, w.r.sw.Plan(t.index, i).Origin, &v, w.scratch) {
			return i, port.ErrAgain
		}
	}
	return w.batch.Len(), nil
}

// flushDelay sends what has passed the delay line.
func (w *worker) flushDelay(t *portTask) {
	if t.delay == nil {
		return
	}
	if t.heldByKernel() { // that hold overtakes what is in the line
		w.lock()
		w.countRefreshes(t)
		w.unlock()
	}
	now := w.clock()
	until := now
	for t.delay.due(t.retryAt) <= until {
		now = w.flushCall(t, until, now)
	}
	if t.delay.over() {
		t.more = true // frames that waited for the line go on
	}
}

// flushCall makes one send call of a delay line, at time now, and returns when it has ended.
func (w *worker) flushCall(t *portTask, until, now int64) (end int64) {
	l := t.delay
	c := dataplane.LineCall{Held: l.holds}
	var err error
	c.Sent, c.Octets, c.Refused, err = l.flush(t.port, until)
	end = w.clock()
	c.SentLossless, c.Ended = l.lossless, end
	c.Entered, c.Late = l.entered, max(0, cmp.Or(l.overtaken, now)-l.meant)
	t.stuck.passed(l.longest)
	sw := w.lock()
	for _, due := range l.dues {
		t.lateness.Record(now - due)
	}
	if err != nil && t.givenUp(sw, err, l.attempt(now)) {
		c.Refused, err = l.giveUp(c.Refused), nil
	}
	sw.LineSent(t.index, &c, now)
	w.unlock()
	if err != nil {
		t.retryAt = end + retryDelay
	}
	return end
}

// leaves reports whether frames are left in the line of a port that has no delay any more. They leave first. An empty
// line is removed.
func (w *worker) leaves(t *portTask) bool {
	if t.delay == nil || t.delay.delay > 0 {
		return false
	}
	if !t.delay.over() {
		return true
	}
	t.delay = nil
	w.lines = slices.DeleteFunc(w.lines, func(o *portTask) bool { return o == t })
	return false
}

// sendLoopProbe sends a loop probe where one is due. The switch is locked, but not while the probe is sent.
func (w *worker) sendLoopProbe(t *portTask, now int64) {
	b, ok := w.r.sw.LoopProbe(t.index, w.control[:0], now)
	if !ok {
		return
	}
	w.unlock()
	err := w.emit(t, b, now)
	w.lock()
	if err == nil { // else the next one follows in a second
		w.r.sw.LoopProbeSent(t.index)
	}
}

// setDeadline computes when the transmit task has to run even if nothing happens. The switch is locked.
func (w *worker) setDeadline(t *portTask, now int64) {
	sw := w.r.sw
	sw.Tick(now)
	t.measureAt = sw.MeasureDeadline(t.index)
	t.deadline = min(sw.TxDeadline(t.index, now), sw.LoopProbeDeadline(t.index), t.measureAt)
	switch {
	case t.retryAt != 0: // also where it has passed: nothing else starts the next attempt
		t.deadline = t.retryAt
	case t.more:
		t.deadline = now
	}
}
