package dataplane

import (
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// Use is what a lossless ingress queue really took after its peer was told to stop: by the stamps of the frames, which do
// not depend on when they were looked at. Octets are those on the wire.
type Use struct {
	Xoffs  uint64 // how often the peer was told
	Peak   int64  // most octets that came after one XOFF had left
	Ring   int64  // most that had come before, and were looked at only then
	Last   int64  // of the newest XOFF
	Waited uint64 // frames that came after XOFF had left, and had to wait in the ring
}

// useMeter counts the use of one queue since the peer was last told.
type useMeter struct {
	Use
	left   int64 // when XOFF left
	before int64 // octets since then that had come before
}

// useUnit is the queue that a priority belongs to.
func (p *portState) useUnit(prio uint8) uint8 {
	if p.cfg.Mode == macctl.ModePause {
		return 0
	}
	return prio & (NumPriorities - 1)
}

// toldNow starts a count for each queue whose peer was told to stop at time now, and ends those that were freed.
func (p *portState) toldNow(now int64) {
	told := p.sender.Told()
	for q := range uint8(NumPriorities) {
		if bit := uint8(1) << q; told&^p.told&bit != 0 && p.useUnit(q) == q {
			u := &p.use[q]
			u.Xoffs++
			u.left, u.Last, u.before = now, 0, 0
		}
	}
	p.told = told
}

// used counts a frame that came by p while its peer is told to stop.
func (p *portState) used(a *Arrival) {
	if a.priority >= NumPriorities || p.told&(1<<a.priority) == 0 {
		return
	}
	u := &p.use[p.useUnit(a.priority)]
	octets := int64(frame.WireOctets(len(a.Data)))
	if a.At > u.left {
		u.Last += octets
		u.Peak = max(u.Peak, u.Last)
		return
	}
	u.before += octets
	u.Ring = max(u.Ring, u.before)
}

// usedRing counts a frame that has to wait in the ring.
func (p *portState) usedRing(a *Arrival) {
	if u := &p.use[p.useUnit(a.priority)]; p.told&(1<<a.priority) != 0 && a.At > u.left {
		u.Waited++
	}
}
