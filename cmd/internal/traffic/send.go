package traffic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A SendConfig says what a sender does.
type SendConfig struct {
	Interface, Netns string
	Speed            int64  // bit/s of the port; 0: as fast as the machine can
	Burst            int64  // octets on the wire; 0: the larger of two frames and 500 µs at Speed
	FlowControl      string // pfc, pause, or off: obeys nothing
	Lossless         uint8  // priorities on which PFC is obeyed
	Flows            []Flow
	Destination      uint64 // address of the sink; 0: ask for it
	VID              uint16 // of the tag; 0: priority-tagged
	Untagged         bool
	DSCP             uint8
	Duration         time.Duration
	Count            uint64    // frames in all; 0: by Duration alone
	Start            time.Time // zero: as soon as the sink was found
	NoSink           bool      // load only: nothing is asked and no totals are exchanged
}

// How a sender looks for its sink and settles totals.
const (
	helloPeriod  = 100 * time.Millisecond
	helloLimit   = 10 * time.Second
	finPeriod    = 50 * time.Millisecond
	finLimit     = 10 * time.Second
	minimumSleep = 100 * time.Microsecond
	refusedDelay = 100_000 // ns until a frame that the kernel did not take is offered again
	broadcast    = frame.Broadcast
)

func (c *SendConfig) mode() macctl.Mode { return mode(c.FlowControl) }

func mode(flowControl string) macctl.Mode {
	switch flowControl {
	case "pfc":
		return macctl.ModePFC
	case "pause":
		return macctl.ModePause
	}
	return macctl.ModeOff
}

func (c *SendConfig) burst() int64 {
	if c.Burst > 0 {
		return c.Burst
	}
	longest := 0
	for _, f := range c.Flows {
		longest = max(longest, frame.WireOctets(f.Octets))
	}
	return max(2*int64(longest), c.Speed/8/2000)
}

// Check reports what is wrong with the configuration.
func (c *SendConfig) Check() error {
	seen := uint8(0)
	if len(c.Flows) == 0 {
		return errors.New("no flow: name at least one priority")
	}
	for _, f := range c.Flows {
		least := MinFrame
		if c.NoSink {
			least = minRaw
		}
		switch {
		case f.Priority > 7:
			return fmt.Errorf("priority %d: priorities are 0 to 7", f.Priority)
		case seen&(1<<f.Priority) != 0:
			return fmt.Errorf("priority %d has two flows: give it one", f.Priority)
		case f.Octets < least || f.Octets > port.MaxFrame:
			return fmt.Errorf("frames of %d octets: %d to %d are possible (without FCS, with the tag)", f.Octets, least, port.MaxFrame)
		case f.Weight < 1:
			return fmt.Errorf("priority %d: weight %d: it has to be at least 1", f.Priority, f.Weight)
		}
		seen |= 1 << f.Priority
	}
	if c.Duration <= 0 && c.Count == 0 {
		return errors.New("neither a time nor a number of frames: the load has to end")
	}
	return nil
}

// sender is a running sender.
type sender struct {
	c        *SendConfig
	port     port.Port
	waiter   *port.Waiter
	own      uint64
	source   *source
	flows    []*flowState
	batch    *port.Batch
	frames   [64]port.Frame
	answers  map[uint8]message // finAck by priority
	sink     uint64
	control  uint64
	startNs  int64
	elapsed  int64
	leftover int64 // ns of the run in which the kernel took nothing
}

// RunSend sends until the time is over, the count is reached, or ctx ends.
func RunSend(ctx context.Context, c SendConfig) (*SendReport, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	p, link, err := open(c.Netns, c.Interface, 0, senderSlots)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	s, err := newSender(&c, p, frame.Address(link.MAC[:]))
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.waiter.Close() }()
	if err := s.findSink(ctx); err != nil {
		return nil, err
	}
	s.prepare(link.MAC)
	if err := s.waitForStart(ctx); err != nil {
		return nil, err
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	s.settle(ctx)
	return s.report(), nil
}

func newSender(c *SendConfig, p port.Port, own uint64) (*sender, error) {
	w, err := port.NewWaiter()
	if err != nil {
		return nil, err
	}
	w.Watch(p.Descriptors(nil, port.WorkControl|port.WorkOther|port.WorkLossless))
	return &sender{c: c, port: p, waiter: w, own: own, batch: port.NewBatch(), answers: map[uint8]message{}}, nil
}

