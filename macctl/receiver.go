package macctl

import "math"

// MaxStampAge is the age in ns up to which a receive stamp is believed. A frame with an older stamp, or one from the
// future, counts as received now: the clocks that the stamp was converted between have been stepped.
const MaxStampAge = 100_000_000

// ReceiverCounters count received frames. Frames that are well formed and for this port are counted whether they are
// obeyed or not, as a switching chip does.
type ReceiverCounters struct {
	PFCFrames   [8]uint64          // PFC frames whose vector has the priority's bit
	PauseFrames uint64             // PAUSE frames
	Ignored     [NumReasons]uint64 // frames by reason; one with two reasons counts under both
}

// A Receiver obeys the PAUSE or PFC frames of the peer: it keeps the pause timers of one port (the PFC receiver of IEEE
// 802.1Q clause 36, the PAUSE reception of IEEE 802.3 31B.3.3). Timers count from the moment at which a frame was
// received: how late it is looked at changes neither when they expire nor how long the port is said to have been
// paused.
type Receiver struct {
	mode  Mode
	units unitSet // under flow control
	speed int64
	own   [6]byte

	paused uint8 // as of the last look
	next   int64 // until then paused is right

	timers         [numUnits]pauseTimer
	ignored        unitSet
	requestedUntil [numUnits]int64  // end of the latest pause of an ignored unit
	xoffs          [numUnits]uint64 // XOFFs received, obeyed or not
	counters       ReceiverCounters
	pauses         func(ns int64)
}

// NewReceiver returns a Receiver with no timer running; Configure says what the arguments mean.
func NewReceiver(mode Mode, enabled uint8, speed int64, own [6]byte) *Receiver {
	r := &Receiver{next: math.MaxInt64}
	r.Configure(mode, enabled, speed, own, 0)
	return r
}

// Configure sets the mode, the vector of priorities on which PFC is obeyed (no matter in other modes), the speed in
// bit/s by which quanta are counted, and the address of the port. Priorities that are no longer under flow control
// become free; timers that go on keep the deadline that they have.
func (r *Receiver) Configure(mode Mode, enabled uint8, speed int64, own [6]byte, now int64) {
	r.mode, r.speed, r.own = mode, speed, own
	r.units = mode.units(enabled)
	r.ignored &= r.units
	for n := range r.timers {
		if r.units&(1<<n) == 0 {
			r.timers[n].load(now, 0)
		}
	}
	r.update(now)
}

// OnPauseEnd makes f be called with the length of each pause that has ended, in ns, by PFC or PAUSE: when a call that is
// given the time finds it so.
func (r *Receiver) OnPauseEnd(f func(ns int64)) { r.pauses = f }

// reportPause tells of the latest pause of a unit if it has ended.
func (r *Receiver) reportPause(unit int, now int64) {
	if r.pauses == nil {
		return
	}
	if ns, ok := r.timers[unit].takeEnded(now); ok {
		r.pauses(ns)
	}
}

// Receive takes a frame from the wire, as Parse wants it, that was received at stamp, and obeys it: a running timer is
// replaced, be the new time longer or shorter, time 0 resumes at once, a priority whose vector bit is clear is left
// alone. The result is ReasonNone, or why the frame was ignored as a whole or in part; ReasonVector alone means that it
// was obeyed. It is counted already.
func (r *Receiver) Receive(b []byte, stamp, now int64) Reason {
	f, reason := Parse(b, r.own)
	if reason != ReasonNone {
		r.counters.Ignored[reason]++
		if reason != ReasonVector {
			return reason
		}
	}
	r.count(&f)
	if refusal := r.ignoreReason(&f); refusal != ReasonNone {
		r.counters.Ignored[refusal]++
		reason = refusal
	}
	if r.ignoresXoff(&f) {
		r.counters.Ignored[ReasonWatchdog]++
		reason = ReasonWatchdog
	}
	if age := now - stamp; age < 0 || age > MaxStampAge {
		stamp = now
	}
	r.load(&f, stamp)
	r.update(now)
	return reason
}

