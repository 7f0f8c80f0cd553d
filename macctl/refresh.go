package macctl

import "math"

// MinRefresh is the least time in ns between a frame and the one that only refreshes it.
const MinRefresh = 200_000

// wakeMargin is how many times the wake-up delay a refresh is due before the pause runs out.
const wakeMargin = 4

// RefreshInterval returns after how many ns a pause of that many quanta should be refreshed: after half of it, or
// 4 · wakeDelay before its end if that is earlier. Where that is less than MinRefresh, the Initiator
// waits for MinRefresh and the peer may run free in between: the pause is too short for this machine.
func RefreshInterval(quanta uint16, bitsPerSecond, wakeDelay int64) int64 {
	d := QuantaDuration(quanta, bitsPerSecond)
	return min(d/2, d-wakeMargin*wakeDelay)
}

// minRefreshQuanta returns the shortest pause that can be refreshed in time.
func minRefreshQuanta(bitsPerSecond, wakeDelay int64) uint16 {
	return quantaFor(max(2*MinRefresh, MinRefresh+wakeMargin*wakeDelay), bitsPerSecond)
}

// While a ring fills up, XOFF is refreshed after this part of the pause. The hold says that the switch gets too little CPU:
// it may stand still again, and what the peer then sends once its pause has run out finds a ring that is not empty.
const ringRefresh = 8

// nextRefresh returns when the holds stated at sentAt, in o, have to be stated again.
func (i *Initiator) nextRefresh(o *draft) int64 {
	next := int64(math.MaxInt64)
	for s := o.held; s != 0; s &= s - 1 {
		next = min(next, i.refreshTime(s.first(), o.time[s.first()]))
	}
	return next
}

// refreshTime returns when a pause of a unit, told at sentAt, has to be told again.
func (i *Initiator) refreshTime(unit int, quanta uint16) int64 {
	after := RefreshInterval(quanta, i.config.Speed, i.config.WakeDelay)
	if i.holds[unit]&CauseRing != 0 {
		after = min(after, QuantaDuration(quanta, i.config.Speed)/ringRefresh)
	}
	return i.sentAt + max(MinRefresh, after)
}
