// Package ack has the rules of a flow with a window: so many frames may be on their way without an acknowledgement, and
// one says how many have come. Senders and receivers in virtual time and on real links share it.
package ack

// A Sender is what the sender of a flow knows. Its zero value has no window.
type Sender struct {
	Window uint64 // frames on their way at most; 0: any number
	came   uint64 // sequence number up to which it knows that frames have come
}

// Open reports whether one more frame may go, after so many.
func (s *Sender) Open(sent uint64) bool { return s.Window == 0 || sent-s.came < s.Window }

// Acknowledged says that frames up to a sequence number have come. Acknowledgements may overtake each other.
func (s *Sender) Acknowledged(next uint64) { s.came = max(s.came, next) }

// A Receiver is what the receiver of a flow knows. Its zero value is ready.
type Receiver struct{ owes bool }

// Came says that a frame came, and reports whether an acknowledgement has to be queued: one is enough for all frames
// that come before it leaves.
func (r *Receiver) Came() (queue bool) {
	queue, r.owes = !r.owes, true
	return queue
}

// Leaves says that the acknowledgement leaves.
func (r *Receiver) Leaves() { r.owes = false }
