package dcbx

// A control is the control state machine of CEE and CIN. What is told has a sequence number. It is told anew only after
// the peer has acknowledged what was told before.
type control struct {
	seq   uint32 // of what is told
	ack   uint32 // the peer's number that is acknowledged
	acked uint32 // the own number that the peer acknowledges
}

// receive takes the peer's control TLV. It returns false where the peer operates in another version than 0, the only one.
func (c *control) receive(peer *Control) bool {
	if peer == nil || peer.Oper != 0 {
		return false
	}
	c.acked, c.ack = peer.Ack, peer.Seq
	return true
}

// next is the number under which a change will be told.
func (c *control) next() uint32 { return c.seq + 1 }

// advance takes the next number where a feature has changed and nothing is on its way, and returns whether it did.
func (c *control) advance(features *[NumKinds]feature) bool {
	if c.seq != c.acked {
		return false
	}
	for i := range features {
		if f := &features[i]; !f.synced && f.seq == c.next() {
			c.seq++
			return true
		}
	}
	return false
}
