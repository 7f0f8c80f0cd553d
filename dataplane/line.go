package dataplane

import "math"

// A port with a delay has a delay line, which its driver keeps. Frames in the line have left the buffer, like frames on
// a cable.

// An Origin is what a delay line keeps of a frame that has left the buffer: where its drop would count.
type Origin struct {
	Control  bool
	Own      bool // a frame of the port's stream: no data frame
	Lossless bool
	Demoted  bool // of a lossless priority, flooded as lossy
	In       uint16
	Priority uint8
}

// LosslessPriority reports whether the frame came with a lossless priority.
func (o Origin) LosslessPriority() bool { return o.Lossless || o.Demoted }

func (o Origin) charge() charge {
	switch {
	case o.Lossless:
		return chargeLossless
	case o.Demoted:
		return chargeDemoted
	}
	return chargeLossy
}

// A Refusal is a frame that the kernel will never take.
type Refusal struct {
	Origin
	Reason DropReason
}

// A LineCall is one send call at the end of a port's delay line.
type LineCall struct {
	Held   int64 // octets on the wire that were in the line until the call ended, at time Ended
	Ended  int64
	Sent   int // data frames that left, with Octets in all
	Octets int
	// SentLossless are those of Sent that are of lossless priorities.
	SentLossless int
	Refused      []Refusal
	// Entered is when the MAC Control frame that left was put into the line, 0 where none left. The frame left Late ns
	// too late, so its XOFF counts as sent that much later: from then on the delay was what it should be.
	Entered, Late int64
}

// LineSent takes note of a send call that began at time now.
func (s *Switch) LineSent(i int, c *LineCall, now int64) {
	p := s.at(i, now)
	p.shaper.Held(c.Held, p.cfg.Delay, c.Ended)
	for q := range uint8(NumPriorities) {
		if u := &p.headroomUse[q]; c.Entered != 0 && u.inLine && u.left == c.Entered {
			p.xoffLeftDelayLine(q, c.Late)
		}
	}
	p.delayed -= c.Sent + len(c.Refused)
	p.delayedLossless -= c.SentLossless
	p.count.SentFrames += uint64(c.Sent)
	p.count.SentBytes += uint64(c.Octets)
	for _, r := range c.Refused {
		if r.LosslessPriority() {
			p.delayedLossless--
		}
		from := s.ports[r.In]
		if from == nil {
			from = p
		}
		s.drop(from, r.Priority, r.Reason, r.charge())
	}
}

// LineHolds sets how many octets on the wire the delay line of port i holds when Dequeue is called next. What a late
// line still has to send counts as part of the burst. So after XOFF no more follows than the burst, and what the rate
// lets pass in the delay.
func (s *Switch) LineHolds(i int, octets int64) { s.ports[i].inLine = octets }

// LineFirst sets that port i sends nothing before its line is empty. Its worker comes back at the line's due times.
func (s *Switch) LineFirst(i int) { s.ports[i].txAt = math.MaxInt64 }
