package config

import (
	"cmp"
	"fmt"
	"slices"
)

// A plan is a fabric in numbers: switches, their ports, and the hosts at them.
type plan struct {
	switches []planSwitch
	hosts    []planEnd // where each host is linked to
	links    [][2]planEnd
}

// A planSwitch is a switch, with its ports in the order in which they were made.
type planSwitch struct {
	name  string
	ports []planPort
}

// A planPort is a port of a switch, and the switch at the other end: none for a host.
type planPort struct {
	name string
	to   int
}

// A planEnd is a port of a switch, by numbers.
type planEnd struct{ node, port int }

const none = -1

func (p *plan) addSwitch(format string, args ...any) (number int) {
	p.switches = append(p.switches, planSwitch{name: fmt.Sprintf(format, args...)})
	return len(p.switches) - 1
}

// addHosts links n hosts to a switch that has none, by its ports down1 and up.
func (p *plan) addHosts(s, n int) {
	for i := range n {
		p.hosts = append(p.hosts, p.addPort(s, fmt.Sprintf("down%d", i+1), none))
	}
}

// join links two switches.
func (p *plan) join(a int, portA string, b int, portB string) {
	p.links = append(p.links, [2]planEnd{p.addPort(a, portA, b), p.addPort(b, portB, a)})
}

func (p *plan) addPort(s int, name string, to int) planEnd {
	ports := &p.switches[s].ports
	*ports = append(*ports, planPort{name, to})
	return planEnd{s, len(*ports) - 1}
}

// loops tells whether there are two ways between two switches. All switches are joined.
func (p *plan) loops() bool { return len(p.links) >= len(p.switches) }

// fatTree is that of k pods, each with k/2 edge and k/2 aggregation switches of k ports. (k/2)² core switches join the
// pods. An edge switch has k/2 hosts.
func fatTree(k int) *plan {
	p, half := &plan{}, k/2
	edges, aggregations := make([]int, k*half), make([]int, k*half)
	for pod := range k {
		for i := range half {
			edges[pod*half+i] = p.addSwitch("p%de%d", pod+1, i+1)
		}
		for i := range half {
			aggregations[pod*half+i] = p.addSwitch("p%da%d", pod+1, i+1)
		}
	}
	for _, edge := range edges {
		p.addHosts(edge, half)
	}
	for i, edge := range edges {
		for j := range half {
			p.join(edge, fmt.Sprintf("up%d", j+1), aggregations[i/half*half+j], fmt.Sprintf("down%d", i%half+1))
		}
	}
	for core := range half * half {
		s := p.addSwitch("c%d", core+1)
		for pod := range k {
			p.join(aggregations[pod*half+core/half], fmt.Sprintf("up%d", core%half+1), s, fmt.Sprintf("down%d", pod+1))
		}
	}
	return p
}

// leafSpine is leaves with hosts each, joined to every spine.
func leafSpine(leaves, spines, hosts int) *plan {
	p := &plan{}
	for l := range leaves {
		p.addHosts(p.addSwitch("leaf%d", l+1), hosts)
	}
	for s := range spines {
		spine := p.addSwitch("spine%d", s+1)
		for l := range leaves {
			p.join(l, fmt.Sprintf("up%d", s+1), spine, fmt.Sprintf("down%d", l+1))
		}
	}
	return p
}

func circle(switches, hosts int) *plan {
	p := &plan{}
	for s := range switches {
		p.addHosts(p.addSwitch("s%d", s+1), hosts)
	}
	for s := range switches {
		p.join(s, "next", (s+1)%switches, "back")
	}
	return p
}

// dumbbell is two switches with hosts each, and one link between them.
func dumbbell(hosts int) *plan {
	p := &plan{}
	left, right := p.addSwitch("left"), p.addSwitch("right")
	p.addHosts(left, hosts)
	p.addHosts(right, hosts)
	p.join(left, "up", right, "up")
	return p
}

// A spread is how frames are spread over ways of equal length.
type spread uint8

const (
	spreadNumber spread = iota // by the number of the host, so that all ways get as many
	spreadHash                 // by a hash of host and switch, so that they get as many by chance
	spreadFlow                 // by each switch, which hashes the flows (ECMP)
)

func (by spread) String() string { return [...]string{"number", "hash", "flow"}[by] }

// routes returns the ports of each switch to each host: all of the shortest ways, or one. Where a switch has several of
// which it gets one, they take turns by the number of the host, and on the next tier by that number divided by how many
// there are: so different destinations at one switch get different ways up to the top, as far as there are enough.
func (p *plan) routes(by spread) [][][]int {
	tiers := p.distances(func(s int) bool { return p.switches[s].ports[0].to == none })
	routes := make([][][]int, len(p.switches))
	nearer := make([][]int, len(p.switches)) // to the switch of the host
	var far []int
	for h, end := range p.hosts {
		if h == 0 || end.node != p.hosts[h-1].node {
			far = p.distances(func(s int) bool { return s == end.node })
			for s := range p.switches {
				nearer[s] = p.nearer(s, far)
			}
		}
		for s := range p.switches {
			ways := nearer[s]
			if s == end.node {
				ways = []int{end.port}
			} else if by != spreadFlow {
				n := by.choose(h, s, tiers[s], len(ways))
				ways = ways[n : n+1]
			}
			routes[s] = append(routes[s], ways)
		}
	}
	return routes
}

// distances returns how many links lie between each switch and the nearest that is a goal.
func (p *plan) distances(goal func(s int) bool) []int {
	far, next := make([]int, len(p.switches)), []int(nil)
	for s := range far {
		if far[s] = none; goal(s) {
			far[s], next = 0, append(next, s)
		}
	}
	for ; len(next) > 0; next = next[1:] {
		for _, port := range p.switches[next[0]].ports {
			if port.to != none && far[port.to] == none {
				far[port.to], next = far[next[0]]+1, append(next, port.to)
			}
		}
	}
	return far
}

// nearer lists the ports of a switch to others from which it is less far.
func (p *plan) nearer(s int, far []int) (ways []int) {
	for i, port := range p.switches[s].ports {
		if port.to != none && far[port.to] < far[s] {
			ways = append(ways, i)
		}
	}
	return ways
}

// choose returns which of n ways a switch takes to a host.
func (by spread) choose(host, s, tier, n int) int {
	if by == spreadHash {
		x := (uint64(s)<<32 | uint64(host)) * 0x9E3779B97F4A7C15 // the finalizer of SplitMix64
		x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
		x = (x ^ x>>27) * 0x94D049BB133111EB
		return int((x ^ x>>31) % uint64(n))
	}
	for range tier {
		host /= n
	}
	return host % n
}

// largest returns how many ports the switch with most has, and its name.
func (p *plan) largest() (ports int, name string) {
	s := slices.MaxFunc(p.switches, func(a, b planSwitch) int { return cmp.Compare(len(a.ports), len(b.ports)) })
	return len(s.ports), s.name
}
