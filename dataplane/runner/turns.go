package runner

import "pfcswitch/dataplane/port"

// ringIsEmpty notes that a ring gave no frame. A ring that nevertheless seems to have some is not waited for.
func (w *worker) ringIsEmpty(t *portTask, c port.Class) {
	t.jammed[c], t.left[c] = t.port.BacklogExceeds(c, 0), false
	if t.awaited && !t.hasLeft() {
		t.awaited = w.lock().FramesInRings(t.index, false, w.clock())
		w.unlock()
	}
}

// hasLeft reports whether the rings of a port have frames that the newest bursts have left there.
func (t *portTask) hasLeft() bool { return t.left[port.Lossless] || t.left[port.Other] }

// hasFrames reports whether the rings of a port that is not being read have frames that can go on.
func (t *portTask) hasFrames() bool {
	for c := range port.NumClasses {
		if !t.blocked[c] && !t.jammed[c] && t.port.BacklogExceeds(c, 0) {
			return true
		}
	}
	return false
}

// lookAtMembers tells the switch which members of the trunk whose uplink t is have frames in their rings, as far as
// this worker reads them. The switch is locked.
func (w *worker) lookAtMembers(t *portTask, now int64) {
	sw := w.r.sw
	for _, i := range sw.Members(t.index) {
		if m := w.r.tasks[i]; m != nil && m.rx == w && m != w.reading {
			sw.FramesInRings(i, m.hasFrames(), now)
		}
	}
}
