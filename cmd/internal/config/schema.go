package config

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Schema is a JSON Schema (draft 2020-12), as far as a configuration needs one.
type Schema struct {
	Version           string             `json:"$schema,omitempty"`
	Title             string             `json:"title,omitempty"`
	Description       string             `json:"description,omitempty"`
	Default           any                `json:"default,omitempty"`
	Type              any                `json:"type,omitempty"` // a name, or a list of them
	Enum              []any              `json:"enum,omitempty"`
	Pattern           string             `json:"pattern,omitempty"`
	Minimum           *float64           `json:"minimum,omitempty"`
	ExclusiveMinimum  *float64           `json:"exclusiveMinimum,omitempty"`
	Maximum           *float64           `json:"maximum,omitempty"`
	Items             *Schema            `json:"items,omitempty"`
	MinItems          int                `json:"minItems,omitempty"`
	MaxItems          int                `json:"maxItems,omitempty"`
	Properties        map[string]*Schema `json:"properties,omitempty"`
	PatternProperties map[string]*Schema `json:"patternProperties,omitempty"`
	Additional        *bool              `json:"additionalProperties,omitempty"`
	Required          []string           `json:"required,omitempty"`
	AnyOf             []*Schema          `json:"anyOf,omitempty"`
	Not               *Schema            `json:"not,omitempty"`
	If                *Schema            `json:"if,omitempty"`
	Else              *Schema            `json:"else,omitempty"`
}

// NewSchema describes every file that Parse may read. The readers describe their keys themselves, so that the schema
// has exactly their keys. Relations between keys are left to Parse.
func NewSchema() *Schema {
	return described("configuration", defaults().sections(), func(path string) string { return path })
}

// NewLabSchema describes every file that ParseTopology may read. A fabric gives links their ends, else the file does.
func NewLabSchema() *Schema {
	r := &labReader{doc: &document{lines: map[string]int{}}}
	s := described("lab", r.sections(), inLab)
	s.Required = []string{"name"}
	wired := &Schema{Type: "object", Required: []string{"ends"}}
	links := &Schema{PatternProperties: map[string]*Schema{nameForm: wired}}
	s.If, s.Else = &Schema{Required: []string{"fabric"}}, &Schema{Properties: map[string]*Schema{"links": links}}
	return s
}

// inLab is the path in keys.txt of a key of a lab: that of a configuration or a port, or lab and the path in the lab.
func inLab(path string) string {
	own := strings.TrimPrefix(path, "fabric.")
	if own == "links" || own == "switches" || own == "hosts" {
		return "lab." + path
	}
	if own != path { // every link, switch and host of a fabric has these
		for _, kind := range []string{"links.", "switches.", "hosts."} {
			if rest, ok := strings.CutPrefix(own, kind); ok {
				return inLab(kind + "*." + rest)
			}
		}
	}
	if rest, ok := strings.CutPrefix(path, "switches.*."); ok && rest != "name" && rest != "file" {
		return rest
	}
	own = strings.TrimSuffix(strings.TrimPrefix(path, "links.*."), "[]")
	if rest, ok := strings.CutPrefix(path, "links.*."); ok && own != "ends" && own != "over" && own != "half_duplex" {
		return "ports.*." + rest
	}
	return "lab." + path
}

// described is the schema of the fields of a file. The text and the default of a key are those of keys.txt and of an
// empty configuration at the path that known gives.
func described(title string, fields []field, known func(path string) string) *Schema {
	root := &Schema{Version: "https://json-schema.org/draft/2020-12/schema", Title: "pfcswitch " + title}
	doc := &document{lines: map[string]int{}}
	value{doc: doc, schema: root}.read(fields...)
	root.simplify()
	texts := keyTexts()
	givens := writtenDefaults()
	root.Walk(func(path string, s *Schema) {
		path = known(path)
		s.Description = strings.TrimSpace(texts[path] + " " + s.Description)
		if given, ok := givens[path]; ok && len(s.Properties)+len(s.PatternProperties) == 0 && s.Items == nil {
			s.Default = given
		}
	})
	return root
}

// JSON writes the schema for people and editors.
func (s *Schema) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(s, "", "  ")
	return append(b, '\n'), err
}

// Walk calls f for every key in path order: ports.*.speed is a key of every port, fdb[].mac of every list entry.
func (s *Schema) Walk(f func(path string, s *Schema)) { s.walk("", f) }

