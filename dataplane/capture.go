package dataplane

import (
	"pfcswitch/dataplane/capture"
	"pfcswitch/macctl"
)

// Capture happens in the workers, outside of the switch's lock: there the octets are at hand, a received frame's fate is known
// already, and other workers do not wait for the copying. Only what never reaches a worker's hands again (a queue that is
// emptied, what a trunk drops) and MAC Control frames, which are few, are captured under the lock; what passes beside the rings
// is captured by who sends or takes it there. While nobody captures, each of these functions costs a load and a branch, once for
// a burst.

// Tap is where readers attach.
func (r *Runner) Tap() *capture.Tap { return &r.sw.tap }

// Interfaces appends the ports as a capture describes them.
func (r *Runner) Interfaces(dst []capture.Interface) []capture.Interface {
	r.View(func(sw *Switch) {
		for _, p := range sw.ports {
			if p != nil {
				dst = append(dst, p.described())
			}
		}
	})
	return dst
}

// described is a port as a capture describes it.
func (p *portState) described() capture.Interface {
	return capture.Interface{Port: p.index, Name: p.cfg.Name, Speed: p.cfg.Speed, MAC: p.cfg.MAC}
}

// one captures one frame.
func one(tap *capture.Recorder, r *capture.Record, b []byte) {
	tap.Lock()
	copy(tap.Put(r), b)
	tap.Unlock()
}

// tapping returns where to put frames of a port, nil where nobody wants any.
func (w *worker) tapping(t *portTask) *capture.Recorder {
	tap := w.r.sw.tap.Recorder()
	if tap == nil || !tap.Wants(t.index) {
		return nil
	}
	return tap
}

// tapReceived captures frames that the switch has taken, with what became of them.
func (w *worker) tapReceived(t *portTask, arrivals []Arrival) {
	tap := w.tapping(t)
	if tap == nil || len(arrivals) == 0 {
		return
	}
	tap.Lock()
	for i := range arrivals {
		a := &arrivals[i]
		r := capture.Record{Port: t.index, Time: a.At, Held: a.held, Length: len(a.Data), Note: a.fate.note()}
		copy(tap.Put(&r), a.Data)
	}
	tap.Unlock()
}

// tapTime is the time of the send call that follows, 0 where nobody captures.
func (w *worker) tapTime() int64 {
	if w.r.sw.tap.Recorder() == nil {
		return 0
	}
	return Now()
}

// tapSent captures the first n frames of the batch, which the kernel took in the send call that began at time from.
func (w *worker) tapSent(t *portTask, n int, from int64) {
	tap := w.tapping(t)
	if tap == nil || n == 0 || from == 0 {
		return
	}
	tap.Lock()
	for i := range n {
		r := capture.Record{Port: t.index, Out: true, Time: from, Length: w.batch.Length(i)}
		w.batch.Peek(i, tap.Put(&r))
	}
	tap.Unlock()
}

// tapRefused captures frame i of the batch, which the kernel will never take. One that lies in the packet memory is captured
// where it is taken off its queue.
func (w *worker) tapRefused(t *portTask, i int, d uint32, reason DropReason, now int64) {
	tap := w.tapping(t)
	if tap == nil || d == none || d == ownFrame || w.r.sw.memory.descs[d].cell != none {
		return
	}
	dsc := &w.r.sw.memory.descs[d]
	r := capture.Record{Port: t.index, Out: true, Time: now, Length: w.batch.Length(i), Note: dropped(reason, dsc.charge == chargeLossless).note()}
	tap.Lock()
	w.batch.Peek(i, tap.Put(&r))
	tap.Unlock()
}

// tapQueued captures a frame that is dropped from a queue of p, as it lies in the packet memory, or still in the ring.
func (s *Switch) tapQueued(p *portState, d *descriptor, reason DropReason) {
	tap := s.tap.Recorder()
	if tap == nil || !tap.Wants(p.index) || d.cell == none && s.unsettled == nil {
		return
	}
	r := capture.Record{Port: p.index, Out: true, Time: s.now, Length: int(d.length), Note: dropped(reason, d.charge == chargeLossless).note()}
	tap.Lock()
	room := tap.Put(&r)
	if d.cell == none {
		copy(room, s.unsettled[d.arrival].Data)
	} else {
		s.memory.view(d.cell, 0, len(room), func(b []byte) { room = room[copy(room, b):] })
	}
	tap.Unlock()
}

// tapMissed notes that the rings of port i have lost n frames, which nobody has seen.
func (s *Switch) tapMissed(i, n int) {
	if tap := s.tap.Recorder(); tap != nil && tap.Wants(i) {
		tap.Missed(i, n)
	}
}

// tapHeard captures a MAC Control frame that came at time at and was obeyed, or not, just now. The switch is locked.
func (w *worker) tapHeard(t *portTask, b []byte, at int64) {
	if tap := w.tapping(t); tap != nil {
		w.note = w.r.sw.explainHeard(w.note[:0], t.index)
		one(tap, &capture.Record{Port: t.index, Time: at, Length: len(b), Note: w.note}, b)
		w.note = w.note[:0]
	}
}

// explain prepares the note of the MAC Control frame that ControlOut has made. The switch is locked.
func (w *worker) explain(t *portTask, there bool) {
	if there && w.tapping(t) != nil {
		w.note = w.r.sw.explainTold(w.note[:0], t.index)
	}
}

// tapTold captures a frame of the switch's own that left at time now, and the note that was prepared for it.
func (w *worker) tapTold(t *portTask, b []byte, now int64) {
	if tap := w.tapping(t); tap != nil {
		one(tap, &capture.Record{Port: t.index, Out: true, Time: now, Length: len(b), Note: w.note}, b)
	}
	w.note = w.note[:0]
}

// TapBeside captures a frame of port i that came or left at time now beside the rings, as those of LLDP do. Any goroutine may call it.
func (r *Runner) TapBeside(i int, out bool, b []byte, now int64) {
	if tap := r.sw.tap.Recorder(); tap != nil && tap.Wants(i) {
		one(tap, &capture.Record{Port: i, Out: out, Time: now, Length: len(b)}, b)
	}
}

// The numbers of ports fit a capture.
var _ = [1]struct{}{}[MaxPorts-capture.MaxPorts]

// causes are the words for why a peer is held.
var causes = [...]struct {
	cause macctl.Cause
	word  string
}{
	{macctl.CauseBuffer, "buffer"}, {macctl.CauseRing, "the receive ring fills up"}, {macctl.CauseTrunk, "trunk"},
	{macctl.CauseProbe, "headroom measurement"},
}
