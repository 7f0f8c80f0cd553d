package deadlock

import (
	"fmt"
	"slices"
	"testing"

	"pfcswitch/dataplane/assert"
)

// Ports that come and go under ever new names take no more memory than so many; those that went last go on counting.
func TestPortsOfManyNames(t *testing.T) {
	r := newRig()
	come := func(name string) *port {
		t.Helper()
		assert.Must(t, r.w.Set(0, name, 1<<3, patent(), r.now))
		return r.w.ports[0]
	}
	const names = maxRemoved + 10
	for n := range names {
		come(fmt.Sprint("p", n)).queues[3].counts.Detected = 1
		r.w.Remove(0, r.now)
		assert.MustBeTrue(t, len(r.w.removed) <= maxRemoved && len(r.w.removedNames) == len(r.w.removed),
			"%d ports are remembered, %d in order", len(r.w.removed), len(r.w.removedNames))
	}
	for name, want := range map[string]uint64{"p0": 0, fmt.Sprint("p", names-1): 1} { // forgotten, and not
		assert.Equal(t, come(name).queues[3].counts.Detected, want, "%s came back: storms", name)
		r.w.Remove(0, r.now)
	}
}

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
func (f *follower) check(t assert.TB) {
	for _, e := range f.events[f.seen:] {
		k := fakeKey{e.Port, e.Queue}
		way := drawn[e.Kind]
		assert.MustBeTrue(t, slices.Contains(way.from, f.states[k]) && e.Reason != "",
			"port %d queue %d: %v in state %d, because %q", e.Port, e.Queue, e.Kind, f.states[k], e.Reason)
		f.states[k] = way.to
	}
	f.seen = len(f.events)
	for n, p := range f.w.ports {
		for q := range NumQueues {
			want, got := f.states[fakeKey{n, uint8(q)}], idle
			if p != nil {
				got = p.queues[q].state
			}
			assert.MustEqual(t, got, want, "state of port %d queue %d, want that by its events", n, q)
		}
	}
}