func (s *Schema) walk(path string, f func(string, *Schema)) {
	if path != "" {
		f(path, s)
	}
	for _, part := range append([]*Schema{s}, s.AnyOf...) {
		for _, name := range slices.Sorted(maps.Keys(part.Properties)) {
			part.Properties[name].walk(join(path, name), f)
		}
		for _, pattern := range slices.Sorted(maps.Keys(part.PatternProperties)) {
			part.PatternProperties[pattern].walk(join(path, "*"), f)
		}
		if part.Items != nil {
			part.Items.walk(path+"[]", f)
		}
	}
}

// mapping is the alternative that is a mapping, which may be empty.
func (s *Schema) mapping() *Schema {
	for _, a := range s.AnyOf {
		if a.Properties != nil {
			return a
		}
	}
	m := &Schema{Type: []string{"object", "null"}, Properties: map[string]*Schema{}, Additional: new(bool)}
	s.AnyOf = append(s.AnyOf, m)
	return m
}

func (s *Schema) property(name string) *Schema {
	p := &Schema{}
	s.mapping().Properties[name] = p
	return p
}

// properties are the keys that match a regular expression.
func (s *Schema) properties(pattern string) *Schema {
	m, p := s.mapping(), &Schema{}
	if m.PatternProperties == nil {
		m.PatternProperties = map[string]*Schema{}
	}
	m.PatternProperties[pattern] = p
	return p
}

// items are the entries of the list.
func (s *Schema) items() *Schema {
	items := &Schema{}
	s.AnyOf = append(s.AnyOf, &Schema{Type: []string{"array", "null"}, Items: items})
	return items
}

// word adds a word that a value may be.
func (s *Schema) word(word string) {
	for _, a := range s.AnyOf {
		if a.Enum != nil {
			if !slices.Contains(a.Enum, any(word)) {
				a.Enum = append(a.Enum, word)
			}
			return
		}
	}
	s.AnyOf = append(s.AnyOf, &Schema{Enum: []any{word}})
}

// simplify replaces a schema that has one alternative by the alternative.
func (s *Schema) simplify() {
	for len(s.AnyOf) == 1 {
		only := *s.AnyOf[0]
		only.Version, only.Title = s.Version, s.Title
		*s = only
	}
	for _, a := range s.AnyOf {
		a.simplify()
	}
	for _, p := range s.Properties {
		p.simplify()
	}
	for _, p := range s.PatternProperties {
		p.simplify()
	}
	if s.Items != nil {
		s.Items.simplify()
	}
}

// writtenDefaults are the values of an empty file, by path, as Expand writes them.
func writtenDefaults() map[string]any {
	all := map[string]any{}
	c, _, err := Parse("defaults", []byte("ports: {a: {}, b: {}, t: {kind: tap}}\ntrunks: {t: {uplink: a, members: "+
		"[b]}}\n"))
	if err != nil {
		return all // a constant file, which is good: a test counts the defaults
	}
	doc := parseDocument("defaults", Expand(c))
	for _, p := range doc.root.pairs() {
		collectDefaults(all, p.name, p.value)
	}
	for _, own := range []string{"ports.*.interface", "trunks.*.uplink", "priorities.dscp.*"} {
		delete(all, own) // these follow from the key, or were written
	}
	return all
}

// collectDefaults reads a value of the expansion. The first of several ports counts.
func collectDefaults(all map[string]any, path string, v value) {
	if text, ok := scalar(v.node); ok {
		if _, there := all[path]; !there {
			all[path] = plain(text)
		}
		return
	}
	if kindOf(v.node) != "a mapping" {
		return
	}
	for _, p := range v.pairs() {
		name := p.name
		if _, err := strconv.Atoi(name); err == nil || path == "ports" || path == "trunks" {
			name = "*"
		}
		collectDefaults(all, join(path, name), p.value)
	}
}

// plain is a single value as JSON has it.
func plain(text string) any {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n
	}
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	return text
}

//go:embed keys.txt
var keysFile string

func keyTexts() map[string]string {
	texts := map[string]string{}
	for line := range strings.Lines(keysFile) {
		if path, text, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && !strings.HasPrefix(line, "#") {
			texts[path] = text
		}
	}
	return texts
}
