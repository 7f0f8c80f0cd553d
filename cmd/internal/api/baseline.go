package api

import (
	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/deadlock"
	"pfcswitch/macctl"
)

// A baseline is where this user's counters begin: at the start, or at the last clear with the counts until then. The
// switch's own counters never go back.
type baseline struct {
	time     int64               // of the switch's clock
	counters *dataplane.Snapshot // nil at the start; of ports and trunks that were gone too; not changed any more
	lost     uint64              // lossless frames, by ports that were gone too
	storms   []deadlock.Status   // likewise
}

// addRetired adds the ports, trunks and trunk members of gone that v does not have.
func addRetired(v, gone *dataplane.Snapshot) {
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
				addMissing(&v.Trunks[i].Members, gone.Trunks[j].Members,
					func(m *dataplane.TrunkMember) string { return m.Port })
			}
		}
	}
	addMissing(&v.Trunks, gone.Trunks, trunk)
}

// addMissing appends the elements of more whose names are not in all.
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

// subtract leaves in v the counts since the baseline. Gauges and watermarks stay.
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
				v.Trunks[i].Combine(t, subtractCounter[uint64])
			}
		}
	}
	subtractBuffer(&v.Buffer, &b.counters.Buffer)
	subtractHistogram(&v.Xoff, &b.counters.Xoff)
	subtractHistogram(&v.XoffAge, &b.counters.XoffAge)
	subtractCounter(&v.LosslessDropsGone, b.counters.LosslessDropsGone)
	subtractCounter(&v.Bridge.Moves, b.counters.Bridge.Moves)
	subtractCounter(&v.Bridge.Full, b.counters.Bridge.Full)
}

// subtractStorms leaves in all the counts since the baseline. For a storm that started earlier, the frames since the
// baseline stay.
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
		subtractCounter(&s.LastSent, old.LastSent)
		subtractCounter(&s.LastDropped, old.LastDropped)
	}
	subtractCounter(&s.Detected, old.Detected)
	subtractCounter(&s.Recovered, old.Recovered)
	subtractCounter(&s.Recurred, old.Recurred)
	subtractCounter(&s.Sent, old.Sent)
	subtractCounter(&s.Dropped, old.Dropped)
}

// subtractCounter subtracts old from n. A counter below its baseline started again from 0, because the switch had
// forgotten its port, and counts whole.
func subtractCounter[T int64 | uint64](n *T, old T) {
	if *n >= old {
		*n -= old
	}
}

func subtractCounters8[T int64 | uint64](n, old []T) {
	for i := range n {
		subtractCounter(&n[i], old[i])
	}
}

func subtractPort(p, old *dataplane.PortSnapshot) {
	subtractCounters(&p.Counters, &old.Counters)
	subtractReceived(&p.Received, &old.Received)
	subtractSent(&p.ControlSent, &old.ControlSent)
	subtractHistogram(&p.Reaction, &old.Reaction)
	subtractHistogram(&p.Late, &old.Late)
	subtractHistogram(&p.Pauses, &old.Pauses)
	subtractHistogram(&p.Holds, &old.Holds)
	subtractCounters8(p.PausedNs[:], old.PausedNs[:])
	subtractCounters8(p.HeldNs[:], old.HeldNs[:])
	subtractCounter(&p.PausedAllNs, old.PausedAllNs)
	subtractCounter(&p.HeldAllNs, old.HeldAllNs)
	for q := range p.Use {
		subtractCounter(&p.Use[q].Xoffs, old.Use[q].Xoffs)
		subtractCounter(&p.Use[q].Waited, old.Use[q].Waited)
		subtractCounter(&p.Use[q].Crowded, old.Use[q].Crowded)
		subtractCounter(&p.Use[q].Exceeded, old.Use[q].Exceeded)
	}
}

func subtractCounters(c, old *dataplane.Counters) {
	subtractCounter(&c.ReceivedFrames, old.ReceivedFrames)
	subtractCounter(&c.ReceivedBytes, old.ReceivedBytes)
	subtractCounter(&c.SentFrames, old.SentFrames)
	subtractCounter(&c.SentBytes, old.SentBytes)
	subtractCounter(&c.Copies, old.Copies)
	subtractCounter(&c.ProbesSent, old.ProbesSent)
	subtractCounter(&c.Streamed, old.Streamed)
	subtractCounter(&c.StreamReceived, old.StreamReceived)
	subtractCounter(&c.ProbesReceived, old.ProbesReceived)
	subtractCounter(&c.HostDrops, old.HostDrops)
	subtractCounter(&c.Overspeed, old.Overspeed)
	subtractCounter(&c.ControlLost, old.ControlLost)
	for prio := range c.Drops {
		subtractCounters8(c.Drops[prio][:], old.Drops[prio][:])
	}
	subtractCounters8(c.LosslessDrops[:], old.LosslessDrops[:])
	subtractCounters8(c.Marked[:], old.Marked[:])
	subtractCounters8(c.QueueSent[:], old.QueueSent[:])
	subtractCounters8(c.QueueDiscarded[:], old.QueueDiscarded[:])
	subtractCounter(&c.RingHoldNs, old.RingHoldNs)
	subtractCounter(&c.RingHoldBytes, old.RingHoldBytes)
}

func subtractReceived(c, old *macctl.ReceiverCounters) {
	subtractCounters8(c.PFCFrames[:], old.PFCFrames[:])
	subtractCounter(&c.PauseFrames, old.PauseFrames)
	subtractCounters8(c.Ignored[:], old.Ignored[:])
}

func subtractSent(c, old *macctl.InitiatorCounters) {
	subtractCounters8(c.PFCFrames[:], old.PFCFrames[:])
	subtractCounter(&c.PauseFrames, old.PauseFrames)
	subtractCounters8(c.XoffSent[:], old.XoffSent[:])
	subtractCounters8(c.XonSent[:], old.XonSent[:])
	subtractCounter(&c.PauseXoffSent, old.PauseXoffSent)
	subtractCounter(&c.PauseXonSent, old.PauseXonSent)
}

func subtractHistogram(h, old *dataplane.Histogram) {
	if h.Count < old.Count {
		return
	}
	h.Count -= old.Count
	subtractCounter(&h.Zero, old.Zero)
	subtractCounter(&h.Sum, old.Sum)
	subtractCounters8(h.Buckets[:], old.Buckets[:])
}

func subtractBuffer(b, old *buffer.Snapshot) {
	before := make(map[string]*buffer.PortSnapshot, len(old.Ports))
	for i := range old.Ports {
		if !old.Ports[i].Removed {
			before[old.Ports[i].Name] = &old.Ports[i]
		}
	}
	subtractCounter(&b.Unbalanced, old.Unbalanced)
	for i := range b.Ports {
		p := &b.Ports[i]
		o := before[p.Name]
		if o == nil {
			continue
		}
		for k := range p.Ingress {
			subtractIngress(&p.Ingress[k].Counters, &o.Ingress[k].Counters)
			subtractCounter(&p.Egress[k].Admitted, o.Egress[k].Admitted)
			subtractCounter(&p.Egress[k].Dropped, o.Egress[k].Dropped)
		}
	}
}

func subtractIngress(c, old *buffer.Counters) {
	subtractCounter(&c.Admitted, old.Admitted)
	subtractCounter(&c.AdmittedHeadroom, old.AdmittedHeadroom)
	subtractCounter(&c.Waited, old.Waited)
	subtractCounter(&c.Dropped, old.Dropped)
	subtractCounter(&c.Oversize, old.Oversize)
	subtractCounter(&c.Xoff, old.Xoff)
	subtractCounter(&c.Xon, old.Xon)
}
