package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// wantPlaced fails unless every fault names a line and says what is wrong.
func wantPlaced(t testing.TB, err error) {
	t.Helper()
	var faults *Errors
	assert.MustBeTrue(t, errors.As(err, &faults) && len(faults.List) != 0,
		"want *Errors with at least one fault, got %T: %v", err, err)
	for _, fault := range faults.List {
		assert.True(t, fault.Line >= 1 && fault.File != "" && fault.Text != "", "fault without a place or a text: %+v",
			*fault)
	}
}

// wantFault parses a text whose first fault is on a line (0: any) and of a key ("": any), and says want.
func wantFault(t *testing.T, text string, line int, key, want string) {
	t.Helper()
	_, _, err := Parse("test.yaml", []byte(text))
	var fault *Error
	assert.True(t, errors.As(err, &fault) && (line == 0 || fault.Line == line) && (key == "" || fault.Key == key) &&
		strings.Contains(fault.Text, want), "got %v\nwant line %d, key %q, %q", err, line, key, want)
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
	assert.MustBeTrue(t, errors.As(err, &faults), "want *Errors, got %v", err)
	assert.Equal(t, len(faults.List), 20, "faults shown")
	assert.Equal(t, faults.More, 6, "faults not shown")
	for i, fault := range faults.List {
		assert.Equal(t, fault.Line, i+2, "fault %d: line", i)
	}
	assert.True(t, strings.HasSuffix(err.Error(), "\n… and 6 more"),
		"the text does not say how many are left out: %q", err)
	var single *Error
	assert.True(t, errors.As(err, &single) && single.Key == "ports.p0.speed",
		"errors.As finds\n got %v\nwant the first fault", single)
}

// A fault of a key that is not in the file has the line of the nearest key above.
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
		assert.Equal(t, c.Errorf(tt.key, "wrong").Line, tt.want, "%q: line", tt.key)
	}
	assert.Equal(t, c.Errorf("ports.p1.mtu", "%d is odd: write even", 3).Error(),
		"test.yaml:4: ports.p1.mtu: 3 is odd: write even", "Errorf")
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
		assert.Equal(t, nearest(tt.text, keys), tt.want, "nearest(%q)", tt.text)
	}
	assert.Equal(t, nearest("anything", nil), "", "nearest of nothing")
}

// At 1G the pause time of 65535 quanta is 33.55 ms, at 100G it is 335.5 µs.
func TestPauseTimeAgainstTheMachine(t *testing.T) {
	const (
		gap    = "may not run the switch"
		repeat = "XOFF would have to be repeated"
		late   = "no longer than the four wake-ups"
	)
	tests := []struct {
		name, port, pause string
		machine           Machine
		want              string // empty: no warning
	}{
		{"quiet machine", "speed: 1G", "65535", Machine{}, ""},
		{"gap below half", "speed: 1G", "65535", Machine{WakeGap: 16 * time.Millisecond}, ""},
		{"gap above half", "speed: 1G", "65535", Machine{WakeGap: 17 * time.Millisecond}, gap},
		{"half below 200us", "speed: 100G", "65535", Machine{}, repeat},
		{"half above 200us", "speed: 50G", "65535", Machine{}, ""},
		{"less four wake-up delays, below 200us", "speed: 1G", "65535", Machine{WakeDelay: 8340 * time.Microsecond},
			repeat},
		{"less four wake-up delays, above 200us", "speed: 1G", "65535", Machine{WakeDelay: 8330 * time.Microsecond},
			""},
		{"less than four wake-up delays", "speed: 1G", "65535", Machine{WakeDelay: 9 * time.Millisecond}, late},
		{"gap and delay: one warning", "speed: 1G", "65535", Machine{WakeGap: 17 * time.Millisecond,
			WakeDelay: 9 * time.Millisecond}, gap},
		{"no flow control", "speed: 100G, flow_control: off", "65535", Machine{WakeGap: time.Second}, ""},
		{"PAUSE", "speed: 100G, flow_control: pause", "65535", Machine{}, repeat},
		{"no speed counts as 10G", "speed: none", "1000", Machine{}, repeat},
		{"remaining", "speed: 100G", "remaining", Machine{WakeGap: time.Second}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := mustParse(t, "priorities: {lossless: [3]}\npause: {quanta: "+tt.pause+"}\nports: {p1: {"+tt.port+"}}")
			var got []string
			for _, w := range c.Check(tt.machine) {
				if !w.Note && w.Key != "priorities.lossless" {
					got = append(got, w.Text)
				}
			}
			raise := strings.Contains(strings.Join(got, ""), "raise quanta")
			assert.True(t, !raise || tt.pause != "65535", "got %q, though quanta are the most that there are", got)
			switch {
			case tt.want == "" && len(got) > 0:
				t.Errorf("got %q\nwant no warning", got)
			case tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)):
				t.Errorf("got %q\nwant one with %q", got, tt.want)
			}
		})
	}
}

// Check says everything that Warnings says. RingSpans are those of ports that can lose.
func TestCheckContainsWarnings(t *testing.T) {
	c := mustParse(t, "preset: roce\nports: {p1: {speed: none}, p2: {speed: 10G, flow_control: off}, "+
		"p3: {speed: 10G, flow_control: pause}}")
	warnings, all := c.Warnings(), c.Check(Machine{})
	assert.MustBeTrue(t, len(warnings) == 1, "warnings\n got %v\nwant one, about the missing speed", warnings)
	assert.Equal(t, all[0], warnings[0], "Check begins with")
	var rings []string
	for _, s := range c.RingSpans() {
		rings = append(rings, s.Port)
	}
	assert.Equal(t, strings.Join(rings, " "), "p1 p3", "rings")
}

func TestPauseMakesAPortLossless(t *testing.T) {
	c := mustParse(t, "ports: {p1: {flow_control: pause}}")
	assert.Equal(t, len(c.Warnings()), 0, "warnings of a PAUSE port without lossless priorities: %v", c.Warnings())
	assert.True(t, c.Ports[0].Queues[0].Lossless, "the port's one queue is not lossless")
}
