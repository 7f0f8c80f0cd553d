package dataplane

import (
	"encoding/binary"
	"math"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// A delayLine holds what is on the way through a port's configured delay: data and MAC Control frames in the order of
// sending. Frames in it have left the buffer, as frames on a cable have. It is a ring of octets, of records
//
//	 8 octets  time at which the frame leaves
//	 4 octets  length of the frame
//	10 octets  virtio_net_hdr
//	 2 octets  port that the frame came in by
//	 1 octet   its priority
//	 1 octet   flags: 1 = MAC Control, 2 = lossless, 4 = of the port's own stream
//	 2 octets  0
//	 n octets  frame
type delayLine struct {
	delay      int64
	ring       []byte
	head, tail int // octets ever taken and put; tail - head lie in the ring
	batch      *port.Batch
	refused    []refusal // of the last flush
	longest    int       // frame that left with it
	controls   []int64   // when the MAC Control frames that left with it were due
}

// Layout of a record.
const (
	recordLength = 8
	recordVnet   = 12
	recordIn     = 22
	recordPrio   = 24
	recordFlags  = 25
	recordHeader = 28

	flagControl  = 1
	flagLossless = 2
	flagOwn      = 4
)

// An origin is what is still known of a frame that has left the buffer: where its drop would count.
type origin struct {
	control  bool
	own      bool // of the port's stream: it is no data frame
	lossless bool
	in       uint16
	prio     uint8
}

// A refusal is a frame that the kernel will never take.
type refusal struct {
	origin
	reason DropReason
}

// newDelayLine returns a line for delay ns at speed bit/s: what a link holds in that time, in smallest frames, and two
// bursts and super-frames beyond it.
func newDelayLine(delay, speed, burst int64) *delayLine {
	octets := 2*(delay/1000*(speed/8)/1_000_000+2*burst) + 4*(port.MaxFrame+recordHeader)
	return &delayLine{delay: delay, ring: make([]byte, octets), batch: port.NewBatch(), controls: make([]int64, 0, maxControls)}
}

// maxControls is how many MAC Control frames of one flush are told of.
const maxControls = 64

// put appends a frame that is sent at time now, and returns false where the line is full.
func (l *delayLine) put(now int64, o origin, vnet *frame.VnetHeader, b []byte) bool {
	at, ok := l.reserve(recordHeader + len(b))
	if !ok {
		return false
	}
	r := l.ring[at:]
	binary.NativeEndian.PutUint64(r, uint64(now+l.delay))
	binary.NativeEndian.PutUint32(r[recordLength:], uint32(len(b)))
	vnet.Encode(r[recordVnet:])
	o.encode(r)
	copy(r[recordHeader:], b)
	return true
}

func (o origin) encode(r []byte) {
	binary.NativeEndian.PutUint16(r[recordIn:], o.in)
	r[recordPrio], r[recordFlags] = o.prio, 0
	if o.control {
		r[recordFlags] |= flagControl
	}
	if o.lossless {
		r[recordFlags] |= flagLossless
	}
	if o.own {
		r[recordFlags] |= flagOwn
	}
}

func originOf(r []byte) origin {
	return origin{in: binary.NativeEndian.Uint16(r[recordIn:]), prio: r[recordPrio],
		control: r[recordFlags]&flagControl != 0, own: r[recordFlags]&flagOwn != 0, lossless: r[recordFlags]&flagLossless != 0}
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

// flush sends what is due and returns how many data frames and octets left, and those that the kernel will never take,
// which are dropped. It stops where the kernel does not take a frame now.
func (l *delayLine) flush(p port.Port, now int64) (sent, octets int, hopeless []refusal, err error) {
	l.refused, l.longest, l.controls = l.refused[:0], 0, l.controls[:0]
	for {
		r := l.oldest()
		if r == nil || int64(binary.NativeEndian.Uint64(r)) > now {
			return sent, octets, l.refused, nil
		}
		n, o := int(binary.NativeEndian.Uint32(r[recordLength:])), originOf(r)
		err := l.send(p, r, n, o.control)
		switch {
		case err != nil && !refused(err):
			return sent, octets, l.refused, err
		case o.control:
			if len(l.controls) < cap(l.controls) {
				l.controls = append(l.controls, int64(binary.NativeEndian.Uint64(r)))
			}
		case o.own:
		case err != nil:
			l.refused = append(l.refused, refusal{o, refusedFor(err)})
		default:
			sent++
			octets += n
			l.longest = max(l.longest, n)
		}
		l.head += recordHeader + n
	}
}

// attempt is that of sending the oldest frame, which there is.
func (l *delayLine) attempt(now int64) attempt {
	r := l.oldest()
	return attempt{frame: uint64(l.head), length: int(binary.NativeEndian.Uint32(r[recordLength:])), at: now}
}

// giveUp drops the oldest frame, which there is, and appends it to refused where it is a data frame.
func (l *delayLine) giveUp(refused []refusal) []refusal {
	r := l.oldest()
	if o := originOf(r); !o.control && !o.own {
		refused = append(refused, refusal{o, DropSend})
	}
	l.head += recordHeader + int(binary.NativeEndian.Uint32(r[recordLength:]))
	return refused
}

// empty drops what is in the line and returns the data frames of it.
func (l *delayLine) empty() []refusal {
	l.refused = l.refused[:0]
	for l.oldest() != nil {
		l.refused = l.giveUp(l.refused)
	}
	return l.refused
}

func (l *delayLine) send(p port.Port, r []byte, n int, control bool) error {
	if control {
		return p.SendControl(r[recordHeader : recordHeader+n])
	}
	v, _ := frame.DecodeVnetHeader(r[recordVnet:])
	l.batch.Reset()
	l.batch.Begin(&v)
	l.batch.Part(r[recordHeader : recordHeader+n])
	l.batch.End()
	_, err := p.Send(l.batch)
	return err
}
