package dataplane

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"pfcswitch/dataplane/trunk"
)

// TrunkConfig is the configuration of one trunk. Ports are numbers. Frames pass a trunk unchanged, with their VLAN tag,
// from members to the uplink or back. Nothing is learned and nothing flooded.
type TrunkConfig struct {
	Name     string
	Uplink   int
	Members  []int // at most trunk.MaxMembers
	ByFlow   bool  // all frames of a flow to one member, else each to the member that holds least
	Aware    bool  // a frame with the drop eligible indicator arrives yellow
	IPOctets bool  // frames are metered by their packet, as RFC 2698 does, else by octets on the wire
	// Aggregate is how members share the uplink; its number of members is that of Members.
	Aggregate trunk.AggregatorConfig
	Flow      trunk.FlowConfig
}

// uplink stands for the member number of a trunk's uplink.
const uplink = -1

type trunkState struct {
	cfg         TrunkConfig
	names       []string // of the members' ports
	uplinkName  string
	live        uint64 // members that are up, bit n = member n
	shortest    int    // smallest MaxFrame of the members
	aggregator  *trunk.Aggregator
	distributor trunk.Distributor

	arbiter  trunk.Arbiter
	queues   []queue    // of the arbiter, by member
	waiting  uint64     // members that have frames there
	toCome   []int64    // by member: until when its turn waits for frames in its rings
	turnEnds int64      // of them, the one of the member whose turn it is
	unjudged trunk.Load // frames there, and frames that other workers are about to put there

	toUplink  trunk.Load // from arrival until sent: unjudged, or in the areas
	toMembers trunk.Load
	held      trunk.Holds
	count     trunkCounters
}

// trunkCounters of one trunk. They only grow.
type trunkCounters struct {
	distributed  [][NumPriorities]trunk.Tally // by member
	sent         []trunk.Tally                // by member
	uplinkSent   trunk.Tally
	memberHolds  []HoldCount              // by member, where PAUSE is on
	holds        [NumPriorities]HoldCount // of all members, by priority
	uplinkHolds  [NumPriorities]HoldCount
	uplinkPauses HoldCount
}

// checkTrunks returns an error where trunks cannot be made of the ports.
func checkTrunks(trunks []TrunkConfig, ports map[int]PortConfig) error {
	taken := map[int]string{}
	for _, c := range trunks {
		if n := len(c.Members); n < 1 || n > trunk.MaxMembers {
			return fmt.Errorf("trunk %s: %d members (use 1 to %d)", c.Name, n, trunk.MaxMembers)
		}
		for _, i := range append([]int{c.Uplink}, c.Members...) {
			if _, ok := ports[i]; !ok {
				return fmt.Errorf("trunk %s: there is no port number %d", c.Name, i)
			}
			if other, twice := taken[i]; twice {
				return fmt.Errorf("trunk %s: port %s is in trunk %s already", c.Name, ports[i].Name, other)
			}
			taken[i] = c.Name
		}
	}
	return nil
}

// setTrunks puts the trunks of a configuration in force. Frames that wait stay where they are. A trunk that keeps its
// name and ports keeps its buckets; where it also keeps its kind of flow control, it keeps its holds.
func (s *Switch) setTrunks(trunks []TrunkConfig) {
	old := s.dissolve(trunks)
	for _, c := range trunks {
		t := old[c.Name]
		if t == nil || !t.joins(&c) {
			t = s.newTrunk(c)
		} else {
			delete(old, c.Name)
			t.configure(c, s.now)
		}
		s.trunks = append(s.trunks, t)
		s.join(t)
	}
	for _, t := range old {
		s.keepRemovedTrunk(t)
	}
	for p := range s.existing() {
		s.loopEvent(s.bridge.SetUp(p.index, p.bridged()))
	}
	s.recount()
}

// bridged reports whether the port is up for the bridge.
func (p *portState) bridged() bool { return p.up && p.trunk == nil }

