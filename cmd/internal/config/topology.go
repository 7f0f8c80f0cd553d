package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"

	"pfcswitch/cmd/internal/lab"
)

// A Topology is a lab: switches and hosts, the links between them, and the traffic.
//
//	name: pair
//	switches:
//	  s1: {preset: roce}                                # what a configuration file holds; or file: NAME
//	hosts:
//	  h1: {mac: "02:00:00:00:00:01"}
//	  h2: {addresses: [10.0.0.2/24], nic: true}
//	links:
//	  l1: {ends: [h1, "s1:p1"], speed: 200M, cable: 1km}   # keys of the ports at its ends
//	  l2: {ends: [h2, "s1:p2"], speed: 200M}
//	parts: {left: {address: 192.0.2.1, nodes: [s1]}}      # see LabPart
//	traffic: {f1: {from: h1, to: h2, priority: 3}}        # see LabTraffic
//	faults: {x1: {storm: h2, start: 1ms}}                 # see LabFault
type Topology struct {
	Name     string // 1 to 32 of a-z, 0-9, "_" and "."
	Switches []LabSwitch
	Hosts    []LabHost
	Links    []LabLink
	Tunnels  []LabTunnel  // of a part
	Parts    []LabPart    // none: the lab is on one machine
	Traffic  []LabTraffic // of lab run, and in virtual time
	Faults   []LabFault   // likewise

	partOf map[string]string // of each node
	source
}

// A LabSwitch is a switch of a lab, with the ports that links lead to.
type LabSwitch struct {
	Name   string
	Config *Config
}

// A LabHost is a host of a lab. Its first interface is eth0.
type LabHost struct {
	Name      string
	MAC       net.HardwareAddr // of eth0; nil: see Topology.Address
	Addresses []netip.Prefix   // of eth0 or, with a NIC, of host0
	NIC       *Config          // the host NIC on eth0; nil: none

	wantsNIC bool // a NIC
	line     int
}

// Address returns the address of host i's eth0: that of the file, or 06:00:00:00:00:00 and its place from 1 on.
func (t *Topology) Address(i int) net.HardwareAddr {
	if mac := t.Hosts[i].MAC; mac != nil {
		return mac
	}
	n := i + 1
	return net.HardwareAddr{6, 0, 0, 0, byte(n >> 8), byte(n)}
}

// The values of HalfDuplex.
const (
	HalfCollision = "collision"
	HalfCarrier   = "carrier"
)

// A LabLink is a veth pair.
type LabLink struct {
	Name string
	Ends [2]LabEnd
	MTU  int // octets above Ethernet
	// HalfDuplex is how an end that is short of buffer keeps the other from sending: by a collision, or by a carrier.
	// Empty: the link is full duplex. Only virtual time has half duplex.
	HalfDuplex string

	keys []pair // of the ports at its ends
	over string // what carries it between two parts
	line int
}

// A LabEnd is an interface in a node.
type LabEnd struct{ Node, Interface string }

// LoadTopology reads the file at path. See ParseTopology.
func LoadTopology(path string) (*Topology, error) { return LoadScaledTopology(path, 1) }

// LoadScaledTopology is LoadTopology with each speed and rate times scale (more than 0).
func LoadScaledTopology(path string, scale float64) (*Topology, error) {
	return loadTopology(path, reading{scale: scale})
}

// LoadVirtualTopology is LoadTopology for virtual time, where no port has receive rings or a delay line: it does not
// refuse what these would take of a machine.
func LoadVirtualTopology(path string) (*Topology, error) {
	return loadTopology(path, reading{scale: 1, virtual: true})
}

func loadTopology(path string, how reading) (*Topology, error) {
	data, err := readWhole(path)
	if err != nil {
		return nil, fmt.Errorf("lab: %w: name a file that exists and may be read", err)
	}
	return parseTopology(path, data, readWhole, how)
}

// ParseTopology reads a lab. The name stands for the file in messages. read gets the files that switches name, with
// paths relative to name. The error is an *Errors with every fault.
func ParseTopology(name string, data []byte, read func(path string) ([]byte, error)) (*Topology, error) {
	return parseTopology(name, data, read, reading{scale: 1})
}

func parseTopology(name string, data []byte, read func(path string) ([]byte, error), how reading) (*Topology, error) {
	r := &labReader{doc: parseDocument(name, data), read: read, wired: map[string]*LabLink{}, reading: how}
	r.scaleRates(r.doc.root)
	r.writeOut(r.doc.root).read(r.sections()...)
	if !r.doc.failed() {
		r.check()
	}
	if r.doc.failed() {
		return nil, r.doc.errors()
	}
	r.lab.source = source{r.doc.file, r.doc.lines}
	return &r.lab, nil
}

// RefuseHalfDuplex refuses half-duplex links, which no real link of a lab is.
func (t *Topology) RefuseHalfDuplex() error {
	for i := range t.Links {
		if t.Links[i].HalfDuplex != "" {
			return t.Errorf("links."+t.Links[i].Name+".half_duplex", "no socket reaches the carrier of a link, so "+
				"only virtual time has it: remove it, or run the file by pfcswitch sim")
		}
	}
	return nil
}

