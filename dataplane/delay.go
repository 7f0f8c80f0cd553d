package dataplane

import (
	"encoding/binary"
	"errors"
	"math"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// A delayLine holds what is on the way through a port's configured delay: data and MAC Control frames in the order of
// sending. Frames in it have left the buffer, as frames on a cable have. It is a ring of octets, of records
//
//	 8 octets  time at which the frame leaves
//	 4 octets  length of the frame
//	 1 octet   1 = MAC Control
//	 1 octet   0
//	10 octets  virtio_net_hdr
//	 n octets  frame
type delayLine struct {
	delay      int64
	ring       []byte
	head, tail int // octets ever taken and put; tail - head lie in the ring
	batch      *port.Batch
}

const recordHeader = 24

// newDelayLine returns a line for delay ns at speed bit/s: what a link holds in that time, in smallest frames, and two
// bursts and super-frames beyond it.
func newDelayLine(delay, speed, burst int64) *delayLine {
	octets := 2*(delay*(speed/8)/1_000_000_000+2*burst) + 4*(port.MaxFrame+recordHeader)
	return &delayLine{delay: delay, ring: make([]byte, octets), batch: port.NewBatch()}
}

// put appends a frame that is sent at time now, and returns false where the line is full.
func (l *delayLine) put(now int64, control bool, vnet *frame.VnetHeader, b []byte) bool {
	at, ok := l.reserve(recordHeader + len(b))
	if !ok {
		return false
	}
	r := l.ring[at:]
	binary.NativeEndian.PutUint64(r, uint64(now+l.delay))
	binary.NativeEndian.PutUint32(r[8:], uint32(len(b)))
	r[12] = 0
	if control {
		r[12] = 1
	}
	vnet.Encode(r[14:])
	copy(r[recordHeader:], b)
	return true
}

// reserve finds room for a record in one piece. Where it does not fit before the end of the ring, the rest of the ring
// is skipped: a record header of zeros, or fewer octets than a header, says so.
func (l *delayLine) reserve(n int) (int, bool) {
	at := l.tail % len(l.ring)
	rest := len(l.ring) - at
	if rest < n {
		if l.tail-l.head+rest+n > len(l.ring) {
			return 0, false
		}
		if rest >= recordHeader {
			clear(l.ring[at : at+recordHeader])
		}
		l.tail += rest
		at = 0
	}
	if l.tail-l.head+n > len(l.ring) {
		return 0, false
	}
	l.tail += n
	return at, true
}

// oldest returns the record at the head, nil where the line is empty.
func (l *delayLine) oldest() []byte {
	for l.head < l.tail {
		at := l.head % len(l.ring)
		rest := len(l.ring) - at
		if rest >= recordHeader && binary.NativeEndian.Uint64(l.ring[at:]) != 0 {
			return l.ring[at:]
		}
		l.head += rest
	}
	return nil
}

// due returns when the oldest frame leaves.
func (l *delayLine) due() int64 {
	if r := l.oldest(); r != nil {
		return int64(binary.NativeEndian.Uint64(r))
	}
	return math.MaxInt64
}

// clear empties the line: the link went down.
func (l *delayLine) clear() { l.head = l.tail }

// flush sends what is due and returns how many data frames and octets left, and how many the kernel will never take,
// which are dropped. It stops where the kernel does not take a frame now.
func (l *delayLine) flush(p port.Port, now int64) (sent, octets, refused int, err error) {
	for {
		r := l.oldest()
		if r == nil || int64(binary.NativeEndian.Uint64(r)) > now {
			return sent, octets, refused, nil
		}
		n, data := int(binary.NativeEndian.Uint32(r[8:])), r[12] == 0
		err := l.send(p, r, n)
		switch {
		case errors.Is(err, port.ErrAgain) || errors.Is(err, port.ErrDown):
			return sent, octets, refused, err
		case err != nil && data:
			refused++
		case data:
			sent++
			octets += n
		}
		l.head += recordHeader + n
	}
}

func (l *delayLine) send(p port.Port, r []byte, n int) error {
	if r[12] == 1 {
		return p.SendControl(r[recordHeader : recordHeader+n])
	}
	v, _ := frame.DecodeVnetHeader(r[14:])
	l.batch.Reset()
	l.batch.Begin(&v)
	l.batch.Part(r[recordHeader : recordHeader+n])
	l.batch.End()
	_, err := p.Send(l.batch)
	return err
}
