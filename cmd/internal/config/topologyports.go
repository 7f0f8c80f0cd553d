package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// configure reads the configuration of a node, with the additions of the lab: name, control socket, and ports of links.
// It returns nil on faults.
func (r *labReader) configure(doc *document, root value, node, key string) *Config {
	doc.root = root
	if !doc.failed() {
		doc.root.node = r.completeNode(root, node)
	}
	sub := &document{file: doc.file, anchors: doc.anchors, lines: map[string]int{}, faults: doc.faults,
		virtual: r.virtual}
	sub.root = value{doc: sub, line: root.line, node: doc.root.node}
	c, _, err := sub.config()
	var faults *Errors
	if errors.As(err, &faults) {
		r.addFaults(faults.List, key)
		return nil
	}
	return c
}

// addFaults takes over the faults of a node's configuration. Faults in this file get the node before their key. What a
// fabric says of all its nodes and links is told once.
func (r *labReader) addFaults(faults []*Error, key string) {
	for _, f := range faults {
		if r.fabric != nil && slices.ContainsFunc(r.doc.faults, func(other *Error) bool {
			return f.File == other.File && f.Line == other.Line && f.Text == other.Text
		}) {
			continue
		}
		if f.File == r.doc.file {
			f.Key = strings.TrimSuffix(key+"."+f.Key, ".")
		}
		r.doc.faults = append(r.doc.faults, f)
	}
}

// completeNode adds the lab's keys to a node's configuration. Keys of the configuration itself win.
func (r *labReader) completeNode(root value, node string) ast.Node {
	var all, ports []pair
	named, socket := false, false
	for _, p := range root.pairs() {
		switch p.name {
		case "ports":
			ports = p.value.pairs()
			continue
		case "name":
			named = true
		case "api":
			socket = true
		}
		all = append(all, p)
	}
	for i := range r.lab.Links {
		l := &r.lab.Links[i]
		for _, end := range l.Ends {
			if end.Node == node {
				ports = withPort(root.doc, ports, end.Interface, l)
			}
		}
	}
	if !named {
		all = append(all, word("name", node, root.line))
	}
	if !socket {
		api := mapping(root.line, []pair{word("socket", LabSocket(r.lab.Name, node), root.line)})
		all = append(all, pair{"api", value{line: root.line, node: api}})
	}
	return mapping(root.line, append(all, pair{"ports", value{line: root.line, node: mapping(root.line, ports)}}))
}

// withPort gives a port the keys of its link that it does not have. A new port comes last.
func withPort(doc *document, ports []pair, name string, l *LabLink) []pair {
	for i, p := range ports {
		if p.name != name {
			continue
		}
		keys := p.value.pairs()
		for _, k := range l.keys {
			if _, has := find(keys, k.name); !has {
				keys = append(keys, k)
			}
		}
		ports[i].value.node = mapping(p.value.line, keys)
		return ports
	}
	return append(ports, pair{name, value{doc: doc, line: l.line, node: mapping(l.line, l.keys)}})
}

// mapping makes a YAML mapping whose entries stand on their lines.
func mapping(line int, entries []pair) ast.Node {
	m := ast.Mapping(at("{", line), true)
	for _, p := range entries {
		node := p.value.node
		if node == nil {
			node = ast.Null(at("null", p.value.line))
		}
		m.Values = append(m.Values, ast.MappingValue(at(":", p.value.line), ast.String(at(p.name, p.value.line)), node))
	}
	return m
}

func word(key, text string, line int) pair {
	return pair{key, value{line: line, node: ast.String(at(text, line))}}
}

func at(text string, line int) *token.Token {
	return &token.Token{Type: token.StringType, Value: text, Origin: text, Position: &token.Position{Line: line,
		Column: 1}}
}

// check finds faults across nodes.
func (r *labReader) check() {
	if r.lab.Name == "" {
		r.doc.fail(1, "name", "the lab has no name: write one, of a-z, 0-9, \"_\" and \".\"")
	}
	switches, hosts := r.checkNodes()
	linked := map[LabEnd]string{}
	for i := range r.lab.Links {
		l := &r.lab.Links[i]
		deaf := true
		for _, end := range l.Ends {
			key := "links." + l.Name + ".ends"
			s, h := switches[end.Node], hosts[end.Node]
			if s == nil && h == nil {
				r.doc.fail(l.line, key, "%q is no switch and no host: add it, or correct the name", end.Node)
			}
			if other, twice := linked[end]; twice {
				r.doc.fail(l.line, key, "%s:%s is an end of link %s already: write another interface, such as "+
					"%[1]s:eth1", end.Node, end.Interface, other)
			}
			linked[end] = l.Name
			deaf = deaf && s == nil && (h == nil || h.NIC == nil || end.Interface != "eth0")
		}
		for _, k := range l.keys {
			if deaf && k.name != "mtu" {
				r.doc.fail(k.value.line, "links."+l.Name+"."+k.name,
					"is a key of ports, and none is at this link: remove it, or give a host nic: true")
			}
		}
	}
	r.checkPorts(linked)
	r.checkParts()
	r.checkTraffic(hosts)
	r.checkFaults(hosts)
}

func (r *labReader) checkNodes() (switches map[string]*LabSwitch, hosts map[string]*LabHost) {
	switches, hosts = map[string]*LabSwitch{}, map[string]*LabHost{}
	for i := range r.lab.Switches {
		s := &r.lab.Switches[i]
		switches[s.Name] = s
	}
	for i := range r.lab.Hosts {
		h := &r.lab.Hosts[i]
		hosts[h.Name] = h
		key := "hosts." + h.Name
		switch {
		case switches[h.Name] != nil:
			r.doc.fail(h.line, key, "is a switch too: give it another name")
		case r.wired[h.Name] == nil && (h.wantsNIC || h.MAC != nil || len(h.Addresses) > 0):
			r.doc.fail(h.line, key, "no link leads to its eth0: add one, such as ends: [%s, \"s1:p1\"]", h.Name)
		}
	}
	if len(switches)+len(hosts) == 0 {
		r.doc.fail(1, "switches", "the lab is empty: write switches, hosts and links")
	}
	return switches, hosts
}

// checkPorts finds ports that would wait for an interface forever.
func (r *labReader) checkPorts(linked map[LabEnd]string) {
	for _, s := range r.lab.Switches {
		for p := range s.Config.ports() {
			line, key := s.Config.source.line("ports."+p.Name), "switches."+s.Name+".ports."+p.Name
			switch _, ok := linked[LabEnd{s.Name, p.Interface}]; {
			case p.Kind == KindTAP:
			case p.Netns != "":
				r.doc.fail(line, key, "has a netns: a switch of a lab has its ports in a namespace of its own, so "+
					"remove it")
			case !ok:
				r.doc.fail(line, key, "no link leads to %s: add one under links, or remove the port", p.Interface)
			}
		}
	}
}
