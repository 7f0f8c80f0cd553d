package dataplane

import (
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// Interrupt moderation, as NICs have it: while a port's frames would have to wait in the egress queue anyhow, the worker
// sleeps without listening to the port's receive rings, for as long as a few frames take on the wire.
//
// No frame leaves later for it. The egress queues that the last burst met held frames for moderateDepth, and the rings are
// looked at before that is over. A frame that meets a shorter queue is prompt, and for promptTime the port's rings are
// listened to: requests and answers find the worker awake beside a load, too.
//
// XOFF stays honest by a bound in octets. The lossless ring is left out only where moderateOctets cannot bring a lossless
// queue to its threshold: what lies in the ring when the sleep ends is admitted below the threshold. MAC Control frames are
// listened to in every sleep.
const (
	moderateFrames = 8 // full ones
	moderateOctets = moderateFrames * (1518 + frame.WireExtras)
	shortestFrame  = 60 + frame.WireExtras // on the wire
	moderateDepth  = waitPeriod
	promptTime     = 10_000_000 // ns after a prompt frame in which a port's rings are listened to
)

// moderation is how long the worker may leave a port's rings alone, 0 where that is no longer than a short sleep or nobody
// knows how much comes meanwhile.
func (c *PortConfig) moderation() int64 {
	if c.Speed == 0 {
		return 0
	}
	quiet := int64(moderateOctets*8*1_000_000_000) / c.Speed
	if quiet < minSleep {
		return 0
	}
	return min(quiet, moderateDepth)
}

// deep tells whether a frame that comes to queue q of p now would wait for moderateDepth at the port's speed.
func (p *portState) deep(q uint8) bool {
	return p.cfg.Speed > 0 && p.count.QueueBytes[q] >= p.cfg.Speed/8*moderateDepth/1_000_000_000
}

// learnLoad takes account of a burst of port t at time now. prompt tells whether a frame of it may have left at once.
func (w *worker) learnLoad(t *portTask, prompt bool, now int64) {
	switch {
	case prompt || t.moderation == 0:
		t.deepUntil, t.promptUntil = 0, now+promptTime
	case now >= t.promptUntil:
		t.deepUntil = now + moderateDepth
	}
	w.deepUntil = t.deepUntil
}

// quiet is for how long from now on the rings of the port may be left alone, 0 where they may not.
func (t *portTask) quiet(now int64) int64 {
	if t.ringHeld || t.blocked != [port.NumClasses]bool{} {
		return 0
	}
	if quiet := min(t.moderation, t.deepUntil-now); quiet >= minSleep {
		return quiet
	}
	return 0
}

// relaxed tells whether the worker goes to sleep after a round with work, without looking for more: what has come since it
// slept had to wait, and the rings that it does not listen to then have time.
func (w *worker) relaxed(now int64) bool { return now < w.deepUntil && !w.full }

// moderate shortens a sleep of d ns where rings are left alone in it, and chooses them. A worker with a delay line leaves none
// alone: a cable is never late. One that serves a host leaves all of them alone for restTime, once after work, where threads of
// this machine often wait for a CPU: a wake-up for each frame would take that from the host's programs.
func (w *worker) moderate(sw *Switch, d, now int64) int64 {
	all := w.worked && w.hostNIC && !w.crowd.rare() && d > restTime
	if w.moderated, w.worked = all, false; all {
		d = restTime
	}
	for _, t := range w.receivers {
		quiet := int64(0)
		if len(w.lines) == 0 {
			quiet = t.quiet(now)
		}
		if quiet > 0 {
			d, w.moderated = min(d, quiet), true
		}
		other := all || quiet > 0
		w.mute(t, port.Other, other)
		w.mute(t, port.Lossless, all || other && !sw.WouldCross(t.index, moderateOctets/shortestFrame, moderateOctets))
	}
	return d
}

// mute leaves a ring's sockets out of the sleeps to come, or takes them in again.
func (w *worker) mute(t *portTask, c port.Class, on bool) {
	w.waiter.Mute(t.sockets[c].from, t.sockets[c].to, on)
}