// findSink asks for the sink until it answers, which teaches the switches on the way where both are.
func (s *sender) findSink(ctx context.Context) error {
	s.sink = s.c.Destination
	if s.c.NoSink {
		if s.sink == 0 {
			return errors.New("no destination: without a sink the address has to be given")
		}
		return nil
	}
	to := s.sink
	if to == 0 {
		to = broadcast
	}
	s.sink = 0
	for deadline := time.Now().Add(helloLimit); s.sink == 0; {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: no sink answers within %v: is one running behind the network (pfcswitch sink), and does the network forward broadcasts?", s.c.Interface, helloLimit)
		}
		s.say(to, message{kind: kindHello})
		if err := s.listen(ctx, helloPeriod); err != nil {
			return err
		}
	}
	return nil
}

// say sends one message of the protocol on the lowest lossy priority.
func (s *sender) say(to uint64, m message) {
	s.control++
	_ = s.port.SendControl(wrap(envelope{destination: to, source: s.own, tagged: !s.c.Untagged, octets: MinFrame,
		tci: frame.MakeTCI(lossyPriority(s.c.Lossless), false, s.c.VID)}, m))
}

// lossyPriority is the lowest priority that is not lossless; 0 where all are.
func lossyPriority(lossless uint8) uint8 {
	for q := range uint8(8) {
		if lossless&(1<<q) == 0 {
			return q
		}
	}
	return 0
}

// listen takes messages for at most d.
func (s *sender) listen(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.hear() {
			return nil
		}
		if s.waiter.Wait(max(time.Until(end), minimumSleep)) == port.Failed {
			return fmt.Errorf("%s: the interface went down", s.c.Interface)
		}
		s.obey()
	}
	return nil
}

// hear takes what waits in the rings and tells whether it was an answer.
func (s *sender) hear() (answered bool) {
	for c := range port.NumClasses {
		n := s.port.Receive(c, s.frames[:], 1<<20)
		for i := range n {
			m, h, err := parse(s.frames[i].Data)
			if err != nil || h.Dst != s.own {
				continue
			}
			switch m.kind {
			case kindHelloAck:
				s.sink, answered = h.Src, true
			case kindFinAck:
				s.answers[m.priority], answered = m, true
			}
		}
		s.port.Release(c, n)
	}
	return answered
}

// prepare makes the flows' frames.
func (s *sender) prepare(mac [6]byte) {
	for _, f := range s.c.Flows {
		st := &flowState{Flow: f, id: rand.Uint32()}
		e := envelope{destination: s.sink, source: s.own, tagged: !s.c.Untagged, octets: f.Octets, dscp: s.c.DSCP,
			tci: frame.MakeTCI(f.Priority, false, s.c.VID)}
		st.at = e.messageAt()
		st.silent = st.at+messageOctets > f.Octets
		for i := range st.frames {
			st.frames[i] = wrap(e, message{kind: kindData, priority: f.Priority, flow: st.id})
		}
		s.flows = append(s.flows, st)
	}
	s.source = newSource(s.c, s.flows, mac, monotonic())
}

func (s *sender) waitForStart(ctx context.Context) error {
	for {
		left := time.Until(s.c.Start)
		if left <= 0 {
			return nil
		}
		if err := s.listen(ctx, left); err != nil {
			return err
		}
	}
}

// load is the load itself.
func (s *sender) load(ctx context.Context) error {
	now := monotonic()
	s.source.shaper.Configure(s.c.Speed, s.c.burst(), now)
	s.startNs = now
	end := now + int64(s.c.Duration)
	for calls := 0; (s.c.Duration == 0 || now < end) && !s.complete(); calls++ {
		if calls%64 == 0 && ctx.Err() != nil {
			break
		}
		s.obey()
		var wall int64
		now, wall = clockPair()
		if s.source.next(now) == 0 {
			if err := s.rest(now, end); err != nil {
				return err
			}
			continue
		}
		if err := s.hand(now, wall); err != nil {
			return err
		}
	}
	s.elapsed = monotonic() - s.startNs
	return nil
}

// complete tells whether the count is reached; a send call never goes beyond it.
func (s *sender) complete() bool {
	if s.c.Count == 0 {
		return false
	}
	left := s.c.Count - s.total()
	s.source.limitFrames(left)
	return left == 0
}

func (s *sender) total() (n uint64) {
	for _, f := range s.flows {
		n += f.sent
	}
	return n
}

