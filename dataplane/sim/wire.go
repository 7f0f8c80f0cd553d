package sim

import (
	"math"

	"pfcswitch/dataplane/frame"
)

// headOctets is how much of a frame is kept: MAC Control frames, loop probes, and the numbers of a data frame.
const headOctets = 64

// A transit is a frame on its way.
type transit struct {
	at     int64 // when it is received
	octets int32 // without FCS
	data   bool  // no MAC Control frame
	lost   bool  // the link went down before it came
	head   [headOctets]byte
}

// bytes returns the octets of the frame that are kept.
func (t *transit) bytes() []byte { return t.head[:min(int(t.octets), headOctets)] }

// never is a time that does not come.
const never = math.MaxInt64

// A wire is one direction of a link.
type wire struct {
	flight  fifo
	end     int64 // when the last octet of the last frame has left, whole ns
	rest    int64 // 1/speed ns beyond end
	speed   int64 // bit/s
	delay   int64 // ns
	wakeAt  int64 // of the event wake that counts
	armed   bool  // an event free is arranged
	down    bool
	crosses bool     // it leads to another shard
	half    *station // nil: full duplex

	from, to End
	leaving  [2]fifo // frames that it has not taken in: of this window and of the last, by plant.side
}

// least returns after how many ns a frame arrives at the earliest.
func (w *wire) least() int64 { return int64(frame.WireOctets(0))*8*nsPerSecond/w.speed + w.delay }

// nsPerSecond is the number of nanoseconds of a second.
const nsPerSecond = 1_000_000_000

// send puts a frame on the wire at time now. Frames that follow one another without a gap keep fractions of a
// nanosecond.
func (w *wire) send(t *transit, now int64) {
	if w.end < now {
		w.end, w.rest = now, 0
	}
	w.rest += int64(frame.WireOctets(int(t.octets))) * 8 * nsPerSecond
	w.end += w.rest / w.speed
	w.rest %= w.speed
	t.at = w.end + w.delay
}

// A fifo holds frames in order. It allocates only while it grows.
type fifo struct {
	ring        []transit // a power of two of them
	first, next uint32
}

func (q *fifo) empty() bool { return q.first == q.next }

func (q *fifo) len() int { return int(q.next - q.first) }

// push appends a frame, which the caller fills in before the next call.
func (q *fifo) push() *transit {
	if q.len() == len(q.ring) {
		grown := make([]transit, max(2, 2*len(q.ring)))
		for i := range q.len() {
			grown[i] = *q.at(i)
		}
		q.ring, q.first, q.next = grown, 0, uint32(q.len())
	}
	q.next++
	t := q.at(q.len() - 1)
	t.lost = false
	return t
}

// at returns frame i, the oldest of which is 0.
func (q *fifo) at(i int) *transit { return &q.ring[(q.first+uint32(i))&uint32(len(q.ring)-1)] }

// pop removes the oldest frame. Its octets stay until the next push.
func (q *fifo) pop() *transit {
	t := q.at(0)
	q.first++
	return t
}

// A valueFifo holds values in order. It allocates only while it grows.
type valueFifo[T any] struct {
	ring        []T // a power of two of them
	first, next uint32
}

func (q *valueFifo[T]) empty() bool { return q.first == q.next }

func (q *valueFifo[T]) push(v T) {
	if int(q.next-q.first) == len(q.ring) {
		grown := make([]T, max(2, 2*len(q.ring)))
		for i := range q.ring {
			grown[i] = q.ring[(q.first+uint32(i))&uint32(len(q.ring)-1)]
		}
		q.first, q.next, q.ring = 0, uint32(len(q.ring)), grown
	}
	q.ring[q.next&uint32(len(q.ring)-1)] = v
	q.next++
}

func (q *valueFifo[T]) pop() T {
	v := q.ring[q.first&uint32(len(q.ring)-1)]
	q.first++
	return v
}
