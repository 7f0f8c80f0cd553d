package macctl

import (
	"cmp"
	"math"
)

// A Cause is a set of reasons for which a peer is held. Each holder has a bit of its own.
type Cause uint8

// The holders.
const (
	CauseBuffer        Cause = 1 << iota // an ingress queue crossed its threshold
	CauseRing                            // the port's receive ring fills faster than it is read
	CauseTrunk                           // a trunk's watermark, or a pause that came from its other side
	CauseHeadroomProbe                   // a headroom measurement
)

// InitiatorConfig is what an Initiator needs to know of its port.
type InitiatorConfig struct {
	Mode      Mode
	Enabled   uint8   // ModePFC: vector of the priorities under PFC
	Speed     int64   // bit/s, for the length of a quantum
	Source    [6]byte // address of the port
	Quanta    uint16  // time of an XOFF; 0 means 0xFFFF
	Remaining bool    // take the time of an XOFF from SetRemaining instead
	WakeDelay int64   // ns by which this machine's wake-ups are late (99.9 %)
	InTime    bool    // none is late, as in virtual time: no MinRefresh is needed
}

// InitiatorCounters count frames that the kernel took. XOFF and XON are changes of what the peer was sent: a refresh is
// neither.
type InitiatorCounters struct {
	PFCFrames         [8]uint64 // PFC frames whose vector has the priority's bit
	PauseFrames       uint64    // PAUSE frames
	XoffSent, XonSent [8]uint64 // by PFC

	PauseXoffSent, PauseXonSent uint64
}

// An Initiator tells the peer of one port what the peer must not send: the PFC initiator of IEEE 802.1Q clause 36, and
// the PAUSE transmission of IEEE 802.3 31B.3.2. It remembers which XOFF is wanted and which was last sent, never an
// edge. So XOFF and XON cannot overtake each other, and a frame that could not be sent is forgotten:
//
//	Hold, Release → xoffWanted → Pending → AppendFrame → (send) → Sent → xoffSent
//	                                ▲                      │ failed: nothing has changed
//	                                └──────────────────────┘
//
// The refresh heals a lost XOFF. Expiry or the next frame heals a lost XON, since every frame states all enabled
// priorities.
type Initiator struct {
	config    InitiatorConfig
	units     unitSet // under flow control
	minQuanta uint16  // shortest XOFF that Remaining may ask for

	holds      [numUnits]Cause
	remaining  [numUnits]uint16 // quanta
	xoffWanted unitSet

	xoffSent  unitSet // units of one kind only: priorities or the whole port
	sentAt    int64
	refreshAt int64
	draft     draft
	last      draft // of the last call of Sent

	timers              [numUnits]pauseTimer // as the peer's run
	frames              [numUnits]uint64
	xoffCount, xonCount [numUnits]uint64
	onPauseEnd          func(ns int64)
}

// A draft is the frame that AppendFrame last made: the units that it names, and those of them that it holds.
type draft struct {
	units, held unitSet
	time        [numUnits]uint16
}

// NewInitiator returns an Initiator that holds nothing.
func NewInitiator(c InitiatorConfig) *Initiator {
	i := &Initiator{refreshAt: math.MaxInt64}
	i.Configure(c, 0)
	return i
}

// Configure changes the configuration. The next frames free units of the old mode and priorities that are no longer
// enabled. A change of mode clears all holds, since holders then count by another unit; they have to hold anew.
func (i *Initiator) Configure(c InitiatorConfig, now int64) {
	c.Quanta = cmp.Or(c.Quanta, 0xFFFF)
	if c == i.config {
		return
	}
	if c.Mode != i.config.Mode {
		clear(i.holds[:])
	}
	i.config = c
	i.units = c.Mode.units(c.Enabled)
	i.minQuanta = minRefreshQuanta(c.Speed, c.WakeDelay)
	i.xoffWanted = 0
	for n := range i.holds {
		i.setWanted(n)
	}
	if i.xoffSent != 0 { // the old refresh may come too late for the new times
		i.refreshAt = min(i.refreshAt, max(now, i.sentAt+MinRefresh))
	}
}

// Hold sets the hold bit of c on a priority. Under PAUSE all priorities share one bit per cause.
func (i *Initiator) Hold(prio uint8, c Cause) {
	n := i.config.Mode.unit(prio)
	i.holds[n] |= c
	i.setWanted(n)
	if i.xoffSent>>n&1 != 0 {
		i.refreshAt = min(i.refreshAt, i.refreshTime(n, i.quanta(n)))
	}
}

