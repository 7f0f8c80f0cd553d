package config

import (
	"fmt"
	"slices"
	"strings"
)

// maxErrors bounds how many faults are shown at once.
const maxErrors = 20

// Error is one fault of a configuration.
type Error struct {
	File string
	Line int    // from 1
	Key  string // path, such as ports.p1.speed; empty for the file as a whole
	Text string // the value, what is wrong with it, and what to do
}

// Error returns "file:line: key: text".
func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Key, e.Text)
}

// Errors are the faults of one configuration, in the order of the file.
type Errors struct {
	List []*Error // at most 20
	More int      // found beyond those
}

// Error returns one fault a line.
func (e *Errors) Error() string {
	var lines []string
	for _, fault := range e.List {
		lines = append(lines, fault.Error())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the single faults.
func (e *Errors) Unwrap() []error {
	faults := make([]error, len(e.List))
	for i, fault := range e.List {
		faults[i] = fault
	}
	return faults
}

func newErrors(faults []*Error) *Errors {
	slices.SortStableFunc(faults, func(a, b *Error) int { return a.Line - b.Line })
	shown := faults[:min(len(faults), maxErrors)]
	return &Errors{List: shown, More: len(faults) - len(shown)}
}

// Warning is something legal that is probably not meant, or, as a note, a useful number.
type Warning struct {
	Error
	Note bool
}

// String returns "file:line: key: text".
func (w Warning) String() string { return w.Error.Error() }

// source knows the line of each key.
type source struct {
	file  string
	lines map[string]int
}

// line is the line of the key or, if the key is not in the file, of the nearest key above.
func (s source) line(key string) int {
	for {
		if line, ok := s.lines[key]; ok {
			return line
		}
		cut := strings.LastIndexAny(key, ".[")
		if cut < 0 {
			return 1
		}
		key = key[:cut]
	}
}

// Errorf is a fault of a key that is found when the configuration or the lab is put to use, such as an interface that
// another program has. The text says what is wrong and what to do.
func (s source) Errorf(key, format string, args ...any) *Error {
	return &Error{File: s.file, Line: s.line(key), Key: key, Text: fmt.Sprintf(format, args...)}
}

// nearest returns the candidate that text was probably meant to be, or "".
func nearest(text string, candidates []string) string {
	best, least := "", 3 // two slips at most
	if len(text) <= 3 {
		least = 2
	}
	for _, candidate := range candidates {
		if d := distance(text, candidate, least); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the Damerau-Levenshtein distance with adjacent transpositions, at most limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitute := last[j-1]
			if a[i-1] != b[j-1] {
				substitute++
			}
			row[j] = min(substitute, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}
