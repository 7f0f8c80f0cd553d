package sonic

import (
	"slices"
	"strings"
)

// A node is a key of a configuration: a value, or further keys, in one line where inLine says so.
type node struct {
	key, value string
	inLine     bool
	nodes      []*node
}

// at returns the node of a path below n, which it adds where there is none.
func (n *node) at(path ...string) *node {
	for _, key := range path {
		var next *node
		for _, child := range n.nodes {
			if child.key == key {
				next = child
			}
		}
		if next == nil {
			next = &node{key: key}
			n.nodes = append(n.nodes, next)
		}
		n = next
	}
	return n
}

// flow has the keys of the node of a path written in one line.
func (n *node) flow(path ...string) { n.at(path...).inLine = true }

// text writes the keys below n.
func (n *node) text(indent string) string {
	var s strings.Builder
	for _, child := range n.nodes {
		s.WriteString(indent + child.key + ":")
		switch {
		case child.inLine || len(child.nodes) == 0:
			s.WriteString(" " + child.inner() + "\n")
		default:
			s.WriteString("\n" + child.text(indent+"  "))
		}
	}
	return s.String()
}

// inner is the value of n in one line.
func (n *node) inner() string {
	if len(n.nodes) == 0 {
		if n.value == "" {
			return "{}"
		}
		return n.value
	}
	var all []string
	for _, child := range n.nodes {
		all = append(all, child.key+": "+child.inner())
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// list writes a list, 64 entries a line.
func list(all []string) string {
	var lines []string
	for some := range slices.Chunk(all, 64) {
		lines = append(lines, strings.Join(some, ", "))
	}
	return "[" + strings.Join(lines, ",\n      ") + "]"
}
