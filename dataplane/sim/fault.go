package sim

import (
	"fmt"

	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

// A FaultKind is what goes wrong.
type FaultKind uint8

// The faults.
const (
	Storm FaultKind = iota // a host sends XOFF of all lossless priorities, again and again
	Slow                   // a host takes frames at Rate, and holds its peer while it has too many
	Flap                   // a link is down: what is on it, and what waits for it, is lost
)

// A FaultConfig is something that goes wrong at one end of a link. Its times count from Start of the Fabric.
type FaultConfig struct {
	Kind  FaultKind
	At    End   // the host, or an end of the link
	Rate  int64 // of Slow: bit/s on the wire
	Start int64 // ns
	Stop  int64 // ns
	Every int64 // ns from one begin to the next; 0: once
}

type fault struct {
	FaultConfig
	on bool
}

// AddFault adds a fault, after the link that it is at.
func (f *Fabric) AddFault(c FaultConfig) error {
	wire, err := f.wireAt(c.At)
	switch {
	case err != nil:
		return err
	case *wire == none, c.Kind != Flap && f.nodes[c.At.Node].host == nil:
		return fmt.Errorf("node %d is no host, or has no link", c.At.Node)
	case c.Start < 0 || c.Stop <= c.Start || c.Every != 0 && c.Every <= c.Stop-c.Start || c.Kind == Slow && c.Rate <= 0:
		return fmt.Errorf("fault at node %d: its times or its rate cannot be", c.At.Node)
	}
	f.faults = append(f.faults, fault{FaultConfig: c})
	return nil
}

func (f *Fabric) startFaults() {
	for i := range f.faults {
		f.events.add(f.begun+f.faults[i].Start, change, int32(i))
	}
}

// inForce tells what the faults of one kind at one end that are on come to: the least of their rates.
func (f *Fabric) inForce(kind FaultKind, at End) (on bool, rate int64) {
	for i := range f.faults {
		if fa := &f.faults[i]; fa.on && fa.Kind == kind && fa.At == at && (!on || fa.Rate < rate) {
			on, rate = true, fa.Rate
		}
	}
	return on, rate
}

// change begins or ends a fault, and arranges the next change.
func (f *Fabric) change(i int) {
	fa := &f.faults[i]
	wasOn, was := f.inForce(fa.Kind, fa.At)
	fa.on = !fa.on
	switch {
	case fa.on && fa.Stop < never-f.begun:
		f.events.add(f.begun+fa.Stop, change, int32(i))
	case !fa.on && fa.Every > 0:
		fa.Start, fa.Stop = fa.Start+fa.Every, fa.Stop+fa.Every
		f.events.add(f.begun+fa.Start, change, int32(i))
	}
	on, rate := f.inForce(fa.Kind, fa.At)
	if on == wasOn && rate == was {
		return
	}
	if fa.Kind == Flap {
		f.setLink(fa.At, !on)
		return
	}
	h := f.nodes[fa.At.Node].host
	switch {
	case fa.Kind == Storm:
		h.hold(macctl.CauseTrunk, on) // for the longest time
	case on && wasOn:
		h.backlog.Update(f.now)
		h.backlog.Rate = rate
	case on:
		h.backlog.Start(rate, f.now)
	default:
		h.backlog.Start(0, f.now)
		h.update(f.now)
	}
	f.on(f.nodes[fa.At.Node].shard).sendAtHost(h)
}

// setLink takes the link at an end down or up, with the ports at both ends.
func (f *Fabric) setLink(e End, up bool) {
	wire, _ := f.wireAt(e) // it is there: see AddFault
	first := *wire &^ 1    // the wires of a link come one after the other
	for i := first; i < first+2; i++ {
		w := &f.wires[i]
		w.down = !up
		for k := range w.flight.len() {
			w.flight.at(k).lost = w.flight.at(k).lost || !up
		}
		if w.half != nil {
			f.on(f.nodes[w.from.Node].shard).resetStation(i)
		}
	}
	for i := first; i < first+2; i++ {
		from := f.wires[i].from
		n := &f.nodes[from.Node]
		if n.host != nil {
			n.host.reset(up, f.now)
			f.on(n.shard).sendAtHost(n.host)
			continue
		}
		n.sw.sw.SetUp(from.Port, up, f.now)
		f.on(n.shard).sendAtSwitch(n.sw, from.Port)
	}
}

// reset has the NIC of a host forget who paused whom: its link has gone down or come up.
func (h *host) reset(up bool, now int64) {
	if h.Prober != nil {
		h.Prober.SetUp(up, now)
	}
	h.receiver.Reset(now)
	h.sender.Reset(now)
	for i := range h.heard.len() {
		h.heard.at(i).lost = true
	}
}

// An initiator is what has a host pause its peer.
type initiator struct {
	sender   *macctl.Initiator
	lossless uint8
	backlog  sched.Backlog
	full     bool // backlog is, and the peer held for that
}

func (h *initiator) prepare(c macctl.InitiatorConfig) {
	h.sender, h.lossless = macctl.NewInitiator(c), c.Enabled
}

// hold has the peer held, or not, for a cause.
func (h *initiator) hold(c macctl.Cause, on bool) {
	for prio := range uint8(NumPriorities) {
		switch {
		case h.lossless>>prio&1 == 0:
		case on:
			h.sender.Hold(prio, c)
		default:
			h.sender.Release(prio, c)
		}
	}
}

// update holds the peer while the backlog is full.
func (h *initiator) update(now int64) {
	if h.backlog.Update(now); h.backlog.Full != h.full {
		h.full = h.backlog.Full
		h.hold(macctl.CauseRing, h.full)
	}
}

// fill adds octets that have come to a slow host.
func (s *shard) fill(h *host, octets int64) {
	h.backlog.Add(octets, s.now)
	if h.update(s.now); h.sender.Pending(s.now) {
		s.sendAtHost(h)
	}
}

// controlAtHost sends the MAC Control frame of a host, if there is one. The wire is free.
func (s *shard) controlAtHost(h *host) (sent bool) {
	h.update(s.now)
	b, ok := h.sender.AppendFrame(s.control[:0], s.now)
	if ok {
		s.put(h.wire, b, true)
		h.sender.Sent(s.now)
	}
	return ok
}

// nextControl returns when the host may have to send a MAC Control frame.
func (h *initiator) nextControl() int64 {
	return min(h.sender.NextRefresh(), h.backlog.FreeAt())
}
