package sim

import (
	"slices"

	"pfcswitch/dataplane"
)

// A Wait is an egress queue of a switch that holds frames which its peer does not take.
type Wait struct {
	Queue
	Frames int
	By     End // the port that pauses it
}

// A Queue is a priority of an egress port.
type Queue struct {
	End
	Priority uint8
}

// Cycle returns egress queues of which each waits for the next and the last for the first, or else nil. A queue waits
// for another where the peer pauses it, and the other queue, at the peer, holds frames that came from it.
func (f *Fabric) Cycle() []Wait {
	seen := map[Queue]bool{} // only asked, never ranged over
	for _, first := range f.waits() {
		var path []Wait
		if cycle := f.follow(first, path, seen); cycle != nil {
			return cycle
		}
	}
	return nil
}

// waits returns all egress queues that hold frames and are paused, by node, port and priority.
func (f *Fabric) waits() (all []Wait) {
	for n := range f.nodes {
		if f.nodes[n].sw == nil {
			continue
		}
		for i := range f.nodes[n].sw.ports {
			for q := range uint8(NumPriorities) {
				if w, ok := f.wait(Queue{End{n, i}, q}); ok {
					all = append(all, w)
				}
			}
		}
	}
	return all
}

// wait tells what an egress queue waits for, if it holds frames and is paused.
func (f *Fabric) wait(q Queue) (w Wait, ok bool) {
	n := f.nodes[q.Node].sw
	var r, whole dataplane.WatchReading
	n.sw.ReadWatch(q.Port, q.Priority, f.now, &r)
	n.sw.ReadWatch(q.Port, dataplane.WholePort, f.now, &whole)
	link := f.wireOf(n, q.Port)
	if link == nil || r.Held == 0 || !r.PausedNow && !whole.PausedNow && !f.peerHolds(q.End) {
		return Wait{}, false
	}
	return Wait{q, r.Held, link.to}, true
}

// follow looks for a cycle from w on. path holds the queues that have led to it.
func (f *Fabric) follow(w Wait, path []Wait, seen map[Queue]bool) []Wait {
	if i := slices.IndexFunc(path, func(p Wait) bool { return p.Queue == w.Queue }); i >= 0 {
		return path[i:]
	}
	peer := f.nodes[w.By.Node].sw
	if seen[w.Queue] || peer == nil {
		return nil
	}
	seen[w.Queue] = true
	path = append(path, w)
	for i := range peer.ports {
		for q := range uint8(NumPriorities) {
			feeders := peer.sw.Feeders(i, q)
			if !feeders.Has(w.By.Port) {
				continue
			}
			if next, ok := f.wait(Queue{End{w.By.Node, i}, q}); ok {
				if cycle := f.follow(next, path, seen); cycle != nil {
					return cycle
				}
			}
		}
	}
	return nil
}

// HeldByHosts returns the egress queues of switches that hold frames and are paused by a host.
func (f *Fabric) HeldByHosts() []Wait {
	return slices.DeleteFunc(f.waits(), func(w Wait) bool { return f.nodes[w.By.Node].host == nil })
}
