package demo

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// busy is a machine that withheld 12 % of a phase's time.
var busy = shortage{runQueueDelay: 0.10, waitingProcess: "s1", behind: 0.02, slowestSender: "h2"}

// What ends a demo early excuses nothing that was found before, and is no verdict where nothing was.
func TestEnd(t *testing.T) {
	lost := func(r *Report) { r.hard("a", TopicLoss, "lost", "0", "1", false) }
	whole := func(r *Report) { r.hard("a", TopicLoss, "lost", "0", "0", true) }
	for _, tt := range []struct {
		name     string
		add      func(r *Report)
		err      error
		none     bool // no report
		pass     bool
		failed   bool
		couldNot string
	}{
		{"the end", whole, nil, false, true, false, ""},
		{"nothing was looked at", func(*Report) {}, errors.New("no namespaces"), true, false, false, ""},
		{"only that nothing is left", func(r *Report) {
			r.checkLeftovers("a", nil)
		}, errors.New("no namespaces"), true, false, false, ""},
		{"something is left", func(r *Report) {
			r.checkLeftovers("a", errors.New("x"))
		}, errors.New("no namespaces"), false, false, true, "no namespaces"},
		{"interrupted after a loss", lost, errors.New("interrupted"), false, false, true, "interrupted"},
		{"interrupted", whole, errors.New("interrupted"), false, false, false, "interrupted"},
		{"a switch crashed at its start", func(*Report) {}, fmt.Errorf("act a: %w",
			&programError{"a", errors.New("panic")}), false, false, true, ""},
	} {
		r := &Report{}
		tt.add(r)
		got, err := r.finish(tt.err)
		if tt.none {
			if got != nil || err == nil {
				t.Errorf("%s: %+v, %v, want an error", tt.name, got, err)
			}
			continue
		}
		if err != nil || got.Pass != tt.pass || got.Failed() != tt.failed || got.CouldNotRun != tt.couldNot {
			t.Errorf("%s: %+v, %v, want %+v", tt.name, got, err, tt)
		}
	}
}

// A hard check is judged whatever the machine was, a soft one where the machine offered what it asks for.
func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name string
		add  func(r *Report)
		word string // of the last line
		pass bool
		open int
	}{
		{"all pass", func(r *Report) {
			r.hard("a", TopicLoss, "lost", "0", "0", true)
		}, "PASS (1 checks, 0 failed)", true, 0},
		{"nothing was looked at", func(*Report) {}, "FAIL (0 checks, 0 failed)", false, 0},
		{"a frame is lost on a busy machine", func(r *Report) {
			r.hard("a", TopicLoss, "lost", "0", "1", false)
			r.soft("a", TopicRate, "rate", "95 %", "90 %", 0.05, busy)
		}, "FAIL (2 checks, 1 failed, 1 not judged: (a) s1 waited", false, 1},
		{"a rate is missed by what the machine withheld", func(r *Report) {
			r.soft("a", TopicRate, "rate", "95 %", "83 %", 0.12, busy)
		},
			"PASS (1 checks, 0 failed, 1 not judged: (a) s1 waited for a CPU for 10.0 % of the load, h2 could not " +
				"offer 2.0 % of its frames)", true, 1},
		{"a rate is missed by more", func(r *Report) {
			r.soft("a", TopicRate, "rate", "95 %", "82 %", 0.13, busy)
		}, "FAIL (1 checks, 1 failed)", false, 0},
		{"a rate is missed on a quiet machine", func(r *Report) {
			r.soft("a", TopicRate, "rate", "95 %", "94 %", 0.01, shortage{})
		},
			"FAIL (1 checks, 1 failed)", false, 0},
		{"a rate holds on a busy machine", func(r *Report) {
			r.soft("a", TopicRate, "rate", "95 %", "96 %", -0.01, busy)
		}, "PASS (1 checks, 0 failed)", true, 0},
		{"two are not judged", func(r *Report) {
			r.soft("a", TopicRate, "rate", "95 %", "90 %", 0.05, busy)
			r.unjudged("b", TopicRate, "other", "1", "2", "it takes more")
		}, "PASS (2 checks, 0 failed, 2 not judged: (a) s1 waited", true, 2},
		{"a control that shows nothing, without a load", func(r *Report) {
			r.hard("a", TopicLoss, "lost", "0", "0", true)
			r.control("c1", "frames lost", "more than 0", "0", false, false)
		}, "COULD NOT RUN: act c1: frames lost: 0 (wanted: more than 0). Its load was too small", false, 0},
		{"a control that shows nothing under a load", func(r *Report) {
			r.control("c1", "frames lost", "more than 0", "0", false, true)
		}, "FAIL (1 checks, 1 failed)", false, 0},
		{"a control that shows what it has to", func(r *Report) {
			r.control("c1", "frames lost", "more than 0", "7", true, false)
		}, "PASS (1 checks, 0 failed)", true, 0},
		{"a loss, and a control without a load", func(r *Report) {
			r.hard("a", TopicLoss, "lost", "0", "1", false)
			r.control("c1", "frames lost", "more than 0", "0", false, false)
		}, "FAIL (1 checks, 1 failed)", false, 0},
		{"a process broke", func(r *Report) {
			r.addFailure("a", errors.New("switch s1 ended"))
		}, "FAIL (1 checks, 1 failed)", false, 0},
		{"nothing is left behind", func(r *Report) {
			r.checkLeftovers("a", nil)
		}, "PASS (1 checks, 0 failed)", true, 0},
		{"a namespace is left behind", func(r *Report) {
			r.checkLeftovers("a", errors.New("namespace x is still there"))
		}, "FAIL (1 checks, 1 failed)", false, 0},
	} {
		r := &Report{}
		tt.add(r)
		r.judge()
		var out strings.Builder
		if err := r.Text(&out); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if last := text[strings.LastIndex(text[:len(text)-1], "\n")+1:]; r.Pass != tt.pass ||
			!strings.HasPrefix(last, tt.word) {
			t.Errorf("%s: pass %v, want %v; it ends with %q, want %q", tt.name, r.Pass, tt.pass, last, tt.word)
		}
		if n := strings.Count(text, "\nnot judged (") + strings.Count(text[:min(len(text), 11)],
			"not judged"); n != tt.open {
			t.Errorf("%s: %d checks are said not to be judged, want %d:\n%s", tt.name, n, tt.open, text)
		}
	}
}
