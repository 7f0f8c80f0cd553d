package demo

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"
)

// A Moment is one line of a demo's timeline.
type Moment struct {
	Phase string `json:"act"`
	At    int64  `json:"at_ns"` // since the load of the phase began
	Who   string `json:"who"`
	Text  string `json:"text"`
}

func (p *phase) addMoment(at time.Duration, who, format string, args ...any) {
	m := Moment{Phase: p.name, At: int64(at), Who: who, Text: fmt.Sprintf(format, args...)}
	p.report.Timeline = append(p.report.Timeline, m)
}

// addTrigger adds the load and the blocking of a phase that locks the ring up.
func (p *phase) addTrigger(end time.Duration) {
	p.addMoment(0, "h1, h2, h3", "send, more than the ring carries until %v", surgeEnd)
	p.addMoment(trigger, "r1, r2, r3", "hang, and pause their switches")
	p.addMoment(trigger+blockTime, "r1, r2, r3", "run again")
	p.addMoment(end, "h1, h2, h3", "stop sending")
}

// addEvents adds the events of the switches about a port and priority during the phase.
func (p *phase) addEvents() {
	for _, s := range p.switches {
		for _, e := range s.state.events.Events {
			if e.Port == nil || e.Priority == nil || e.Time.Before(p.start) {
				continue
			}
			text := e.Kind + ": " + e.Text
			if e.Count > 1 {
				text += fmt.Sprintf(" (%d times within a second)", e.Count)
			}
			p.addMoment(e.Time.Sub(p.start), s.name+":"+*e.Port, "%s", text)
		}
	}
}

// addPauses adds who pauses whom now: ports that hold frames of a paused priority.
func (p *phase) addPauses(at time.Duration) {
	for _, s := range p.switches {
		for _, port := range s.state.queues.Ports {
			if q := port.Queues[losslessPriority]; q.Frames > 0 && q.PausedByPeer {
				p.addMoment(at, s.name+":"+port.Port, "holds %d frames of priority %d, paused by %s", q.Frames,
					losslessPriority, s.peerOf(port.Port))
			}
		}
	}
}

// addStalls adds the beginnings and ends of stalls.
func (p *phase) addStalls() {
	for _, f := range p.flows {
		for _, g := range f.gaps {
			from, lasted := p.since(g.From), time.Duration(g.Time)
			p.addMoment(from, f.Name, "priority %d stands still", f.Priority)
			p.addMoment(from+lasted, f.Name, "priority %d flows again, after %v", f.Priority,
				lasted.Round(time.Millisecond))
		}
	}
}

// addLost adds the flows that lost frames at their end.
func (p *phase) addLost() {
	for _, f := range p.flows {
		switch {
		case f.Lost > 0 && f.Received == 0:
			p.addMoment(0, f.Name, "priority %d: none of its %d frames ever arrives", f.Priority, f.Lost)
		case f.Lost > 0:
			p.addMoment(f.at, f.Name, "priority %d: its last frame arrives; %d never do", f.Priority, f.Lost)
		}
	}
}

// timeline prints the moments of a phase in order.
func (r *Report) timeline(out io.Writer, phase string) {
	var all []Moment
	width := 0
	for _, m := range r.Timeline {
		if m.Phase == phase {
			all = append(all, m)
			width = max(width, len(m.Who))
		}
	}
	slices.SortStableFunc(all, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	for _, m := range all {
		fmt.Fprintf(out, "  %8.1f ms  %-*s  %s\n", float64(m.At)/1e6, width, m.Who, m.Text)
	}
}
