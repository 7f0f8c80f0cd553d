package api

import (
	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/deadlock"
	"pfcswitch/headroom"
)

// A baseline is where this user's counters begin: at the start, or at the last clear with the counts until then. The
// switch's own counters never go back.
type baseline struct {
	time      int64                        // of the switch's clock
	counters  *dataplane.Snapshot          // nil at the start; also of removed ports and trunks; never changed
	lost      uint64                       // lossless frames, also by removed ports
	discarded uint64                       // likewise
	backlog   uint64                       // frames that the machine's kernel backlog dropped
	storms    []deadlock.Status            // likewise
	probes    map[string]headroom.Counters // likewise, by port
}

func addRemoved(v, gone *dataplane.Snapshot) {
	addMissing(&v.Ports, gone.Ports, portName)
	addMissing(&v.Buffer.Ports, gone.Buffer.Ports, bufferName)
	pairs(v.Trunks, gone.Trunks, trunkName, func(t, old *dataplane.TrunkSnapshot) {
		addMissing(&t.Members, old.Members, func(m *dataplane.TrunkMember) string { return m.Port })
	})
	addMissing(&v.Trunks, gone.Trunks, trunkName)
}

func portName(p *dataplane.PortSnapshot) string { return p.Config.Name }

func trunkName(t *dataplane.TrunkSnapshot) string { return t.Config.Name }

// bufferName returns "" for a removed port, which has no counters.
func bufferName(p *buffer.PortSnapshot) string {
	if p.Removed {
		return ""
	}
	return p.Name
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

// pairs calls do for each element of all with the first element of old that has the same key. Zero is no key.
func pairs[T any, K comparable](all, old []T, key func(*T) K, do func(v, old *T)) {
	before := make(map[K]*T, len(old))
	for i := range old {
		if k := key(&old[i]); before[k] == nil && k != *new(K) {
			before[k] = &old[i]
		}
	}
	for i := range all {
		if o := before[key(&all[i])]; o != nil {
			do(&all[i], o)
		}
	}
}

// subtract leaves in v the counts since the baseline. Gauges and watermarks stay.
func (b *baseline) subtract(v *dataplane.Snapshot) {
	old := b.counters
	if old == nil {
		return
	}
	forgotten := map[string]bool{} // ports that count from 0 again
	pairs(v.Ports, old.Ports, portName, func(p, old *dataplane.PortSnapshot) {
		if forgotten[p.Config.Name] = p.Begun != old.Begun; p.Begun == old.Begun {
			p.Combine(old, countSince)
		}
	})
	pairs(v.Trunks, old.Trunks, trunkName, func(t, old *dataplane.TrunkSnapshot) { t.Combine(old, countSince) })
	pairs(v.Buffer.Ports, old.Buffer.Ports, bufferName, func(p, old *buffer.PortSnapshot) {
		if !forgotten[p.Name] {
			counters := old.Counters()
			p.Combine(&counters, countSince)
		}
	})
	v.Xoff.Combine(&old.Xoff, countSince)
	v.XoffAge.Combine(&old.XoffAge, countSince)
	v.Buffer.Unbalanced = countSince(v.Buffer.Unbalanced, old.Buffer.Unbalanced)
	v.LosslessDropsRemoved = countSince(v.LosslessDropsRemoved, old.LosslessDropsRemoved)
	v.LosslessDiscardedRemoved = countSince(v.LosslessDiscardedRemoved, old.LosslessDiscardedRemoved)
	v.Bridge.Moves = countSince(v.Bridge.Moves, old.Bridge.Moves)
	v.Bridge.Holds = countSince(v.Bridge.Holds, old.Bridge.Holds)
	v.Bridge.Refused = countSince(v.Bridge.Refused, old.Bridge.Refused)
	v.Bridge.Full = countSince(v.Bridge.Full, old.Bridge.Full)
	v.Bridge.Forgot = countSince(v.Bridge.Forgot, old.Bridge.Forgot)
}

// subtractStorms leaves in all the counts since the baseline. For a storm that started earlier, the frames since the
// baseline stay.
func (b *baseline) subtractStorms(all []deadlock.Status) {
	type queue struct {
		name  string
		queue uint8
	}
	key := func(s *deadlock.Status) queue { return queue{s.Name, s.Queue} }
	pairs(all, b.storms, key, func(s, old *deadlock.Status) {
		if s.Detected == old.Detected { // the last storm is still the same
			s.LastSent, s.LastDropped = countSince(s.LastSent, old.LastSent), countSince(s.LastDropped, old.LastDropped)
		}
		s.Detected, s.Recovered = countSince(s.Detected, old.Detected), countSince(s.Recovered, old.Recovered)
		s.Recurred = countSince(s.Recurred, old.Recurred)
		s.Sent, s.Dropped = countSince(s.Sent, old.Sent), countSince(s.Dropped, old.Dropped)
	})
}

// probesSince returns the counts of a port's measurement frames since the baseline.
func (b *baseline) probesSince(port string, c headroom.Counters) headroom.Counters {
	old := b.probes[port]
	for n, o := range map[*uint64]uint64{&c.Asked: old.Asked, &c.Answered: old.Answered, &c.Replies: old.Replies,
		&c.Lost: old.Lost, &c.Results: old.Results, &c.Streams: old.Streams} {
		*n = countSince(*n, o)
	}
	for why := range c.Ignored {
		c.Ignored[why] = countSince(c.Ignored[why], old.Ignored[why])
	}
	return c
}

// countSince returns what n has counted since old. A counter below its baseline started again from 0, because the
// switch had forgotten its port, and counts whole.
func countSince(n, old uint64) uint64 {
	if n < old {
		return n
	}
	return n - old
}
