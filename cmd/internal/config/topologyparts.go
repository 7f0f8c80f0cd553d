package config

import (
	"hash/fnv"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// LabPart is what one machine has of a lab. A link from one part to another is a VXLAN tunnel between their addresses.
//
//	parts:
//	  left: {address: 192.0.2.1, nodes: [leaf1, "p1*"]}    # names and patterns; a host is where its switch is
//	  right: {address: 192.0.2.2, nodes: [leaf2, h1]}      # unless it is named itself
type LabPart struct {
	Name    string
	Address netip.Addr // of the machine

	nodes []string // names, or patterns of path.Match
}

// A LabTunnel is this part's end of a link to another part.
type LabTunnel struct {
	Link          string
	End           LabEnd
	Local, Remote netip.Addr
	VNI           int // VXLAN network identifier, 24 bits
	MTU           int // octets above Ethernet
}

// TunnelPort is the UDP port of tunnels, that of containerlab: 4789 may belong to other networks of the machine.
const TunnelPort = 14789

// Overhead is how many octets the IP packet around a frame has more than the link's MTU: the Ethernet header, a VLAN
// tag, VXLAN, UDP and IP.
func (t *LabTunnel) Overhead() int {
	if t.Remote.Is4() {
		return 14 + 4 + 8 + 8 + 20
	}
	return 14 + 4 + 8 + 8 + 40
}

// tunnelVNI is the VXLAN network identifier of a link: the same in each version of a file, and another one in another
// lab.
func tunnelVNI(lab, link string) int {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(lab + "/" + link))
	return int(hash.Sum32()%(1<<24-1)) + 1
}

func (r *labReader) readParts(v value) {
	v.each(".", "left", func(name string, v value) {
		p := LabPart{Name: name}
		v.read(key("address", &p.Address, machineAddress), entries("nodes", &p.nodes, nodePattern, "%q"))
		r.lab.Parts = append(r.lab.Parts, p)
	})
}

var machineAddress = simple(pattern(`^[0-9A-Fa-f.:]+$`, ""), "is not the address of a machine: write it as 192.0.2.1", nil,
	func(text string) (netip.Addr, bool) {
		a, err := netip.ParseAddr(text)
		return a, err == nil && a.Zone() == "" && !a.Is4In6() && !a.IsUnspecified() && !a.IsMulticast()
	})

var nodePattern = textual("", `is no name of nodes: write a name, or a pattern such as "p1*"`, func(text string) bool {
	_, err := path.Match(text, "")
	return text != "" && err == nil
})

// checkParts finds the part of each node.
func (r *labReader) checkParts() {
	fail := r.doc.failKey
	addresses := map[netip.Addr]string{}
	for _, p := range r.lab.Parts {
		key := "parts." + p.Name
		if other, twice := addresses[p.Address]; twice && p.Address.IsValid() {
			fail(key+".address", "%v is that of part %s: each part has a machine of its own", p.Address, other)
		}
		addresses[p.Address] = p.Name
		switch full := r.lab.Name + "." + p.Name; {
		case !labNames.MatchString(full):
			fail(key, "%q cannot name a part: %s.%[1]s has to be a lab's name, 1 to 32 of a-z, 0-9, \"_\" and \".\"",
				p.Name, r.lab.Name)
		case !p.Address.IsValid():
			fail(key, "has no address: write that of its machine, such as address: 192.0.2.1")
		case p.Address.Is4() != r.lab.Parts[0].Address.Is4():
			fail(key+".address", "%v is of another family than %v: a tunnel has both ends in one", p.Address,
				r.lab.Parts[0].Address)
		}
	}
	r.lab.partOf = map[string]string{}
	named := map[string]bool{}
	for _, node := range r.lab.Nodes() {
		for _, p := range r.lab.Parts {
			for _, pattern := range p.nodes {
				is, _ := path.Match(pattern, node)
				if !is {
					continue
				}
				named[pattern] = true
				if other := r.lab.partOf[node]; other != "" && other != p.Name {
					fail("parts."+p.Name+".nodes", "%s is in part %s already: name it once", node, other)
				}
				r.lab.partOf[node] = p.Name
			}
		}
	}
	for _, p := range r.lab.Parts {
		for _, pattern := range p.nodes {
			if !named[pattern] {
				fail("parts."+p.Name+".nodes", "%q is no switch and no host: correct the name", pattern)
			}
		}
	}
	r.addHostsToParts()
	used := map[string]bool{}
	for _, node := range r.lab.Nodes() {
		part := r.lab.partOf[node]
		used[part] = true
		if len(r.lab.Parts) > 0 && part == "" {
			fail("parts", "%s is in none: add it to the nodes of one", node)
		}
	}
	for _, p := range r.lab.Parts {
		if !used[p.Name] {
			fail("parts."+p.Name, "has no node: name some, or remove the part")
		}
	}
	r.checkTunnels()
}

