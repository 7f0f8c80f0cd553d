package config

import (
	"github.com/goccy/go-yaml/ast"
)

// A Change is a key whose value differs between two configurations. Where the key stands for a mapping that only one of
// them has, such as a port, the value is all of the mapping in one line.
type Change struct {
	Key      string  // path, such as ports.p1.speed
	Old, New *string // as written; nil: not there
}

// Diff returns what differs between two resolved configurations, with every default written out, in the order in which
// Expand writes them.
func Diff(before, after *Config) []Change {
	return diff(parseDocument("before", Expand(before)).root, parseDocument("after", Expand(after)).root)
}

func diff(before, after value) (all []Change) {
	old, isMapping := before.mapping()
	now, isAlso := after.mapping()
	if !isMapping || !isAlso {
		if a, b := before.flow(), after.flow(); a != b {
			all = append(all, Change{after.key, &a, &b})
		}
		return all
	}
	for _, p := range old {
		if q, stays := find(now, p.name); stays {
			all = append(all, diff(p.value, q.value)...)
		} else {
			text := p.value.flow()
			all = append(all, Change{p.value.key, &text, nil})
		}
	}
	for _, q := range now {
		if _, was := find(old, q.name); !was {
			text := q.value.flow()
			all = append(all, Change{q.value.key, nil, &text})
		}
	}
	return all
}

// mapping returns the entries of a mapping; ok is false for other values.
func (v value) mapping() (all []pair, ok bool) {
	if _, ok = v.node.(ast.MapNode); ok {
		all = v.pairs()
	}
	return all, ok
}

// flow writes a value in one line.
func (v value) flow() string {
	if pairs, ok := v.mapping(); ok {
		entries := []string{}
		for _, p := range pairs {
			entries = append(entries, p.name+": "+p.value.flow())
		}
		return "{" + list(entries) + "}"
	}
	if _, ok := v.node.(*ast.SequenceNode); ok {
		entries := []string{}
		for _, item := range v.items() {
			entries = append(entries, item.flow())
		}
		return "[" + list(entries) + "]"
	}
	text, _ := v.text()
	return text
}
