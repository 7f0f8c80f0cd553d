package macctl

import "math"

// MaxStampAge is the age in ns up to which a receive stamp is believed. An older stamp, or one from the future, means
// that the clocks were stepped between which the stamp was converted.
const MaxStampAge = 100_000_000

// ReceiveTime returns when a frame came: at its stamp, or now where the stamp is not believed.
func ReceiveTime(stamp, now int64) int64 {
	if age := now - stamp; age < 0 || age > MaxStampAge {
		return now
	}
	return stamp
}

// ReceiverCounters count received frames. Frames that are well formed and for this port are counted whether they are
// obeyed or not, as a switching chip does.
type ReceiverCounters struct {
	PFCFrames   [8]uint64          // PFC frames whose vector has the priority's bit
	PauseFrames uint64             // PAUSE frames
	Ignored     [NumReasons]uint64 // frames by reason; a frame with two reasons counts under both
}

// A Receiver obeys the PAUSE or PFC frames of the peer with the pause timers of one port: the PFC receiver of IEEE
// 802.1Q clause 36, and the PAUSE reception of IEEE 802.3 31B.3.3. Timers count from the moment at which a frame was
// received. Handling a frame late changes neither their expiry nor the paused time.
type Receiver struct {
	mode  Mode
	units unitSet // under flow control
	speed int64
	own   [6]byte

	paused uint8 // as of the last update
	next   int64 // until then paused is right

	timers         [numUnits]pauseTimer
	ignored        unitSet          // by Ignore
	requestedUntil [numUnits]int64  // end of the latest pause of an ignored unit
	xoffs          [numUnits]uint64 // XOFFs received, obeyed or not
	counters       ReceiverCounters
	onPauseEnd     func(ns int64)
}

// NewReceiver returns a Receiver with no timer running; Configure says what the arguments mean.
func NewReceiver(mode Mode, enabled uint8, speed int64, own [6]byte) *Receiver {
	r := &Receiver{next: math.MaxInt64}
	r.Configure(mode, enabled, speed, own, 0)
	return r
}

// Configure sets the mode, the vector of priorities on which PFC is obeyed (unused in other modes), the speed in bit/s
// that quanta count by, and the address of the port. Priorities that leave flow control become free. Running timers
// keep their deadlines.
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

// OnPauseEnd makes f be called with the length in ns of each pause that has ended, by PFC or PAUSE. The first method
// that is given a later time calls f.
func (r *Receiver) OnPauseEnd(f func(ns int64)) { r.onPauseEnd = f }

// Receive obeys and counts a frame from the wire, as Parse wants it, that was received at stamp. The frame replaces
// running timers, also by shorter times; time 0 resumes at once; a priority whose vector bit is clear is left alone.
// The result is ReasonNone, or why the frame was ignored as a whole or in part. With ReasonVector it was obeyed.
func (r *Receiver) Receive(b []byte, stamp, now int64) Reason {
	f, reason := Parse(b, r.own)
	if reason != ReasonNone {
		r.CountIgnored(reason)
		if reason != ReasonVector {
			return reason
		}
	}
	r.count(&f)
	switch {
	case f.mode() != r.mode:
		reason = ReasonDisabled
		r.CountIgnored(reason)
	case f.units()&^r.units != 0:
		reason = ReasonPriority
		r.CountIgnored(reason)
	}
	if r.load(&f, ReceiveTime(stamp, now)) {
		reason = ReasonWatchdog
		r.CountIgnored(reason)
	}
	r.update(now)
	return reason
}

// CountIgnored counts a frame that the caller ignored without Receive.
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

// load sets the timers from a frame received at stamp, and reports whether an XOFF of the frame is switched off.
func (r *Receiver) load(f *Frame, stamp int64) (ignored bool) {
	for s := f.units() & r.units; s != 0; s &= s - 1 {
		n := s.first()
		d := QuantaDuration(f.quanta(n), r.speed)
		if d > 0 {
			r.xoffs[n]++
		}
		if r.ignored&(1<<n) != 0 {
			r.requestedUntil[n] = stamp + d
			ignored = ignored || d > 0
			continue
		}
		r.timers[n].report(stamp, r.onPauseEnd)
		r.timers[n].load(stamp, d)
	}
	return ignored
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
		r.timers[n].report(now, r.onPauseEnd)
	}
	r.paused = running.vector()
}

// Paused returns the priorities that must not be sent now: 0xFF under PAUSE. The call costs one comparison unless a
// timer has run out since the last call, so that it can stand before every send call.
func (r *Receiver) Paused(now int64) uint8 {
	if now >= r.next {
		r.update(now)
	}
	return r.paused
}

// NextExpiry returns when the first running timer runs out, or math.MaxInt64. The answer is as of the last call with a
// now. Once that moment has passed, Paused answers differently.
func (r *Receiver) NextExpiry() int64 { return r.next }

// FreeSince returns when a priority that is free now became free: by expiry, by a frame that resumed it, or by Reset; 0
// if it was never paused. For a paused priority it is the moment of expiry.
func (r *Receiver) FreeSince(prio uint8) int64 {
	return max(r.timers[prio&7].expiry, r.timers[WholePort].expiry)
}

// Reset stops every timer and obeys everything again: the link is down.
func (r *Receiver) Reset(now int64) {
	r.ignored = 0
	for n := range r.timers {
		r.timers[n].load(now, 0)
	}
	r.update(now)
}

// Ignore makes XOFF for a priority, or for WholePort, be counted and not obeyed; a running pause ends. With on false
// XOFF is obeyed again, first of all the rest of a pause that was ignored. A unit that is not under flow control is
// left alone. Reset obeys everything again.
func (r *Receiver) Ignore(unit uint8, on bool, now int64) {
	if unit >= numUnits {
		return
	}
	bit := unitSet(1) << unit & r.units
	switch {
	case bit == 0 || on == (r.ignored&bit != 0):
		return
	case on:
		r.ignored |= bit
		r.requestedUntil[unit] = r.timers[unit].expiry
		r.timers[unit].load(now, 0)
	default:
		r.ignored &^= bit
		if left := r.requestedUntil[unit] - now; left > 0 {
			r.timers[unit].load(now, left)
		}
	}
	r.update(now)
}

// Requested reports whether the peer wants a priority, or WholePort, paused now, obeyed or not.
func (r *Receiver) Requested(unit uint8, now int64) bool {
	if unit = min(unit, WholePort); r.ignored&(1<<unit) != 0 {
		return r.requestedUntil[unit] > now
	}
	return r.timers[unit].expiry > now
}

// Xoffs returns how many XOFFs came for a priority, or for WholePort, while it was under flow control. The number never
// goes back.
func (r *Receiver) Xoffs(unit uint8) uint64 { return r.xoffs[min(unit, WholePort)] }

// PausedTime returns the ns, in all and up to now, for which PFC paused a priority, or PAUSE the WholePort. The time
// never goes back.
func (r *Receiver) PausedTime(unit uint8, now int64) int64 {
	return r.timers[min(unit, WholePort)].paused(now)
}

// PausedUnit reports whether PFC pauses a priority now, or PAUSE the WholePort.
func (r *Receiver) PausedUnit(unit uint8, now int64) bool {
	return r.timers[min(unit, WholePort)].expiry > now
}

// Counters returns the counters. They never go back.
func (r *Receiver) Counters() ReceiverCounters { return r.counters }
