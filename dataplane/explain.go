package dataplane

import (
	"strconv"

	"pfcswitch/buffer"
	"pfcswitch/macctl"
)

// A disposition is what becomes of a received frame: 0 where it goes on, else its DropReason + 1 and two flags.
type disposition uint8

const (
	dispositionLost disposition = 0x80 // a lossless frame that must not be lost
	dispositionCopy disposition = 0x40 // other copies go on
)

func dropped(r DropReason, lossless bool) disposition {
	d := disposition(r) + 1
	if lossless && dropReasons[r].class == fault {
		d |= dispositionLost
	}
	return d
}

// notes are the texts of a capture for each disposition.
var notes = func() (all [256][]byte) {
	for r := range NumDropReasons {
		all[dropped(r, false)] = []byte("dropped: " + r.String())
		all[dropped(r, false)|dispositionCopy] = []byte("a copy was dropped: " + r.String())
		all[dropped(r, false)|dispositionLost] = []byte("dropped: " + r.String() + " (a LOSSLESS frame is lost)")
	}
	return all
}()

func (d disposition) note() []byte { return notes[d] }

// DropNote is what a capture says of a frame that is dropped.
func DropNote(r DropReason, lossless bool) []byte { return dropped(r, lossless).note() }

// Note is what a capture says of the frame: empty where it goes on.
func (a *Arrival) Note() []byte { return a.disposition.note() }

// Waits reports whether the frame is in a waiting room. It is captured when it leaves.
func (a *Arrival) Waits() bool { return a.waits }

// setDisposition notes that a frame, or a copy of it, was dropped.
func (s *Switch) setDisposition(a *Arrival) {
	a.disposition, s.disposition = s.disposition, 0
	n := len(s.staged)
	if a.copies != none || n > 0 && len(a.Data) > 0 && &s.staged[n-1].data[0] == &a.Data[0] {
		a.disposition |= dispositionCopy
	}
}

// ExplainControl appends what the newest MAC Control frame of port i did.
func (s *Switch) ExplainControl(b []byte, i int) []byte {
	p := s.ports[i]
	if p == nil {
		return append(b, "ignored: the port is not configured"...)
	}
	switch p.lastReason {
	case macctl.ReasonNone:
		b = append(b, "obeyed"...)
	case macctl.ReasonVector, macctl.ReasonPriority:
		b = append(append(b, "obeyed in part: "...), p.lastReason.String()...)
	default:
		return append(append(b, "ignored: "...), p.lastReason.String()...)
	}
	paused := p.receiver.Paused(s.now)
	if paused == 0 {
		return append(b, "; nothing is paused"...)
	}
	b = append(b, "; paused"...)
	if p.cfg.Mode == macctl.ModePause {
		return append(b, ": all"...)
	}
	return appendPriorities(append(b, ':'), paused)
}

func appendPriorities(b []byte, set uint8) []byte {
	for q := range uint8(NumPriorities) {
		if set&(1<<q) != 0 {
			b = append(b, ' ', '0'+q)
		}
	}
	return b
}

// ExplainControlOut appends the reasons of the MAC Control frame that port i is about to send.
func (s *Switch) ExplainControlOut(b []byte, i int) []byte {
	p := s.ports[i]
	wanted, xoffSent := p.sender.XoffWanted(), p.sender.XoffSent()
	if p.cfg.Mode == macctl.ModePause {
		return s.explainUnit(b, p, 0, "all", wanted&1, xoffSent&1)
	}
	for q := range uint8(NumPriorities) {
		b = s.explainUnit(b, p, q, "01234567"[q:q+1], wanted>>q&1, xoffSent>>q&1)
	}
	return b
}

// explainUnit appends the reasons for one priority, or for all of them, where it is held or was.
func (s *Switch) explainUnit(b []byte, p *portState, q uint8, name string, wanted, xoffSent uint8) []byte {
	if wanted|xoffSent == 0 {
		return b
	}
	if len(b) > 0 {
		b = append(b, "; "...)
	}
	switch {
	case wanted == 0:
		b = append(b, "XON "...)
	case xoffSent == 0:
		b = append(b, "XOFF "...)
	default:
		b = append(b, "XOFF refreshed "...)
	}
	b = append(append(b, name...), ": "...)
	holds := p.sender.Causes(q)
	for _, c := range causes {
		if holds&c.cause != 0 {
			b = append(append(b, c.word...), ", "...)
		}
	}
	return appendQueue(b, s.buffer.Queue(p.index, q))
}

// ExplainRefresh appends the reason of an XOFF that left without ControlOut: it was sent again, or frames wait in the
// lossless rings and no worker looks.
func ExplainRefresh(b, xoff []byte, again bool) []byte {
	word, reason := "XOFF", ": frames wait unread in the receive ring"
	if again {
		word, reason = "XOFF refreshed", ": held as before"
	}
	f, _ := macctl.Parse(xoff, macctl.GroupAddress)
	if b = append(b, word...); f.Opcode == macctl.OpcodePause {
		return append(append(b, " all"...), reason...)
	}
	var held uint8
	for q, quanta := range f.Time {
		if quanta != 0 {
			held |= 1 << q
		}
	}
	return append(appendPriorities(b, held), reason...)
}

func appendQueue(b []byte, q buffer.QueueSnapshot) []byte {
	b = append(b, "ingress queue holds "...)
	b = strconv.AppendInt(b, q.Used.Private.Now+q.Used.Shared.Now, 10)
	b = append(b, " B, threshold "...)
	b = strconv.AppendInt(b, q.Config.Private+q.Threshold, 10)
	b = append(b, " B, headroom "...)
	b = strconv.AppendInt(b, q.Used.Headroom.Now, 10)
	b = append(b, " of "...)
	b = strconv.AppendInt(b, q.Config.Headroom, 10)
	return append(b, " B"...)
}
