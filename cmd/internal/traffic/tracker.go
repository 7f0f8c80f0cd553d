package traffic

// window is how far back, in frames, a late frame is told from a duplicate.
const window = 1 << 16

// A tracker follows one flow at the sink.
type tracker struct {
	received   uint64 // different frames
	reordered  uint64 // of them, those behind a later one
	duplicated uint64
	next       uint64 // one beyond the highest sequence number seen
	seen       [window / 64]uint64
}

// take counts the frame with a sequence number.
func (t *tracker) take(sequence uint64) {
	switch {
	case sequence >= t.next:
		t.forget(sequence)
		t.next = sequence + 1
	case t.next-sequence > window || t.has(sequence):
		t.duplicated++
		return
	default:
		t.reordered++
	}
	t.seen[sequence%window/64] |= 1 << (sequence % 64)
	t.received++
}

// forget clears the marks of the numbers from next to sequence, whose places in the window served older ones.
func (t *tracker) forget(sequence uint64) {
	if sequence-t.next >= window {
		t.seen = [window / 64]uint64{}
		return
	}
	for n := t.next; n <= sequence; n++ {
		t.seen[n%window/64] &^= 1 << (n % 64)
	}
}

func (t *tracker) has(sequence uint64) bool {
	return t.seen[sequence%window/64]&(1<<(sequence%64)) != 0
}
