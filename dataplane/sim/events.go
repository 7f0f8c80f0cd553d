package sim

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

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.order < o.order }

// A timeline holds the events to come: a heap in which each has four children, so that it is flat.
type timeline struct {
	heap  []event
	taken bool // the first event of the heap: most often the one that it arranges takes its place
}

const children = 4

// add arranges an event.
func (t *timeline) add(at int64, k kind, wire int32) {
	e := newEvent(at, k, wire)
	if t.taken {
		t.taken = false
		t.sink(e)
		return
	}
	t.heap = append(t.heap, e)
	i := len(t.heap) - 1
	for i > 0 {
		parent := (i - 1) / children
		if !e.before(&t.heap[parent]) {
			break
		}
		t.heap[i] = t.heap[parent]
		i = parent
	}
	t.heap[i] = e
}

// first returns when the first event is: never if there is none.
func (t *timeline) first() int64 {
	if last := len(t.heap) - 1; t.taken {
		t.taken = false
		e := t.heap[last]
		if t.heap = t.heap[:last]; last > 0 {
			t.sink(e)
		}
	}
	if len(t.heap) == 0 {
		return never
	}
	return t.heap[0].at
}

// next takes the first event. There must be one.
func (t *timeline) next() event {
	t.first()
	t.taken = true
	return t.heap[0]
}

// sink puts e where the first event was, and below.
func (t *timeline) sink(e event) {
	i := 0
	for {
		child := i*children + 1
		if child >= len(t.heap) {
			break
		}
		least := child
		for c := child + 1; c < min(child+children, len(t.heap)); c++ {
			if t.heap[c].before(&t.heap[least]) {
				least = c
			}
		}
		if !t.heap[least].before(&e) {
			break
		}
		t.heap[i] = t.heap[least]
		i = least
	}
	t.heap[i] = e
}
