package api

import (
	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/deadlock"
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
			v.Ports[i].Combine(old, subtractCounter)
		}
	}
	for i := range v.Trunks {
		for j := range b.counters.Trunks {
			if t := &b.counters.Trunks[j]; t.Config.Name == v.Trunks[i].Config.Name {
				v.Trunks[i].Combine(t, subtractCounter)
			}
		}
	}
	subtractBuffer(&v.Buffer, &b.counters.Buffer)
	v.Xoff.Combine(&b.counters.Xoff, subtractCounter)
	v.XoffAge.Combine(&b.counters.XoffAge, subtractCounter)
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
func subtractCounter(n *uint64, old uint64) {
	if *n >= old {
		*n -= old
	}
}

func subtractBuffer(b, old *buffer.Snapshot) {
	before := make(map[string]buffer.PortCounters, len(old.Ports))
	for i := range old.Ports {
		if p := &old.Ports[i]; !p.Removed {
			before[p.Name] = p.Counters()
		}
	}
	subtractCounter(&b.Unbalanced, old.Unbalanced)
	for i := range b.Ports {
		if o, ok := before[b.Ports[i].Name]; ok {
			b.Ports[i].Combine(&o, subtractCounter)
		}
	}
}
