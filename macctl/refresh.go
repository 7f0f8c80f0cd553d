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

// leastQuanta returns the shortest pause that can be refreshed in time.
func leastQuanta(bitsPerSecond, wakeDelay int64) uint16 {
	return quantaFor(max(2*MinRefresh, MinRefresh+wakeMargin*wakeDelay), bitsPerSecond)
}

// nextRefresh returns when the holds stated at sentAt, in o, have to be stated again.
func (i *Initiator) nextRefresh(o *offer) int64 {
	next := int64(math.MaxInt64)
	for s := o.held; s != 0; s &= s - 1 {
		after := RefreshInterval(o.time[s.first()], i.config.Speed, i.config.WakeDelay)
		next = min(next, i.sentAt+max(MinRefresh, after))
	}
	return next
}
