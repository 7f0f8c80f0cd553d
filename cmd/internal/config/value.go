package config

import (
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// value is a place in the document: a key path and its content.
type value struct {
	doc  *document
	key  string   // path; empty for the whole file
	line int      // of the key
	node ast.Node // followed; nil: empty

	schema *Schema // where nothing is read, but described what would be; else nil
}

// fail records a fault of this value. While a schema is made, it means that no value is good.
func (v value) fail(format string, args ...any) {
	if v.schema != nil {
		v.schema.Not = &Schema{}
		return
	}
	v.doc.fail(v.line, v.key, format, args...)
}

// read reads a mapping: the fields in the order given, whatever the order of the file. Any other key is a fault. An
// empty value is an empty mapping.
func (v value) read(fields ...field) {
	if v.schema != nil {
		for _, f := range fields {
			f.read(v.described(f.name, v.schema.property(f.name)))
		}
		return
	}
	pairs := v.pairs()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
		if p, ok := find(pairs, f.name); ok {
			f.read(p.value)
		}
	}
	for _, p := range pairs {
		if !slices.Contains(names, p.name) {
			p.value.failUnknown(p.name, names)
		}
	}
}

// described is the place of a key of this mapping in the schema.
func (v value) described(name string, s *Schema) value {
	return value{doc: v.doc, key: join(v.key, name), schema: s}
}

func (v value) failUnknown(name string, names []string) {
	if meant := nearest(name, names); meant != "" {
		v.fail("unknown key: did you mean %s?", meant)
		return
	}
	v.fail("unknown key: remove it, or use one of %s", list(names))
}

// pair is an entry of a mapping.
type pair struct {
	name  string
	value value
}

// pairs returns the entries of a mapping in the order of the file, merged entries (<<) last. Duplicates are faults and
// left out.
func (v value) pairs() []pair {
	if v.node == nil {
		return nil
	}
	mapping, ok := v.node.(ast.MapNode)
	if !ok {
		v.fail("want a mapping (key: value), not %s", kindOf(v.node))
		return nil
	}
	var own []pair
	var merges []ast.Node
	seen := map[string]int{}
	for entries := mapping.MapRange(); entries.Next(); {
		if entries.Key().IsMergeKey() {
			merges = append(merges, entries.Value())
			continue
		}
		p, ok := v.entry(entries.Key(), entries.Value())
		if !ok {
			continue
		}
		if line, twice := seen[p.name]; twice {
			p.value.fail("the key stands twice, first in line %d: keep one", line)
			continue
		}
		seen[p.name] = p.value.line
		own = append(own, p)
	}
	for _, source := range merges {
		own = v.merge(own, source)
	}
	for _, p := range own {
		v.doc.lines[p.value.key] = p.value.line
	}
	return own
}

func (v value) entry(key ast.MapKeyNode, node ast.Node) (pair, bool) {
	at := value{doc: v.doc, key: v.key, line: lineOf(key, v.line)}
	word, ok := v.doc.follow(at, key)
	if !ok {
		return pair{}, false
	}
	name, ok := scalar(word)
	if !ok {
		at.fail("a key must be a single word: write key: value")
		return pair{}, false
	}
	at.key = join(v.key, name)
	at.node, ok = v.doc.follow(at, node)
	return pair{name, at}, ok
}

// merge adds the missing entries of a << source, which is a mapping or a list of mappings.
func (v value) merge(own []pair, source ast.Node) []pair {
	if v.doc.merges++; v.doc.merges > maxMerges {
		if v.doc.merges == maxMerges+1 {
			v.fail("more than %d << merges, or one that merges itself: write the keys out", maxMerges)
		}
		return own
	}
	from := v
	from.node, _ = v.doc.follow(v, source)
	if sequence, ok := from.node.(*ast.SequenceNode); ok {
		for _, item := range sequence.Values {
			own = v.merge(own, item)
		}
		return own
	}
	for _, p := range from.pairs() {
		if _, there := find(own, p.name); !there {
			own = append(own, p)
		}
	}
	return own
}

// needs tells the schema which keys a mapping requires. The caller checks them.
func (v value) needs(names ...string) {
	if v.schema != nil {
		v.schema.mapping().Required = names
	}
}

// needsOne tells the schema that a mapping requires exactly one of two keys. The caller checks them.
func (v value) needsOne(a, b string) {
	if v.schema != nil {
		m := v.schema.mapping()
		m.AnyOf = []*Schema{{Required: []string{a}}, {Required: []string{b}}}
		m.Not = &Schema{Required: []string{a, b}}
	}
}

// each reads a mapping with free keys. The regular expression keys describes them for the schema, and like is an
// example; read checks the names.
func (v value) each(keys, like string, read func(name string, v value)) {
	if v.schema != nil {
		read(like, v.described(like, v.schema.properties(keys)))
		return
	}
	for _, p := range v.pairs() {
		read(p.name, p.value)
	}
}

// items returns the entries of a list.
func (v value) items() []value {
	if v.schema != nil {
		return []value{{doc: v.doc, key: v.key + "[]", schema: v.schema.items()}}
	}
	if v.node == nil {
		return nil
	}
	sequence, ok := v.node.(*ast.SequenceNode)
	if !ok {
		v.fail("want a list ([a, b]), not %s", kindOf(v.node))
		return nil
	}
	items := make([]value, 0, len(sequence.Values))
	for i, node := range sequence.Values {
		item := value{doc: v.doc, key: v.key + "[" + strconv.Itoa(i) + "]", line: lineOf(node, v.line)}
		v.doc.lines[item.key] = item.line
		var ok bool
		if item.node, ok = v.doc.follow(item, node); ok {
			items = append(items, item)
		}
	}
	return items
}

// indexed reads a mapping whose keys are numbers from 0 to highest; what names them in errors.
func (v value) indexed(what string, highest int, read func(int, value)) {
	keys := priorities8
	if highest == 63 {
		keys = dscpForm
	}
	seen := map[int]int{}
	v.each(keys, "0", func(name string, v value) {
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i > highest {
			v.fail("%q is no %s: write 0 to %d", name, what, highest)
			return
		}
		if line, twice := seen[i]; twice {
			v.fail("%s %d stands twice, first in line %d: keep one", what, i, line)
			return
		}
		seen[i] = v.line
		read(i, v)
	})
}

// at returns the place of a key of this mapping, whether or not the key is in the file.
func (v value) at(name string) value {
	at := value{doc: v.doc, key: join(v.key, name), line: v.line}
	if line, ok := v.doc.lines[at.key]; ok {
		at.line = line
	}
	return at
}

func (v value) is(word string) bool {
	if v.schema != nil {
		v.schema.word(word)
		return false
	}
	text, ok := scalar(v.node)
	return ok && text == word
}

// text returns a single value as written.
func (v value) text() (string, bool) {
	if v.node == nil {
		v.fail("has no value: write one, or remove the key")
		return "", false
	}
	text, ok := scalar(v.node)
	if !ok {
		v.fail("want a single value, not %s", kindOf(v.node))
	}
	return text, ok
}

func scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func kindOf(node ast.Node) string {
	switch node.(type) {
	case *ast.SequenceNode:
		return "a list"
	case ast.MapNode:
		return "a mapping"
	}
	return "a single value"
}

func find(pairs []pair, name string) (pair, bool) {
	for _, p := range pairs {
		if p.name == name {
			return p, true
		}
	}
	return pair{}, false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
