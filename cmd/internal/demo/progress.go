package demo

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// beyondLoad is what a phase takes beyond its load, until a phase has shown it: its switches start, its buffers drain.
const beyondLoad = 2 * time.Second

// A schedule tells which phase of a demo runs, and how much time is left.
type schedule struct {
	phases []*phase
	at     int           // the phase that runs
	since  time.Time     // when it began
	beyond time.Duration // what the phases before it took beyond their loads, in all
}

// begin moves on to a phase.
func (s *schedule) begin(at int, now time.Time) {
	if at > 0 {
		s.beyond += now.Sub(s.since) - s.phases[s.at].loadTime()
	}
	s.at, s.since = at, now
}

// loadTime is the time of a phase's load, and of what comes before it.
func (p *phase) loadTime() time.Duration { return p.lead + max(p.seconds, p.lasts) }

// line says how far the demo is, with what matters most in front.
func (s *schedule) line(now time.Time) string {
	beyond := beyondLoad
	if s.at > 0 {
		beyond = s.beyond / time.Duration(s.at)
	}
	p := s.phases[s.at]
	left := max(0, p.loadTime()+beyond-now.Sub(s.since))
	for _, p := range s.phases[s.at+1:] {
		left += p.loadTime() + beyond
	}
	return fmt.Sprintf("phase %d/%d, about %v left: (%s) %s", s.at+1, len(s.phases),
		max(time.Second, left.Round(time.Second)), p.name, p.title)
}

// show tells how far the demo is, once or again and again until stop is called.
func (o *Options) show(s *schedule) (stop func()) {
	o.progress(s.line(time.Now()))
	if o.Refresh == 0 {
		return func() {}
	}
	ctx, end := context.WithCancel(context.Background())
	var shown sync.WaitGroup
	shown.Go(func() {
		ticker := time.NewTicker(o.Refresh)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				o.progress(s.line(now))
			}
		}
	})
	return func() {
		end()
		shown.Wait()
	}
}
