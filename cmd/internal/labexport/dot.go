package labexport

import (
	"bytes"
	"fmt"
	"slices"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
)

// Graph is the lab in the language of Graphviz: switches as boxes, hosts as ellipses, parts as frames around them, and
// tunnels dashed.
func Graph(t *config.Topology) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "graph %q {\n  node [shape=ellipse]\n", t.Name)
	nodes := func(part, indent string) {
		for _, s := range t.Switches {
			if t.PartOf(s.Name) == part {
				fmt.Fprintf(&b, "%s%q [shape=box]\n", indent, s.Name)
			}
		}
		for _, h := range t.Hosts {
			if t.PartOf(h.Name) == part {
				fmt.Fprintf(&b, "%s%q\n", indent, h.Name)
			}
		}
	}
	nodes("", "  ")
	for _, p := range t.Parts {
		fmt.Fprintf(&b, "  subgraph %q {\n    label=%q\n", "cluster_"+p.Name, fmt.Sprintf("%s %v", p.Name, p.Address))
		nodes(p.Name, "    ")
		b.WriteString("  }\n")
	}
	for i := range t.Links {
		l := &t.Links[i]
		from, to, tunnel := l.Ends[0], l.Ends[1], ""
		if t.PartOf(from.Node) != t.PartOf(to.Node) {
			tunnel = ", style=dashed"
		}
		fmt.Fprintf(&b, "  %q -- %q [label=%q, taillabel=%q, headlabel=%q%s]\n", from.Node, to.Node, label(t, l),
			from.Interface, to.Interface, tunnel)
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// label is the name of a link, and the speed of a port at its ends that has one.
func label(t *config.Topology, l *config.LabLink) string {
	for _, end := range l.Ends {
		for _, s := range t.Switches {
			i := slices.IndexFunc(s.Config.Ports, func(p config.Port) bool { return p.Interface == end.Interface })
			if s.Name == end.Node && i >= 0 && s.Config.Ports[i].Speed > 0 {
				return l.Name + " " + api.Rate(s.Config.Ports[i].Speed)
			}
		}
	}
	return l.Name
}