// Release clears the hold bit of c on a priority. The peer is freed once no bit is left.
func (i *Initiator) Release(prio uint8, c Cause) {
	n := i.config.Mode.unit(prio)
	i.holds[n] &^= c
	i.setWanted(n)
}

// setWanted brings a unit's bit of xoffWanted up to date with its holds.
func (i *Initiator) setWanted(unit int) {
	i.xoffWanted &^= 1 << unit
	if i.holds[unit] != 0 {
		i.xoffWanted |= 1 << unit & i.units
	}
}

// Causes returns the causes for which a priority is to be held.
func (i *Initiator) Causes(prio uint8) Cause { return i.holds[i.config.Mode.unit(prio)] }

// SetRemaining sets the bits that a priority's ingress queue can still take. With InitiatorConfig.Remaining, each later
// XOFF or refresh asks for the time in which those bits arrive, bits / 512 quanta. It never asks for a pause that runs
// out before it can be refreshed.
func (i *Initiator) SetRemaining(prio uint8, bits int64) {
	i.remaining[i.config.Mode.unit(prio)] = uint16(max(0, min(bits/QuantumBits, 0xFFFF)))
}

// XoffWanted returns the priorities that are to be held: 0xFF under PAUSE.
func (i *Initiator) XoffWanted() uint8 { return i.xoffWanted.vector() }

// XoffSent returns the priorities that the last frame sent holds: 0xFF under PAUSE.
func (i *Initiator) XoffSent() uint8 { return i.xoffSent.vector() }

// Pending reports whether a frame has to go out now: what was sent differs from what is wanted, or a refresh is due.
// The caller asks again after each frame sent.
func (i *Initiator) Pending(now int64) bool { return i.xoffSent != i.xoffWanted || now >= i.refreshAt }

// AppendFrame appends the frame that tells the peer what is wanted now, and reports whether there is one. Nothing else
// changes until Sent. A caller that cannot send the frame forgets it and asks again later.
func (i *Initiator) AppendFrame(b []byte, now int64) ([]byte, bool) {
	i.draft = draft{}
	if !i.Pending(now) {
		return b, false
	}
	i.draft = i.state()
	return i.appendDraft(b), true
}

func (i *Initiator) appendDraft(b []byte) []byte {
	if i.draft.units == onlyWholePort {
		return AppendPause(b, i.config.Source, i.draft.time[WholePort])
	}
	return AppendPFC(b, i.config.Source, i.draft.units.vector(), [8]uint16(i.draft.time[:]))
}

// state returns the next frame: the state of all units under flow control, and of those that have left it.
func (i *Initiator) state() draft {
	if i.xoffSent&^i.config.Mode.kind() != 0 {
		return draft{units: i.xoffSent} // the mode has changed: XON in the old one first
	}
	d := draft{units: i.units | i.xoffSent, held: i.xoffWanted}
	for s := d.held; s != 0; s &= s - 1 {
		d.time[s.first()] = i.quanta(s.first())
	}
	return d
}

// quanta returns the time of an XOFF for a unit. A trunk's hold has the longest time: it stands for a pause on the
// trunk's other side, of which only the beginning and the end are passed on.
func (i *Initiator) quanta(unit int) uint16 {
	if i.holds[unit]&CauseTrunk != 0 {
		return 0xFFFF
	}
	if i.config.Remaining {
		return max(i.remaining[unit], i.minQuanta)
	}
	return i.config.Quanta
}

// Sent says that the kernel took the frame that AppendFrame last made. The caller reads now before the send call, so
// that the peer's pause is never thought to last longer than it does.
func (i *Initiator) Sent(now int64) {
	if i.draft.units == 0 {
		return
	}
	for s := i.draft.units; s != 0; s &= s - 1 {
		n := s.first()
		i.load(n, now, QuantaDuration(i.draft.time[n], i.config.Speed))
		i.count(n)
	}
	i.xoffSent, i.sentAt = i.draft.held, now
	i.refreshAt = i.nextRefresh(&i.draft)
	i.last, i.draft = i.draft, draft{}
}

// OnPauseEnd makes f be called with the ns for which the peer was held, by PFC or PAUSE: when the peer is freed, or
// when it is held anew after a pause that ran out.
func (i *Initiator) OnPauseEnd(f func(ns int64)) { i.onPauseEnd = f }

