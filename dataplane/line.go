package dataplane

import "math"

// A port with a delay has a delay line, which its driver keeps: frames in it have left the buffer, as frames on a
// cable have.

// An Origin is what is still known of a frame that has left the buffer: where its drop would count.
type Origin struct {
	Control  bool
	Own      bool // of the port's stream: it is no data frame
	Lossless bool
	In       uint16
	Priority uint8
}

// A Refusal is a frame that the kernel will never take.
type Refusal struct {
	Origin
	Reason DropReason
}

// LinePassed says that frames left, or were refused by the kernel, at the end of a port's delay line.
func (s *Switch) LinePassed(i, sent, octets int, refused []Refusal, now int64) {
	s.now = now
	p := s.ports[i]
	p.delayed -= sent + len(refused)
	p.count.SentFrames += uint64(sent)
	p.count.SentBytes += uint64(octets)
	for _, r := range refused {
		from := s.ports[r.In]
		if from == nil {
			from = p
		}
		s.drop(from, r.Priority, r.Reason, r.Lossless)
	}
}

// LineHolds says how many octets on the wire the delay line of port i holds when Dequeue is called next. Where the
// line is late, what it still has to send counts as part of the burst: after XOFF no more than that, and what the
// rate lets pass, is to come.
func (s *Switch) LineHolds(i int, octets int64) { s.ports[i].inLine = octets }

// LineFirst says that port i sends nothing before its line is empty, whose due times bring its worker back.
func (s *Switch) LineFirst(i int) { s.ports[i].txAt = math.MaxInt64 }

// LineHeld says that the line held so many until time now.
func (s *Switch) LineHeld(i int, octets, now int64) {
	p := s.ports[i]
	p.shaper.Held(octets, p.cfg.Delay, now)
}

// LineControl says that a MAC Control frame that was put into the delay line of port i at time entered has left it,
// so many ns too late. XOFF then counts as sent that much later: from that time on the delay was what it should be.
func (s *Switch) LineControl(i int, entered, late int64) {
	p := s.ports[i]
	for q := range uint8(NumPriorities) {
		if u := &p.use[q]; u.inLine && u.left == entered {
			p.leftLine(q, late)
		}
	}
}
