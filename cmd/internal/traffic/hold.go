package traffic

import (
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A holder pauses the peer of a sink from the time when a quarter of the lossless ring is full until an eighth is full. The
// rest is for frames that arrive before the sink runs again: a switch without a speed sends a million frames a second.
type holder struct {
	port    port.Port
	sender  *macctl.Initiator
	mask    uint8
	holding bool
	buf     [2 * macctl.FrameSize]byte
	blocked bool
}

func newHolder(p port.Port, mode macctl.Mode, lossless uint8, speed int64, own [6]byte) *holder {
	return &holder{port: p, mask: lossless, sender: macctl.NewInitiator(macctl.InitiatorConfig{Mode: mode, Enabled: lossless, Speed: speed, Source: own})}
}

// look decides by the ring's backlog whether to pause the peer, and sends the control frames that are due.
func (h *holder) look(now int64) {
	if h.holding || h.port.BacklogExceeds(port.Lossless, watched) {
		fill := h.port.Backlog(port.Lossless).Fill
		switch {
		case !h.holding && fill > 0.25:
			h.holding = true
			h.set(true, macctl.CauseRing)
		case h.holding && fill <= 0.125:
			h.holding = false
			h.set(false, macctl.CauseRing)
		}
	}
	for h.sender.Pending(now) {
		b, ok := h.sender.AppendFrame(h.buf[:0], now)
		if !ok || h.port.SendControl(b) != nil {
			return
		}
		h.sender.Sent(now)
	}
}

// block pauses the peer, or not, independently of the ring.
func (h *holder) block(on bool) {
	if on != h.blocked {
		h.blocked = on
		h.set(on, macctl.CauseBuffer)
	}
}

// watched is the backlog, in frames, from which on look reads the fill of the ring.
const watched = 64

func (h *holder) set(on bool, c macctl.Cause) {
	for q := range uint8(8) {
		switch {
		case h.mask&(1<<q) == 0:
		case on:
			h.sender.Hold(q, c)
		default:
			h.sender.Release(q, c)
		}
	}
}
