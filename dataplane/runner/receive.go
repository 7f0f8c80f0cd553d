package runner

import (
	"math"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A frameSegment is the origin of an arrival: the number of the received frame, and of the segment in it.
type frameSegment struct {
	frame   int
	segment int
}

// receive runs the receive task of a port for one burst of one ring, of at most most frames. It returns how many frames
// left the ring, and whether there was work.
func (w *worker) receive(t *portTask, c port.Class, most int) (taken int, worked bool) {
	if c == port.Lossless {
		w.look(t, w.now)
		if t.assist != nil {
			t.assist.Look()
		}
	}
	if t.blocked[c] && !w.mayRetry(t, c) {
		return 0, false
	}
	if c == port.Lossless {
		w.holdPeerWhileRingFills(t)
	}
	n := t.port.Receive(c, w.frames[:most], burstOctets)
	if n == 0 {
		w.ringIsEmpty(t, c)
		return 0, false
	}
	w.framesThisRound += n
	t.left[c] = w.fills(t, n)
	w.burstWasFull = w.burstWasFull || t.left[c]
	now, wall := w.clockPair()
	w.now, w.realTimeOffset = now, wall-now
	arrivals, next := w.expand(t, c, n)
	t.left[c] = t.left[c] || next.frame < n
	w.reading = t
	generation := w.generation(t)
	t.awaited = w.lock().FramesInRings(t.index, t.hasLeft(), now)
	admitted, stop := w.admit(t, c, arrivals)
	if admitted > 0 {
		w.serve(arrivals[:admitted])
	}
	if c == port.Lossless {
		w.r.refresher.LookWithin(t.index, w.r.sw.LookWithin(t.index, t.lookWithin, lookSoon))
		w.look(t, w.now)
	}
	w.noteUse(t, c)
	received := w.r.sw.ReceivedFrames()
	w.unlock()
	w.reading = nil
	w.r.sw.Store(w.moves)
	w.offer(t, arrivals[:admitted], generation)
	if admitted < len(arrivals) {
		next = w.origin[admitted]
	}
	w.giveBack(t, c, n, next)
	w.block(t, c, stop == dataplane.FrameWaits)
	if received != w.receivedFrames {
		w.receivedFrames = received
		w.r.frameCame()
	}
	return next.frame, admitted > 0 || stop != dataplane.FrameWaits
}

// look tells the Refresher that this worker is about to look at the port's lossless rings.
func (w *worker) look(t *portTask, now int64) {
	w.r.refresher.Look(t.index, t.port, now)
}

// lookSooner sets within which time from now on somebody has to look at the lossless rings of t, which nobody does now.
// Where frames that find no room wait in the ring, the time after a burst is enough. The switch is locked.
func (r *Runner) lookSooner(t *portTask, now int64) {
	if r.sw.WaitsInRing() {
		return
	}
	r.refresher.LookSooner(t.index, now, r.sw.LookWithin(t.index, t.lookWithin, lookSoon))
}

// fills reports whether the burst of n received frames was as long as bursts may be: more frames may wait then.
func (w *worker) fills(t *portTask, n int) bool {
	octets := 0
	for i := range n {
		octets += len(w.frames[i].Data)
	}
	return n == burstFrames || octets >= min(burstOctets, t.port.QueueBudget())
}

// leaveRoom offers the frames in the waiting room of a port to the buffer again, where frames have left since, or it is
// time.
func (w *worker) leaveRoom(t *portTask) (worked bool) {
	if !t.roomWaits {
		return false
	}
	sw := w.lock()
	defer w.unlock()
	now := w.clock()
	if sw.Departures() == t.roomAt && now < t.roomTryAt {
		return false
	}
	left := 0
	for n := roomYield; n == roomYield && left < burstFrames; left += n {
		if left > 0 {
			w.yield()
		}
		n = sw.LeaveRoom(t.index, roomYield, now)
	}
	sw.ThresholdCrossedAt(t.index, now)
	t.roomAt, t.roomTryAt, t.roomWaits = sw.Departures(), now+waitPeriod, sw.RoomWaits(t.index)
	if left == burstFrames {
		t.roomTryAt = now
	}
	return left > 0
}

// mayRetry reports whether a ring whose oldest frame has to wait is to be read again: frames have left since, or it is
// time.
func (w *worker) mayRetry(t *portTask, c port.Class) bool {
	sw := w.lock()
	defer w.unlock()
	return sw.Departures() != t.blockedAt[c] || w.clock() >= t.tryAt[c]
}

// block records whether the oldest frame of a ring has to wait, because the waiting room is full.
func (w *worker) block(t *portTask, c port.Class, blocked bool) {
	if blocked {
		t.tryAt[c] = w.clock() + waitPeriod
	}
	if t.blocked[c] != blocked {
		t.blocked[c] = blocked
		w.pollSetChanged = true
	}
}

// Shares of a lossless ring. The peer is held from ringHigh on, until no more than ringLow is left. The rest is for
// what arrives while this worker gets no CPU: see the formula in dataplane/README.md.
const (
	ringHigh = 0.25 // as in port.Port.BacklogExceeds
	ringLow  = 0.125
)

// ringHolds reports whether a ring that is full to fill, 0 to 1, holds the peer, which is held already or not.
func ringHolds(held bool, fill float64) bool { return fill > ringHigh || held && fill > ringLow }

// holdPeerWhileRingFills holds the peer while a lossless ring fills up: from ringHigh on, or as soon as the waiting
// frames alone would cross a threshold. A ring that fills up, or that drains, is measured every measureRingEvery bursts
// only, because its slots are in no cache of this CPU. Whether ringHigh is exceeded is one load, before every burst.
func (w *worker) holdPeerWhileRingFills(t *portTask) {
	late := t.refresh.hold.late() || t.heldByKernel()
	held := late || t.refresh.hold.held()
	behind := t.cfg.Mode != macctl.ModeOff && t.port.BacklogExceeds(port.Lossless, burstFrames)
	if !behind && !held {
		t.burstsUntilMeasured = 0
		return
	}
	high := behind && !held && t.port.BacklogExceeds(port.Lossless, math.MaxInt)
	if behind && !high && !late && t.burstsUntilMeasured > 0 {
		t.burstsUntilMeasured--
		return
	}
	t.burstsUntilMeasured = measureRingEvery
	backlog := t.port.Backlog(port.Lossless)
	sw := w.lock()
	now := w.clock()
	if late {
		w.countRefreshes(t)
		t.refresh.hold.taken()
		sw.MarkPending(t.index) // XON leaves where this look says so
	}
	sw.SeeRing(t.index, backlog.Frames)
	cross := sw.WouldExceedThreshold(t.index, int64(backlog.Frames), int64(backlog.Octets))
	if hold := t.draining || cross || ringHolds(held, backlog.Fill); hold != held || late {
		t.setRingHold(sw, hold, now)
	}
	if t.tx == w {
		w.sendControl(t)
	}
	w.unlock()
}

// setRingHold holds the peer for the rings, or not.
func (t *portTask) setRingHold(sw *dataplane.Switch, on bool, now int64) {
	t.refresh.hold.set(on)
	sw.HoldPeerForRing(t.index, on, now)
}

func (t *portTask) holdPeerForRing(sw *dataplane.Switch) {
	t.refresh.hold.taken()
	t.setRingHold(sw, true, Now())
}

// releasePeerForRing ends the hold for a ring whose frames end, or whose priorities change. It reports whether there
// was one.
func (t *portTask) releasePeerForRing(sw *dataplane.Switch) (was bool) {
	t.refresh.hold.taken()
	if was = t.refresh.hold.held(); was {
		t.setRingHold(sw, false, Now())
	}
	return was
}

// expand turns received frames into arrivals: GSO frames are segmented where the port asks for it. It returns the
// frameSegment that follows the last arrival.
func (w *worker) expand(t *portTask, c port.Class, n int) ([]dataplane.Arrival, frameSegment) {
	count, used := 0, 0
	for i := range n {
		f := &w.frames[i]
		if f.Truncated {
			continue
		}
		begun := i == 0 && t.segmentsTaken[c] > 0 // before segmentation was switched off
		if !f.Vnet.IsGSO() || !t.cfg.Cut && !begun {
			if count == burstArrivals {
				return w.arrivals[:count], frameSegment{frame: i}
			}
			w.expandWhole(t, f, &w.arrivals[count])
			w.origin[count] = frameSegment{frame: i}
			count++
			continue
		}
		skip := 0
		if i == 0 {
			skip = t.segmentsTaken[c]
		}
		if w.arena == nil {
			w.arena = make([]byte, arenaOctets)
		}
		m, bytes, done := w.expandSegments(t, f, i, skip, count, w.arena[used:])
		count, used = count+m, used+bytes
		if !done {
			return w.arrivals[:count], frameSegment{frame: i, segment: skip + m}
		}
	}
	return w.arrivals[:count], frameSegment{frame: n}
}

// expandWhole makes one arrival of a frame.
func (w *worker) expandWhole(t *portTask, f *port.Frame, a *dataplane.Arrival) {
	if t.cfg.Cut && f.Vnet.NeedsCsum() && frame.CompleteChecksum(f.Data, f.Vnet) {
		f.Finish()
	}
	a.Data, a.Vnet, a.At, a.Octets = f.Data, f.Vnet, w.arrival(f), f.Octets
	a.Prepare(&t.classify, t.cfg.MaxFrame)
}

// arrival is when a frame came, by the switch's clock. Stamps are of the real-time clock, which may jump: no arrival is
// later than the burst.
func (w *worker) arrival(f *port.Frame) int64 { return min(f.Stamp-w.realTimeOffset, w.now) }

// expandSegments makes arrivals of the segments of a GSO frame from number skip on, as far as arrivals and arena reach.
func (w *worker) expandSegments(t *portTask, f *port.Frame, index, skip, first int, arena []byte) (count, used int,
	done bool) {
	if w.segmenter.Reset(f.Data, f.Vnet) != frame.NotRefused {
		if first == burstArrivals {
			return 0, 0, false
		}
		a := &w.arrivals[first]
		a.Data, a.Vnet, a.At, a.Octets = f.Data, f.Vnet, w.arrival(f), 0
		a.Prepare(&t.classify, t.cfg.MaxFrame)
		a.Malformed()
		w.origin[first] = frameSegment{frame: index}
		return 1, 0, true
	}
	w.segmenter.Skip(skip)
	for number := skip; ; number++ {
		if w.segmenter.Left() == 0 {
			return count, used, true
		}
		if first+count == burstArrivals || len(arena)-used < w.segmenter.MaxOctets() {
			return count, used, false
		}
		n := w.segmenter.Next(arena[used:])
		a := &w.arrivals[first+count]
		a.Data, a.Vnet, a.At, a.Octets = arena[used:used+n], frame.VnetHeader{}, w.arrival(f), 0
		a.Prepare(&t.classify, t.cfg.MaxFrame)
		w.origin[first+count] = frameSegment{frame: index, segment: number}
		used += n
		count++
	}
}

// admit offers the arrivals to the switch. When a threshold is crossed, XOFF is sent before the rest is offered. Staged
// copies are fetched before the lock is released: the next worker's call of Ingress stages its own. The switch is
// locked.
func (w *worker) admit(t *portTask, c port.Class, arrivals []dataplane.Arrival) (int, dataplane.Stop) {
	sw, now := w.r.sw, w.now
	taken, stop := 0, dataplane.ThresholdCrossed
	w.moves = w.moves[:0]
	for stop != dataplane.FrameWaits && taken < len(arrivals) {
		first := taken
		taken, stop = sw.Ingress(t.index, arrivals, taken, now, w.realTimeOffset)
		w.moves = sw.Staged(w.moves)
		w.learnLoad(t, sw.MayLeaveSoon(), now)
		if stop == dataplane.FrameWaits {
			t.blockedAt[c] = sw.Departures()
		}
		if !t.roomWaits && sw.RoomWaits(t.index) {
			t.roomWaits, t.roomAt, t.roomTryAt = true, sw.Departures(), now+waitPeriod
		}
		if stop != dataplane.Done {
			sw.ThresholdCrossedAt(t.index, w.clock())
		}
		if w.recorderOf(t) != nil {
			w.unlock()
			w.captureReceived(t, arrivals[first:taken])
			w.lock()
		}
		switch {
		case stop == dataplane.Done:
		case t.tx == w:
			w.sendControl(t)
		default: // the port's worker has to send XOFF at once
			w.yield()
		}
		if taken < len(arrivals) {
			now = w.clock()
		}
	}
	return taken, stop
}

// serve sends frames that the burst has put into the queues of this worker's ports, and settles the rest: the caller
// has to store w.moves. The switch is locked.
func (w *worker) serve(arrivals []dataplane.Arrival) {
	w.portsToServe = w.portsToServe[:0]
	sw := w.r.sw
	for _, t := range w.transmitters {
		if sw.TakePending(t.index) {
			w.portsToServe = append(w.portsToServe, t)
		}
	}
	if len(w.moves) > 0 {
		w.unlock()
		sw.Store(w.moves)
		w.lock()
		sw.Publish(w.moves, w.clock())
		w.yield() // their workers have to send at once
	}
	for i, t := range w.portsToServe {
		if i > 0 {
			w.yield()
		}
		w.transmit(t, arrivals)
	}
	w.moves = sw.Settle(arrivals, w.moves[:0])
}

// giveBack releases the slots of the frames before next, and counts as lost the truncated frames among them, which
// fitted neither a slot nor the queue behind the ring.
func (w *worker) giveBack(t *portTask, c port.Class, n int, next frameSegment) {
	lost, overflowed := 0, 0
	for i := range next.frame {
		switch f := &w.frames[i]; {
		case f.Overflow:
			overflowed++
		case f.Truncated:
			lost++
		}
	}
	if lost+overflowed > 0 {
		sw := w.lock()
		sw.RingLost(t.index, c, lost, w.clock())
		sw.QueueOverflowed(t.index, c, overflowed, w.clock())
		w.unlock()
	}
	t.port.Release(c, next.frame)
	t.segmentsTaken[c] = next.segment
	if next.frame < n {
		t.port.Rewind(c)
	}
}
