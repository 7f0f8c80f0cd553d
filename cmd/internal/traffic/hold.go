package traffic

import (
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A holder stops the peer of a sink while the sink's own lossless ring fills: past a quarter of its slots until an eighth is
// left. The rest is for what comes before the sink has run again: a switch without a speed sends a million frames a second.
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

// look sets or clears the hold by the ring's backlog and tells the peer where that is needed.
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

// block holds the peer, or not, beside what the ring wants.
func (h *holder) block(on bool) {
	if on != h.blocked {
		h.blocked = on
		h.set(on, macctl.CauseBuffer)
	}
}

// watched is how many frames may wait before it is worth a look how full the ring is.
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