// addHostsToParts puts hosts that are not named where their switch is.
func (r *labReader) addHostsToParts() {
	for _, h := range r.lab.Hosts {
		for i := range r.lab.Links {
			l := &r.lab.Links[i]
			for e, end := range l.Ends {
				if end.Node == h.Name && r.lab.partOf[h.Name] == "" {
					r.lab.partOf[h.Name] = r.lab.partOf[l.Ends[1-e].Node]
				}
			}
		}
	}
}

// checkTunnels compares what the file says of links with where their ends are.
func (r *labReader) checkTunnels() {
	links := map[int]string{}
	for i := range r.lab.Links {
		l := &r.lab.Links[i]
		a, b := r.lab.partOf[l.Ends[0].Node], r.lab.partOf[l.Ends[1].Node]
		switch key := "links." + l.Name + ".over"; {
		case a != b:
			vni := tunnelVNI(r.lab.Name, l.Name)
			if other, taken := links[vni]; taken {
				r.doc.fail(l.line, "links."+l.Name, "its tunnel and that of link %s have the identifier %d: name the "+
					"link or the lab otherwise", other, vni)
			}
			links[vni] = l.Name
		case l.over != "" && len(r.lab.Parts) == 0:
			r.doc.fail(l.line, key, "the lab has no parts: write parts, each with the address of its machine")
		case l.over != "":
			r.doc.fail(l.line, key, "both ends are in part %s: remove over, or move one of the nodes", a)
		}
	}
}

// Nodes are the names of switches, then those of hosts.
func (t *Topology) Nodes() (all []string) {
	for _, s := range t.Switches {
		all = append(all, s.Name)
	}
	for _, h := range t.Hosts {
		all = append(all, h.Name)
	}
	return all
}

// PartOf is the part that has a node; "" where the lab has none.
func (t *Topology) PartOf(node string) string { return t.partOf[node] }

// Part returns what one machine has of the lab: the nodes, the links between them, and the tunnels to other parts; no
// traffic and no faults. It is called NAME.PART. Without a name it is the whole lab, on one machine.
func (t *Topology) Part(name string) (*Topology, error) {
	if name == "" {
		return t, nil
	}
	addresses := map[string]netip.Addr{}
	var names []string
	for _, p := range t.Parts {
		addresses[p.Name], names = p.Address, append(names, p.Name)
	}
	switch {
	case len(names) == 0:
		return nil, t.Errorf("parts", "the lab has none: write parts, each with the address of its machine, or leave "+
			"out --part")
	case !slices.Contains(names, name):
		return nil, t.Errorf("parts", "there is no %s: take one of %s", name, strings.Join(names, ", "))
	}
	part := &Topology{Name: t.Name + "." + name, source: t.source}
	for _, s := range t.Switches {
		if t.partOf[s.Name] == name {
			s.Config = s.Config.inLab(t.Name, part.Name, s.Name)
			part.Switches = append(part.Switches, s)
		}
	}
	for i, h := range t.Hosts {
		if t.partOf[h.Name] == name {
			h.MAC, h.NIC = t.Address(i), h.NIC.inLab(t.Name, part.Name, h.Name)
			part.Hosts = append(part.Hosts, h)
		}
	}
	for _, l := range t.Links {
		a, b := t.partOf[l.Ends[0].Node], t.partOf[l.Ends[1].Node]
		if a == name && b == name {
			part.Links = append(part.Links, l)
		}
		if a == b {
			continue
		}
		for e, at := range []string{a, b} {
			if at == name {
				part.Tunnels = append(part.Tunnels, LabTunnel{Link: l.Name, End: l.Ends[e], MTU: l.MTU,
					VNI: tunnelVNI(t.Name, l.Name), Local: addresses[at],
					Remote: addresses[t.partOf[l.Ends[1-e].Node]]})
			}
		}
	}
	return part, nil
}

// inLab is the configuration with the socket that it has in another lab, unless its file names one.
func (c *Config) inLab(from, to, node string) *Config {
	if c == nil || c.API.Socket != LabSocket(from, node) {
		return c
	}
	moved := *c
	moved.API.Socket = LabSocket(to, node)
	return &moved
}