func (r *labReader) sections() []field {
	return []field{
		key("name", &r.lab.Name, labName),
		{"parts", r.readParts, nil},
		{"links", r.readLinks, nil},
		{"hosts", r.readHosts, nil},
		{"switches", r.readSwitches, nil},
		{"traffic", r.readTraffic, nil},
		{"faults", r.readFaults, nil},
		{"fabric", r.describeFabric, nil}, // written out before
	}
}

// TopologyName returns the name of a lab, even if the rest of its file has faults; "" without a name.
func TopologyName(data []byte) (name string) {
	doc := parseDocument("", data)
	for _, p := range doc.root.pairs() {
		if p.name == "name" {
			set(&name, labName)(p.value)
		}
	}
	return name
}

// LabSocket is the control socket of a node of a lab. Commands find it as LAB-NODE.
func LabSocket(name, node string) string { return lab.Folder + "/" + name + "-" + node + ".sock" }

const labForm = `^[a-z0-9_.]{1,32}$`

var labNames = regexp.MustCompile(labForm)

var labName = textual(labForm, `is not a lab's name: use 1 to 32 of a-z, 0-9, "_" and "."`, labNames.MatchString)

// A reading says how a file is read.
type reading struct {
	scale   float64 // of speeds and rates
	virtual bool    // for virtual time
}

// A labReader reads a topology: links first, because they give switches their ports.
type labReader struct {
	doc  *document
	read func(path string) ([]byte, error)
	lab  Topology

	reading
	fabric *labFabric          // nil: the file has none
	wired  map[string]*LabLink // of the eth0 of each node that has a link there
}

func (r *labReader) readLinks(v value) {
	v.each(nameForm, "l1", func(name string, v value) {
		if !identifier(name, 32) {
			v.fail("%q cannot name a link: "+nameRule, name)
			return
		}
		l := LabLink{Name: name, MTU: 1500, line: v.line}
		if v.schema != nil {
			v.read(append(l.fields(), field{"ends", l.readEnds, nil})...)
			return
		}
		ends := false
		for _, p := range v.pairs() {
			switch p.name {
			case "ends":
				ends = true
				l.readEnds(p.value)
				continue
			case "over":
				set(&l.over, oneOf("vxlan"))(p.value)
				continue
			case "half_duplex":
				set(&l.HalfDuplex, oneOf(HalfCollision, HalfCarrier))(p.value)
				continue
			case "mtu":
				set(&l.MTU, number[int]("MTU", 68, 65535))(p.value)
			}
			l.keys = append(l.keys, p)
		}
		if _, has := find(l.keys, "speed"); !has && r.scale != 1 {
			l.keys = append(l.keys, word("speed", r.scaled(defaultSpeed), v.line))
		}
		if !ends {
			v.fail("has no ends: write ends: [h1, \"s1:p1\"]")
		}
		r.lab.Links = append(r.lab.Links, l)
	})
	for i := range r.lab.Links {
		for _, end := range r.lab.Links[i].Ends {
			if end.Interface == "eth0" {
				r.wired[end.Node] = &r.lab.Links[i]
			}
		}
	}
}

// fields are what a link may have beside its ends, for the schema: the keys of the ports at them, too.
func (l *LabLink) fields() []field {
	port := defaults().defaultPort(l.Name)
	return append(port.fields(), key("over", &l.over, oneOf("vxlan")),
		key("half_duplex", &l.HalfDuplex, oneOf(HalfCollision, HalfCarrier)))
}

func (l *LabLink) readEnds(v value) {
	items := v.items()
	if v.schema != nil {
		set(&l.Ends[0], labEnd)(items[0])
		v.schema.AnyOf[0].MinItems, v.schema.AnyOf[0].MaxItems = 2, 2
		return
	}
	if len(items) != 2 {
		v.fail("want the two ends of the link, such as [h1, \"s1:p1\"]")
		return
	}
	for i, item := range items {
		set(&l.Ends[i], labEnd)(item)
	}
}

var labEnd = simple(pattern(`^[A-Za-z0-9][A-Za-z0-9._-]*(:[^/: \t]{1,15})?$`, ""), "is no end of a link: write NODE:INTERFACE, or a host's NAME for its eth0", nil,
	func(text string) (LabEnd, bool) {
		node, name, named := strings.Cut(text, ":")
		if !named {
			name = "eth0"
		}
		_, err := interfaceName.read(name)
		return LabEnd{node, name}, err == nil && identifier(node, 32)
	})

// nodeNamed tells whether the name of an entry can be that of a node.
func nodeNamed(name string, v value) bool {
	ok := identifier(name, 32)
	if !ok {
		v.fail("cannot name a node: " + nameRule)
	}
	return ok
}

func (r *labReader) readHosts(v value) {
	v.each(nameForm, "h1", func(name string, v value) {
		if !nodeNamed(name, v) {
			return
		}
		h := LabHost{Name: name, line: v.line}
		var mac [6]byte
		v.read(h.fields(&mac)...)
		if mac != [6]byte{} {
			h.MAC = net.HardwareAddr(mac[:])
		}
		if h.wantsNIC {
			h.NIC = r.nic(&h, v)
		}
		r.lab.Hosts = append(r.lab.Hosts, h)
	})
}

