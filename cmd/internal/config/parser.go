package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A parser reads and writes one kind of single values, and describes them for the schema. The error of read continues a
// sentence that begins with the value: what is wrong, a colon, what to do.
type parser[T any] struct {
	read  func(text string) (T, error)
	write func(T) string   // what read understands
	forms func() []*Schema // any one of them
}

// written returns a parser that writes in another way.
func (p parser[T]) written(write func(T) string) parser[T] {
	p.write = write
	return p
}

// Regular expressions of quantities. RE2 and the dialect of JSON Schema read them alike.
const (
	decimal     = `[0-9]+(\.[0-9]+)?`
	sizeForm    = `^` + decimal + `(KiB|MiB|GiB|kB|KB|MB|GB|B)?$`
	rateForm    = `^` + decimal + `[KMGT]?$`
	timeForm    = `^(` + decimal + `(ms|us|µs|ns|s)|0)$`
	lengthForm  = `^(` + decimal + `k?m|0)$`
	percentForm = `^` + decimal + `%$`
	timesForm   = `^` + decimal + `x$`
	octetForm   = `[0-9A-Fa-f]{2}`
	priorities8 = `^[0-7]$`
	dscpForm    = `^([0-9]|[1-5][0-9]|6[0-3])$`
	nameForm    = `^[A-Za-z0-9][A-Za-z0-9._-]*$`
)

// nameRule describes the names of ports, links, nodes and trunks.
const nameRule = "use 1 to 32 letters, digits, '.', '_' or '-', a letter or digit first"

// pattern describes text of a form; about may give a range.
func pattern(form, about string) *Schema {
	return &Schema{Type: "string", Pattern: form, Description: about}
}

// whole describes a whole number in a range.
func whole[T ~int | ~int64](least, most T) *Schema {
	return &Schema{Type: "integer", Minimum: new(float64(least)), Maximum: new(float64(most))}
}

// words describes a choice of words. A word that YAML reads as a number may also be written as one.
func words(all []string) *Schema {
	s := &Schema{}
	for _, word := range all {
		s.Enum = append(s.Enum, word)
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			s.Enum = append(s.Enum, n)
		}
	}
	return s
}

// simple makes a parser with a single complaint about bad values, and a single form.
func simple[T any](form *Schema, complaint string, write func(T) string, read func(string) (T, bool)) parser[T] {
	return parser[T]{func(text string) (T, error) {
		if v, ok := read(text); ok {
			return v, nil
		}
		return *new(T), errors.New(complaint)
	}, write, func() []*Schema { return []*Schema{form} }}
}

// textual reads text that good accepts. The regular expression form describes it.
func textual(form, complaint string, good func(string) bool) parser[string] {
	return simple(pattern(form, ""), complaint, Quote, func(text string) (string, bool) { return text, good(text) })
}

// float reads a number that good accepts.
func float(form *Schema, complaint string, good func(float64) bool) parser[float64] {
	return simple(form, complaint, formatNumber, func(text string) (float64, bool) {
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil && good(n)
	})
}

// number reads a whole number in a closed range; what names it in errors.
func number[T ~int | ~int64 | ~uint8 | ~uint16](what string, least, most int64) parser[T] {
	return parser[T]{func(text string) (T, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("is no %s: write a number from %d to %d", what, least, most)
		}
		return T(n), nil
	}, plainly[T], func() []*Schema { return []*Schema{whole(least, most)} }}
}

// hex reads a number of 16 bits, of which known names the values that belong to others.
func hex(form *Schema, complaint string, least uint64, known func(uint64) bool, other string) parser[uint16] {
	return parser[uint16]{func(text string) (uint16, error) {
		n, err := strconv.ParseUint(text, 0, 16)
		switch {
		case err != nil || n < least:
			return 0, errors.New(complaint)
		case known(n):
			return 0, errors.New(other)
		}
		return uint16(n), nil
	}, func(n uint16) string { return fmt.Sprintf("0x%04X", n) }, func() []*Schema { return []*Schema{form} }}
}

// oneOf reads one of several words, or of several values by their names.
func oneOf[T comparable](all ...T) parser[T] {
	return namedBy(func() []string {
		names := make([]string, len(all))
		for i, one := range all {
			names[i] = fmt.Sprint(one)
		}
		return names
	}, all)
}

// named is oneOf for values that do not know their names.
func named[T comparable](names []string, all ...T) parser[T] {
	return namedBy(func() []string { return names }, all)
}

// namedBy is named for names that are asked for once a value is read or written.
func namedBy[T comparable](named func() []string, all []T) parser[T] {
	return parser[T]{func(text string) (T, error) {
		names := named()
		if i := slices.Index(names, text); i >= 0 {
			return all[i], nil
		}
		if meant := nearest(text, names); meant != "" {
			return *new(T), fmt.Errorf("is unknown: did you mean %s?", meant)
		}
		choice := strings.Join(names[:len(names)-1], ", ") + " or "
		return *new(T), fmt.Errorf("is unknown: write %s%s", strings.TrimPrefix(choice, " or "), names[len(names)-1])
	}, func(v T) string { return named()[slices.Index(all, v)] },
		func() []*Schema { return []*Schema{words(named())} }}
}

// or adds to a parser's errors the words that its key accepts instead.
func or[T any](p parser[T], words ...string) parser[T] {
	read := p.read
	p.read = func(text string) (T, error) {
		parsed, err := read(text)
		if err != nil {
			err = fmt.Errorf("%w, or %s", err, strings.Join(words, ", or "))
		}
		return parsed, err
	}
	return p
}

// orWord also reads and writes a word, which stands for one value.
func orWord[T comparable](p parser[T], word string, meaning T) parser[T] {
	return withWord(or(p, word), word, meaning, func() []*Schema {
		return append([]*Schema{{Enum: []any{word}}}, p.forms()...)
	})
}

// orOff also reads and writes off, which stands for the empty text. The form and the complaint of p name it already.
func orOff(p parser[string]) parser[string] { return withWord(p, "off", "", p.forms) }

func withWord[T comparable](p parser[T], word string, meaning T, forms func() []*Schema) parser[T] {
	return parser[T]{func(text string) (T, error) {
		if text == word {
			return meaning, nil
		}
		return p.read(text)
	}, func(v T) string {
		if v == meaning {
			return word
		}
		return p.write(v)
	}, forms}
}

func plainly[T any](v T) string { return fmt.Sprint(v) }
