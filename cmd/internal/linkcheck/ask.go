package linkcheck

import (
	"context"
	"encoding/binary"
	"time"

	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// attempts is how often a request is sent before it counts as unanswered: a frame may be lost by chance.
const attempts = 3

type request struct {
	path, answerPath macctl.EchoPath
	octets           int // of the request; 0: the shortest
	answerOctets     int // octets of the answer; 0: the shortest
	tagged           bool
	tci              uint16
	partialChecksum  bool // its checksum is left to the link
}

// An answer is what came back.
type answer struct {
	macctl.EchoFrame
	sent, received int64 // stamps of this end
	kernelStamp    bool  // sent is the kernel's
}

// request sends a request until there is an answer.
func (c *checker) request(q request) (a answer, ok bool) {
	for range attempts {
		if a, ok = c.requestOnce(q); ok {
			return a, true
		}
	}
	return a, false
}

// requestOnce sends a request and waits for its answer. What a comes to without one is the time when the request left.
func (c *checker) requestOnce(q request) (a answer, ok bool) {
	if c.ctx.Err() != nil {
		return a, false
	}
	c.sequence++
	e := macctl.Echo{Session: c.session, Sequence: c.sequence, Octets: max(q.answerOctets, macctl.FrameSize),
		Path: q.answerPath, Tagged: q.tagged, TCI: q.tci}
	var v frame.VnetHeader
	if q.partialChecksum {
		e.Checksum = macctl.ChecksumWrong
		v = frame.VnetHeader{Flags: frame.VnetNeedsCsum, CsumStart: macctl.EchoSumOffset}
	}
	b := c.o.Format.AppendEcho(nil, [6]byte{}, c.wire.Address(), q.path, q.octets, q.tagged, q.tci, e)
	var err error
	if a.sent, a.kernelStamp, err = c.wire.Send(b, v); err != nil {
		c.counts.refused, c.counts.refusedErr = c.counts.refused+1, err
		return a, false
	}
	c.counts.sent++
	until := c.wire.Now() + int64(c.o.Patience)
	for {
		now := c.wire.Now()
		h, ok := c.wire.Receive(min(until, now+int64(pollInterval)))
		switch {
		case ok:
		case c.ctx.Err() != nil, now >= until:
			return a, false
		default:
			continue
		}
		f, ours := c.read(h)
		if ours && f.Sequence == c.sequence && f.ReceivedPath == q.answerPath {
			a.EchoFrame, a.received = f, h.Stamp
			return a, true
		}
	}
}

// rest lets some ns pass, in which only answers to overdue requests count.
func (c *checker) rest(ns int64) {
	for until := c.wire.Now() + ns; c.ctx.Err() == nil && c.wire.Now() < until; {
		if h, ok := c.wire.Receive(until); ok {
			c.read(h)
		}
	}
}

// read parses an answer of this check, and counts every other frame.
func (c *checker) read(h Received) (f macctl.EchoFrame, ours bool) {
	if c.o.Format.RecognizesEcho(h.Data) {
		f, reason := c.o.Format.ParseEcho(h.Data, c.wire.Address())
		ours = reason == macctl.ReasonNone && f.Answer && f.Session == c.session
		if a, late := c.overdue[f.Sequence]; ours && late && f.ReceivedPath == c.way {
			delete(c.overdue, f.Sequence)
			a.EchoFrame, a.received = f, h.Stamp
			c.late = append(c.late, a)
		}
		return f, ours
	}
	c.counts.count(h.Data)
	return f, false
}

// linkCounts counts the other frames on the link.
type linkCounts struct {
	frames, pause, pfc int
	sent, refused      int
	refusedErr         error
}

func (o *linkCounts) count(b []byte) {
	o.frames++
	if len(b) < 16 || binary.BigEndian.Uint16(b[12:]) != macctl.EtherType {
		return
	}
	switch binary.BigEndian.Uint16(b[14:]) {
	case macctl.OpcodePause:
		o.pause++
	case macctl.OpcodePFC:
		o.pfc++
	}
}

// pollInterval bounds a wait for a frame, so that the end of ctx is noticed.
const pollInterval = 100 * time.Millisecond

// Answer answers the other end until ctx ends, within the limits of an EchoResponder. It returns how many requests it
// has answered, and how many came too fast.
func Answer(ctx context.Context, format *macctl.MeasurementFormat, w Wire) (answered, refused uint64) {
	var e macctl.EchoResponder
	var b []byte
	for ctx.Err() == nil {
		h, ok := w.Receive(w.Now() + int64(pollInterval))
		if !ok || !format.RecognizesEcho(h.Data) {
			continue
		}
		f, reason := format.ParseEcho(h.Data, w.Address())
		if reason != macctl.ReasonNone {
			continue
		}
		e.HandleRequest(&f, h.PartialChecksum, h.Stamp, w.Now())
		if b, ok = e.Append(b[:0], format, w.Address(), w.Now()); ok {
			_, _, _ = w.Send(b, frame.VnetHeader{}) // the other end repeats a request whose answer the kernel refused
		}
	}
	return e.Answered, e.Refused
}
