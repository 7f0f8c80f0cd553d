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

// Refreshed says that the frame of the last call of Sent has left n times more, the last time at time at.
func (i *Initiator) Refreshed(n uint64, at int64) {
	later := i.xoffSent != 0 && at > i.sentAt
	for s := i.last.units; s != 0; s &= s - 1 {
		unit := s.first()
		i.frames[unit] += n
		if later {
			i.load(unit, at, QuantaDuration(i.last.time[unit], i.config.Speed))
		}
	}
	if later {
		i.sentAt = at
		i.refreshAt = i.nextRefresh(&i.last)
	}
}
