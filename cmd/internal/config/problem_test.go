package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// wantPlaced fails unless every fault names a line and says what is wrong.
func wantPlaced(t *testing.T, err error) {
	t.Helper()
	var faults *Errors
	if !errors.As(err, &faults) || len(faults.List) == 0 {
		t.Fatalf("want *Errors with at least one fault, got %T: %v", err, err)
	}
	for _, fault := range faults.List {
		if fault.Line < 1 || fault.File == "" || fault.Text == "" {
			t.Errorf("fault without a place or a text: %+v", *fault)
		}
	}
}

func TestErrorsAreShownInOrderAndBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("ports:\n")
	for i := range 25 {
		fmt.Fprintf(&b, "  p%d: {speed: fast}\n", i)
	}
	b.WriteString("nonsense: 1\n")
	_, _, err := Parse("many.yaml", []byte(b.String()))
	var faults *Errors
	if !errors.As(err, &faults) {
		t.Fatalf("want *Errors, got %v", err)
	}
	if got, want := len(faults.List), 20; got != want {
		t.Errorf("faults shown\n got %d\nwant %d", got, want)
	}
	if got, want := faults.More, 6; got != want {
		t.Errorf("faults not shown\n got %d\nwant %d", got, want)
	}
	for i, fault := range faults.List {
		if got, want := fault.Line, i+2; got != want {
			t.Errorf("fault %d: line\n got %d\nwant %d", i, got, want)
		}
	}
	if !strings.HasSuffix(err.Error(), "\n… and 6 more") {
		t.Errorf("the text does not say how many are left out: %q", err)
	}
	var single *Error
	if !errors.As(err, &single) || single.Key != "ports.p0.speed" {
		t.Errorf("errors.As finds\n got %v\nwant the first fault", single)
	}
}

// A fault that shows later, or of a key that was not written, is placed at what was written.
func TestErrorfFindsTheNearestLine(t *testing.T) {
	c := mustParse(t, "name: x\nports:\n  p1:\n    mtu: 1500\nfdb:\n  - {mac: \"02:00:00:00:00:01\",\n     port: p1}\n")
	tests := []struct {
		key  string
		want int
	}{
		{"name", 1},
		{"ports.p1.mtu", 4},
		{"ports.p1.interface", 3},
		{"ports.p2", 2},
		{"fdb[0].port", 7},
		{"fdb[0].vlan", 6},
		{"fdb[1]", 5},
		{"buffer.lossless.size", 1},
		{"", 1},
	}
	for _, tt := range tests {
		if got := c.Errorf(tt.key, "wrong").Line; got != tt.want {
			t.Errorf("%q: line\n got %d\nwant %d", tt.key, got, tt.want)
		}
	}
	if got, want := c.Errorf("ports.p1.mtu", "%d is odd: write even", 3).Error(), "test.yaml:4: ports.p1.mtu: 3 is odd: write even"; got != want {
		t.Errorf("Errorf\n got %q\nwant %q", got, want)
	}
}

func TestNearest(t *testing.T) {
	keys := []string{"speed", "burst", "mtu", "k", "loop"}
	tests := []struct{ text, want string }{
		{"spede", "speed"}, // transposition
		{"sped", "speed"},  // omission
		{"speeed", "speed"},
		{"bvrsr", "burst"},
		{"mtus", "mtu"},
		{"mut", "mtu"},
		{"pool", "loop"}, // two slips
		{"velocity", ""},
		{"xyz", ""},
		{"", "k"}, // one slip away
	}
	for _, tt := range tests {
		if got := nearest(tt.text, keys); got != tt.want {
			t.Errorf("nearest(%q)\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
	if got := nearest("anything", nil); got != "" {
		t.Errorf("nearest of nothing\n got %q\nwant none", got)
	}
}