// CountIgnored counts a frame that the caller kept from Receive, and ignored.
func (r *Receiver) CountIgnored(reason Reason) { r.counters.Ignored[reason]++ }

func (r *Receiver) count(f *Frame) {
	if f.Opcode == OpcodePause {
		r.counters.PauseFrames++
		return
	}
	for n := range r.counters.PFCFrames {
		r.counters.PFCFrames[n] += uint64(f.Vector >> n & 1)
	}
}

// ignoreReason tells why some of the units that a frame names are not obeyed.
func (r *Receiver) ignoreReason(f *Frame) Reason {
	switch {
	case f.mode() != r.mode:
		return ReasonDisabled
	case f.units()&^r.units != 0:
		return ReasonPriority
	}
	return ReasonNone
}

func (r *Receiver) load(f *Frame, stamp int64) {
	for s := f.units() & r.units; s != 0; s &= s - 1 {
		n := s.first()
		d := QuantaDuration(f.quanta(n), r.speed)
		if d > 0 {
			r.xoffs[n]++
		}
		if r.ignored&(1<<n) != 0 {
			r.requestedUntil[n] = stamp + d
			continue
		}
		r.reportPause(n, stamp)
		r.timers[n].load(stamp, d)
	}
}

// update brings paused and next up to date.
func (r *Receiver) update(now int64) {
	var running unitSet
	r.next = math.MaxInt64
	for n := range r.timers {
		if expiry := r.timers[n].expiry; expiry > now {
			running |= 1 << n
			r.next = min(r.next, expiry)
		}
		r.reportPause(n, now)
	}
	r.paused = running.vector()
}

// Paused returns the priorities that must not be sent now: 0xFF under PAUSE. It costs a comparison unless a timer has
// run out since the last call, so it can be asked before every send call.
func (r *Receiver) Paused(now int64) uint8 {
	if now >= r.next {
		r.update(now)
	}
	return r.paused
}

// NextExpiry returns when the first running timer runs out, or math.MaxInt64. It is as of the last call with a now: a
// moment that has passed means that Paused will answer differently.
func (r *Receiver) NextExpiry() int64 {
	return r.next
}

// FreeSince returns when a priority that is free now became so: by expiry, by the arrival of the frame that resumed it,
// or by Reset; 0 if it was never paused. For a paused priority it is the moment of expiry.
func (r *Receiver) FreeSince(prio uint8) int64 {
	return max(r.timers[prio&7].expiry, r.timers[wholePort].expiry)
}

// Reset stops every timer and obeys everything again: the link is down.
func (r *Receiver) Reset(now int64) {
	r.ignored = 0
	for n := range r.timers {
		r.timers[n].load(now, 0)
	}
	r.update(now)
}

// PausedTime returns the ns, in all and up to now, for which PFC paused a priority. It never goes back.
func (r *Receiver) PausedTime(prio uint8, now int64) int64 {
	return r.timers[prio&7].paused(now)
}

// PauseTime returns the ns, in all and up to now, for which PAUSE paused the port. It never goes back.
func (r *Receiver) PauseTime(now int64) int64 {
	return r.timers[wholePort].paused(now)
}

// Counters returns the counters. They never go back.
func (r *Receiver) Counters() ReceiverCounters {
	return r.counters
}

// mode returns the mode in which a port obeys f, a frame that is to be obeyed.
func (f *Frame) mode() Mode {
	if f.Opcode == OpcodePause {
		return ModePause
	}
	return ModePFC
}

// units returns the units that f has a time for.
func (f *Frame) units() unitSet {
	if f.Opcode == OpcodePause {
		return onlyWholePort
	}
	return unitSet(f.Vector)
}

// quanta returns the time that f has for a unit.
func (f *Frame) quanta(unit int) uint16 {
	if unit == wholePort {
		return f.Pause
	}
	return f.Time[unit]
}
