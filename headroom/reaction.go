package headroom

import "time"

// reactions are the times that this end goes on sending after an XOFF. The peer is told of all of them: its headroom must do
// for the latest, whatever the link carried.
type reactions struct{ all, idle, busy window }

func newReactions() reactions { return reactions{newWindow(), newWindow(), newWindow()} }

// add takes a sample; busy says that the link carried traffic.
func (r *reactions) add(d time.Duration, busy bool) {
	r.all.add(d)
	if busy {
		r.busy.add(d)
	} else {
		r.idle.add(d)
	}
}
