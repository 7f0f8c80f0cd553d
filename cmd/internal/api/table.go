package api

import (
	"strings"
	"unicode/utf8"
)

// A table is text in columns.
type table struct {
	right []bool // columns that are aligned to the right
	rows  [][]string
}

// newTable returns a table with a head. A name that begins with ">" makes a column of numbers, aligned to the right.
func newTable(names ...string) *table {
	t := &table{right: make([]bool, len(names))}
	head := make([]string, len(names))
	for i, name := range names {
		head[i], t.right[i] = strings.CutPrefix(name, ">")
	}
	t.rows = [][]string{head}
	return t
}

// row adds a line with a cell for each column.
func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// empty tells whether the table has only its head.
func (t *table) empty() bool { return len(t.rows) == 1 }

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
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if t.right[i] {
				cell, pad = pad+cell, ""
			}
			line += cell + pad + "  "
		}
		s.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return s.String()
}

// sections joins the parts of an answer with empty lines. Empty tables are left out with their titles.
func sections(headline string, parts ...section) string {
	s := headline
	for _, p := range parts {
		if p.table.empty() {
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
