package dataplane

import (
	"fmt"

	"pfcswitch/dataplane/bridge"
)

// ageBudget is how many entries of the filtering database one call of Age or FDB looks at.
const ageBudget = 4096

// handleLoopProbe handles a loop probe of this switch.
func (s *Switch) handleLoopProbe(p *portState, a *Arrival) {
	probe, err := bridge.ParseProbe(a.Data)
	if err != nil {
		return
	}
	if own, ev := s.bridge.HandleProbe(probe, p.index, s.now); own {
		p.count.LoopProbesReceived++
		s.loopEvent(ev)
	}
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
	s.now = now
	s.bridge.Age(now, ageBudget)
}

func (s *Switch) loopEvent(e bridge.LoopEvent) {
	if !e.Happened() || s.ports[e.Port] == nil {
		return
	}
	text := fmt.Sprintf("flooding on again: %s", e.Reason)
	if !e.Flooding() {
		text = fmt.Sprintf("flooding off: %s", e.Reason)
	}
	s.event(Event{Kind: EventLoop, Port: s.ports[e.Port].cfg.Name, Priority: -1, Text: text})
}