// joins reports whether a trunk of that configuration has the same ports.
func (t *trunkState) joins(c *TrunkConfig) bool {
	return t.cfg.Uplink == c.Uplink && slices.Equal(t.cfg.Members, c.Members)
}

// dissolve takes every trunk apart and returns the trunks by name. A trunk that does not stay in force ends its holds.
func (s *Switch) dissolve(next []TrunkConfig) map[string]*trunkState {
	old := map[string]*trunkState{}
	for _, t := range s.trunks {
		s.passAll(t)
		if !s.staysInForce(t, next) {
			s.applyHolds(t, trunk.Holds{}, 0)
		}
		old[t.cfg.Name] = t
	}
	for p := range s.existing() {
		p.trunk = nil
	}
	s.trunks = s.trunks[:0]
	return old
}

// staysInForce reports whether a trunk is among the next ones with the same kind of flow control, on the same port
// states: a port that was removed and added anew, or whose kind of flow control has changed, has no holds.
func (s *Switch) staysInForce(t *trunkState, next []TrunkConfig) bool {
	same := func(c TrunkConfig) bool { return c.Name == t.cfg.Name && c.Flow.Mode == t.cfg.Flow.Mode && t.joins(&c) }
	other := func(i int) bool { p := s.ports[i]; return p == nil || p.trunk != t || p.modeChanged }
	return slices.ContainsFunc(next, same) && !other(t.cfg.Uplink) && !slices.ContainsFunc(t.cfg.Members, other)
}

func (s *Switch) newTrunk(c TrunkConfig) *trunkState {
	n := len(c.Members)
	c.Aggregate.Members = n
	t := &trunkState{cfg: c, queues: make([]queue, n), toCome: make([]int64, n), unjudged: trunk.NewLoad(n),
		aggregator: trunk.NewAggregator(c.Aggregate, s.random01, s.now),
		count: trunkCounters{distributed: make([][NumPriorities]trunk.Tally, n), sent: make([]trunk.Tally, n),
			memberHolds: make([]HoldCount, n)}}
	for m := range t.queues {
		t.queues[m] = queue{head: none, tail: none}
	}
	t.configure(c, s.now)
	return t
}

func (t *trunkState) configure(c TrunkConfig, now int64) {
	t.cfg = c
	t.aggregator.Configure(c.Aggregate, now)
	t.distributor.ByFlow = c.ByFlow
}

// join makes the ports of a trunk its ports.
func (s *Switch) join(t *trunkState) {
	t.live, t.names, t.shortest = 0, t.names[:0], math.MaxInt
	for m, i := range t.cfg.Members {
		p := s.ports[i]
		p.trunk, p.member = t, m
		t.setLive(p)
		t.shortest = min(t.shortest, p.cfg.MaxFrame)
		t.names = append(t.names, p.cfg.Name)
	}
	p := s.ports[t.cfg.Uplink]
	p.trunk, p.member, t.uplinkName = t, uplink, p.cfg.Name
}

// setLive notes whether a member is up.
func (t *trunkState) setLive(p *portState) {
	if p.member == uplink {
		return
	}
	t.live &^= 1 << p.member
	if p.up {
		t.live |= 1 << p.member
	}
}

// recount counts anew what waits for the ports of every trunk, and updates the holds.
func (s *Switch) recount() {
	for _, t := range s.trunks {
		n := len(t.cfg.Members)
		t.toUplink, t.toMembers = trunk.NewLoad(n), trunk.NewLoad(n)
	}
	for p := range s.existing() {
		if p.trunk == nil {
			continue
		}
		for occupied := p.occupied; occupied != 0; occupied &= occupied - 1 {
			for d := p.queues[bits.TrailingZeros8(occupied)].head; d != none; d = s.memory.descs[d].next {
				s.changeTrunkLoad(p, &s.memory.descs[d], 1)
			}
		}
	}
	for _, t := range s.trunks {
		s.updateTrunkHolds(t)
	}
}
