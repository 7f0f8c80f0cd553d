package dataplane

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"pfcswitch/dataplane/trunk"
)

// TrunkConfig is what one trunk is told. Ports are numbers. What a trunk carries passes unchanged, with its VLAN tag,
// from members to the uplink or back; nothing is learned and nothing flooded.
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

// trunkState is one trunk.
type trunkState struct {
	cfg         TrunkConfig
	names       []string // of the members' ports
	uplinkName  string
	live        uint64 // members that are up, bit n = member n
	shortest    int    // what every member carries, octets without FCS
	aggregator  *trunk.Aggregator
	distributor trunk.Distributor

	arbiter  trunk.Arbiter
	queues   []queue    // of the arbiter, by member
	waiting  uint64     // members that have frames there
	unjudged trunk.Load // these frames, and those that other workers are about to put there

	toUplink  trunk.Load // from arrival until sent; what of it is not unjudged waits in the areas
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

// checkTrunks finds trunks that cannot be made of the ports.
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

// setTrunks makes the trunks those of the configuration. Frames that wait stay where they are; a trunk that keeps its
// name and ports keeps its buckets and, where it also keeps its kind of flow control, whom it holds.
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
		s.retireTrunk(t)
	}
	for p := range s.existing() {
		s.loopEvent(s.bridge.SetUp(p.index, p.bridged()))
	}
	s.recount()
}

// bridged tells whether the bridge sees the port as one that is up.
func (p *portState) bridged() bool { return p.up && p.trunk == nil }

// joins tells whether a trunk of that configuration has the same ports.
func (t *trunkState) joins(c *TrunkConfig) bool {
	return t.cfg.Uplink == c.Uplink && slices.Equal(t.cfg.Members, c.Members)
}

// dissolve takes every trunk apart and returns them by name. Nobody is held any more for one that does not go on as
// it was.
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

// staysInForce tells whether a trunk is among the next ones with its kind of flow control, and its ports have not
// been made anew, which then hold nobody.
func (s *Switch) staysInForce(t *trunkState, next []TrunkConfig) bool {
	same := func(c TrunkConfig) bool { return c.Name == t.cfg.Name && c.Flow.Mode == t.cfg.Flow.Mode && t.joins(&c) }
	other := func(i int) bool { return s.ports[i] == nil || s.ports[i].trunk != t }
	return slices.ContainsFunc(next, same) && !other(t.cfg.Uplink) && !slices.ContainsFunc(t.cfg.Members, other)
}

func (s *Switch) newTrunk(c TrunkConfig) *trunkState {
	n := len(c.Members)
	c.Aggregate.Members = n
	t := &trunkState{cfg: c, queues: make([]queue, n), unjudged: trunk.NewLoad(n),
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

// join tells the ports of a trunk that they belong to it.
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

// recount adds up anew what waits for the ports of every trunk, and looks whom to hold.
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
				s.load(p, &s.memory.descs[d], 1)
			}
		}
	}
	for _, t := range s.trunks {
		s.review(t)
	}
}