func (h *LabHost) fields(mac *[6]byte) []field {
	return []field{
		key("mac", mac, individualAddress),
		entries("addresses", &h.Addresses, hostAddress, "%v"),
		key("nic", &h.wantsNIC, toggle),
	}
}

// nic is the configuration of a host NIC on eth0.
func (r *labReader) nic(h *LabHost, at value) *Config {
	mtu := 1500
	if l := r.wired[h.Name]; l != nil {
		mtu = l.MTU
	}
	var addresses []string
	for _, a := range h.Addresses {
		addresses = append(addresses, fmt.Sprintf("%q", a))
	}
	text := fmt.Sprintf("%s{preset: roce, ports: {host0: {kind: tap, wire: eth0, mtu: %d, addresses: [%s]}}}",
		strings.Repeat("\n", max(0, at.line-1)), mtu, list(addresses))
	doc := parseDocument(r.doc.file, []byte(text))
	return r.configure(doc, doc.root, h.Name, at.key)
}

func (r *labReader) readSwitches(v value) {
	v.each(nameForm, "s1", func(name string, v value) {
		if v.schema != nil {
			v.read(switchFields()...)
			return
		}
		if !nodeNamed(name, v) {
			return
		}
		doc, root, ok := r.source(v)
		if !ok {
			return
		}
		if c := r.configure(doc, root, name, v.key); c != nil {
			if r.fabric != nil {
				r.fabric.addRoutes(name, c)
			}
			r.lab.Switches = append(r.lab.Switches, LabSwitch{Name: name, Config: c})
		}
	})
}

// switchFields are what a switch may have, for the schema: the keys of a configuration, or its file.
func switchFields() []field { return append(defaults().sections(), key("file", new(string), anyWord)) }

// source finds the configuration of a switch: here, or in its own file.
func (r *labReader) source(v value) (doc *document, root value, ok bool) {
	doc = &document{file: r.doc.file, anchors: r.doc.anchors, lines: map[string]int{}}
	root = value{doc: doc, line: v.line, node: v.node}
	pairs := root.pairs()
	file, named := find(pairs, "file")
	if !named {
		doc.faults = nil // they are found again when it is read
		return doc, root, true
	}
	if len(pairs) != 1 {
		v.fail("has a file and other keys: write them into the file, or remove file")
		return nil, value{}, false
	}
	text, ok := file.value.text()
	if !ok {
		r.addFaults(doc.faults, v.key)
		return nil, value{}, false
	}
	path := text
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.doc.file), path)
	}
	data, err := r.read(path)
	if err != nil {
		r.doc.fail(file.value.line, join(v.key, "file"), "%v: name a configuration that exists and may be read", err)
		return nil, value{}, false
	}
	doc = parseDocument(path, data)
	r.scaleRates(doc.root)
	return doc, doc.root, true
}

// NIC configures a host NIC. Empty fields have their defaults.
type NIC struct {
	Name      string   // default: nic- and the wire
	Wire      string   // interface that leads out of the host
	TAP       string   // interface of the host that comes into being
	Addresses []string // of it
	Speed     string
	MTU       int
	Metrics   string // listen
	Socket    string // of the API
	Nice      string // of the process
	Streams   bool   // the peer may have the NIC fill the link, to check its headroom
}

// HostNIC is the configuration of a host NIC: preset roce, a TAP and its wire.
func HostNIC(n NIC) (*Config, []Warning, error) { return Parse("(command line)", n.YAML()) }

// YAML returns the configuration as the text of a file.
func (n NIC) YAML() []byte {
	var b strings.Builder
	n.Name = cmp.Or(n.Name, "nic-"+n.Wire)
	fmt.Fprintf(&b, "name: %q\npreset: roce\n", n.Name)
	if n.Socket != "" {
		fmt.Fprintf(&b, "api: {socket: %q}\n", n.Socket)
	}
	if n.Metrics != "" {
		fmt.Fprintf(&b, "metrics: {listen: %q}\n", n.Metrics)
	}
	if n.Nice != "" {
		fmt.Fprintf(&b, "nice: %q\n", n.Nice)
	}
	if n.Streams {
		b.WriteString("headroom: {send_request: on}\n")
	}
	var addresses, link []string
	for _, a := range n.Addresses {
		addresses = append(addresses, fmt.Sprintf("%q", a))
	}
	if n.Speed != "" {
		link = append(link, fmt.Sprintf("speed: %q", n.Speed))
	}
	host := []string{"kind: tap", fmt.Sprintf("wire: %q", n.Wire), "addresses: [" + list(addresses) + "]"}
	if n.MTU != 0 {
		mtu := fmt.Sprintf("mtu: %d", n.MTU)
		link, host = append(link, mtu), append(host, mtu)
	}
	fmt.Fprintf(&b, "ports:\n  %q: {%s}\n  %q: {%s}\n", n.Wire, list(link), n.TAP, list(host))
	return []byte(b.String())
}
