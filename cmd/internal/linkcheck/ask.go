package linkcheck

import (
	"encoding/binary"

	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// tries is how often a question is asked before it counts as unanswered: one frame may be lost by chance.
const tries = 3

// A question is one echo request.
type question struct {
	way, back macctl.EchoPath
	octets    int // of the request; 0: the shortest
	answer    int // octets of the answer; 0: the shortest
	tagged    bool
	tci       uint16
	unsummed  bool // its checksum is left to the link
}

// An answer is what came back.
type answer struct {
	macctl.EchoFrame
	sent, got int64 // stamps of this end
	kernel    bool  // sent is the kernel's
}

// ask asks until there is an answer.
func (c *checker) ask(q question) (a answer, ok bool) {
	for range tries {
		if a, ok = c.askOnce(q); ok {
			return a, true
		}
	}
	return a, false
}

func (c *checker) askOnce(q question) (a answer, ok bool) {
	if c.ended() {
		return a, false
	}
	c.sequence++
	e := macctl.Echo{Session: c.session, Sequence: c.sequence, Octets: max(q.answer, macctl.FrameSize), Path: q.back, Tagged: q.tagged, TCI: q.tci}
	var v frame.VnetHeader
	if q.unsummed {
		e.Checksum = macctl.ChecksumWrong
		v = frame.VnetHeader{Flags: frame.VnetNeedsCsum, CsumStart: macctl.EchoSumOffset}
	}
	b := c.o.Format.AppendEcho(nil, [6]byte{}, c.wire.Own(), q.way, q.octets, q.tagged, q.tci, e)
	var err error
	if a.sent, a.kernel, err = c.wire.Send(b, v); err != nil {
		c.heard.refused, c.heard.refusal = c.heard.refused+1, err
		return a, false
	}
	c.heard.sent++
	until := c.wire.Now() + int64(c.o.Patience)
	for {
		now := c.wire.Now()
		h, ok := c.wire.Receive(min(until, now+int64(look)))
		switch {
		case ok:
		case c.ended(), now >= until:
			return a, false
		default:
			continue
		}
		f, ours := c.read(h)
		if ours && f.Sequence == c.sequence && f.ReceivedPath == q.back {
			a.EchoFrame, a.got = f, h.Stamp
			return a, true
		}
	}
}

// read takes an answer of this check out of what comes, and notes the rest.
func (c *checker) read(h Heard) (f macctl.EchoFrame, ours bool) {
	if c.o.Format.RecognizesEcho(h.Data) {
		f, reason := c.o.Format.ParseEcho(h.Data, c.wire.Own())
		return f, reason == macctl.ReasonNone && f.Answer && f.Session == c.session
	}
	c.heard.take(h.Data)
	return f, false
}

// overheard is what else happened on the link meanwhile.
type overheard struct {
	frames, pause, pfc int
	sent, refused      int
	refusal            error
}

func (o *overheard) take(b []byte) {
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