// load replaces a unit's timer, and reports pauses that have ended by then.
func (i *Initiator) load(unit int, now, d int64) {
	t := &i.timers[unit]
	t.report(now, i.onPauseEnd)
	t.load(now, d)
	t.report(now, i.onPauseEnd)
}

func (i *Initiator) count(unit int) {
	i.frames[unit]++
	held, was := i.draft.held>>unit&1, i.xoffSent>>unit&1
	switch {
	case held > was:
		i.xoffCount[unit]++
	case held < was:
		i.xonCount[unit]++
	}
}

// Reset says that the link is down: the peer has forgotten what it was sent. The holds stay, so that XOFF is sent again
// when the link is back.
func (i *Initiator) Reset(now int64) {
	for n := range i.timers {
		i.load(n, now, 0)
	}
	i.xoffSent, i.draft, i.refreshAt = 0, draft{}, math.MaxInt64
}

// HeldTime returns the ns, in all and up to now, for which PFC held a priority of the peer, or PAUSE the WholePort:
// from XOFF to XON, or to expiry where the refresh came too late. The time never goes back.
func (i *Initiator) HeldTime(unit uint8, now int64) int64 {
	return i.timers[min(unit, WholePort)].paused(now)
}

// Counters returns the counters. They never go back.
func (i *Initiator) Counters() InitiatorCounters {
	return InitiatorCounters{
		PFCFrames:     [8]uint64(i.frames[:]),
		PauseFrames:   i.frames[WholePort],
		XoffSent:      [8]uint64(i.xoffCount[:]),
		XonSent:       [8]uint64(i.xonCount[:]),
		PauseXoffSent: i.xoffCount[WholePort],
		PauseXonSent:  i.xonCount[WholePort],
	}
}

// MinRefresh is the least time in ns between a frame and a later one that only refreshes it.
const MinRefresh = 200_000

const (
	// wakeMargin is how many wake-up delays before the end of a pause its refresh is due.
	wakeMargin = 4

	// ringRefresh is the part of a pause after which XOFF for CauseRing is refreshed. Such a switch gets too little CPU
	// time and may stand still again; the peer's pause must outlast that, since the ring is not empty.
	ringRefresh = 8
)

// refreshInterval returns after how many ns a pause of that many quanta should be refreshed: after half of it, or
// 4 · wakeDelay before its end if that is earlier. Where the result is below MinRefresh, the pause is too short for
// this machine: the Initiator waits for MinRefresh, and the peer may run free in between.
func refreshInterval(quanta uint16, bitsPerSecond, wakeDelay int64) int64 {
	d := QuantaDuration(quanta, bitsPerSecond)
	return min(d/2, d-wakeMargin*wakeDelay)
}

// minRefreshQuanta returns the shortest pause that can be refreshed in time.
func minRefreshQuanta(bitsPerSecond, wakeDelay int64) uint16 {
	return quantaFor(max(2*MinRefresh, MinRefresh+wakeMargin*wakeDelay), bitsPerSecond)
}

// NextRefresh returns when a refresh is due, math.MaxInt64 when nothing is held. It is the refreshInterval of the
// shortest pause sent, or an eighth of the pause where CauseRing is among the holds. At least MinRefresh lies between
// it and the last frame, unless wake-ups are InTime.
func (i *Initiator) NextRefresh() int64 { return i.refreshAt }

// nextRefresh returns when the holds of a frame that was sent at sentAt have to be sent again.
func (i *Initiator) nextRefresh(d *draft) int64 {
	next := int64(math.MaxInt64)
	for s := d.held; s != 0; s &= s - 1 {
		next = min(next, i.refreshTime(s.first(), d.time[s.first()]))
	}
	return next
}

// refreshTime returns when a pause of a unit that was sent at sentAt has to be sent again.
func (i *Initiator) refreshTime(unit int, quanta uint16) int64 {
	after := refreshInterval(quanta, i.config.Speed, i.config.WakeDelay)
	if i.holds[unit]&CauseRing != 0 {
		after = min(after, QuantaDuration(quanta, i.config.Speed)/ringRefresh)
	}
	if i.config.InTime {
		return i.sentAt + max(1, after)
	}
	return i.sentAt + max(MinRefresh, after)
}
