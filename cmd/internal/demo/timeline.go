package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pfcswitch/cmd/internal/api"
)

// A Moment is one line of a demo's timeline.
type Moment struct {
	Phase string `json:"act"`
	At    int64  `json:"at_ns"` // since the load of the phase began
	Who   string `json:"who"`
	Text  string `json:"text"`
}

func (r *Report) addMoment(p *scenario, at time.Duration, who, format string, args ...any) {
	r.Timeline = append(r.Timeline, Moment{Phase: p.name, At: int64(at), Who: who, Text: fmt.Sprintf(format, args...)})
}

// observeWatchdog asks the switch what its watchdog has done.
func (s *switchNode) observeWatchdog(ctx context.Context) error {
	c := api.NewClient(s.socket)
	for _, noun := range []string{"watchdog", "events"} {
		r, err := c.Show(ctx, noun)
		if err != nil {
			return fmt.Errorf("switch %s: %w", s.name, err)
		}
		switch r := r.(type) {
		case *api.Watchdog:
			s.state.watchdog = r
		case *api.Events:
			s.state.events = r
		}
	}
	return nil
}

// addEvents adds the events of the switches about a port and priority during the phase.
func (r *Report) addEvents(p *scenario) {
	for _, s := range p.switches {
		for _, e := range s.state.events.Events {
			if e.Port == nil || e.Priority == nil || e.Time.Before(p.start) {
				continue
			}
			who, text := s.name+":"+*e.Port, e.Kind+": "+e.Text
			if e.Count > 1 {
				text += fmt.Sprintf(" (%d times within a second)", e.Count)
			}
			r.addMoment(p, e.Time.Sub(p.start), who, "%s", text)
		}
	}
}

// addPauses adds who pauses whom now: ports that hold frames of a paused priority.
func (r *Report) addPauses(p *scenario, at time.Duration) {
	for _, s := range p.switches {
		for _, q := range s.state.queues.Ports {
			if held := q.Queues[losslessPriority]; held.Frames > 0 && held.PausedByPeer {
				r.addMoment(p, at, s.name+":"+q.Port, "holds %d frames of priority %d, paused by %s", held.Frames,
					losslessPriority, s.peerOf(q.Port))
			}
		}
	}
}

// addStalls adds the beginnings and ends of stalls.
func (r *Report) addStalls(p *scenario, flows []flowStall) {
	for _, f := range flows {
		for _, g := range f.gaps {
			from, lasted := p.since(g.From), time.Duration(g.Time)
			r.addMoment(p, from, f.Name, "priority %d stands still", f.Priority)
			r.addMoment(p, from+lasted, f.Name, "priority %d flows again, after %v", f.Priority,
				lasted.Round(time.Millisecond))
		}
	}
}

// addLost adds the flows that lost frames at their end.
func (r *Report) addLost(p *scenario, flows []flowStall) {
	for _, f := range flows {
		if f.Lost > 0 {
			r.addMoment(p, f.at, f.Name, "priority %d: its last frame arrives; %d never do", f.Priority, f.Lost)
		}
	}
}

// losslessQueue returns the lossless queue of a port.
func (s *switchNode) losslessQueue(port string) api.Queue {
	for _, p := range s.state.queues.Ports {
		if p.Port == port {
			return p.Queues[losslessPriority]
		}
	}
	return api.Queue{}
}

func (s *switchNode) peerOf(port string) string {
	for _, p := range s.ports {
		if p.name == port {
			return p.peer.Name()
		}
	}
	return "?"
}

// transmitted returns the data frames that a port has sent.
func (s *switchNode) transmitted(port string) uint64 {
	for _, p := range s.state.ports.Ports {
		if p.Port == port {
			return p.TransmitFrames
		}
	}
	return 0
}

// watchdogSum adds up what the watchdog did at all queues.
func (s *switchNode) watchdogSum() (sum api.WatchdogQueue) {
	for _, q := range s.state.watchdog.Queues {
		sum.Detected += q.Detected
		sum.Restored += q.Restored
		sum.Sent += q.Sent
		sum.Dropped += q.Dropped
	}
	return sum
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
		fmt.Fprintf(out, "  %8.1f ms  %s%s  %s\n", float64(m.At)/1e6, m.Who, strings.Repeat(" ", width-len(m.Who)),
			m.Text)
	}
}
