package dataplane

// A ledger adds up what a snapshot says of data frames.
type ledger struct {
	received, copies, sent, dropped, held uint64
}

// accounts returns the ledger of all ports. A frame that was lost in a ring was not received.
func accounts(v *Snapshot) (l ledger) {
	for i := range v.Ports {
		p := &v.Ports[i]
		l.received += p.Counters.ReceivedFrames
		l.copies += p.Counters.Copies
		l.sent += p.Counters.SentFrames
		l.held += uint64(p.Delayed + p.Waiting)
		for _, n := range p.Held {
			l.held += uint64(n)
		}
		for prio := range p.Counters.Drops {
			for reason, n := range p.Counters.Drops[prio] {
				if DropReason(reason) != DropRing {
					l.dropped += n
				}
			}
		}
	}
	return l
}

// balanced reports where frames came or went unseen.
func (r *rig) balanced() {
	r.tb.Helper()
	v := r.look()
	if l := accounts(v); l.received+l.copies != l.sent+l.dropped+l.held {
		r.tb.Errorf("received + copies = %d, sent + dropped + held = %d: %+v", l.received+l.copies,
			l.sent+l.dropped+l.held, l)
	}
	if v.Buffer.Unbalanced != 0 {
		r.tb.Errorf("%d releases of bytes that were not charged", v.Buffer.Unbalanced)
	}
}

// empty reports what is left in a switch that should hold nothing.
func (r *rig) empty() {
	r.tb.Helper()
	r.balanced()
	v := r.look()
	if l := accounts(v); l.held != 0 {
		r.tb.Errorf("%d frames are held", l.held)
	}
	used := v.Buffer.Lossless.Used
	if used.Private.Now+used.Shared.Now+used.Headroom.Now != 0 || v.Buffer.Lossy.Used.Shared.Now != 0 {
		r.tb.Errorf("octets in use: lossless %+v, lossy %+v", used, v.Buffer.Lossy.Used)
	}
	m := r.sw.memory
	if m.freeCells.left != len(m.next) || m.freeDescs.left != len(m.descs) {
		r.tb.Errorf("free: %d of %d cells, %d of %d descriptors", m.freeCells.left, len(m.next), m.freeDescs.left,
			len(m.descs))
	}
	for _, p := range v.Ports {
		if p.Counters.QueueBytes != [NumPriorities]int64{} {
			r.tb.Errorf("%s: queues of %v octets", p.Config.Name, p.Counters.QueueBytes)
		}
	}
}

// faults returns what must never happen to a lossless frame, summed over all ports.
func faults(v *Snapshot) (n uint64) {
	for i := range v.Ports {
		for _, drops := range v.Ports[i].Counters.LosslessDrops {
			n += drops
		}
	}
	return n
}
