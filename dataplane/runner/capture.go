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

func captureFrame(recorder *capture.Recorder, r *capture.Record, b []byte) {
	recorder.Lock()
	copy(recorder.Put(r), b)
	recorder.Unlock()
}

// recorderOf returns the recorder for frames of a port, nil where nobody captures them.
func (w *worker) recorderOf(t *portTask) *capture.Recorder {
	recorder := w.r.sw.Tap().Recorder()
	if recorder == nil || !recorder.Wants(t.index) {
		return nil
	}
	return recorder
}

// captureReceived captures frames that the switch has taken, with their dispositions.
func (w *worker) captureReceived(t *portTask, arrivals []dataplane.Arrival) {
	recorder := w.recorderOf(t)
	if recorder == nil || len(arrivals) == 0 {
		return
	}
	recorder.Lock()
	for i := range arrivals {
		a := &arrivals[i]
		if a.Waits() {
			continue
		}
		r := capture.Record{Port: t.index, Time: a.At, Length: len(a.Data), Note: a.Note()}
		b := recorder.Put(&r)
		copy(b, a.Data)
		a.Unmark(b)
	}
	recorder.Unlock()
}

// captureTime is the time of the send call that follows, 0 where nobody captures.
func (w *worker) captureTime() int64 {
	if w.r.sw.Tap().Recorder() == nil {
		return 0
	}
	return Now()
}

// captureSent captures the first n frames of the batch, which the kernel took in the send call that began at time from.
func (w *worker) captureSent(t *portTask, n int, from int64) {
	recorder := w.recorderOf(t)
	if recorder == nil || n == 0 || from == 0 {
		return
	}
	recorder.Lock()
	for i := range n {
		r := capture.Record{Port: t.index, Out: true, Time: from, Length: w.batch.Length(i)}
		w.batch.Peek(i, recorder.Put(&r))
	}
	recorder.Unlock()
}

// captureRefused captures frame i of the batch, which the kernel will never take. A frame in the packet memory is
// captured when it leaves its queue.
func (w *worker) captureRefused(t *portTask, i int, f dataplane.Planned, reason dataplane.DropReason, now int64) {
	recorder := w.recorderOf(t)
	if recorder == nil || !f.InRing {
		return
	}
	r := capture.Record{Port: t.index, Out: true, Time: now, Length: w.batch.Length(i), Note: dataplane.DropNote(reason,
		f.Origin.Lossless)}
	recorder.Lock()
	w.batch.Peek(i, recorder.Put(&r))
	recorder.Unlock()
}

// captureControl captures a MAC Control frame that came at time at, right after Switch.Control. The switch is locked.
func (w *worker) captureControl(t *portTask, b []byte, at int64) {
	if recorder := w.recorderOf(t); recorder != nil {
		w.note = w.r.sw.ExplainControl(w.note[:0], t.index)
		captureFrame(recorder, &capture.Record{Port: t.index, Time: at, Length: len(b), Note: w.note}, b)
		w.note = w.note[:0]
	}
}

// explain prepares the note of the MAC Control frame that ControlOut has made. The switch is locked.
func (w *worker) explain(t *portTask, there bool) {
	if there && w.recorderOf(t) != nil {
		w.note = w.r.sw.ExplainControlOut(w.note[:0], t.index)
	}
}

// captureOwn captures a frame of the switch itself that left at time now, with the note of explain.
func (w *worker) captureOwn(t *portTask, b []byte, now int64) {
	if recorder := w.recorderOf(t); recorder != nil {
		captureFrame(recorder, &capture.Record{Port: t.index, Out: true, Time: now, Length: len(b), Note: w.note}, b)
	}
	w.note = w.note[:0]
}

// captureRefresh captures a MAC Control frame that the Refresher has sent, again or because no worker has looked. It
// waits for nobody: a worker that records may have no CPU.
func (r *Runner) captureRefresh(i int, b []byte, again bool, now int64) {
	if recorder := r.sw.Tap().Recorder(); recorder != nil && recorder.Wants(i) {
		var note [capture.MaxNote]byte
		recorder.PutAside(&capture.Record{Port: i, Out: true, Time: now, Length: len(b),
			Note: dataplane.ExplainRefresh(note[:0], b, again)}, b)
	}
}

// captureKernelHold captures the n XOFF by which the program in the kernel has held the peer of port i, as of the time
// of the last one. The switch is locked.
func (r *Runner) captureKernelHold(i int, n uint64, at int64) {
	recorder := r.sw.Tap().Recorder()
	if recorder == nil || !recorder.Wants(i) {
		return
	}
	b, _ := r.sw.AppendHold(i, nil)
	for range n {
		r.captureRefresh(i, b, false, at)
	}
}

// CaptureBesideRings captures a frame of port i that came or left at time now beside the rings, such as LLDP. Any
// goroutine may call it.
func (r *Runner) CaptureBesideRings(i int, out bool, b []byte, now int64) {
	if recorder := r.sw.Tap().Recorder(); recorder != nil && recorder.Wants(i) {
		captureFrame(recorder, &capture.Record{Port: i, Out: out, Time: now, Length: len(b)}, b)
	}
}
