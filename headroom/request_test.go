package headroom

import (
	"strings"
	"testing"
	"time"

	"pfcswitch/macctl"
)

// answerAll answers every request of a Probe for so many requests, each time with what spoil makes of a sound answer.
func answerAll(p *Probe, now int64, requests int, spoil func(a *macctl.MeasurementFrame, at *Moment)) (fallback int,
	after int64) {
	for range requests {
		now = max(now+1, p.nextRequest)
		for {
			q, ok := p.Out(Moment{Now: now})
			if !ok {
				break
			}
			if q.Operation != macctl.MeasureRequest {
				continue
			}
			if q.Fallback {
				fallback++
			}
			a, at := replied(q), Moment{Now: now + 40_000}
			spoil(&a, &at)
			p.Receive(a, now+40_000, at)
		}
	}
	return fallback, now
}

// A peer all of whose answers are ignored is not silent: it is not asked by ordinary frames, and a person is told once
// what it is.
func TestAnswersThatAreRefusedAreNoSilence(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(a *macctl.MeasurementFrame, at *Moment)
		why   string
	}{
		{"a clock of 2 ms", func(a *macctl.MeasurementFrame, _ *Moment) { a.Precision = 2_000_000 }, "proportion"},
		{"stamps that run backwards", func(a *macctl.MeasurementFrame, _ *Moment) { a.Area[1] = a.Area[0] - 1 },
			"backwards"},
		{"clocks that disagree", func(_ *macctl.MeasurementFrame, at *Moment) { at.Clock = 31 }, "clock"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := agreed(settings(7))
			p.Notes()
			fallback, now := answerAll(p, 2, 4*manyInARow, tt.spoil)
			r, notes := p.Report(now), strings.Join(p.Notes(), "\n")
			if r.PeerSilent || fallback != 0 || r.Counters.Answered != 0 || r.Counters.Lost != 0 {
				t.Errorf("silent %v, %d asked by ordinary frames, answered %d, lost %d", r.PeerSilent, fallback,
					r.Counters.Answered, r.Counters.Lost)
			}
			if strings.Contains(notes, "does not answer") ||
				strings.Count(notes, `could not be used, the newest being ignored as "`+tt.why+`"`) != 1 {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

// Answers to no open question, and altered ones, do not hide that a peer is dead.
func TestForgedAnswersAreSilence(t *testing.T) {
	for name, forge := range map[string]func(a *macctl.MeasurementFrame, at *Moment){
		"another session":  func(a *macctl.MeasurementFrame, _ *Moment) { a.Session++ },
		"another sequence": func(a *macctl.MeasurementFrame, _ *Moment) { a.Sequence++ },
		"too late":         func(_ *macctl.MeasurementFrame, at *Moment) { at.Now += int64(2 * time.Second) },
		"to everybody":     func(a *macctl.MeasurementFrame, _ *Moment) { a.Group = true },
		"a reflection":     func(a *macctl.MeasurementFrame, _ *Moment) { a.Operation = macctl.MeasureRequest },
		"other flags, and clock": func(a *macctl.MeasurementFrame, at *Moment) {
			a.Flags,
				at.Clock = macctl.MeasureTwoStamps, 31
		},
	} {
		p := agreed(settings(7))
		p.Notes()
		_, now := answerAll(p, 2, 2*manyInARow, forge)
		if notes := strings.Join(p.Notes(), "\n"); !p.Report(now).PeerSilent ||
			strings.Count(notes, "does not answer") != 1 {
			t.Errorf("%s: silent %v, notes %q", name, p.Report(now).PeerSilent, notes)
		}
	}
}
