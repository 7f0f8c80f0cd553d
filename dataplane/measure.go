package dataplane

import (
	"math"

	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// A HeadroomProber measures the headroom of one port's link. It is called under the switch's lock and must return at
// once. Times are of the switch's clock; realTimeOffset is the real-time clock, which stamps are taken from, less the
// switch's clock.
type HeadroomProber interface {
	// Receive handles a measurement frame that came at stamp; busy says that the link carries traffic. It reports
	// whether the answer, which Out returns, is to be sent before anything else.
	Receive(m *macctl.MeasurementFrame, stamp, now, realTimeOffset int64, busy bool) (urgent bool)
	// Next returns when Out has to be called, math.MaxInt64 for never.
	Next() int64
	// Out returns the measurement frame to be sent now, if there is one, and where to: a zero address is the group.
	Out(now, realTimeOffset int64) (m macctl.Measurement, to [6]byte, fallback, ok bool)
	// Stamped says when the kernel sent a frame of Out; realTimeOffset is that of the moment at which its stamp was
	// converted.
	Stamped(m *macctl.Measurement, sent, now, realTimeOffset int64)
	// Reacted reports how many ns after the arrival of an XOFF the last send call of its priority ended; busy says that
	// the link carries traffic. A priority that had nothing to send has no reaction.
	Reacted(ns int64, busy bool)
	// Found returns for how many octets on the wire the headroom in force was found; 0 where this end has found none.
	// Every XOFF calls it.
	Found() int64
	// Stream returns the priority of the stream that the peer has asked for, and its end; 0 is no stream.
	Stream() (priority uint8, until int64)
	// SetUp says that the link came up or went down.
	SetUp(up bool, now int64)
	// SetIdle says whether the switch has received no data frame for a while. It may change Next.
	SetIdle(idle bool, now int64)
}

// Measurement handles a frame that port i received, if it is a measurement frame; unfinished says that its checksum is
// left to the receiver. It reports whether it is one, and whether an answer is to be sent at once.
func (s *Switch) Measurement(i int, b []byte, unfinished bool, stamp, now, realTimeOffset int64) (taken, urgent bool) {
	p := s.at(i, now)
	if p == nil {
		return false, false
	}
	if s.cfg.Measurement.RecognizesEcho(b) {
		return s.handleEcho(p, b, unfinished, stamp)
	}
	if !s.cfg.Measurement.Recognizes(b) {
		return false, false
	}
	m, reason := s.cfg.Measurement.Parse(b, p.cfg.MAC)
	if reason == macctl.ReasonNone && p.cfg.Prober == nil {
		reason = macctl.ReasonDisabled
	}
	if reason != macctl.ReasonNone {
		p.receiver.CountIgnored(reason)
		return true, false
	}
	p.lastControlSource = frame.Address(m.Peer[:])
	urgent = p.cfg.Prober.Receive(&m, stamp, now, realTimeOffset, p.busy(now))
	s.followStream(p)
	s.markPending(p)
	return true, urgent
}

// A traffic is the recent load of a port's link.
type traffic struct {
	at     int64 // when it was looked at
	octets uint64
	busy   bool
}

// A link is busy that carries more than a tenth of its speed, in one direction or both. It is judged over at least a
// millisecond.
const (
	busyShare  = 10
	busyWindow = 1_000_000
)

// busy reports whether the link of p was busy since the previous call, which is a second ago at most.
func (p *portState) busy(now int64) bool {
	l, c := &p.traffic, &p.count
	past := now - l.at
	if past < busyWindow {
		return l.busy
	}
	octets := c.ReceivedBytes + c.SentBytes + p.streamed.sent + p.streamed.octets
	l.busy = l.at != 0 &&
		float64(octets-l.octets)*8*busyShare > float64(past)/1e9*float64(macctl.SpeedOrNominal(p.cfg.Speed))
	l.at, l.octets = now, octets
	return l.busy
}

// handleEcho handles an echo: a request that asks how frames pass the link of p, or an answer for another program.
func (s *Switch) handleEcho(p *portState, b []byte, unfinished bool, stamp int64) (taken, urgent bool) {
	f, reason := s.cfg.Measurement.ParseEcho(b, p.cfg.MAC)
	if reason != macctl.ReasonNone {
		return false, false
	}
	p.echo.HandleRequest(&f, unfinished, stamp, s.now)
	s.markPending(p)
	return true, true
}

// measures reports whether an ordinary frame is a measurement frame for this port.
func (s *Switch) measures(p *portState, a *Arrival) bool {
	if s.cfg.Measurement.RecognizesEcho(a.Data) {
		_, reason := s.cfg.Measurement.ParseEcho(a.Data, p.cfg.MAC)
		return reason == macctl.ReasonNone
	}
	return !a.header.Tagged && s.toThisPort(p, a.header.Dst) && s.cfg.Measurement.Recognizes(a.Data)
}

func (s *Switch) toThisPort(p *portState, dst uint64) bool {
	return dst == frame.Address(macctl.FallbackAddress[:]) || dst == address(p.cfg.MAC)
}

// MeasureOut appends the measurement frame that port i has to send now, if there is one. For an echo answer the
// measurement is zero.
func (s *Switch) MeasureOut(i int, b []byte, now, realTimeOffset int64) ([]byte, macctl.Measurement, bool) {
	p := s.ports[i]
	if p == nil || !p.up {
		return b, macctl.Measurement{}, false
	}
	if b, ok := s.echoOut(p, b, now); ok || p.cfg.Prober == nil {
		return b, macctl.Measurement{}, ok
	}
	m, to, fallback, ok := p.cfg.Prober.Out(now, realTimeOffset)
	if !ok {
		return b, m, false
	}
	return s.cfg.Measurement.Append(b, to, p.cfg.MAC, fallback, m), m, true
}

// echoOut appends an echo answer. It takes tokens like a data frame. It is dropped while the peer pauses its priority:
// the peer repeats the request.
func (s *Switch) echoOut(p *portState, b []byte, now int64) ([]byte, bool) {
	for {
		a, ok := p.echo.Next()
		if !ok {
			return b, false
		}
		prio := p.cfg.Classify.Default
		if a.Tagged {
			prio = frame.TCI(a.TCI).PCP()
		}
		if !a.Control && p.receiver.Paused(now)>>prio&1 != 0 {
			p.echo.Drop()
			continue
		}
		start := len(b)
		b, ok = p.echo.Append(b, &s.cfg.Measurement, p.cfg.MAC, now)
		if !a.Control {
			p.shaper.Take(int64(frame.WireOctets(len(b) - start)))
		}
		return b, ok
	}
}

// MeasureDeadline returns when MeasureOut has to be called for port i.
func (s *Switch) MeasureDeadline(i int) int64 {
	p := s.ports[i]
	switch {
	case p == nil || !p.up:
		return math.MaxInt64
	case p.echo.Pending():
		return 0
	case p.cfg.Prober == nil:
		return math.MaxInt64
	}
	if p.stream.until != 0 {
		s.followStream(p) // the Prober may have ended it
	}
	return p.cfg.Prober.Next()
}

// MeasurementSent hands the stamp of a sent measurement frame to the Prober of port i.
func (s *Switch) MeasurementSent(i int, m *macctl.Measurement, sent, now, realTimeOffset int64) {
	if p := s.ports[i]; p != nil && p.cfg.Prober != nil {
		p.cfg.Prober.Stamped(m, sent, now, realTimeOffset)
	}
}

// SetIdle says whether no data frame has come for a while, and gives ports work where one has come. It reports whether
// there is such work.
func (s *Switch) SetIdle(idle bool, now int64) (work bool) {
	for p := range s.existing() {
		if p.cfg.Prober == nil {
			continue
		}
		before := p.cfg.Prober.Next()
		if p.cfg.Prober.SetIdle(idle, now); p.cfg.Prober.Next() < before {
			s.markPending(p)
			work = true
		}
	}
	return work
}

// Reacted hands a reaction to a pause frame to the Prober of port i.
func (s *Switch) Reacted(i int, ns int64) {
	if p := s.ports[i]; p != nil && p.cfg.Prober != nil {
		p.cfg.Prober.Reacted(ns, p.busy(s.now))
	}
}

// SetXon sets the resume threshold, in octets, of the ingress queues of port i in PortConfig.FollowXon. It always fits:
// no queue gets more than it can ever hold.
func (s *Switch) SetXon(i int, octets, now int64) error {
	err := s.setQueues(i, now, func(c *PortConfig, q int) {
		if c.FollowXon>>q&1 == 0 {
			return
		}
		c.Ingress[q].Xon = min(max(octets, 0), s.buffer.MostShared(i, uint8(q)))
	})
	if err == nil {
		s.buffer.Resume()
	}
	return err
}

// SetHeadroom sets the headroom, in octets, of the ingress queues of port i in PortConfig.Follow. On error nothing has
// changed: it wraps buffer.ErrBusy where the headroom will fit when the buffer has drained, and buffer.ErrConfig where
// the pool is too small for it.
func (s *Switch) SetHeadroom(i int, octets, now int64) error {
	return s.setQueues(i, now, func(c *PortConfig, q int) {
		if c.Follow>>q&1 != 0 {
			c.Ingress[q].Headroom = octets
		}
	})
}

// setQueues changes the ingress queues of port i, all of them or on error none.
func (s *Switch) setQueues(i int, now int64, change func(c *PortConfig, q int)) error {
	p := s.at(i, now)
	if p == nil {
		return nil
	}
	next := p.cfg
	for q := range next.Ingress {
		change(&next, q)
	}
	if err := s.buffer.SetPort(i, bufferPort(next)); err != nil {
		return err
	}
	p.cfg = next
	return nil
}
