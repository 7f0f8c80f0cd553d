package demo

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
)

// busy is a machine that withheld 12 % of a phase's time.
var busy = shortage{runQueueDelay: 0.10, waitingProcess: "s1", behind: 0.02, slowestSender: "h2"}

// checks add to a report.
type checks []func(*Report)

func lost(r *Report)  { r.Hard("a", TopicLoss, "lost", "0", "1", false) }
func whole(r *Report) { r.Hard("a", TopicLoss, "lost", "0", "0", true) }

func leftovers(err error) func(*Report) { return func(r *Report) { r.checkLeftovers("a", err) } }

func rate(got string, miss float64, s shortage) func(*Report) {
	return func(r *Report) { r.soft("a", TopicRate, "rate", "95 %", got, miss, s) }
}

func control(got string, shown, overloaded bool) func(*Report) {
	return func(r *Report) { r.control("c1", "frames lost", "more than 0", got, shown, overloaded) }
}

// What ends a demo early excuses nothing that was found before, and is no verdict where nothing was.
func TestFinish(t *testing.T) {
	refused, stopped := errors.New("no namespaces"), errors.New("interrupted")
	crashed := fmt.Errorf("phase a: %w", &programError{"a", errors.New("panic")})
	for _, tt := range []struct {
		name     string
		add      checks
		err      error
		none     bool // no report
		pass     bool
		failed   bool
		couldNot string
	}{
		{"the end", checks{whole}, nil, false, true, false, ""},
		{"nothing was looked at", nil, refused, true, false, false, ""},
		{"only that nothing is left", checks{leftovers(nil)}, refused, true, false, false, ""},
		{"something is left", checks{leftovers(stopped)}, refused, false, false, true, "no namespaces"},
		{"interrupted after a loss", checks{lost}, stopped, false, false, true, "interrupted"},
		{"interrupted", checks{whole}, stopped, false, false, false, "interrupted"},
		{"a switch crashed at its start", nil, crashed, false, false, true, ""},
	} {
		r := &Report{}
		for _, add := range tt.add {
			add(r)
		}
		got, err := r.finish(tt.err)
		if tt.none {
			assert.True(t, got == nil && err != nil, "%s: %+v, %v, want an error", tt.name, got, err)
			continue
		}
		assert.True(t, err == nil && got.Pass == tt.pass && got.Failed() == tt.failed && got.CouldNotRun == tt.couldNot,
			"%s: %+v, %v, want %+v", tt.name, got, err, tt)
	}
}

// A hard check is judged whatever the machine was, a soft one where the machine offered what it asks for.
func TestVerdict(t *testing.T) {
	open := func(r *Report) { r.unjudged("b", TopicRate, "other", "1", "2", "it takes more") }
	broken := func(r *Report) { r.addFailure("a", errors.New("switch s1 ended")) }
	for _, tt := range []struct {
		name string
		add  checks
		word string // of the last line
		pass bool
		open int
	}{
		{"all pass", checks{whole}, "PASS (1 checks, 0 failed)", true, 0},
		{"nothing was looked at", nil, "FAIL (0 checks, 0 failed)", false, 0},
		{"a frame is lost on a busy machine", checks{lost, rate("90 %", 0.05, busy)},
			"FAIL (2 checks, 1 failed, 1 not judged: (a) s1 waited", false, 1},
		{"a rate is missed by what the machine withheld", checks{rate("83 %", 0.12, busy)},
			"PASS (1 checks, 0 failed, 1 not judged: (a) s1 waited for a CPU for 10.0 % of the load, h2 could not " +
				"offer 2.0 % of its frames)", true, 1},
		{"a rate is missed by more", checks{rate("82 %", 0.13, busy)}, "FAIL (1 checks, 1 failed)", false, 0},
		{"a rate is missed on a quiet machine", checks{rate("94 %", 0.01, shortage{})}, "FAIL (1 checks, 1 failed)",
			false, 0},
		{"a rate holds on a busy machine", checks{rate("96 %", -0.01, busy)}, "PASS (1 checks, 0 failed)", true, 0},
		{"two are not judged", checks{rate("90 %", 0.05, busy), open},
			"PASS (2 checks, 0 failed, 2 not judged: (a) s1 waited", true, 2},
		{"a control that shows nothing, without a load", checks{whole, control("0", false, false)},
			"COULD NOT RUN: phase c1: frames lost: 0 (wanted: more than 0). Its load was too small", false, 0},
		{"a control that shows nothing under a load", checks{control("0", false, true)}, "FAIL (1 checks, 1 failed)",
			false, 0},
		{"a control that shows what it has to", checks{control("7", true, false)}, "PASS (1 checks, 0 failed)", true,
			0},
		{"a loss, and a control without a load", checks{lost, control("0", false, false)}, "FAIL (1 checks, 1 failed)",
			false, 0},
		{"a process broke", checks{broken}, "FAIL (1 checks, 1 failed)", false, 0},
		{"nothing is left behind", checks{leftovers(nil)}, "PASS (1 checks, 0 failed)", true, 0},
		{"a namespace is left behind", checks{leftovers(errors.New("namespace x is still there"))},
			"FAIL (1 checks, 1 failed)", false, 0},
	} {
		r := &Report{}
		for _, add := range tt.add {
			add(r)
		}
		r.Judge()
		var out strings.Builder
		assert.Must(t, r.Text(&out))
		text := out.String()
		last := text[strings.LastIndex(text[:len(text)-1], "\n")+1:]
		assert.True(t, r.Pass == tt.pass && strings.HasPrefix(last, tt.word),
			"%s: pass %v, want %v; it ends with %q, want %q", tt.name, r.Pass, tt.pass, last, tt.word)
		n := strings.Count(text, "\nnot judged (") + strings.Count(text[:min(len(text), 11)], "not judged")
		assert.True(t, n == tt.open, "%s: %d checks are said not to be judged, want %d:\n%s", tt.name, n, tt.open, text)
	}
}

// What a switch discarded of lossless priorities stands beside its lossless drops.
func TestDiscardedText(t *testing.T) {
	for discarded, want := range map[uint64]string{0: "s1: lossless drops 0, PFC frames sent 7,",
		5: "s1: lossless drops 0, discarded on purpose 5, PFC frames sent 7,"} {
		r := &Report{Phases: []PhaseResult{{Phase: "a"}},
			Switches: []SwitchResult{{Phase: "a", Name: "s1", Discarded: discarded, PFCSent: 7}}}
		var out strings.Builder
		assert.Must(t, r.Text(&out))
		assert.Contains(t, out.String(), want, "text")
	}
}
