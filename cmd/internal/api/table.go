package api

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

type table struct {
	right []bool // columns that are aligned to the right
	rows  [][]string
}

// newTable returns a table with a head. A name that begins with ">" makes a column of numbers, aligned to the right.
func newTable(names ...string) *table {
	t := &table{right: make([]bool, len(names)), rows: [][]string{make([]string, len(names))}}
	for i, name := range names {
		t.rows[0][i], t.right[i] = strings.CutPrefix(name, ">")
	}
	return t
}

// tableOf returns a table with what row adds of each element.
func tableOf[T any](list []T, row func(t *table, v *T), names ...string) *table {
	t := newTable(names...)
	for i := range list {
		row(t, &list[i])
	}
	return t
}

// row adds a line with a cell for each column.
func (t *table) row(values ...any) {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = cell(v)
	}
	t.rows = append(t.rows, cells)
}

// ns is a time in a cell.
type ns int64

// cell writes a value: numbers with thousands separators, times as durations, missing values as "-".
func cell(v any) string {
	switch v := v.(type) {
	case *string:
		return optionalText(v)
	case int:
		return count(v)
	case int64:
		return count(v)
	case uint64:
		return count(v)
	case *int64:
		return optional(v, count)
	case ns:
		return duration(int64(v))
	}
	return fmt.Sprint(v)
}

// String returns the lines without trailing blanks.
func (t *table) String() string {
	width := make([]int, len(t.right))
	for _, row := range t.rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var s strings.Builder
	for _, row := range t.rows {
		line := ""
		for i, cell := range row {
			if t.right[i] {
				line += fmt.Sprintf("%*s  ", width[i], cell)
			} else {
				line += fmt.Sprintf("%-*s  ", width[i], cell)
			}
		}
		s.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return s.String()
}

// sections joins the parts of an answer with empty lines. Empty tables are left out with their titles.
func sections(headline string, parts ...section) string {
	s := headline
	for _, p := range parts {
		if len(p.table.rows) == 1 { // the head
			continue
		}
		s += "\n"
		if p.title != "" {
			s += p.title + "\n"
		}
		s += p.table.String()
	}
	return s
}

// A section is a table with an optional line above it.
type section struct {
	title string
	table *table
}

// either returns the word for what holds, or the one for what does not.
func either(holds bool, yes, no string) string {
	if holds {
		return yes
	}
	return no
}

// none stands in a table for what does not exist.
const none = "-"

// count writes a number with thousands separators.
func count[T int | int64 | uint64](n T) string {
	digits, sign := strconv.FormatInt(int64(n), 10), ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// optional writes a value that may be missing.
func optional[T any](v *T, write func(T) string) string {
	if v == nil {
		return none
	}
	return write(*v)
}

// optionalText writes a text that may be missing.
func optionalText(s *string) string { return textOr(s, none) }

func textOr(s *string, none string) string {
	if s == nil || *s == "" {
		return none
	}
	return *s
}

var units = []struct {
	name string
	size int64
}{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}}

// Rate writes bit/s as the configuration does.
func Rate(bits int64) string {
	for _, unit := range units {
		if bits >= unit.size && bits*1000/unit.size*unit.size == bits*1000 {
			return strconv.FormatFloat(float64(bits)/float64(unit.size), 'f', -1, 64) + unit.name
		}
	}
	return strconv.FormatInt(bits, 10)
}

// duration writes ns with four significant digits.
func duration(ns int64) string {
	if ns == 0 {
		return "0"
	}
	digits := int(math.Log10(math.Abs(float64(ns)))) + 1
	return time.Duration(ns).Round(time.Duration(math.Pow10(max(0, digits-4)))).String()
}

// clock writes ns as days, hours, minutes and seconds.
func clock(ns int64) string {
	seconds := ns / int64(time.Second)
	hms := fmt.Sprintf("%02d:%02d:%02d", seconds/3600%24, seconds/60%60, seconds%60)
	if days := seconds / 86400; days > 0 {
		return fmt.Sprintf("%dd %s", days, hms)
	}
	return hms
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) }

// Scaled writes a number with two decimals and the unit's prefix, one below 1000 without either.
func Scaled(x float64) string {
	for _, unit := range units[1:] {
		if x >= float64(unit.size) {
			return strconv.FormatFloat(x/float64(unit.size), 'f', 2, 64) + unit.name
		}
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// Bytes writes a number of bytes, from 10 KiB on with one decimal, as the page does.
func Bytes(n int64) string {
	switch {
	case n < 10<<10:
		return count(n) + " B"
	case n < 10<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// Tenths writes a rate with one decimal, or without decimals from 100 on.
func Tenths(x float64) string {
	if x >= 100 {
		return count(int64(math.Round(x)))
	}
	return strconv.FormatFloat(x, 'f', 1, 64)
}
