package api

import (
	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/deadlock"
	"pfcswitch/macctl"
)

// A baseline is where this user's counters begin: at the start with nothing, or at a clear with what had been counted
// until then. The switch's own counters never go back.
type baseline struct {
	time     int64               // of the switch's clock
	counters *dataplane.Snapshot // nil at the start; of ports and trunks that were gone too; not changed any more
	lost     uint64              // lossless frames, by ports that were gone too
	storms   []deadlock.Status   // likewise
}

// addGone adds to v the ports and trunks of gone, and members of trunks, that v has not.
func addGone(v, gone *dataplane.Snapshot) {
	addMissing(&v.Ports, gone.Ports, func(p *dataplane.PortSnapshot) string { return p.Config.Name })
	addMissing(&v.Buffer.Ports, gone.Buffer.Ports, func(p *buffer.PortSnapshot) string {
		if p.Removed {
			return "" // it has no counters
		}
		return p.Name
	})
	trunk := func(t *dataplane.TrunkSnapshot) string { return t.Config.Name }
	for i := range v.Trunks {
		for j := range gone.Trunks {
			if trunk(&v.Trunks[i]) == trunk(&gone.Trunks[j]) {
				addMissing(&v.Trunks[i].Members, gone.Trunks[j].Members, func(m *dataplane.TrunkMember) string { return m.Port })
			}
		}
	}
	addMissing(&v.Trunks, gone.Trunks, trunk)
}

// addMissing appends what all has not, by name.
func addMissing[T any](all *[]T, more []T, name func(*T) string) {
	here := make(map[string]bool, len(*all))
	for i := range *all {
		here[name(&(*all)[i])] = true
	}
	for i := range more {
		if !here[name(&more[i])] {
			*all = append(*all, more[i])
		}
	}
}

// subtract leaves in v what was counted after the baseline. What v holds now, and watermarks, stay.
func (b *baseline) subtract(v *dataplane.Snapshot) {
	if b.counters == nil {
		return
	}
	before := make(map[string]*dataplane.PortSnapshot, len(b.counters.Ports))
	for i := range b.counters.Ports {
		before[b.counters.Ports[i].Config.Name] = &b.counters.Ports[i]
	}
	for i := range v.Ports {
		if old := before[v.Ports[i].Config.Name]; old != nil {
			subtractPort(&v.Ports[i], old)
		}
	}
	for i := range v.Trunks {
		for j := range b.counters.Trunks {
			if t := &b.counters.Trunks[j]; t.Config.Name == v.Trunks[i].Config.Name {
				v.Trunks[i].Combine(t, less[uint64])
			}
		}
	}
	subtractBuffer(&v.Buffer, &b.counters.Buffer)
	subtractHistogram(&v.Xoff, &b.counters.Xoff)
	subtractHistogram(&v.XoffAge, &b.counters.XoffAge)
	less(&v.LosslessDropsGone, b.counters.LosslessDropsGone)
	less(&v.Bridge.Moves, b.counters.Bridge.Moves)
	less(&v.Bridge.Full, b.counters.Bridge.Full)
}

// subtractStorms leaves in all what watchdogs counted after the baseline. Of a storm that was there before it, what was
// sent and dropped since then stays.
func (b *baseline) subtractStorms(all []deadlock.Status) {
	for i := range all {
		for j := range b.storms {
			if s, old := &all[i], &b.storms[j]; s.Name == old.Name && s.Queue == old.Queue {
				subtractStorm(s, old)
				break
			}
		}
	}
}

func subtractStorm(s, old *deadlock.Status) {
	if s.Detected == old.Detected { // the last storm is still the same
		less(&s.LastSent, old.LastSent)
		less(&s.LastDropped, old.LastDropped)
	}
	less(&s.Detected, old.Detected)
	less(&s.Recovered, old.Recovered)
	less(&s.Recurred, old.Recurred)
	less(&s.Sent, old.Sent)
	less(&s.Dropped, old.Dropped)
}

// less takes old off n. Counters go on where a port was removed and comes back. One that is below its baseline all the same,
// since the switch has forgotten ports that went long ago, began again from 0 and counts whole.
func less[T int64 | uint64](n *T, old T) {
	if *n >= old {
		*n -= old
	}
}

func lessEach[T int64 | uint64](n, old []T) {
	for i := range n {
		less(&n[i], old[i])
	}
}

