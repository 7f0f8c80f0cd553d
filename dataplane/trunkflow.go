package dataplane

import (
	"math/bits"

	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

// updateTrunkHolds updates all holds of a trunk. They depend on the frames that wait, and on pauses of peers.
func (s *Switch) updateTrunkHolds(t *trunkState) {
	if t.cfg.Flow.Mode == macctl.ModeOff {
		return
	}
	s.updateMemberHolds(t)
	s.updateUplinkHolds(t)
}

// updateHoldsBehind updates the holds that depend on the frames that wait to leave by p.
func (s *Switch) updateHoldsBehind(p *portState) {
	switch t := p.trunk; {
	case t == nil || t.cfg.Flow.Mode == macctl.ModeOff:
	case p.member == uplink:
		s.updateMemberHolds(t)
	default:
		s.updateUplinkHolds(t)
	}
}

// updateHoldsOfPort updates the holds that depend on whether port p is up and paused.
func (s *Switch) updateHoldsOfPort(p *portState) {
	if p.trunk != nil {
		p.trunk.setLive(p)
		s.updateTrunkHolds(p.trunk)
	}
}

func (s *Switch) updateMemberHolds(t *trunkState) {
	var paused uint8
	if p := s.ports[t.cfg.Uplink]; p != nil {
		paused = p.receiver.Paused(s.now)
	}
	s.applyHolds(t, t.cfg.Flow.Members(t.held, &t.toUplink, paused), paused)
}

func (s *Switch) updateUplinkHolds(t *trunkState) {
	var common trunk.Common
	for _, i := range t.cfg.Members {
		if p := s.ports[i]; p != nil && p.up {
			common.Add(p.receiver.Paused(s.now))
		}
	}
	s.applyHolds(t, t.cfg.Flow.ToUplink(t.held, &t.toMembers, common.Paused()), common.Paused())
}

// applyHolds gives the ports of a trunk the hold bits of next. A hold that begins while the other side pauses (paused)
// passes that pause on; any other hold begins by watermark.
func (s *Switch) applyHolds(t *trunkState, next trunk.Holds, paused uint8) {
	if next == t.held {
		return
	}
	old := t.held
	t.held = next
	for m, i := range t.cfg.Members {
		bit := uint64(1) << m
		s.turnHold(i, 0, next.Members&bit != 0, old.Members&bit != 0, &t.count.memberHolds[m], paused != 0)
	}
	for changed := next.Priorities ^ old.Priorities; changed != 0; changed &= changed - 1 {
		q := bits.TrailingZeros8(changed)
		begun := next.Priorities>>q&1 == 1
		if begun {
			t.count.holds[q].count(paused>>q&1 == 1)
		}
		for _, i := range t.cfg.Members {
			s.turnHold(i, uint8(q), begun, !begun, nil, false)
		}
	}
	s.holdUplink(t, old.Uplink, next.Uplink, paused)
}

func (s *Switch) holdUplink(t *trunkState, old, next, paused uint8) {
	if t.cfg.Flow.Mode == macctl.ModePause {
		s.turnHold(t.cfg.Uplink, 0, next != 0, old != 0, &t.count.uplinkPauses, paused != 0)
		return
	}
	for changed := next ^ old; changed != 0; changed &= changed - 1 {
		q := bits.TrailingZeros8(changed)
		s.turnHold(t.cfg.Uplink, uint8(q), next>>q&1 == 1, old>>q&1 == 1, &t.count.uplinkHolds[q], paused>>q&1 == 1)
	}
}

// turnHold sets or clears the trunk's hold bit of a priority of a port, which under PAUSE is that of all of them.
func (s *Switch) turnHold(i int, prio uint8, hold, wasHeld bool, begun *HoldCount, passed bool) {
	switch {
	case hold == wasHeld:
	case hold:
		s.holdPeer(s.ports[i], prio, macctl.CauseTrunk)
		s.trunkHolds++
		if begun != nil {
			begun.count(passed)
		}
	default:
		s.releasePeer(s.ports[i], prio, macctl.CauseTrunk)
	}
}
