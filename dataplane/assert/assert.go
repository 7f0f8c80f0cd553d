// Package assert says in one line what a test expects. Tests of every layer use it.
package assert

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// TB is a test, a benchmark, or a property under test.
type TB interface {
	Helper()                           // leaves its caller out of the line that a message names
	Errorf(format string, args ...any) // the test has failed, and goes on
	Fatalf(format string, args ...any) // the test has failed, and ends
}

// Equal reports a value that is not the wanted one, and lets the test go on. The format says what the value is,
// or what is wrong where it is another one.
func Equal[T comparable](tb TB, got, want T, format string, args ...any) {
	if got != want { // only now, since finding out who calls takes long
		tb.Helper()
		tb.Errorf("%s", differ(got, want, fmt.Sprintf(format, args...)))
	}
}

// MustEqual is Equal, but a value that is not the wanted one ends the test.
func MustEqual[T comparable](tb TB, got, want T, format string, args ...any) {
	if got != want {
		tb.Helper()
		tb.Fatalf("%s", differ(got, want, fmt.Sprintf(format, args...)))
	}
}

// True reports what does not hold, and lets the test go on. The format says what is wrong then, and its arguments are
// there also where all is well.
func True(tb TB, holds bool, format string, args ...any) {
	if !holds {
		tb.Helper()
		tb.Errorf(format, args...)
	}
}

// MustBeTrue is True, but what does not hold ends the test.
func MustBeTrue(tb TB, holds bool, format string, args ...any) {
	if !holds {
		tb.Helper()
		tb.Fatalf(format, args...)
	}
}

// Same reports a slice that has not the wanted elements in their order, and lets the test go on.
func Same[S ~[]E, E comparable](tb TB, got, want S, format string, args ...any) {
	if !slices.Equal(got, want) {
		tb.Helper()
		tb.Errorf("%s", differ(got, want, fmt.Sprintf(format, args...)))
	}
}

// MustBeSame is Same, but a slice that has not the wanted elements ends the test.
func MustBeSame[S ~[]E, E comparable](tb TB, got, want S, format string, args ...any) {
	if !slices.Equal(got, want) {
		tb.Helper()
		tb.Fatalf("%s", differ(got, want, fmt.Sprintf(format, args...)))
	}
}

// Contains reports a text without the wanted part, and lets the test go on.
func Contains(tb TB, got, part, format string, args ...any) {
	if !strings.Contains(got, part) {
		tb.Helper()
		tb.Errorf("%s\n got %s\nwant %q in it", fmt.Sprintf(format, args...), got, part)
	}
}

// Fails reports an error that does not say the wanted part, or that there is none, and lets the test go on.
func Fails(tb TB, err error, part, format string, args ...any) {
	if err == nil || !strings.Contains(err.Error(), part) {
		tb.Helper()
		tb.Errorf("%s\n got %v\nwant %q in it", fmt.Sprintf(format, args...), err, part)
	}
}

// Must ends the test if there is an error.
func Must(tb TB, err error) {
	if err != nil {
		tb.Helper()
		tb.Fatalf("%v", err)
	}
}

// Got is what a call has returned, for Must.
func Got[T any](value T, err error) Result[T] { return Result[T]{value, err} }

// A Result is a value, or an error.
type Result[T any] struct {
	value T
	err   error
}

// Must returns the value. An error ends the test.
func (r Result[T]) Must(tb TB) T {
	tb.Helper()
	Must(tb, r.err)
	return r.value
}

// NoError reports an error, and lets the test go on. The format says what has failed.
func NoError(tb TB, err error, format string, args ...any) {
	if err != nil {
		tb.Helper()
		tb.Errorf("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

// MustNoError is NoError, but an error ends the test.
func MustNoError(tb TB, err error, format string, args ...any) {
	if err != nil {
		tb.Helper()
		tb.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

// Hex returns the octets of hexadecimal digits. Spaces between them do not count.
func Hex(tb TB, digits ...string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(strings.Join(digits, ""), " ", ""))
	Must(tb, err)
	return b
}

// differ shows both values on lines of their own, so that they stand below each other.
func differ(got, want any, what string) string {
	verb := "%+v"
	switch text := got.(type) {
	case string:
		if verb = "%q"; strings.Contains(text, "\n") {
			verb = "\n%s"
		}
	case []string:
		verb = "%q"
	case []byte:
		verb = "%x"
	case uint8: // perhaps a set of priorities
		verb = "%[1]d (%08[1]b)"
	}
	return what + "\n got " + fmt.Sprintf(verb, got) + "\nwant " + fmt.Sprintf(verb, want)
}
