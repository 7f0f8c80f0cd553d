package traffic

import "time"

// window is the lateness, in frames, up to which a late frame is distinguished from a duplicate.
const window = 1 << 16

// A tracker follows one flow at the sink.
type tracker struct {
	received   uint64 // different frames
	reordered  uint64 // of them, those behind a later one
	duplicated uint64
	next       uint64 // one beyond the highest sequence number seen
	seen       [window / 64]uint64
}

// count counts the frame with a sequence number.
func (t *tracker) count(sequence uint64) {
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

// A sink keeps the first maxGaps times of at least LongGap without a frame of a flow.
const (
	LongGap = 30 * time.Millisecond
	maxGaps = 32
)

// A Gap is a time without a frame of a flow.
type Gap struct {
	From int64 `json:"from_ns"` // since 1970
	Time int64 `json:"time_ns"`
}

// recordGap records the time between the last frame and the frame with stamp.
func (f *sinkFlow) recordGap(stamp int64) {
	gap := stamp - f.stamp
	if gap > f.gap {
		f.gap, f.gapFrom = gap, f.stamp
	}
	if gap >= int64(LongGap) && len(f.gaps) < maxGaps {
		f.gaps = append(f.gaps, Gap{f.stamp, gap})
	}
}

// overtaking measures by how many octets a frame was overtaken: the octets of later frames of its flow that came first.
type overtaking struct {
	lengths  [overtakingWindow]uint16 // of the frames that came, by sequence number
	maxBytes uint64
}

// overtakingWindow is the lateness, in frames, up to which a frame is measured.
const overtakingWindow = 4096

// record measures a frame, with FCS, before the tracker counts it.
func (o *overtaking) record(t *tracker, sequence uint64, octets int) {
	if sequence < t.next && t.next-sequence <= overtakingWindow && !t.has(sequence) {
		var sum uint64
		for n := sequence + 1; n < t.next; n++ {
			if t.has(n) {
				sum += uint64(o.lengths[n%overtakingWindow])
			}
		}
		o.maxBytes = max(o.maxBytes, sum)
	}
	o.lengths[sequence%overtakingWindow] = uint16(min(octets, 0xFFFF))
}
