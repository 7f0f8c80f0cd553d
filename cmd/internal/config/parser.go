package config

import (
	"strconv"
	"time"
)

// A parser reads one kind of single values, and describes them for the schema. The error of read continues a sentence
// that begins with the value: what is wrong, a colon, what to do.
type parser[T any] struct {
	read  func(text string) (T, error)
	forms func() []*Schema // any one of them
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

// between describes a number in a closed range.
func between(least, most float64) *Schema {
	return &Schema{Type: "number", Minimum: &least, Maximum: &most}
}

// above describes a number above least and up to most.
func above(least, most float64) *Schema {
	return &Schema{Type: "number", ExclusiveMinimum: &least, Maximum: &most}
}

// words describes a choice of words. A word that YAML reads as a number may also be written as one.
func words[T ~string](all ...T) *Schema {
	s := &Schema{}
	for _, word := range all {
		s.Enum = append(s.Enum, string(word))
		if n, err := strconv.ParseInt(string(word), 10, 64); err == nil {
			s.Enum = append(s.Enum, n)
		}
	}
	return s
}

func sizeForms(least, most int64) []*Schema {
	return []*Schema{pattern(sizeForm, "("+formatSize(least)+" to "+formatSize(most)+")"), whole(least, most)}
}

func rateForms(least int64) []*Schema {
	return []*Schema{pattern(rateForm, "("+formatRate(least)+" to "+formatRate(maxRate)+")"), whole(least, maxRate)}
}

func timeForms(least, most time.Duration) []*Schema {
	forms := []*Schema{pattern(timeForm, "("+formatTime(least)+" to "+formatTime(most)+")")}
	if least == 0 {
		forms = append(forms, &Schema{Enum: []any{0}})
	}
	return forms
}

// matching reads text with a function, and describes it by a regular expression.
func matching[T any](form string, read func(string) (T, error)) parser[T] {
	return parser[T]{read, func() []*Schema { return []*Schema{pattern(form, "")} }}
}

// numbers reads numbers with a function.
func numbers[T any](form *Schema, read func(string) (T, error)) parser[T] {
	return parser[T]{read, func() []*Schema { return []*Schema{form} }}
}
