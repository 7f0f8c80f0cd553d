package config

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"pfcswitch/dataplane"
)

// A labFabric makes switches, hosts and links that a file could have written one by one. What stands in the file under
// the name of one of them counts before what the fabric says.
//
//	fabric:
//	  fat-tree: {k: 8}                        # or leaf-spine: {leaves: 8, spines: 4, hosts: 16},
//	                                          # ring: {switches: 5, hosts: 1}, dumbbell: {hosts: 3}
//	  links: {speed: 100G, cable: 10m}        # keys of every link
//	  switches: {preset: roce}                # of every switch
//	  hosts: {nic: true}                      # of every host
//	  spread: number                          # of destinations over ways of equal length; or hash, or flow
type labFabric struct {
	spread  spread
	plan    *plan
	routes  [][][]int      // of each switch to each host its ports; nil: one way only, so that switches learn
	numbers map[string]int // of switches, by name
}

// Bounds of a fabric. The largest fat tree has 1024 hosts at 320 switches.
const (
	mostFabricHosts  = 4096
	mostFabricRoutes = 1 << 19 // static entries of all switches
	mostPods         = 16
)

// writeOut returns the file with the fabric written out.
func (r *labReader) writeOut(root value) value {
	before := len(r.doc.faults)
	pairs := root.pairs()
	at, has := find(pairs, "fabric")
	if !has {
		r.doc.faults = r.doc.faults[:before] // they are found again when the file is read
		return root
	}
	root.node = mapping(root.line, pairs)
	f := &labFabric{numbers: map[string]int{}}
	common := f.read(at.value)
	if f.plan == nil {
		return root
	}
	if f.plan.loops() {
		f.routes = f.plan.routes(f.spread)
	}
	r.fabric = f
	all := slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return p.name == "fabric" })
	for _, s := range []struct {
		name string
		made []made
	}{{"switches", f.switches()}, {"hosts", f.hosts()}, {"links", f.links()}} {
		all = complete(all, s.name, s.made, common[s.name], at.value.line)
	}
	root.node = mapping(root.line, all)
	return root
}

// describeFabric tells the schema the keys of a fabric.
func (r *labReader) describeFabric(v value) {
	if v.schema != nil {
		new(labFabric).read(v)
	}
}

// read reads the fabric, and returns the keys that all its nodes and links of a kind have.
func (f *labFabric) read(v value) (common map[string][]pair) {
	common = map[string][]pair{}
	var shapes []*plan
	before := len(v.doc.faults)
	shape := func(name string, most int, plan func(n []int) (p *plan, fault string), names ...string) field {
		return field{name, func(v value) {
			var fields []field
			n := make([]int, len(names))
			for i, name := range names {
				fields = append(fields, key(name, &n[i], number[int]("number of "+name, 1, int64(most))))
			}
			before := len(v.doc.faults)
			v.read(fields...)
			if v.schema != nil {
				v.needs(names...)
				return
			}
			if i := slices.Index(n, 0); i >= 0 && len(v.doc.faults) == before {
				v.fail("has no %s: write a number from 1 to %d", names[i], most)
			}
			if len(v.doc.faults) > before {
				return
			}
			p, fault := plan(n)
			if fault != "" {
				v.at(names[0]).fail("%d %s", n[0], fault)
			}
			shapes = append(shapes, p)
		}, nil}
	}
	same := func(name string, fields []field) field {
		return field{name, func(v value) {
			if v.schema != nil {
				v.read(fields...)
				return
			}
			common[name] = v.pairs()
		}, nil}
	}
	v.read(
		shape("fat-tree", mostPods, func(n []int) (*plan, string) {
			if n[0]%2 != 0 {
				return nil, "is odd: write an even number"
			}
			return fatTree(n[0]), ""
		}, "k"),
		shape("leaf-spine", dataplane.MaxPorts, func(n []int) (*plan, string) {
			return leafSpine(n[0], n[1], n[2]), ""
		}, "leaves", "spines", "hosts"),
		shape("ring", dataplane.MaxPorts, func(n []int) (*plan, string) {
			if n[0] < 3 {
				return nil, "are no ring: write 3 or more"
			}
			return circle(n[0], n[1]), ""
		}, "switches", "hosts"),
		shape("dumbbell", dataplane.MaxPorts, func(n []int) (*plan, string) { return dumbbell(n[0]), "" }, "hosts"),
		key("spread", &f.spread, oneOf(spreadNumber, spreadHash, spreadFlow)),
		same("links", new(LabLink).fields()), same("switches", switchFields()),
		same("hosts", new(LabHost).fields(new([6]byte))),
	)
	switch {
	case v.schema != nil:
	case len(v.doc.faults) > before:
	case len(shapes) != 1:
		v.fail("want one of fat-tree, leaf-spine, ring and dumbbell, such as fat-tree: {k: 4}")
	default:
		f.take(v, shapes[0])
	}
	return common
}

