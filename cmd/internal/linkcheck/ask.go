package linkcheck

import (
	"encoding/binary"

	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// tries is how often a question is asked before it counts as unanswered: one frame may be lost by chance.
const attempts = 3

// A request is one echo request.
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

// request asks until there is an answer.
func (c *checker) request(q request) (a answer, ok bool) {
	for range attempts {
		if a, ok = c.requestOnce(q); ok {
			return a, true
		}
	}
	return a, false
}

func (c *checker) requestOnce(q request) (a answer, ok bool) {
	if c.interrupted() {
		return a, false
	}
	c.sequence++
	e := macctl.Echo{Session: c.session, Sequence: c.sequence, Octets: max(q.answerOctets, macctl.FrameSize), Path: q.answerPath, Tagged: q.tagged, TCI: q.tci}
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
		case c.interrupted(), now >= until:
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

// read takes an answer of this check out of what comes, and notes the rest.
func (c *checker) read(h Received) (f macctl.EchoFrame, ours bool) {
	if c.o.Format.RecognizesEcho(h.Data) {
		f, reason := c.o.Format.ParseEcho(h.Data, c.wire.Address())
		return f, reason == macctl.ReasonNone && f.Answer && f.Session == c.session
	}
	c.counts.count(h.Data)
	return f, false
}

// linkCounts is what else happened on the link meanwhile.
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