func subtractPort(p, old *dataplane.PortSnapshot) {
	subtractCounters(&p.Counters, &old.Counters)
	subtractReceived(&p.Received, &old.Received)
	subtractTold(&p.Told, &old.Told)
	subtractHistogram(&p.Reaction, &old.Reaction)
	subtractHistogram(&p.Late, &old.Late)
	subtractHistogram(&p.Pauses, &old.Pauses)
	subtractHistogram(&p.Holds, &old.Holds)
	lessEach(p.PausedNs[:], old.PausedNs[:])
	lessEach(p.HeldNs[:], old.HeldNs[:])
	less(&p.PausedAllNs, old.PausedAllNs)
	less(&p.HeldAllNs, old.HeldAllNs)
	for q := range p.Use {
		less(&p.Use[q].Xoffs, old.Use[q].Xoffs)
		less(&p.Use[q].Waited, old.Use[q].Waited)
		less(&p.Use[q].Crowded, old.Use[q].Crowded)
		less(&p.Use[q].Exceeded, old.Use[q].Exceeded)
	}
}

func subtractCounters(c, old *dataplane.Counters) {
	less(&c.ReceivedFrames, old.ReceivedFrames)
	less(&c.ReceivedBytes, old.ReceivedBytes)
	less(&c.SentFrames, old.SentFrames)
	less(&c.SentBytes, old.SentBytes)
	less(&c.Copies, old.Copies)
	less(&c.ProbesSent, old.ProbesSent)
	less(&c.Streamed, old.Streamed)
	less(&c.StreamReceived, old.StreamReceived)
	less(&c.ProbesReceived, old.ProbesReceived)
	less(&c.HostDrops, old.HostDrops)
	less(&c.Overspeed, old.Overspeed)
	less(&c.ControlLost, old.ControlLost)
	for prio := range c.Drops {
		lessEach(c.Drops[prio][:], old.Drops[prio][:])
	}
	lessEach(c.LosslessDrops[:], old.LosslessDrops[:])
	lessEach(c.Marked[:], old.Marked[:])
	lessEach(c.QueueSent[:], old.QueueSent[:])
	lessEach(c.QueueDiscarded[:], old.QueueDiscarded[:])
	less(&c.RingHoldNs, old.RingHoldNs)
	less(&c.RingHoldBytes, old.RingHoldBytes)
}

func subtractReceived(c, old *macctl.ReceiverCounters) {
	lessEach(c.PFCFrames[:], old.PFCFrames[:])
	less(&c.PauseFrames, old.PauseFrames)
	lessEach(c.Ignored[:], old.Ignored[:])
}

func subtractTold(c, old *macctl.InitiatorCounters) {
	lessEach(c.PFCFrames[:], old.PFCFrames[:])
	less(&c.PauseFrames, old.PauseFrames)
	lessEach(c.XoffSent[:], old.XoffSent[:])
	lessEach(c.XonSent[:], old.XonSent[:])
	less(&c.PauseXoffSent, old.PauseXoffSent)
	less(&c.PauseXonSent, old.PauseXonSent)
}

func subtractHistogram(h, old *dataplane.Histogram) {
	if h.Count < old.Count {
		return
	}
	h.Count -= old.Count
	less(&h.Zero, old.Zero)
	less(&h.Sum, old.Sum)
	lessEach(h.Buckets[:], old.Buckets[:])
}

func subtractBuffer(b, old *buffer.Snapshot) {
	before := make(map[string]*buffer.PortSnapshot, len(old.Ports))
	for i := range old.Ports {
		if !old.Ports[i].Removed {
			before[old.Ports[i].Name] = &old.Ports[i]
		}
	}
	less(&b.Unbalanced, old.Unbalanced)
	for i := range b.Ports {
		p := &b.Ports[i]
		o := before[p.Name]
		if o == nil {
			continue
		}
		for k := range p.Ingress {
			subtractIngress(&p.Ingress[k].Counters, &o.Ingress[k].Counters)
			less(&p.Egress[k].Admitted, o.Egress[k].Admitted)
			less(&p.Egress[k].Dropped, o.Egress[k].Dropped)
		}
	}
}

func subtractIngress(c, old *buffer.Counters) {
	less(&c.Admitted, old.Admitted)
	less(&c.AdmittedHeadroom, old.AdmittedHeadroom)
	less(&c.Waited, old.Waited)
	less(&c.Dropped, old.Dropped)
	less(&c.Oversize, old.Oversize)
	less(&c.Xoff, old.Xoff)
	less(&c.Xon, old.Xon)
}
