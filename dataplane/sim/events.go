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
)

// An event is something that happens at a wire.
type event struct {
	at     int64 // ns
	serial uint64
	wire   int32
	kind   kind
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.serial < o.serial }

// A timeline holds the events to come: a heap in which each has four children, so that it is flat.
type timeline struct {
	heap   []event
	taken  bool // the first event of the heap: most often the one that it arranges takes its place
	serial uint64
}

const children = 4

// reserve returns the place of an event among those of the same time, which insert may arrange later.
func (t *timeline) reserve() uint64 {
	t.serial++
	return t.serial
}

// add arranges an event.
func (t *timeline) add(at int64, k kind, wire int32) { t.insert(event{at, t.reserve(), wire, k}) }

func (t *timeline) insert(e event) {
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

// first returns the first event. There must be one.
func (t *timeline) first() *event {
	if last := len(t.heap) - 1; t.taken {
		t.taken = false
		e := t.heap[last]
		if t.heap = t.heap[:last]; last > 0 {
			t.sink(e)
		}
	}
	return &t.heap[0]
}

// next takes the first event.
func (t *timeline) next() event {
	first := *t.first()
	t.taken = true
	return first
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
