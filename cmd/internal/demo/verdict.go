package demo

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
)

// A Check is one condition of a demo. A hard check is judged in every run on every machine: loss, duplicates, order,
// pauses, counters, leftovers. A soft check is a rate, a share or a time, which a slow machine spoils. It is not judged
// where the machine withheld more than the check missed.
type Check struct {
	Phase  string `json:"act"`
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
	TopicECN      = "ecn"
	TopicMeasured = "measured" // a time by the kernel's stamps
	TopicLeft     = "leftovers"
)

func (c *Check) failed() bool { return c.Judged && !c.Pass }

// Hard adds a check that is judged on every machine.
func (r *Report) Hard(phase, topic, name, want, got string, pass bool) {
	r.Checks = append(r.Checks, Check{Phase: phase, Name: name, Kind: Hard, Topic: topic, Want: want, Got: got,
		Pass: pass, Judged: true})
}

// Yes adds a hard check that something is so.
func (r *Report) Yes(phase, topic, name string, ok bool) {
	r.Hard(phase, topic, name, "yes", yes(ok), ok)
}

// soft adds a check of a rate, a share or a time. miss is how far it missed its limit, as a share of what the phase
// asks of the machine; 0 or less where it holds. A miss up to what the machine withheld is not judged.
func (r *Report) soft(phase, topic, name, want, got string, miss float64, s shortage) {
	c := Check{Phase: phase, Name: name, Kind: Soft, Topic: topic, Want: want, Got: got, Pass: miss <= 0, Judged: true}
	if !c.Pass && miss <= s.share() {
		c.Judged, c.Reason = false, s.String()
	}
	r.Checks = append(r.Checks, c)
}

// unjudged adds a soft check that this run cannot judge, and why.
func (r *Report) unjudged(phase, topic, name, want, got, why string) {
	r.Checks = append(r.Checks, Check{Phase: phase, Name: name, Kind: Soft, Topic: topic, Want: want, Got: got,
		Reason: why})
}

// control adds a check of a control run. Where the load was too small for a result, the demo could not run.
func (r *Report) control(phase, name, want, got string, shown, overloaded bool) {
	if !shown && !overloaded {
		if r.CouldNotRun == "" {
			r.CouldNotRun = fmt.Sprintf("phase %s: %s: %s (wanted: %s). Its load was too small to show anything: "+
				"choose another one (--speed, --seconds) or free the machine", phase, name, got, want)
		}
		return
	}
	r.Hard(phase, TopicControl, name, want, got, shown)
}

// hard adds a hard check of the phase.
func (p *phase) hard(topic, name, want, got string, pass bool) {
	p.report.Hard(p.name, topic, name, want, got, pass)
}

// none adds a hard check that nothing was counted.
func (p *phase) none(topic, name string, n uint64) { p.hard(topic, name, "0", fmt.Sprint(n), n == 0) }

// some adds a hard check that something was counted.
func (p *phase) some(topic, name string, n uint64) {
	p.hard(topic, name, "more than 0", fmt.Sprint(n), n > 0)
}

// equal adds a hard check of two counters.
func (p *phase) equal(topic, name string, want, got uint64) {
	p.hard(topic, name, fmt.Sprint(want), fmt.Sprint(got), want == got)
}

// holds adds a hard check of a state.
func (p *phase) holds(topic, name string, ok bool) { p.report.Yes(p.name, topic, name, ok) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// soft adds a soft check of the phase.
func (p *phase) soft(topic, name, want, got string, miss float64) {
	p.report.soft(p.name, topic, name, want, got, miss, p.usage.shortage)
}

// shows adds a check that the phase's control run counted what it has to show.
func (p *phase) shows(name string, n uint64, overloaded bool) {
	p.report.control(p.name, name, "more than 0", fmt.Sprint(n), n > 0, overloaded)
}

// addFailure adds a failed check for processes that failed after the load had begun.
func (r *Report) addFailure(phase string, err error) {
	r.Hard(phase, TopicRun, "every process runs to the end", "yes", err.Error(), false)
}

// A programError is a failure of the program, as opposed to a machine on which the demo cannot run.
type programError struct {
	phase string
	error
}

// isRefusal tells whether a process exited with status 1: it cannot run here, for example for want of rights.
func isRefusal(err error) bool {
	var e *exec.ExitError
	return errors.As(err, &e) && e.ExitCode() == 1
}

// finish judges the report. err is why the demo ends early, or nil. Failed checks count in either case.
func (r *Report) finish(err error) (*Report, error) {
	var f *programError
	switch {
	case errors.As(err, &f):
		r.addFailure(f.phase, f.error)
	case err != nil && !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Topic != TopicLeft || c.failed() }):
		return nil, err
	case err != nil && r.CouldNotRun == "":
		r.CouldNotRun = err.Error()
	}
	r.Judge()
	return r, nil
}

// checkLeftovers checks that nothing of the phase is left; err is the error of its clean-up.
func (r *Report) checkLeftovers(phase string, err error) {
	got := "yes"
	if err != nil {
		got = err.Error()
	}
	r.Hard(phase, TopicLeft, "processes, links and namespaces are gone", "yes", got, err == nil)
}

// Failed tells whether a judged check has failed.
func (r *Report) Failed() bool {
	for i := range r.Checks {
		if r.Checks[i].failed() {
			return true
		}
	}
	return false
}

// Judge sets Pass: some checks passed, none failed, and the control runs had a result.
func (r *Report) Judge() { r.Pass = len(r.Checks) > 0 && !r.Failed() && r.CouldNotRun == "" }

// verdict writes the failed checks, those that are not judged, and the last line.
func (r *Report) verdict(out io.Writer) error {
	failed, open, why := 0, 0, ""
	for i := range r.Checks {
		c := &r.Checks[i]
		switch {
		case c.failed():
			failed++
			fmt.Fprintf(out, "FAILED (%s) %s: want %s, got %s\n", c.Phase, c.Name, c.Want, c.Got)
		case !c.Judged:
			if open++; open == 1 {
				why = fmt.Sprintf("(%s) %s", c.Phase, c.Reason)
			}
			fmt.Fprintf(out, "not judged (%s) %s: %s (wanted: %s): %s\n", c.Phase, c.Name, c.Got, c.Want, c.Reason)
		}
	}
	_, err := fmt.Fprintf(out, "\n%s (%d checks, %d failed%s)\n", r.verdictWord(), len(r.Checks), failed,
		unjudgedText(open, why))
	return err
}

func (r *Report) verdictWord() string {
	switch {
	case r.Failed():
		return "FAIL"
	case r.CouldNotRun != "":
		return "COULD NOT RUN: " + r.CouldNotRun
	case !r.Pass:
		return "FAIL"
	}
	return "PASS"
}

// unjudgedText says how many checks were not judged, and why.
func unjudgedText(n int, why string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", 1 not judged: " + why
	}
	return fmt.Sprintf(", %d not judged: %s; the others above", n, why)
}
