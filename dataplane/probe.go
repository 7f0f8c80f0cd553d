package dataplane

import (
	"fmt"

	"pfcswitch/dataplane/bridge"
)

// ageBudget is how many entries of the filtering database one call of Age or FDB looks at.
const ageBudget = 4096

func (s *Switch) handleLoopProbe(p *portState, a *Arrival) {
	probe, err := bridge.ParseProbe(a.Data)
	if err != nil {
		return
	}
	verdict, ev := bridge.ProbeForged, bridge.LoopEvent{}
	if s.sentProbe(&probe, a.header.Src) {
		verdict, ev = s.bridge.HandleProbe(probe, p.index, s.now)
		s.followProbes()
	}
	p.count.LoopProbesReceived[verdict]++
	s.loopEvent(ev)
	if verdict == bridge.ProbeForged || verdict == bridge.ProbeLate {
		s.event(Event{Kind: EventLoop, Port: p.cfg.Name, Priority: -1, Peer: a.header.Src,
			Text: "ignored a loop probe that this switch has not sent, or not lately: somebody behind the port " +
				"forges or records them"})
	}
}

// followProbes gives every port work where a loop probe may be due earlier.
func (s *Switch) followProbes() {
	if s.bridge.TakeResumed() {
		for p := range s.existing() {
			s.markPending(p)
		}
	}
}

// sentProbe reports whether the source of a probe is the port that it names. A loop keeps the source. A host that sends
// a probe back cannot: other switches know that the probe's source is not there.
func (s *Switch) sentProbe(probe *bridge.Probe, source uint64) bool {
	i := int(probe.Port)
	return i < len(s.ports) && s.ports[i] != nil && source == address(s.ports[i].cfg.MAC)
}

// LoopProbe appends the loop probe that port i has to send at time now, if one is due. LoopProbeSent confirms it.
func (s *Switch) LoopProbe(i int, b []byte, now int64) ([]byte, bool) {
	p := s.at(i, now)
	if p == nil || s.bridge.LoopDeadline(i) > now {
		return b, false
	}
	probe, send, ev := s.bridge.LoopTick(i, now)
	s.loopEvent(ev)
	if !send {
		return b, false
	}
	return bridge.AppendProbe(b, address(p.cfg.MAC), probe), true
}

// LoopProbeSent counts a loop probe of port i that left.
func (s *Switch) LoopProbeSent(i int) { s.ports[i].count.LoopProbesSent++ }

// LoopProbeDeadline returns when LoopProbe has to be called for port i.
func (s *Switch) LoopProbeDeadline(i int) int64 { return s.bridge.LoopDeadline(i) }

// Age removes a part of the entries that are too old. It is called about once a second.
func (s *Switch) Age(now int64) {
	s.setTime(now)
	s.bridge.Age(now, ageBudget)
}

func (s *Switch) loopEvent(e bridge.LoopEvent) {
	p := s.ports[e.Port]
	if !e.Happened() || p == nil {
		return
	}
	text := fmt.Sprintf("flooding on again: %s", e.Reason)
	p.loop = ""
	if !e.Flooding() {
		p.loop = fmt.Sprintf("a loop probe of %s came back on %s", s.portName(e.Sender), s.portName(e.In))
		text = fmt.Sprintf("flooding off: %s. It comes on again %v after the last one", p.loop, bridge.Holdoff)
	}
	s.event(Event{Kind: EventLoop, Port: p.cfg.Name, Priority: -1, Text: text})
}

func (s *Switch) portName(i int) string {
	if s.ports[i] == nil {
		return "a removed port"
	}
	return s.ports[i].cfg.Name
}
