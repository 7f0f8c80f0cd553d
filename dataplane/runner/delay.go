package runner

import (
	"encoding/binary"
	"math"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A delayLine holds the frames that are on the way through a port's configured delay, like frames on a cable: they have
// left the buffer. Data and MAC Control frames have a lane each, so that no data, late or refused by the kernel, keeps
// a MAC Control frame from entering the line or from leaving it. A line is late when its worker waits for a CPU: its
// overdue data frames then count as part of the port's burst (LineHolds). When the delay changes, frames in the line
// keep their time, and no later frame of their lane overtakes them.
type delayLine struct {
	delay         int64
	limit         int64 // octets on the wire of one send call beyond its first frame
	data, control lane
	holds         int64 // octets on the wire of the data frames
	batch         *port.Batch
	refused       []dataplane.Refusal // of the last flush
	longest       int                 // frame that left with it
	lossless      int                 // frames of lossless priorities that left with it
	dues          []int64             // due times of the frames that left with it
	entered       int64               // when the MAC Control frame that left with it was put in; 0: none left
	meant         int64               // when this MAC Control frame had passed its delay
	overtaken     int64               // when the peer was held instead, past the line; 0: the frame was sent
	retryControl  int64               // no MAC Control frame leaves before, because the kernel was full
	mtu           *linkMTU            // nil: the kernel's errors stand
	// sendPause is SendDelayed for a frame of putPause
	sendPause func(b []byte, holds uint16, now, every int64) (overtaken int64, err error)
}

// A lane holds frames of one kind, in the order of sending.
type lane struct {
	first, newest *delayRing // first: the oldest frames; newest: where frames are put
	last          int64      // when the frame that was put last leaves
}

// A delayRing is a piece of a lane, in which all frames have the same delay. It is a ring of octets, of records
//
//	 8 octets  time at which the frame has passed the delay
//	 4 octets  length of the frame
//	10 octets  virtio_net_hdr; of a frame that holds or frees the peer: 8 octets of ns after which it is to be sent
//	           again, and 2 octets of Refresher.Holds by the decision
//	 2 octets  port that the frame came in by
//	 1 octet   its priority
//	 1 octet   flags: 1 = MAC Control, 2 = lossless, 4 = of the port's own stream, 8 = holds or frees the peer,
//	           16 = demoted
//	 2 octets  0
//	 n octets  frame
type delayRing struct {
	delay      int64
	from       int64 // nothing leaves before: frames of the rings before go first
	octets     []byte
	head, tail int // octets ever taken out and put in; tail - head lie in the ring
	next       *delayRing
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
	flagPause    = 8
	flagDemoted  = 16
)

// newDelayLine returns a line for delay ns at speed bit/s.
func newDelayLine(delay, speed, burst int64) *delayLine {
	l := &delayLine{data: newLane(), control: newLane(), batch: port.NewBatch(),
		dues: make([]int64, 0, port.BatchFrames)}
	l.change(delay, speed, burst)
	return l
}

func newLane() lane {
	g := &delayRing{}
	return lane{first: g, newest: g}
}

// A port sends MAC Control frames no faster than one each controlGap ns, or controlBurst of them at once.
const (
	controlGap   = 10_000
	controlBurst = 64
)

// change sets the delay of later frames and makes room for them: for the smallest frames that a link of speed bit/s
// passes in the delay, two bursts, and four of the largest GSO frames; and for MAC Control frames.
func (l *delayLine) change(delay, speed, burst int64) {
	l.delay, l.limit = delay, dataplane.SendLimit(speed)
	passes := delay / 1000 * (macctl.SpeedOrNominal(speed) / 8) / 1_000_000
	controls := min(delay/controlGap, passes/int64(frame.WireOctets(macctl.FrameSize))) + controlBurst
	l.data.change(delay, 2*(passes+2*burst)+4*(port.MaxFrame+recordHeader))
	l.control.change(delay, controls*(recordHeader+macctl.FrameSize))
}

func (l *lane) change(delay, octets int64) {
	old := l.newest
	l.newest = &delayRing{delay: delay, from: l.last, octets: make([]byte, octets), head: old.tail, tail: old.tail}
	if old.head == old.tail { // an empty ring needs no memory
		*old = *l.newest
		l.newest = old
		return
	}
	old.next = l.newest
}

// put appends a data frame that is sent at time now. It returns false where there is no room.
func (l *delayLine) put(now int64, o dataplane.Origin, vnet *frame.VnetHeader, b []byte) bool {
	r := l.data.put(now, o, b)
	if r == nil {
		return false
	}
	vnet.Encode(r[recordVnet:])
	l.holds += int64(frame.WireOctets(len(b)))
	return true
}

// putControl appends a MAC Control frame that is sent at time now, but holds and frees nobody. It returns false where
// there is no room.
func (l *delayLine) putControl(now int64, b []byte) bool {
	return l.control.put(now, dataplane.Origin{Control: true}, b) != nil
}

// putPause appends a frame that holds or frees the peer (SendDelayed). Without room it takes that of the oldest frames:
// the newest one states all.
func (l *delayLine) putPause(now int64, b []byte, holds uint32, every int64) {
	r := l.control.put(now, dataplane.Origin{Control: true}, b)
	for r == nil {
		l.removeOldest(&l.control)
		r = l.control.put(now, dataplane.Origin{Control: true}, b)
	}
	binary.NativeEndian.PutUint64(r[recordVnet:], uint64(every))
	binary.NativeEndian.PutUint16(r[recordVnet+8:], uint16(holds))
	r[recordFlags] |= flagPause
}

// put appends a frame and returns its record, nil where there is no room.
func (l *lane) put(now int64, o dataplane.Origin, b []byte) (record []byte) {
	g := l.newest
	at, ok := g.reserve(recordHeader + len(b))
	if !ok {
		return nil
	}
	r := g.octets[at:]
	binary.NativeEndian.PutUint64(r, uint64(now+g.delay))
	binary.NativeEndian.PutUint32(r[recordLength:], uint32(len(b)))
	encodeOrigin(r, o)
	copy(r[recordHeader:], b)
	l.last = g.due(r)
	return r
}

func encodeOrigin(r []byte, o dataplane.Origin) {
	binary.NativeEndian.PutUint16(r[recordIn:], o.In)
	r[recordPrio], r[recordFlags] = o.Priority, 0
	if o.Control {
		r[recordFlags] |= flagControl
	}
	if o.Lossless {
		r[recordFlags] |= flagLossless
	}
	if o.Own {
		r[recordFlags] |= flagOwn
	}
	if o.Demoted {
		r[recordFlags] |= flagDemoted
	}
}

func originOf(r []byte) dataplane.Origin {
	return dataplane.Origin{In: binary.NativeEndian.Uint16(r[recordIn:]), Priority: r[recordPrio],
		Control: r[recordFlags]&flagControl != 0, Own: r[recordFlags]&flagOwn != 0,
		Lossless: r[recordFlags]&flagLossless != 0, Demoted: r[recordFlags]&flagDemoted != 0}
}

// reserve finds room for a record in one piece. Where it does not fit before the end of the ring, the rest of the ring
// is skipped: a record header of zeros, or fewer octets than a header, says so.
func (g *delayRing) reserve(n int) (int, bool) {
	at := g.tail % len(g.octets)
	rest := len(g.octets) - at
	if rest < n {
		if g.tail-g.head+rest+n > len(g.octets) {
			return 0, false
		}
		if rest >= recordHeader {
			clear(g.octets[at : at+recordHeader])
		}
		g.tail += rest
		at = 0
	}
	if g.tail-g.head+n > len(g.octets) {
		return 0, false
	}
	g.tail += n
	return at, true
}

// record returns the first record at or behind a place in the ring, and its place.
func (g *delayRing) record(from int) (r []byte, at int) {
	for at = from; at < g.tail; {
		i := at % len(g.octets)
		rest := len(g.octets) - i
		if rest >= recordHeader && binary.NativeEndian.Uint64(g.octets[i:]) != 0 {
			return g.octets[i:], at
		}
		at += rest
	}
	return nil, at
}

// due returns when the frame of a record leaves.
func (g *delayRing) due(r []byte) int64 { return max(meantOf(r), g.from) }

// oldest returns the record at the head of the first ring, nil where the lane is empty.
func (l *lane) oldest() []byte {
	for {
		g := l.first
		r, at := g.record(g.head)
		g.head = at
		if r != nil || g.next == nil {
			return r
		}
		l.first = g.next
	}
}

// due returns when the oldest frame leaves.
func (l *lane) due() int64 {
	if r := l.oldest(); r != nil {
		return l.first.due(r)
	}
	return math.MaxInt64
}

func (l *lane) clear() {
	l.first = l.newest
	l.first.head, l.first.from, l.last = l.first.tail, 0, 0
}

// due returns when the next frame leaves. The kernel takes no data before retryData.
func (l *delayLine) due(retryData int64) int64 {
	return min(max(l.control.due(), l.retryControl), max(l.data.due(), retryData))
}

// over reports whether the port has no delay any more, and the line is empty.
func (l *delayLine) over() bool {
	return l.delay == 0 && l.data.oldest() == nil && l.control.oldest() == nil
}

func meantOf(r []byte) int64 { return int64(binary.NativeEndian.Uint64(r)) }

func lengthOf(r []byte) int { return int(binary.NativeEndian.Uint32(r[recordLength:])) }

// clear empties the line: the link went down.
func (l *delayLine) clear() {
	l.data.clear()
	l.control.clear()
	l.holds, l.retryControl = 0, 0
}

// flush makes one send call of frames that are due at time now: one MAC Control frame, or else data frames up to the
// limit. It returns how many data frames and octets left, and the dropped frames that the kernel will never take. err
// concerns the oldest data frame.
func (l *delayLine) flush(p port.Port, now int64) (sent, octets int, givenUp []dataplane.Refusal, err error) {
	l.refused, l.longest, l.lossless, l.dues, l.entered = l.refused[:0], 0, 0, l.dues[:0], 0
	if max(l.control.due(), l.retryControl) <= now {
		l.flushControl(p, now)
		return 0, 0, nil, nil
	}
	l.fillBatch(now)
	n, err := p.Send(l.batch)
	err = l.mtu.judge(err, l.batch, n)
	for range n {
		l.dues = append(l.dues, l.data.due())
		length, o := l.removeOldest(&l.data)
		if !o.Own {
			sent++
			octets += length
			l.longest = max(l.longest, length)
			if o.LosslessPriority() {
				l.lossless++
			}
		}
	}
	if refused(err) {
		if _, o := l.removeOldest(&l.data); !o.Own {
			l.refused = append(l.refused, dataplane.Refusal{Origin: o, Reason: refusedFor(err)})
		}
		err = nil
	}
	return sent, octets, l.refused, err
}

// flushControl sends the oldest MAC Control frame, which is due. Where the kernel does not take it now, it stays; one
// that holds or frees the peer stays in any case, because the Refresher would go on with the one before.
func (l *delayLine) flushControl(p port.Port, now int64) {
	r := l.control.oldest()
	b, meant := r[recordHeader:recordHeader+lengthOf(r)], meantOf(r)
	entered, overtaken := meant-l.control.first.delay, int64(0)
	var err error
	pause := r[recordFlags]&flagPause != 0
	if !pause {
		err = p.SendControl(b)
	} else {
		every := int64(binary.NativeEndian.Uint64(r[recordVnet:]))
		holds := binary.NativeEndian.Uint16(r[recordVnet+8:])
		overtaken, err = l.sendPause(b, holds, now, every)
	}
	switch {
	case err == nil:
		l.entered, l.meant, l.overtaken = entered, meant, overtaken
		if overtaken == 0 {
			l.dues = append(l.dues, l.control.due())
		}
		l.removeOldest(&l.control)
	case refused(err) && !pause:
		l.removeOldest(&l.control)
	default:
		l.retryControl = now + retryDelay
	}
}

// fillBatch puts data frames of one ring that are due at time now into the batch.
func (l *delayLine) fillBatch(now int64) {
	l.batch.Reset()
	r := l.data.oldest()
	g := l.data.first
	at := g.head
	for octets := int64(0); r != nil && g.due(r) <= now && !l.batch.Full(1); r, at = g.record(at) {
		n := lengthOf(r)
		if octets += int64(frame.WireOctets(n)); l.batch.Len() > 0 && octets > l.limit {
			break
		}
		v, _ := frame.DecodeVnetHeader(r[recordVnet:])
		l.batch.Begin(&v)
		l.batch.Part(r[recordHeader : recordHeader+n])
		l.batch.End()
		at += recordHeader + n
	}
}

// removeOldest removes the oldest frame of a lane, which is not empty.
func (l *delayLine) removeOldest(of *lane) (length int, o dataplane.Origin) {
	r := of.oldest()
	length, o = lengthOf(r), originOf(r)
	if !o.Control {
		l.holds -= int64(frame.WireOctets(length))
	}
	of.first.head += recordHeader + length
	return length, o
}

// attempt describes an attempt to send the oldest data frame. There is one.
func (l *delayLine) attempt(now int64) attempt {
	r := l.data.oldest()
	return attempt{frame: uint64(l.data.first.head), length: lengthOf(r), at: now}
}

// giveUp drops the oldest data frame, and appends it to refused unless it is of the port's own stream.
func (l *delayLine) giveUp(refused []dataplane.Refusal) []dataplane.Refusal {
	if _, o := l.removeOldest(&l.data); !o.Own {
		refused = append(refused, dataplane.Refusal{Origin: o, Reason: dataplane.DropSend})
	}
	return refused
}