// take takes a plan that is not too large.
func (f *labFabric) take(v value, p *plan) {
	ports, name := p.largest()
	entries := len(p.hosts) * len(p.switches)
	switch {
	case ports > dataplane.MaxPorts:
		v.fail("%s would have %d ports, and a switch has at most %d: write fewer hosts or switches", name, ports,
			dataplane.MaxPorts)
	case len(p.hosts) > mostFabricHosts:
		v.fail("%d hosts, and there may be %d: write fewer", len(p.hosts), mostFabricHosts)
	case p.loops() && entries > mostFabricRoutes:
		v.fail("%d switches with routes to %d hosts are %d static entries, and there may be %d: write fewer hosts or "+
			"switches", len(p.switches), len(p.hosts), entries, mostFabricRoutes)
	default:
		f.plan = p
	}
}

func hostOf(number int) string { return fmt.Sprintf("h%d", number+1) }

// macOf is the address of a host: its name's number in the last octets.
func macOf(number int) (mac [6]byte) {
	mac[0] = 0x02
	binary.BigEndian.PutUint32(mac[2:], uint32(number+1))
	return mac
}

// A made is a node or link of the fabric: what the fabric alone says of it, and what it says where nobody else does.
type made struct {
	name         string
	fixed, usual []pair
}

func (f *labFabric) switches() (all []made) {
	for i, s := range f.plan.switches {
		f.numbers[s.name] = i
		all = append(all, made{name: s.name})
	}
	return all
}

func (f *labFabric) hosts() (all []made) {
	for h := range f.plan.hosts {
		mac := macOf(h)
		all = append(all, made{hostOf(h), []pair{word("mac", net.HardwareAddr(mac[:]).String(), 0)}, nil})
	}
	return all
}

// links makes the links. Where there are loops, what is flooded or learned between switches would circle.
func (f *labFabric) links() (all []made) {
	for h, end := range f.plan.hosts {
		all = append(all, made{hostOf(h), ends(hostOf(h), f.end(end)), nil})
	}
	var usual []pair
	if f.routes != nil {
		usual = []pair{word("flood", "off", 0), word("learning", "false", 0)}
	}
	for _, l := range f.plan.links {
		name := f.plan.switches[l[0].node].name + "-" + f.plan.switches[l[1].node].name
		all = append(all, made{name, ends(f.end(l[0]), f.end(l[1])), usual})
	}
	return all
}

func (f *labFabric) end(e planEnd) string {
	s := &f.plan.switches[e.node]
	return s.name + ":" + s.ports[e.port].name
}

func ends(a, b string) []pair {
	list := ast.Sequence(at("[", 0), true)
	list.Values = []ast.Node{ast.String(at(a, 0)), ast.String(at(b, 0))}
	return []pair{{"ends", value{node: list}}}
}

// complete puts what the fabric has made into a section of the file: of each node or link what is fixed, then what the
// file says, then what all of the kind have, then what is usual.
func complete(file []pair, section string, all []made, common []pair, line int) []pair {
	at, has := find(file, section)
	written := at.value.pairs()
	if !has {
		at = pair{section, value{line: line}}
		file = append(file, at)
	}
	var entries []pair
	for i, m := range all {
		place := value{line: line}
		own, named := find(written, m.name)
		if named {
			place = own.value
		}
		keys := m.fixed
		for source, more := range [][]pair{own.value.pairs(), common, m.usual} {
			for _, k := range more {
				if _, is := find(m.fixed, k.name); is && (source == 0 || i == 0) {
					k.value.fail("the fabric gives it: remove the key")
				} else if _, there := find(keys, k.name); !there {
					keys = append(slices.Clip(keys), k)
				}
			}
		}
		for i := range keys {
			keys[i].value.line = max(keys[i].value.line, line)
		}
		entries = append(entries, pair{m.name, value{line: place.line, node: mapping(place.line, keys)}})
	}
	isMade := map[string]bool{}
	for _, m := range all {
		isMade[m.name] = true
	}
	for _, p := range written {
		if !isMade[p.name] {
			entries = append(entries, p)
		}
	}
	for i := range file {
		if file[i].name == section {
			file[i].value.node = mapping(file[i].value.line, entries)
		}
	}
	return file
}

// addRoutes gives a switch of the fabric the static entries that are its routes, but to stations of which its
// configuration knows better.
func (f *labFabric) addRoutes(name string, c *Config) {
	s, is := f.numbers[name]
	if !is || f.routes == nil {
		return
	}
	known := map[[6]byte]bool{}
	for _, e := range c.FDB {
		known[e.MAC] = true
	}
	var last *int      // in routes, the first port of the entry before: routes share their ports
	var names []string // of its ports
	for h, ways := range f.routes[s] {
		entry := StaticEntry{MAC: macOf(h), VLAN: 1}
		if known[entry.MAC] {
			continue
		}
		if &ways[0] != last {
			last, names = &ways[0], nil
			for _, port := range ways {
				names = append(names, f.plan.switches[s].ports[port].name)
			}
		}
		if entry.Ports = names; len(names) == 1 {
			entry.Port, entry.Ports = names[0], nil
		}
		c.FDB = append(c.FDB, entry)
	}
}
