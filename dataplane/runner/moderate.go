package runner

import (
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// Interrupt moderation, as NICs have it: while a port's frames have to wait in an egress queue anyhow, the worker
// sleeps without listening to the port's receive rings, for as long as a few frames take on the wire.
//
// The load does not leave later for it: the egress queues that the last burst met held frames for moderateDepth, and
// the rings are looked at before that is over. A frame that meets a shorter queue is prompt, and may have waited in
// its ring for the port's interval. Then the rings are listened to for promptTime, so that requests and answers beside
// a load find the worker awake.
//
// XOFF stays honest by a bound in octets. The lossless rings are left alone only where moderateOctets from each
// moderated port cannot bring a lossless queue to its threshold. What a peer may send beyond its speed is its burst,
// for which there is headroom. MAC Control frames end every sleep.
const (
	moderateFrames = 8 // full ones
	moderateOctets = moderateFrames * (1518 + frame.WireExtras)
	shortestFrame  = 60 + frame.WireExtras // on the wire
	moderateDepth  = dataplane.DeepQueue
	promptTime     = 10_000_000 // ns after a prompt frame in which a port's rings are listened to
)

// moderation is the interval for which a worker may leave the port's rings alone, 0 where it is shorter than the
// shortest sleep or nobody knows how much comes meanwhile.
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

// learnLoad takes account of a burst of port t at time now. prompt tells whether a frame of it may have left at once.
func (w *worker) learnLoad(t *portTask, prompt bool, now int64) {
	switch {
	case prompt || t.interval == 0:
		t.deepUntil, t.promptUntil = 0, now+promptTime
	case now >= t.promptUntil:
		t.deepUntil = now + moderateDepth
	}
	w.deepUntil = t.deepUntil
}

// moderationLeft is for how long from now on the rings of the port may be left alone, 0 where they may not.
func (t *portTask) moderationLeft(now int64) int64 {
	if t.ringHeld || t.blocked != [port.NumClasses]bool{} {
		return 0
	}
	if d := min(t.interval, t.deepUntil-now); d >= minSleep {
		return d
	}
	return 0
}

// loaded tells whether the frames that came last have to wait, and more need not be looked for before the worker
// sleeps.
func (w *worker) loaded(now int64) bool { return now < w.deepUntil && !w.full }

// moderate shortens a sleep of d ns where rings are left alone in it, and chooses them. A worker with a delay line
// leaves none alone: a cable is never late. One that serves a host leaves all of them alone for hostModeration, once
// after work, where threads of this machine often wait for a CPU: a wake-up for each frame would take that from the
// host's programs.
func (w *worker) moderate(sw *dataplane.Switch, d, now int64) int64 {
	all := w.worked && w.hostNIC && w.cpuContention.contended() && d > hostModeration
	if w.worked = false; all {
		d = hostModeration
	}
	n := int64(0) // ports whose rings are left alone
	for _, t := range w.receivers {
		if t.alone = 0; len(w.lines) == 0 {
			t.alone = t.moderationLeft(now)
		}
		if t.alone > 0 {
			d = min(d, t.alone)
			n++
		}
	}
	w.moderated = all || n > 0
	for _, t := range w.receivers {
		other := all || t.alone > 0
		w.mute(t, port.Other, other)
		w.mute(t, port.Lossless, all || other && !sw.WouldCross(t.index, n*moderateOctets/shortestFrame,
			n*moderateOctets))
	}
	return d
}

// mute leaves a ring's sockets out of the sleeps to come, or takes them in again.
func (w *worker) mute(t *portTask, c port.Class, on bool) {
	w.poller.Ignore(t.sockets[c].from, t.sockets[c].to, on)
}
