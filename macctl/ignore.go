package macctl

// Whole stands for the whole port where a priority is asked for: what a PAUSE stops.
const WholePort = wholePort

// Ignore says that XOFF for a priority, or for Whole, is counted and not obeyed from now on; a pause that runs ends. With
// on false it is obeyed again, and the rest of a pause that was ignored and would still run first of all. What is not
// under flow control is left alone. Reset obeys everything again.
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

// ignoresXoff tells whether a frame holds an XOFF that is ignored.
func (r *Receiver) ignoresXoff(f *Frame) bool {
	for s := f.units() & r.ignored; s != 0; s &= s - 1 {
		if f.quanta(s.first()) > 0 {
			return true
		}
	}
	return false
}

// Requested tells whether the peer wants a priority, or the Whole port, paused now, obeyed or not.
func (r *Receiver) Requested(unit uint8, now int64) bool {
	unit = min(unit, wholePort)
	if r.ignored&(1<<unit) != 0 {
		return r.requestedUntil[unit] > now
	}
	return r.timers[unit].expiry > now
}

// Xoffs returns how many XOFFs for a priority, or for the Whole port, were received while it was under flow control. It
// never goes back.
func (r *Receiver) Xoffs(unit uint8) uint64 { return r.xoffs[min(unit, wholePort)] }

// UnitTime returns the ns, in all and up to now, for which PFC paused a priority, or PAUSE the Whole port, and whether that
// is so now. The time never goes back.
func (r *Receiver) UnitTime(unit uint8, now int64) (paused int64, pausing bool) {
	t := &r.timers[min(unit, wholePort)]
	return t.paused(now), t.expiry > now
}
