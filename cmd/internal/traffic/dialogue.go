package traffic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
)

// How a sender looks for its sink and settles totals.
const (
	helloPeriod = 10 * time.Millisecond
	helloLimit  = 10 * time.Second

	helloPatience = 100 * time.Millisecond // until a person is told that nobody answers

	finPeriod    = 50 * time.Millisecond
	finLimit     = 10 * time.Second
	minimumSleep = 100 * time.Microsecond
	refusedDelay = 100_000 // ns until a frame that the kernel did not take is offered again
	broadcast    = frame.Broadcast
)

// findSinks asks for the sinks until they answer. The switches on the way learn all addresses from that.
func (s *sender) findSinks(ctx context.Context) error {
	if s.c.NoSink {
		s.sink = s.c.Destination
		if s.sink == 0 && slices.ContainsFunc(s.c.Flows, func(f Flow) bool { return f.Replay == nil }) {
			return errors.New("no destination: without a sink the address has to be given")
		}
		return nil
	}
	begun, told := time.Now(), s.c.Waiting == nil
	for deadline := begun.Add(helloLimit); ; {
		missing := s.missingSinks()
		if len(missing) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: no sink answers at %s within %v: is one running behind the network (pfcswitch "+
				"sink), and does the network forward broadcasts?", s.c.Interface, macString(missing[0]), helloLimit)
		}
		if !told && time.Since(begun) > helloPatience {
			told = true
			s.c.Waiting(fmt.Sprintf("%s: waiting up to %v until a sink answers (pfcswitch sink)", s.c.Interface,
				helloLimit))
		}
		for _, to := range missing {
			s.sendMessage(to, message{kind: kindHello})
		}
		if err := s.listen(ctx, jitter(helloPeriod)); err != nil {
			return err
		}
	}
}

// missingSinks returns the addresses of the sinks that have not answered, each once.
func (s *sender) missingSinks() (missing []uint64) {
	for i := range s.c.Flows {
		to := s.c.Flows[i].To
		if to == 0 && s.sink == 0 {
			to = cmp.Or(s.c.Destination, broadcast)
		}
		if to != 0 && !s.found[to] && !slices.Contains(missing, to) {
			missing = append(missing, to)
		}
	}
	return missing
}

// jitter returns d plus or minus up to a half. Behind a trunk an answer goes to the least-filled member, so senders
// that ask in step would always get each other's answers.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// sendMessage sends one message on the lowest lossy priority.
func (s *sender) sendMessage(to uint64, m message) {
	s.control++
	lossy := uint8(bits.TrailingZeros8(^s.c.Lossless)) % 8 // 0 where all are lossless
	_ = s.port.SendControl(wrap(addressing{destination: to, source: s.own, tagged: !s.c.Untagged, octets: minMessage,
		tci: frame.MakeTCI(lossy, false, s.c.VID)}, m))
}

// listen reads messages for at most d.
func (s *sender) listen(ctx context.Context, d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.readRings() {
			return nil
		}
		if s.poller.Wait(max(time.Until(end), minimumSleep)) == port.Failed {
			return fmt.Errorf("%s: the interface went down", s.c.Interface)
		}
		s.readControl()
	}
	return nil
}

// readRings reads both rings and tells whether an answer was there.
func (s *sender) readRings() (answered bool) {
	for c := range port.NumClasses {
		n := s.port.Receive(c, s.frames[:], 1<<20)
		for i := range n {
			m, h, err := parse(s.frames[i].Data)
			if err != nil || h.Dst != s.own {
				continue
			}
			answered = s.answer(&m, h.Src) || answered
		}
		s.port.Release(c, n)
	}
	return answered
}

// answer handles a message from a sink and tells whether the sender waited for it. The sink is the one that was asked
// for, or else the first that answers. Messages of other sinks and about flows of an earlier run do not count.
func (s *sender) answer(m *message, from uint64) bool {
	switch m.kind {
	case kindHelloAck:
		if slices.ContainsFunc(s.c.Flows, func(f Flow) bool { return f.To == from }) && !s.found[from] {
			s.found[from] = true
			return true
		}
		wanted := s.c.Destination
		if s.c.NoSink || s.sink != 0 || wanted != 0 && !frame.IsGroup(wanted) && wanted != from {
			return false
		}
		s.sink = from
		return true
	case kindFinAck:
		ours := func(f *flowState) bool {
			return f.Priority == m.priority && f.id == m.flow && s.sinkOf(&f.Flow) == from
		}
		if !slices.ContainsFunc(s.flows, ours) {
			return false
		}
		s.answers[m.flow] = *m
		return true
	case kindCNP, kindAck:
		for _, f := range s.flows {
			switch {
			case f.Priority != m.priority || f.id != m.flow || s.sinkOf(&f.Flow) != from:
			case m.kind == kindAck:
				f.acks.Acknowledged(m.sequence)
			default:
				f.notified(runner.Now())
			}
		}
	}
	return false
}

// settle sends the totals until the sink has answered for every flow.
func (s *sender) settle(ctx context.Context) {
	if s.c.NoSink {
		return
	}
	for deadline := time.Now().Add(finLimit); len(s.answers) < len(s.flows) && time.Now().Before(deadline); {
		for _, f := range s.flows {
			if _, ok := s.answers[f.id]; !ok {
				s.sendMessage(s.sinkOf(&f.Flow), message{kind: kindFin, priority: f.Priority, flow: f.id,
					total: f.sent})
			}
		}
		for end := time.Now().Add(jitter(finPeriod)); time.Now().Before(end) && len(s.answers) < len(s.flows); {
			if s.listen(ctx, time.Until(end)) != nil {
				return
			}
		}
	}
}
