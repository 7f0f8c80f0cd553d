package deadlock

import "slices"

// drawn are the transitions of the drawing above state: from where an event leads, and where to.
var drawn = map[Kind]struct {
	from []state
	to   state
}{
	Armed:     {[]state{idle}, armed},
	Disarmed:  {[]state{armed}, idle},
	Detected:  {[]state{armed}, stormed},
	Changed:   {[]state{stormed}, stormed},
	Recovered: {[]state{stormed}, idle},
	Recurring: {[]state{idle, armed, stormed}, closed},
	Reopened:  {[]state{closed}, idle},
}

// A follower knows the state of every queue from the events alone.
type follower struct {
	*rig
	states map[fakeKey]state
	seen   int
}

func follow(r *rig) *follower { return &follower{rig: r, states: map[fakeKey]state{}} }

// check fails the test where a transition is not drawn, has no reason, or was not told.
func (f *follower) check(t interface {
	Fatalf(format string, args ...any)
}) {
	for _, e := range f.events[f.seen:] {
		k := fakeKey{e.Port, e.Queue}
		way := drawn[e.Kind]
		if !slices.Contains(way.from, f.states[k]) || e.Reason == "" {
			t.Fatalf("port %d queue %d: %v in state %d, because %q", e.Port, e.Queue, e.Kind, f.states[k], e.Reason)
		}
		f.states[k] = way.to
	}
	f.seen = len(f.events)
	for n, p := range f.w.ports {
		for q := range NumQueues {
			want, got := f.states[fakeKey{n, uint8(q)}], idle
			if p != nil {
				got = p.queues[q].state
			}
			if got != want {
				t.Fatalf("port %d queue %d is in state %d, and by its events in %d", n, q, got, want)
			}
		}
	}
}
