package config

import (
	"regexp"
	"slices"
	"strings"
)

// A Change is a key whose value differs between two configurations. Where the key stands for a mapping that only one of
// them has, such as a port, the value is all of the mapping in one line.
type Change struct {
	Key      string  // path, such as ports.p1.speed
	Old, New *string // as written; nil: not there
}

// Diff returns what differs between two resolved configurations, with every default written out, in the order in which
// Expand writes them.
func Diff(before, after *Config) []Change { return diff("", before.written(), after.written()) }

func diff(path string, before, after []field) (all []Change) {
	for _, f := range before {
		key, g := join(path, unquoted(f.name)), fieldOf(after, f.name)
		was, is := f.text(), g.text()
		if was == is || was == "" {
			continue
		}
		old, isMapping := f.fields()
		now, isAlso := g.fields()
		if isMapping && isAlso && is != "" {
			all = append(all, diff(key, old, now)...)
			continue
		}
		was, is = f.plain(), g.plain()
		switch {
		case g.text() == "":
			all = append(all, Change{key, &was, nil})
		case was != is: // else only the comments differ
			all = append(all, Change{key, &was, &is})
		}
	}
	for _, g := range after {
		if g.text() != "" && fieldOf(before, g.name).text() == "" {
			is := g.plain()
			all = append(all, Change{join(path, unquoted(g.name)), nil, &is})
		}
	}
	return all
}

// fieldOf returns the field of a name, or one that writes nothing.
func fieldOf(fields []field, name string) field {
	if i := slices.IndexFunc(fields, func(f field) bool { return f.name == name }); i >= 0 {
		return fields[i]
	}
	return field{}
}

// fields returns the entries of a mapping; ok is false for other values.
func (f field) fields() (all []field, ok bool) {
	if r, noted := f.write.(remark); noted {
		f.write = r.writer
	}
	if l, unmade := f.write.(late); unmade {
		f.write = l()
	}
	m, ok := f.write.(nested)
	return m.fields, ok
}

// plain is the value in one line, without comments and quotes.
func (f field) plain() string {
	if fields, ok := f.fields(); ok {
		entries := []string{}
		for _, entry := range fields {
			if entry.text() != "" {
				entries = append(entries, unquoted(entry.name)+": "+entry.plain())
			}
		}
		return "{" + list(entries) + "}"
	}
	if r, noted := f.write.(remark); noted {
		f.write = r.writer
	}
	text := f.text()
	if entries, ok := strings.CutPrefix(text, "\n  - "); ok {
		text = "[" + strings.ReplaceAll(entries, "\n  - ", ", ") + "]"
	}
	return unquoted(strings.ReplaceAll(text, "\n      ", " "))
}

var quotes = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

func unquoted(text string) string { return quotes.ReplaceAllString(text, "$1") }
