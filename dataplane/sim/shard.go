package sim

import (
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// A shard is nodes that share a timeline. Between two shards there are only frames, by wires that cross.
type shard struct {
	*plant
	*worker // that lets its events happen
	number  int32
	now     int64
	events  timeline

	posted   []posted // wires by which it has sent frames to other shards that were not handed over
	soonest  int64    // when the first of them comes
	arriving []int32  // wires by which others have sent frames that it has not taken in
}

type posted struct{ wire, to int32 }

// A worker is what a goroutine needs to let events happen. What it counts is a part of the sum.
type worker struct {
	counts
	arrival [1]dataplane.Arrival
	scratch []byte // the octets of arrival
	moves   []dataplane.Move
	batch   *port.Batch
	control [128]byte
	note    []byte   // of the MAC Control frame that is captured
	_       [64]byte // two workers write into no common line of the cache
}

func newWorker() *worker {
	return &worker{scratch: make([]byte, port.MaxFrame+frame.TagOctets), batch: port.NewBatch(),
		note: make([]byte, 0, capture.MaxNote)}
}

// counts is what has happened.
type counts struct {
	happened    uint64 // events
	departures  uint64 // frames that are no MAC Control frames, by wire
	onWires     int    // of them, those that are on a wire
	received    uint64 // of them, those that hosts have received
	probes      uint64 // of them, the loop probes that switches have sent
	lostInRings uint64 // frames for which a waiting room had no place
	lostOnWires uint64 // frames that were on a link when it went down
	givenUp     uint64 // frames that met too many collisions
	expired     uint64 // frames that ended by their TTL
}

// count returns what has happened.
func (f *Fabric) count() (sum counts) {
	for _, w := range f.workers {
		sum.happened += w.happened
		sum.departures += w.departures
		sum.onWires += w.onWires
		sum.received += w.received
		sum.probes += w.probes
		sum.lostInRings += w.lostInRings
		sum.lostOnWires += w.lostOnWires
		sum.givenUp += w.givenUp
		sum.expired += w.expired
	}
	return sum
}

// manyPorts is how many ports of switches one shard holds well: their state stays in a cache of the CPU.
const manyPorts = 512

// divide makes the shards. In a large fabric each switch has one, with its hosts: what it does in a window it does in a
// row, and several CPUs have work. The result is the same.
func (f *Fabric) divide() {
	ports := 0
	for i := range f.nodes {
		if n := f.nodes[i].sw; n != nil {
			ports += len(n.ports)
		}
	}
	newShard := func() *shard {
		s := &shard{plant: &f.plant, number: int32(len(f.shards)), soonest: never, events: newTimeline()}
		f.shards = append(f.shards, s)
		return s
	}
	first, whole := newShard(), !f.divided && ports <= manyPorts
	for i := range f.nodes {
		if n := &f.nodes[i]; whole || n.sw == nil {
			n.shard = first
		} else {
			n.shard = newShard()
		}
	}
	for i := range f.nodes {
		if n := &f.nodes[i]; n.host != nil && n.host.wire != none {
			n.shard = f.nodes[f.wires[n.host.wire].to.Node].shard
		}
	}
	for i := range f.wires {
		if w := &f.wires[i]; w.half != nil || w.least() == 0 { // the ends meet at once
			f.unite(f.nodes[w.from.Node].shard, f.nodes[w.to.Node].shard)
		}
	}
	f.clock.lookahead = never
	for i := range f.wires {
		w := &f.wires[i]
		if w.crosses = f.nodes[w.from.Node].shard != f.nodes[w.to.Node].shard; w.crosses {
			f.clock.lookahead = min(f.clock.lookahead, w.least())
		}
	}
}

// unite moves the nodes of one shard into another.
func (f *Fabric) unite(into, from *shard) {
	for i := range f.nodes {
		if n := &f.nodes[i]; n.shard == from {
			n.shard = into
		}
	}
}

// on returns a shard at the time of the fabric, while no other goroutine runs.
func (f *Fabric) on(s *shard) *shard {
	s.now, s.worker = f.now, f.workers[0]
	return s
}

// run lets the events before end happen, or so many of them.
func (s *shard) run(end int64, events uint64) {
	for ; events > 0; events-- {
		e, ok := s.events.next(end)
		if !ok {
			return
		}
		s.step(e)
	}
}

// takeIn takes the frames in that were handed over: those of one of the two sides of wires.
func (s *shard) takeIn(side int) {
	for _, i := range s.arriving {
		w := &s.wires[i]
		for q := &w.leaving[side]; !q.empty(); {
			t := w.flight.push()
			*t = *q.pop()
			if w.flight.len() == 1 {
				s.events.add(t.at, arrive, i)
			}
		}
	}
	s.arriving = s.arriving[:0]
}

func (s *shard) step(e event) {
	s.now = e.at
	s.happened++
	switch i := e.wire(); e.kind() {
	case arrive:
		s.arriveBy(i)
	case free:
		s.wires[i].armed = false
		s.sendBy(i)
	case wake:
		if w := &s.wires[i]; w.wakeAt == e.at {
			w.wakeAt = never
			s.sendBy(i)
		}
	case obey:
		s.obeyAtHost(s.nodes[s.wires[i].from.Node].host)
	case watch:
		if n := s.nodes[i].sw; n.watchAt == e.at {
			n.watchAt = never
			s.watch(n)
		}
	default:
		s.atStation(e)
	}
}

// arriveBy hands the oldest frame of a wire to the node at its end.
func (s *shard) arriveBy(i int32) {
	w := &s.wires[i]
	t := w.flight.pop()
	if !w.flight.empty() {
		s.events.add(w.flight.at(0).at, arrive, i)
	}
	n := &s.nodes[w.to.Node]
	if t.data {
		s.onWires--
	}
	if t.lost {
		if t.data {
			s.lostOnWires++
		}
		return
	}
	if n.sw != nil {
		s.receiveAtSwitch(n.sw, w.to.Port, t)
		return
	}
	if t.data {
		s.received++
	}
	s.receiveAtHost(n.host, t)
}

// sendBy has the node at the start of a wire look what it can send.
func (s *shard) sendBy(i int32) {
	from := s.wires[i].from
	if n := &s.nodes[from.Node]; n.sw != nil {
		s.sendAtSwitch(n.sw, from.Port)
	} else if n.host.receiver != nil {
		s.sendAtHost(n.host)
	}
}

// push appends a frame to those that leave by a wire. The caller fills it in before the next call.
func (s *shard) push(w *wire) *transit {
	if w.crosses {
		return w.leaving[s.side].push()
	}
	return w.flight.push()
}

// put sends a frame of the node itself, a MAC Control frame or a loop probe, by a wire that is free.
func (s *shard) put(i int32, b []byte, control bool) {
	if control && s.wires[i].half != nil {
		s.order(i, b)
		return
	}
	t := s.push(&s.wires[i])
	t.octets, t.data = int32(len(b)), !control
	copy(t.head[:], b)
	s.depart(i, t)
	s.lookAgain(i)
}

// depart sends t, the newest frame of push, by the wire, which is free.
func (s *shard) depart(i int32, t *transit) {
	w := &s.wires[i]
	if t.data {
		s.departures++
		s.onWires++
	}
	if w.half != nil {
		s.offer(i, t)
		return
	}
	w.send(t, s.now)
	switch {
	case w.crosses:
		s.soonest = min(s.soonest, t.at)
		if w.leaving[s.side].len() == 1 {
			s.posted = append(s.posted, posted{i, s.nodes[w.to.Node].shard.number})
		}
	case w.flight.len() == 1:
		s.events.add(t.at, arrive, i)
	}
}

// busy reports whether a frame is leaving by a wire, and has the sender look again when it has left.
func (s *shard) busy(i int32) bool {
	w := &s.wires[i]
	if w.half != nil {
		return w.half.pending
	}
	if s.now >= w.end {
		return false
	}
	s.lookAgain(i)
	return true
}

// lookAgain has the sender of a wire look again when the newest frame has left: at the same nanosecond where it takes
// less than one, as the shortest do at 800 Gbit/s. A station of a half-duplex link looks by itself.
func (s *shard) lookAgain(i int32) {
	if w := &s.wires[i]; w.half == nil && !w.armed {
		w.armed = true
		s.events.add(w.end, free, i)
	}
}

// wakeBy has the sender of a wire look at a time, or earlier.
func (s *shard) wakeBy(i int32, at int64) {
	if w := &s.wires[i]; at < w.wakeAt {
		w.wakeAt = max(at, s.now+1)
		s.events.add(w.wakeAt, wake, i)
	}
}
