package runner

import (
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/capture"
)

// Tap is where readers attach.
func (r *Runner) Tap() *capture.Tap { return r.sw.Tap() }

// Interfaces appends the ports as a capture describes them.
func (r *Runner) Interfaces(dst []capture.Interface) []capture.Interface {
	r.View(func(sw *dataplane.Switch) { dst = sw.Interfaces(dst) })
	return dst
}

// captureFrame captures one frame.
func captureFrame(tap *capture.Recorder, r *capture.Record, b []byte) {
	tap.Lock()
	copy(tap.Put(r), b)
	tap.Unlock()
}

// tapping returns the recorder for frames of a port, nil where nobody captures them.
func (w *worker) tapping(t *portTask) *capture.Recorder {
	tap := w.r.sw.Tap().Recorder()
	if tap == nil || !tap.Wants(t.index) {
		return nil
	}
	return tap
}

// tapReceived captures frames that the switch has taken, with their dispositions.
func (w *worker) tapReceived(t *portTask, arrivals []dataplane.Arrival) {
	tap := w.tapping(t)
	if tap == nil || len(arrivals) == 0 {
		return
	}
	tap.Lock()
	for i := range arrivals {
		a := &arrivals[i]
		r := capture.Record{Port: t.index, Time: a.At, Held: a.Waited(), Length: len(a.Data), Note: a.Note()}
		copy(tap.Put(&r), a.Data)
	}
	tap.Unlock()
}

// tapTime is the time of the send call that follows, 0 where nobody captures.
func (w *worker) tapTime() int64 {
	if w.r.sw.Tap().Recorder() == nil {
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

// tapRefused captures frame i of the batch, which the kernel will never take. A frame in the packet memory is captured
// when it leaves its queue.
func (w *worker) tapRefused(t *portTask, i int, f dataplane.Planned, reason dataplane.DropReason, now int64) {
	tap := w.tapping(t)
	if tap == nil || !f.InRing {
		return
	}
	r := capture.Record{Port: t.index, Out: true, Time: now, Length: w.batch.Length(i), Note: dataplane.DropNote(reason,
		f.Origin.Lossless)}
	tap.Lock()
	w.batch.Peek(i, tap.Put(&r))
	tap.Unlock()
}

// tapControl captures a MAC Control frame that came at time at, right after Switch.Control. The switch is locked.
func (w *worker) tapControl(t *portTask, b []byte, at int64) {
	if tap := w.tapping(t); tap != nil {
		w.note = w.r.sw.ExplainControl(w.note[:0], t.index)
		captureFrame(tap, &capture.Record{Port: t.index, Time: at, Length: len(b), Note: w.note}, b)
		w.note = w.note[:0]
	}
}

// explain prepares the note of the MAC Control frame that ControlOut has made. The switch is locked.
func (w *worker) explain(t *portTask, there bool) {
	if there && w.tapping(t) != nil {
		w.note = w.r.sw.ExplainControlOut(w.note[:0], t.index)
	}
}

// tapOwn captures a frame of the switch itself that left at time now, with the note of explain.
func (w *worker) tapOwn(t *portTask, b []byte, now int64) {
	if tap := w.tapping(t); tap != nil {
		captureFrame(tap, &capture.Record{Port: t.index, Out: true, Time: now, Length: len(b), Note: w.note}, b)
	}
	w.note = w.note[:0]
}

// TapBeside captures a frame of port i that came or left at time now beside the rings, such as LLDP. Any goroutine may
// call it.
func (r *Runner) TapBeside(i int, out bool, b []byte, now int64) {
	if tap := r.sw.Tap().Recorder(); tap != nil && tap.Wants(i) {
		captureFrame(tap, &capture.Record{Port: i, Out: out, Time: now, Length: len(b)}, b)
	}
}
