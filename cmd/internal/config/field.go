package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// field is a key of a mapping, with the reader and the writer of its value.
type field struct {
	name  string
	read  func(value)
	write writer // nil: it is never written
}

// A writer writes a value in YAML, perhaps with a comment. Nothing means that the key is left out.
type writer interface{ text() string }

// single writes a value that is no mapping.
type single func() string

func (s single) text() string { return s() }

// literal is such a value.
type literal string

func (w literal) text() string { return string(w) }

type nested struct {
	layout func([]field) string
	fields []field
}

func (m nested) text() string { return m.layout(m.fields) }

// late makes the writer of a value once it is written: who reads a file writes nothing.
type late func() writer

func (l late) text() string { return l().text() }

// remark is a value with a comment.
type remark struct {
	writer
	note string
}

func (r remark) text() string { return r.writer.text() + " # " + r.note }

// when returns the field, which is left out of what is written unless the condition holds.
func (f field) when(condition bool) field {
	if !condition {
		f.write = nil
	}
	return f
}

// noted adds a comment to what is written if the condition holds.
func (f field) noted(condition bool, note string) field {
	if condition && f.write != nil {
		f.write = remark{f.write, note}
	}
	return f
}

// key is a key with a single value.
func key[T any](name string, dst *T, p parser[T]) field {
	return field{name, set(dst, p), single(func() string { return p.write(*dst) })}
}

// optional is a key whose absence has a meaning: nil.
func optional[T any](name string, dst **T, p parser[T]) field {
	return field{name, func(v value) {
		var parsed T
		before := len(v.doc.faults)
		if set(&parsed, p)(v); len(v.doc.faults) == before {
			*dst = &parsed
		}
	}, single(func() string {
		if *dst == nil {
			return ""
		}
		return p.write(**dst)
	})}
}

// flagged is a key with a single value or a word, which sets the flag instead.
func flagged[T any](name, word string, flag *bool, dst *T, p parser[T]) field {
	return field{name, func(v value) {
		if *flag = v.is(word); !*flag {
			set(dst, p)(v)
		}
	}, single(func() string {
		if *flag {
			return word
		}
		return p.write(*dst)
	})}
}

// entries is a key with a list of single values. once is the format of a value in the fault that it stands twice; if
// empty, it may.
func entries[T comparable](name string, dst *[]T, p parser[T], once string) field {
	return field{name, func(v value) {
		*dst = nil
		for _, item := range v.items() {
			var entry T
			switch set(&entry, p)(item); {
			case entry == *new(T): // refused, or only described
			case once != "" && slices.Contains(*dst, entry):
				item.fail(once+" stands twice: keep one", entry)
			default:
				*dst = append(*dst, entry)
			}
		}
	}, single(func() string {
		var all []string
		for _, entry := range *dst {
			all = append(all, p.write(entry))
		}
		var lines []string
		for some := range slices.Chunk(all, entriesOfLine) {
			lines = append(lines, list(some))
		}
		return "[" + strings.Join(lines, ",\n      ") + "]"
	})}
}

// entriesOfLine is how many entries a written list has in a line: 4094 VLANs in one would be too long to be read again.
const entriesOfLine = 64

// inLine is a key with a mapping, which is written in one line.
func inLine(name string, fields []field) field {
	return field{name, func(v value) { v.read(fields...) }, nested{flow, fields}}
}

// inBlock is a key of the file with a mapping, which is written with a line for each key.
func inBlock(name string, fields []field) field {
	return field{name, func(v value) { v.read(fields...) }, nested{lines("  "), fields}}
}

// set reads a single value into dst.
func set[T any](dst *T, p parser[T]) func(value) {
	return func(v value) {
		if v.schema != nil {
			v.schema.AnyOf = append(v.schema.AnyOf, p.forms()...)
			return
		}
		text, ok := v.text()
		if !ok {
			return
		}
		parsed, err := p.read(text)
		if err != nil {
			v.fail("%q %v", text, err)
			return
		}
		*dst = parsed
	}
}

// block writes a mapping with a line for each key.
func block(indent string, fields []field) string {
	var b strings.Builder
	for _, f := range fields {
		if text := f.text(); text != "" {
			b.WriteString("\n" + indent + f.name + ":")
			if text[0] != '\n' {
				b.WriteByte(' ')
			}
			b.WriteString(text)
		}
	}
	return b.String()
}

// lines is block for a mapping.
func lines(indent string) func([]field) string {
	return func(fields []field) string { return block(indent, fields) }
}

// flow writes a mapping in one line.
func flow(fields []field) string {
	var all []string
	for _, f := range fields {
		if text := f.text(); text != "" {
			all = append(all, f.name+": "+text)
		}
	}
	return "{" + list(all) + "}"
}

func (f field) text() string {
	if f.write == nil {
		return ""
	}
	return f.write.text()
}

// byPriority are the fields of a mapping from priorities, for writing. Nil is left out.
func byPriority[T any](all *[8]T, write func(*T) writer) (fields []field) {
	for priority := range all {
		fields = append(fields, field{fmt.Sprint(priority), nil, write(&all[priority])})
	}
	return fields
}

// Quote leaves a plain word as it is, unless YAML reads the word as another type.
func Quote(text string) string {
	plain := identifier(text, 64) && text[0] > '9'
	switch strings.ToLower(text) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		plain = false
	}
	if plain {
		return text
	}
	return strconv.Quote(text)
}

func list(entries []string) string { return strings.Join(entries, ", ") }
