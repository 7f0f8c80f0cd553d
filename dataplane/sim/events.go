package sim

import "math/bits"

// A kind says what an event is about.
type kind uint8

const (
	arrive kind = iota // the oldest frame of a wire is received
	free               // the sender of a wire may send the next frame
	wake               // a deadline of the sender of a wire
	obey               // the host that sends on a wire obeys the oldest MAC Control frame that it has received
	look               // whether the run goes on
	change             // a fault begins or ends; wire is its number
	watch              // the watcher of a switch looks; wire is the number of the node

	contend // the station that sends on a wire may begin its frame
	finish  // its frame or its jam has left
	carrier // the other end begins to hear it
	silence // the other end hears it no more
)

// An event is something that happens at a wire.
type event struct {
	at    int64  // ns
	order uint64 // among the events of one time: a random number of 32 bits, the wire, the kind
}

const kindBits = 4 // the other 28 of the lower half are the wire's

// newEvent gives an event a place among those of the same time that depends on nothing but the event itself: the same
// for any number of shards. It is random, so that no wire always comes before another.
func newEvent(at int64, k kind, wire int32) event {
	const odd, alsoOdd = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9 // of splitmix64 (Steele, Lea, Flood, 2014)
	r := (uint64(at) ^ uint64(uint32(wire))<<32) * odd
	r = (r ^ r>>30) * alsoOdd
	return event{at, r&^(1<<32-1) | uint64(uint32(wire)<<kindBits) | uint64(k)}
}

func (e *event) kind() kind { return kind(e.order & (1<<kindBits - 1)) }

// wire is that of newEvent, which may be none.
func (e *event) wire() int32 { return int32(uint32(e.order)) >> kindBits }

// before is 1 where e happens before o, else 0; no time is below 0. It has no branch: nothing foretells which way that
// would go.
func (e *event) before(o *event) int {
	_, borrow := bits.Sub64(e.order, o.order, 0)
	_, borrow = bits.Sub64(uint64(e.at), uint64(o.at), borrow)
	return int(borrow)
}

// A timeline holds the events to come. Links are alike, so most events are arranged in the order of their times.
// Those stand in lanes, each of which is in order. What comes before the end of every lane, or may be far off, stands
// in a heap in which each event has four children, so that it is flat.
type timeline struct {
	heads [numLanes + 1]event        // the first of each lane, and of the heap
	tails [numLanes]event            // the last of each lane
	lanes [numLanes]valueFifo[event] // what follows the heads
	heap  []event                    // with its head
}

const (
	numLanes = 3
	children = 4
)

// noEvent is the head of what is empty.
var noEvent = event{at: never, order: 1<<64 - 1}

func newTimeline() (t timeline) {
	for i := range t.heads {
		t.heads[i] = noEvent
	}
	return t
}

// add arranges an event.
func (t *timeline) add(at int64, k kind, wire int32) {
	e := newEvent(at, k, wire)
	if k <= free { // the others may be far off, and nothing would enter their lane until then
		for i := range t.tails {
			if e.before(&t.tails[i]) == 0 {
				t.enterLane(i, e)
				return
			}
		}
	}
	t.heap = append(t.heap, e)
	i := len(t.heap) - 1
	for i > 0 {
		parent := (i - 1) / children
		if e.before(&t.heap[parent]) == 0 {
			break
		}
		t.heap[i] = t.heap[parent]
		i = parent
	}
	t.heap[i] = e
	t.heads[numLanes] = t.heap[0]
}

func (t *timeline) enterLane(i int, e event) {
	if t.tails[i] = e; t.heads[i] == noEvent {
		t.heads[i] = e
	} else {
		t.lanes[i].push(e)
	}
}

// soonest returns where the first event is.
func (t *timeline) soonest() int {
	least := 0
	for i := 1; i < len(t.heads); i++ {
		least ^= (least ^ i) & -t.heads[i].before(&t.heads[least])
	}
	return least
}

// first returns when the first event is: never if there is none.
func (t *timeline) first() int64 { return t.heads[t.soonest()].at }

// next takes the first event, if it is before end.
func (t *timeline) next(end int64) (e event, ok bool) {
	i := t.soonest()
	e = t.heads[i]
	switch {
	case e.at >= end:
		return e, false
	case i == numLanes:
		t.dropRoot()
	case t.lanes[i].empty():
		t.heads[i], t.tails[i] = noEvent, event{}
	default:
		t.heads[i] = t.lanes[i].pop()
	}
	return e, true
}

// dropRoot takes the first event of the heap out.
func (t *timeline) dropRoot() {
	last := len(t.heap) - 1
	e := t.heap[last]
	if t.heap = t.heap[:last]; last == 0 {
		t.heads[numLanes] = noEvent
		return
	}
	h, i := t.heap, 0
	for child := 1; child < len(h); child = i*children + 1 {
		least := child
		for c := child + 1; c < min(child+children, len(h)); c++ {
			least ^= (least ^ c) & -h[c].before(&h[least])
		}
		if h[least].before(&e) == 0 {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
	t.heads[numLanes] = h[0]
}
