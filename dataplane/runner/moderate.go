package runner

import (
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// Interrupt moderation, as in NICs: while a port's frames have to wait in an egress queue anyway, the worker sleeps
// without polling the port's receive rings, for as long as a few frames take on the wire.
//
// Moderation does not delay this load: the egress queues of the last burst held frames for moderateDepth, and the rings
// are read before these queues are empty. A frame that meets a shorter queue may have waited in its ring
// for the port's interval. After such a frame the rings are polled for pollTime, so that requests and answers
// beside a load find the worker awake.
//
// A bound in octets keeps XOFF in time: the lossless rings are moderated only where moderateOctets from each moderated
// port cannot bring a lossless queue to its threshold. Beyond its speed a peer may send its burst, for which there is
// headroom. MAC Control frames end every sleep.
const (
	moderateFrames = 8 // full ones
	moderateOctets = moderateFrames * (1518 + frame.WireExtras)
	shortestFrame  = 60 + frame.WireExtras // on the wire
	moderateDepth  = dataplane.LongQueue
	pollTime       = 10_000_000 // ns after a frame that met a shorter queue
)

// moderation is for how many ns a worker may leave the port's rings unpolled: 0 where the port has no speed, or the
// interval is shorter than the shortest sleep.
func moderation(c *dataplane.PortConfig) int64 {
	if c.Speed == 0 {
		return 0
	}
	interval := int64(moderateOctets*8*1_000_000_000) / c.Speed
	if interval < minSleep {
		return 0
	}
	return min(interval, moderateDepth)
}

// learnLoad records a burst of port t at time now. mayLeaveSoon says that a frame of it met no long queue.
func (w *worker) learnLoad(t *portTask, mayLeaveSoon bool, now int64) {
	switch {
	case mayLeaveSoon || t.interval == 0:
		t.longQueueUntil, t.pollUntil = 0, now+pollTime
	case now >= t.pollUntil:
		t.longQueueUntil = now + moderateDepth
	}
	w.longQueueUntil = t.longQueueUntil
}

// moderationLeft is for how many ns from now on the rings of the port may stay unpolled.
func (t *portTask) moderationLeft(now int64) int64 {
	if t.refresh.hold.held() || t.blocked != [port.NumClasses]bool{} {
		return 0
	}
	if d := min(t.interval, t.longQueueUntil-now); d >= minSleep {
		return d
	}
	return 0
}

// loaded reports whether the newest frames have to wait, so that the worker may sleep before it looks for more.
func (w *worker) loaded(now int64) bool { return now < w.longQueueUntil && !w.burstWasFull }

// moderate chooses the rings that a sleep of d ns does not poll, and shortens the sleep accordingly. A worker with a
// delay line polls all rings: frames in a delay line must leave on time. A worker that serves a host polls no ring for
// hostModeration, once after work, where threads often wait for a CPU: a wake-up for each frame would take that CPU
// from the host's programs.
func (w *worker) moderate(sw *dataplane.Switch, d, now int64) int64 {
	all := w.worked && w.hostNIC && w.cpuContention.contended() && d > hostModeration
	if w.worked = false; all {
		d = hostModeration
	}
	n := int64(0) // ports whose rings are not polled
	for _, t := range w.receivers {
		if t.unpolledNs = 0; len(w.lines) == 0 {
			t.unpolledNs = t.moderationLeft(now)
		}
		if t.unpolledNs > 0 {
			d = min(d, t.unpolledNs)
			n++
		}
	}
	w.moderated = all || n > 0
	for _, t := range w.receivers {
		other := all || t.unpolledNs > 0
		w.mute(t, port.Other, other)
		w.mute(t, port.Lossless, all || other && !sw.WouldExceedThreshold(t.index, n*moderateOctets/shortestFrame,
			n*moderateOctets))
	}
	return d
}

// mute excludes a ring's sockets from later sleeps, or includes them again.
func (w *worker) mute(t *portTask, c port.Class, on bool) {
	w.poller.Ignore(t.sockets[c].from, t.sockets[c].to, on)
}
