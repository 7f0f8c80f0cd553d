package dataplane

import "pfcswitch/dataplane/trunk"

// A TrunkSnapshot is the state of one trunk, by value. Octets are those of frames with FCS.
type TrunkSnapshot struct {
	Config  TrunkConfig
	Uplink  string // port
	Up      bool   // the uplink
	Members []TrunkMember

	ToUplink  [NumPriorities]int64 // octets that wait for the uplink, by priority
	ToMembers [NumPriorities]int64
	Paused    uint8 // priorities of the uplink that its peer holds
	Held      trunk.Holds

	// Counters. Total are the colours of the total's meter; MeterRed and RED are drops by priority.
	Total        [trunk.NumColours]trunk.Tally
	MeterRed     [NumPriorities]trunk.Tally
	RED          [NumPriorities]trunk.Tally
	TotalRED     trunk.Tally
	Sent         trunk.Tally              // frames that left by the uplink
	Holds        [NumPriorities]HoldCount // of all members, by priority
	UplinkHolds  [NumPriorities]HoldCount
	UplinkPauses HoldCount
}

// A HoldCount counts holds that began. Passed is how many of them pass on a pause from the other side; the others began
// by watermark.
type HoldCount struct{ Begun, Passed uint64 }

func (c *HoldCount) count(passed bool) {
	c.Begun++
	if passed {
		c.Passed++
	}
}

// Marked is how many holds began by watermark.
func (c *HoldCount) Marked() uint64 { return c.Begun - c.Passed }

func (c *HoldCount) combine(old *HoldCount, join Join) {
	c.Begun = join(c.Begun, old.Begun)
	c.Passed = join(c.Passed, old.Passed)
}

// A TrunkMember is one member of a trunk.
type TrunkMember struct {
	Port   string
	Up     bool
	Share  int64 // octets that came by it and wait for the uplink
	Area   int64 // octets that are to leave by it
	Paused uint8 // priorities that its peer holds

	// Counters. Colours are those of each priority's own meter; without meters every frame is green.
	Colours     [NumPriorities][trunk.NumColours]trunk.Tally
	Distributed [NumPriorities]trunk.Tally // frames that were to leave by it
	Sent        trunk.Tally                // those that did
	Holds       HoldCount                  // where PAUSE is on
}

// snapshotTrunk returns the state of a trunk; its counters go on from those of one of the same name before.
func (s *Switch) snapshotTrunk(t *trunkState) TrunkSnapshot {
	stats := t.aggregator.Stats()
	v := TrunkSnapshot{Config: t.cfg, Uplink: t.uplinkName, ToUplink: t.toUplink.Priority,
		ToMembers: t.toMembers.Priority, Held: t.held, Total: stats.Total, MeterRed: stats.MeterRed, RED: stats.RED,
		TotalRED: stats.TotalRED, Sent: t.count.uplinkSent, Holds: t.count.holds, UplinkHolds: t.count.uplinkHolds,
		UplinkPauses: t.count.uplinkPauses}
	if p := s.ports[t.cfg.Uplink]; p != nil {
		v.Up, v.Paused = p.up, p.receiver.Paused(s.now)
	}
	for m, i := range t.cfg.Members {
		member := TrunkMember{Port: t.names[m], Share: t.toUplink.Member[m], Area: t.toMembers.Member[m],
			Colours: stats.Colours[m], Distributed: t.count.distributed[m], Sent: t.count.sent[m],
			Holds: t.count.memberHolds[m]}
		if p := s.ports[i]; p != nil {
			member.Up, member.Paused = p.up, p.receiver.Paused(s.now)
		}
		v.Members = append(v.Members, member)
	}
	if old := s.removedTrunks.byName[t.cfg.Name]; old != nil {
		v.Combine(old, Add)
	}
	return v
}

// keepRemovedTrunk keeps the counters of a trunk that ends, and of the members that it had before.
func (s *Switch) keepRemovedTrunk(t *trunkState) {
	name, v := t.cfg.Name, s.snapshotTrunk(t)
	if old := s.removedTrunks.byName[name]; old != nil {
		for i := range old.Members {
			if v.member(old.Members[i].Port) == nil {
				v.Members = append(v.Members, old.Members[i])
			}
		}
	}
	v.Members = v.Members[:min(len(v.Members), len(t.cfg.Members)+maxRemovedMembers)]
	s.removedTrunks.keep(name, &v, s.hasTrunk)
}

// member returns a member by its port's name, nil where there is none.
func (v *TrunkSnapshot) member(port string) *TrunkMember {
	for i := range v.Members {
		if v.Members[i].Port == port {
			return &v.Members[i]
		}
	}
	return nil
}

// Combine joins each counter of v with the one of old, which may have other members.
func (v *TrunkSnapshot) Combine(old *TrunkSnapshot, join Join) {
	combineTallies(v.Total[:], old.Total[:], join)
	combineTallies(v.MeterRed[:], old.MeterRed[:], join)
	combineTallies(v.RED[:], old.RED[:], join)
	combineTally(&v.TotalRED, &old.TotalRED, join)
	combineTally(&v.Sent, &old.Sent, join)
	for p := range v.Holds {
		v.Holds[p].combine(&old.Holds[p], join)
		v.UplinkHolds[p].combine(&old.UplinkHolds[p], join)
	}
	v.UplinkPauses.combine(&old.UplinkPauses, join)
	for i := range v.Members {
		m := &v.Members[i]
		o := old.member(m.Port)
		if o == nil {
			continue
		}
		for p := range m.Colours {
			combineTallies(m.Colours[p][:], o.Colours[p][:], join)
		}
		combineTallies(m.Distributed[:], o.Distributed[:], join)
		combineTally(&m.Sent, &o.Sent, join)
		m.Holds.combine(&o.Holds, join)
	}
}

func combineTallies(n, old []trunk.Tally, join Join) {
	for i := range n {
		combineTally(&n[i], &old[i], join)
	}
}

func combineTally(n, old *trunk.Tally, join Join) {
	n.Frames = join(n.Frames, old.Frames)
	n.Octets = join(n.Octets, old.Octets)
}
