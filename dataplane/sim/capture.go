package sim

import (
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/capture"
)

// Frames of a switch are captured as package runner does, with the same notes. Of a frame that comes by a link the
// first octets are real. While nobody captures, each of these functions costs a load and a branch.

// recorder returns the recorder for frames of port i, nil where nobody captures them.
func (n *switchNode) recorder(i int) *capture.Recorder {
	r := n.sw.Tap().Recorder()
	if r == nil || !r.Wants(i) {
		return nil
	}
	return r
}

// record captures one frame.
func record(r *capture.Recorder, rec *capture.Record, b []byte) {
	r.Lock()
	copy(r.Put(rec), b)
	r.Unlock()
}

// captureReceived captures an arrival that the switch has taken.
func (s *shard) captureReceived(n *switchNode, i int, a *dataplane.Arrival) {
	r := n.recorder(i)
	if r == nil || a.Waits() {
		return
	}
	rec := capture.Record{Port: i, Time: a.At, Length: len(a.Data), Note: a.Note()}
	r.Lock()
	b := r.Put(&rec)
	copy(b, a.Data)
	a.Unmark(b)
	r.Unlock()
}

// captureControl captures a MAC Control frame that has come, right after Switch.Control.
func (s *shard) captureControl(n *switchNode, i int, b []byte) {
	if r := n.recorder(i); r != nil {
		s.note = n.sw.ExplainControl(s.note[:0], i)
		record(r, &capture.Record{Port: i, Time: s.now, Length: len(b), Note: s.note}, b)
	}
}

// captureControlOut captures the MAC Control frame that ControlOut has made, before ControlSent.
func (s *shard) captureControlOut(n *switchNode, i int, b []byte) {
	if r := n.recorder(i); r != nil {
		s.note = n.sw.ExplainControlOut(s.note[:0], i)
		record(r, &capture.Record{Port: i, Out: true, Time: s.now, Length: len(b), Note: s.note}, b)
	}
}

// captureSent captures another frame that begins to leave. b is its first octets.
func (s *shard) captureSent(n *switchNode, i int, b []byte, octets int) {
	if r := n.recorder(i); r != nil {
		record(r, &capture.Record{Port: i, Out: true, Time: s.now, Length: octets}, b)
	}
}
