package macctl

// A pause may also be refreshed by somebody who knows only the frame that was sent last, because the goroutine that
// drives the Initiator gets no CPU. RefreshEvery says when; Refreshed hands on what was sent.

// RefreshEvery returns after how many ns the frame that AppendFrame last made is to be sent again: after half of the
// shortest pause in it, 0 where it holds nobody.
func (i *Initiator) RefreshEvery() (ns int64) {
	for s := i.draft.held; s != 0; s &= s - 1 {
		half := max(MinRefresh, QuantaDuration(i.draft.time[s.first()], i.config.Speed)/2)
		if ns == 0 || half < ns {
			ns = half
		}
	}
	return ns
}

// AppendHold appends an XOFF for all units under flow control, and returns after how many ns it is to be sent again.
// Who sends it tells Refreshed. It returns 0 where there is no flow control.
func (i *Initiator) AppendHold(b []byte) (frame []byte, every int64) {
	before := i.draft
	defer func() { i.draft = before }()
	if i.draft = i.everything(); i.draft.held == 0 {
		return b, 0
	}
	return i.appendDraft(b), i.RefreshEvery()
}

// everything is a draft that holds all units under flow control.
func (i *Initiator) everything() draft {
	d := draft{units: i.units, held: i.units}
	for s := d.held; s != 0; s &= s - 1 {
		d.time[s.first()] = i.config.Quanta
	}
	return d
}

// Refreshed says that the frame of the last call of Sent has left n times more, the last time at time at. With all, the
// newest frame that has left was that of AppendHold, as far as is known: who sent it may have read the clock long
// before, and another frame may have been on its way. So the peer is told at once what is wanted now.
func (i *Initiator) Refreshed(n uint64, at int64, all bool) {
	d := i.last
	if all && i.units != 0 { // else the frame is one of before: what it holds is still to be freed
		d = i.everything()
	}
	if d.units == 0 { // no frame was sent but those of AppendHold
		d.units = i.units
	}
	later := all || i.xoffSent != 0 && at > i.sentAt
	at = max(at, i.sentAt)
	for s := d.units; s != 0; s &= s - 1 {
		unit := s.first()
		i.frames[unit] += n
		if later {
			i.load(unit, at, QuantaDuration(d.time[unit], i.config.Speed))
			i.xoffCount[unit] += uint64(d.held >> unit &^ (i.xoffSent >> unit) & 1)
		}
	}
	if later {
		i.xoffSent, i.sentAt, i.last = d.held, at, d
		if all && i.units|i.xoffSent != 0 { // else no unit can be freed: what the peer was told runs out
			i.refreshAt = 0
		} else if i.refreshAt != 0 { // else the peer has to be told first
			i.refreshAt = i.nextRefresh(&d)
		}
	}
}