// hand gives the planned frames to the kernel.
func (s *sender) hand(now, wall int64) error {
	s.batch.Reset()
	s.source.fill(s.batch, wall)
	n, err := s.port.Send(s.batch)
	s.source.sent(n)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, port.ErrAgain):
		s.leftover += refusedDelay
		s.waiter.Wait(refusedDelay)
		return nil
	case errors.Is(err, port.ErrDown):
		return fmt.Errorf("%s: the interface went down after %d frames", s.c.Interface, s.total())
	}
	return fmt.Errorf("%s: the kernel refuses frames of this length or kind: %w", s.c.Interface, err)
}

// rest sleeps until something may go.
func (s *sender) rest(now, end int64) error {
	until := s.source.retry
	if s.c.Duration != 0 {
		until = min(until, end)
	}
	until = min(until, now+int64(50*time.Millisecond))
	if s.waiter.Wait(max(time.Duration(until-now), minimumSleep)) == port.Failed {
		return fmt.Errorf("%s: the interface went down after %d frames", s.c.Interface, s.total())
	}
	s.hear()
	return nil
}

// obey reads every MAC Control frame that has come.
func (s *sender) obey() {
	b, stamp := s.port.Control()
	if b == nil {
		return
	}
	now, wall := clockPair()
	for ; b != nil; b, stamp = s.port.Control() {
		if s.source != nil {
			s.source.receiver.Receive(b, now-(wall-stamp), now)
		}
		s.port.ControlDone()
	}
}

// settle tells the sink the totals until it has answered for every flow.
func (s *sender) settle(ctx context.Context) {
	if s.c.NoSink {
		return
	}
	for deadline := time.Now().Add(finLimit); len(s.answers) < len(s.flows) && time.Now().Before(deadline); {
		for _, f := range s.flows {
			if _, ok := s.answers[f.Priority]; !ok {
				s.say(s.sink, message{kind: kindFin, priority: f.Priority, flow: f.id, total: f.sent})
			}
		}
		for end := time.Now().Add(finPeriod); time.Now().Before(end) && len(s.answers) < len(s.flows); {
			if s.listen(ctx, time.Until(end)) != nil {
				return
			}
		}
	}
}

func (s *sender) report() *SendReport {
	now := monotonic()
	r := &SendReport{Schema: 1, Interface: s.c.Interface, Source: macString(s.own), Speed: s.c.Speed, Elapsed: s.elapsed,
		Flows: []SentFlow{}, Control: s.control}
	for _, f := range s.flows {
		a, ok := s.answers[f.Priority]
		sf := SentFlow{Flow: f.id, Priority: f.Priority, Sent: f.sent, SentBytes: f.sent * uint64(f.Octets), Answered: ok}
		if ok {
			sf.Received, sf.Reordered, sf.Duplicated = a.received, a.reordered, a.duplicated
			sf.Lost = f.sent - min(f.sent, a.received)
		}
		r.Flows = append(r.Flows, sf)
		r.Frames += f.sent
	}
	if s.elapsed > 0 {
		r.Rate = float64(r.Frames) / (float64(s.elapsed) / 1e9)
	}
	r.Behind = s.behind()
	c := s.source.receiver.Counters()
	r.PFCReceived, r.PauseFrames, r.PauseTime = c.PFCFrames, c.PauseFrames, s.source.receiver.PauseTime(now)
	for q := range r.Paused {
		r.Paused[q] = s.source.receiver.PausedTime(uint8(q), now)
	}
	for reason, n := range c.Ignored {
		if macctl.Reason(reason) != macctl.ReasonNone {
			r.Ignored += n
		}
	}
	return r
}

// behind is the share of what the port's speed allowed in the time that no pause held everything and that was not sent,
// though a saturated flow had it to send.
func (s *sender) behind() float64 {
	if s.c.Speed == 0 || s.elapsed <= 0 {
		return 0
	}
	var sent, offered float64
	for _, f := range s.flows {
		sent += float64(f.sent) * float64(frame.WireOctets(f.Octets)) * 8
		if f.Rate == 0 {
			offered = float64(s.c.Speed)
		} else {
			offered += float64(f.Rate)
		}
	}
	allowed := min(offered, float64(s.c.Speed)) * float64(s.elapsed-s.source.blocked) / 1e9
	return max(0, 1-sent/max(1, allowed))
}
