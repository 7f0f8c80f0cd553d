package config

import (
	"strconv"
	"time"
)

// A parser reads a kind of single values, and says what they look like.
//
// The error of read continues the sentence that begins with the value: what is wrong, a colon, what to do.
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

// nameRule says what such a name is, of a port, link, node or trunk.
const nameRule = "use 1 to 32 letters, digits, '.', '_' or '-', a letter or digit first"

// pattern is text of a form, which a range may follow.
func pattern(form, about string) *Schema {
	return &Schema{Type: "string", Pattern: form, Description: about}
}

// whole is a whole number in a range.
func whole[T ~int | ~int64](least, most T) *Schema {
	return &Schema{Type: "integer", Minimum: new(float64(least)), Maximum: new(float64(most))}
}

// between is a number in a range, both ends included.
func between(least, most float64) *Schema {
	return &Schema{Type: "number", Minimum: &least, Maximum: &most}
}

// above is a number above the least, up to the most.
func above(least, most float64) *Schema {
	return &Schema{Type: "number", ExclusiveMinimum: &least, Maximum: &most}
}

// words are some words. One that YAML takes for a number may stand as such.
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

// matching reads text that a function checks and whose form a regular expression tells.
func matching[T any](form string, read func(string) (T, error)) parser[T] {
	return parser[T]{read, func() []*Schema { return []*Schema{pattern(form, "")} }}
}

// numbers reads numbers that a function checks.
func numbers[T any](form *Schema, read func(string) (T, error)) parser[T] {
	return parser[T]{read, func() []*Schema { return []*Schema{form} }}
}
