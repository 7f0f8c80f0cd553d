package demo

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
)

// A Check is one thing that had to hold. A hard one is judged in every run on every machine: loss, duplicates, order, who
// was paused, counters, what is left behind. A soft one is a rate, a share or a time, which a machine that is too slow
// spoils: where the machine fell short of what it asks for, it is not judged.
type Check struct {
	Act    string `json:"act"`
	Name   string `json:"name"`
	Kind   string `json:"kind"`  // hard or soft
	Topic  string `json:"topic"` // what it is about
	Want   string `json:"want"`
	Got    string `json:"got"`
	Pass   bool   `json:"pass"`
	Judged bool   `json:"judged"`
	Reason string `json:"reason"` // why it is not judged; empty where it is
}

// Kinds of checks.
const (
	Hard = "hard"
	Soft = "soft"
)

// Topics of checks.
const (
	TopicLoss     = "loss"
	TopicOrder    = "order"
	TopicPFC      = "pfc"
	TopicCounters = "counters"
	TopicControl  = "control"
	TopicRate     = "rate"
	TopicRun      = "run"
	TopicDeadlock = "deadlock"
	TopicMeasured = "measured" // a time by the kernel's stamps
	TopicLeft     = "leftovers"
)

func (c *Check) failed() bool { return c.Judged && !c.Pass }

// hard adds a check that is judged whatever the machine is.
func (r *Report) hard(act, topic, name, want, got string, pass bool) {
	r.Checks = append(r.Checks, Check{Act: act, Name: name, Kind: Hard, Topic: topic, Want: want, Got: got, Pass: pass, Judged: true})
}

// soft adds a check of a rate, a share or a time. miss is by how much its limit was missed, as a share of what the act
// asks of the machine; 0 or less where it holds. A miss that is no larger than what the machine withheld is not judged.
func (r *Report) soft(act, topic, name, want, got string, miss float64, s shortage) {
	c := Check{Act: act, Name: name, Kind: Soft, Topic: topic, Want: want, Got: got, Pass: miss <= 0, Judged: true}
	if !c.Pass && miss <= s.share() {
		c.Judged, c.Reason = false, s.String()
	}
	r.Checks = append(r.Checks, c)
}

// unjudged adds a soft check that this run cannot judge, and why.
func (r *Report) unjudged(act, topic, name, want, got, why string) {
	r.Checks = append(r.Checks, Check{Act: act, Name: name, Kind: Soft, Topic: topic, Want: want, Got: got, Reason: why})
}

// control adds what a control run has to show. Where its load was too small to show it, the demo proves nothing: it could
// not run.
func (r *Report) control(act, name, want, got string, shown, overloaded bool) {
	if !shown && !overloaded {
		if r.CouldNot == "" {
			r.CouldNot = fmt.Sprintf("act %s: %s: %s (wanted: %s). Its load was too small to show anything: choose another one (--speed, --seconds) or free the machine",
				act, name, got, want)
		}
		return
	}
	r.hard(act, TopicControl, name, want, got, shown)
}

// broke notes that processes of an act did not do what they had to once its load was on its way: that is a failure of
// the program.
func (r *Report) broke(act string, err error) {
	r.hard(act, TopicRun, "every process runs to the end", "yes", err.Error(), false)
}

// A fault is what a program did wrong in an act, as opposed to what keeps a demo from running.
type fault struct {
	act string
	error
}

// refused tells whether a process said that it cannot run here, for want of rights perhaps. Whatever else ends it is its fault.
func refused(err error) bool {
	var e *exec.ExitError
	return errors.As(err, &e) && e.ExitCode() == 1
}

// end judges the report. err is why it ends early, if it does: nothing excuses what was found before.
func (r *Report) end(err error) (*Report, error) {
	var f *fault
	switch {
	case errors.As(err, &f):
		r.broke(f.act, f.error)
	case err != nil && !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Topic != TopicLeft || c.failed() }):
		return nil, err
	case err != nil && r.CouldNot == "":
		r.CouldNot = err.Error()
	}
	r.judge()
	return r, nil
}

// left notes whether the act has left something behind.
func (r *Report) left(act string, err error) {
	got := "yes"
	if err != nil {
		got = err.Error()
	}
	r.hard(act, TopicLeft, "processes, links and namespaces are gone", "yes", got, err == nil)
}

// Failed tells whether a check has failed that could be judged.
func (r *Report) Failed() bool {
	for i := range r.Checks {
		if r.Checks[i].failed() {
			return true
		}
	}
	return false
}

// judge sets Pass: no check has failed, some have passed, and the control runs have shown what they had to.
func (r *Report) judge() { r.Pass = len(r.Checks) > 0 && !r.Failed() && r.CouldNot == "" }

// verdict writes what failed, what is not judged, and the last line.
func (r *Report) verdict(out io.Writer) error {
	failed, open, why := 0, 0, ""
	for i := range r.Checks {
		c := &r.Checks[i]
		switch {
		case c.failed():
			failed++
			fmt.Fprintf(out, "FAILED (%s) %s: want %s, got %s\n", c.Act, c.Name, c.Want, c.Got)
		case !c.Judged:
			if open++; open == 1 {
				why = fmt.Sprintf("(%s) %s", c.Act, c.Reason)
			}
			fmt.Fprintf(out, "not judged (%s) %s: %s (wanted: %s): %s\n", c.Act, c.Name, c.Got, c.Want, c.Reason)
		}
	}
	_, err := fmt.Fprintf(out, "\n%s (%d checks, %d failed%s)\n", r.word(), len(r.Checks), failed, openText(open, why))
	return err
}

func (r *Report) word() string {
	switch {
	case r.Failed():
		return "FAIL"
	case r.CouldNot != "":
		return "COULD NOT RUN: " + r.CouldNot
	case !r.Pass:
		return "FAIL"
	}
	return "PASS"
}

// openText says how many checks were not judged, and why.
func openText(n int, why string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", 1 not judged: " + why
	}
	return fmt.Sprintf(", %d not judged: %s; the others above", n, why)
}
