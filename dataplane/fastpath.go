package dataplane

import (
	"sync/atomic"

	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// The driver may forward frames of a port by a path of its own, past the switch. The switch says which (FastPath),
// until when (OnForget), and when no frame may pass by (the gates).

// Gates are the words of a port's egress queues that the fast path reads: 1 where a frame may leave by the port past
// the queue, else 0. The kernel reads and writes them meanwhile, so that they are loaded and stored at once.
type Gates [NumPriorities]uint32

// An Assist is what programs of the driver do at a port.
type Assist struct {
	Hold bool   // they hold the peer while the switch does not look at its frames
	Fast bool   // frames may take the fast path
	Why  string // why not Fast
}

// SetGates lets frames leave, and enter, by port i on the fast path; nil for neither. All gates are closed.
func (s *Switch) SetGates(i int, gates *Gates) {
	p := s.ports[i]
	if p == nil {
		return
	}
	p.closeGates(0xff)
	p.gates = gates
	p.closeGates(0xff)
}

// OnForget sets what is called when answers of FastPath no longer hold. The driver itself has to forget them after each
// change of the configuration, of a port, or of a port's state.
func (s *Switch) OnForget(f func()) { s.forget = f }

// EndsHere is how frames begin behind addresses and tag that no fast path may take: they end at the switch, and control
// frames, which do too, come to it by rings of their own.
func (s *Switch) EndsHere() [7]byte { return s.cfg.Measurement.Beginning() }

// slow says why no frame may pass the port by; empty: some may. A shaper, a meter, a
// delay line or the segmenter has to see them all.
func (p *portState) slow() string {
	switch {
	case p.trunk != nil:
		return "in a trunk"
	case p.cfg.Bridge.Wired:
		return "a wire"
	case p.cfg.Speed != 0:
		return "has a speed"
	case p.cfg.Delay != 0:
		return "has a delay"
	case p.cfg.Cut:
		return "another port has a speed" // so this one cuts GSO frames and completes checksums
	}
	return ""
}

// fast tells whether frames of the port may take the fast path.
func (p *portState) fast() bool { return p.gates != nil && p.slow() == "" }

// FastPath tells that Ingress has sent an arrival to port out with its tag as it came, and that the switch would do the
// same with every frame of these addresses, tag and DSCP until that time.
func (a *Arrival) FastPath() (out int, priority uint8, until int64, ok bool) {
	return int(a.fastOut), a.priority, a.fastUntil, a.fastUntil != 0
}

// offerFastPath notes for a frame that joins an egress queue whether the ones that follow may pass the switch by.
func (s *Switch) offerFastPath(p, out *portState, a *Arrival, tag tagAction) {
	if s.decidedUntil != 0 && tag == tagKeep && p.fast() && out.fast() {
		a.fastOut, a.fastUntil = uint16(out.index), s.decidedUntil
	}
}

// forgetFastPaths ends the answers of FastPath where the bridge has changed.
func (s *Switch) forgetFastPaths() {
	if n := s.bridge.Changes(); n != s.bridgeChanges {
		s.bridgeChanges = n
		if s.forget != nil {
			s.forget()
		}
	}
}

// closeGate closes the gate of a queue. A frame that joins the queue closes it first, so that no later one overtakes
// that frame.
func (p *portState) closeGate(q uint8) {
	if p.gates != nil && atomic.LoadUint32(&p.gates[q]) != 0 {
		atomic.StoreUint32(&p.gates[q], 0)
	}
}

func (p *portState) closeGates(queues uint8) {
	for q := range uint8(NumPriorities) {
		if queues>>q&1 != 0 {
			p.closeGate(q)
		}
	}
}

// Openable returns the queues of port i whose gates are closed and could be open: nothing waits there, and nothing
// pauses them. The driver opens them (OpenGates) if all that the port sent has arrived.
func (s *Switch) Openable(i int, now int64) (queues uint8) {
	p := s.at(i, now)
	if p == nil || p.gates == nil || !p.up || !p.fast() {
		return 0
	}
	queues = ^(p.occupied | p.receiver.Paused(now) | p.discardQueues)
	for q := range p.gates {
		if p.queues[q].staged != 0 || atomic.LoadUint32(&p.gates[q]) != 0 {
			queues &^= 1 << q
		}
	}
	return queues
}

// OpenGates opens gates of port i.
func (s *Switch) OpenGates(i int, queues uint8) {
	for q := range uint8(NumPriorities) {
		if queues>>q&1 != 0 {
			atomic.StoreUint32(&s.ports[i].gates[q], 1)
		}
	}
}

// CloseGates closes gates of port i.
func (s *Switch) CloseGates(i int, queues uint8) { s.ports[i].closeGates(queues) }

// A Forwarded counts frames of one priority that took the fast path: those that came by a port, and those that left by
// it. Octets are without FCS.
type Forwarded struct{ RxFrames, RxOctets, TxFrames, TxOctets uint64 }

// CountForwarded adds to the counters of port i what took the fast path with priority q.
func (s *Switch) CountForwarded(i int, q uint8, f *Forwarded) {
	p := s.ports[i]
	if p == nil {
		return
	}
	s.receivedFrames += f.RxFrames
	p.count.ReceivedFrames += f.RxFrames
	p.count.ReceivedBytes += f.RxOctets
	p.count.SentFrames += f.TxFrames
	p.count.SentBytes += f.TxOctets
	p.count.QueueSent[q] += f.TxFrames
	p.count.Forwarded[q] += f.TxFrames
}

// TakenByOther counts n frames of port i that another program took on their way past the switch.
func (s *Switch) TakenByOther(i int, c port.Class, n int, now int64) {
	if p := s.at(i, now); p != nil {
		s.ringLost(p, c, n, "a program of somebody else was attached before the switch's at the interface's tcx "+
			"ingress, and took frames that were to take the fast path. From now on they come to the switch")
	}
}

// HeldByKernel notes that a program of the driver has held the peer of port i by n XOFF, because the switch did not
// look at its frames.
func (s *Switch) HeldByKernel(i int, n uint64) {
	p := s.ports[i]
	p.count.AssistXoffs += n
	s.event(Event{Kind: EventPort, Port: p.cfg.Name, Priority: -1, Count: n, Text: "the switch did not look at its " +
		"frames, so the program in the kernel held the peer (assist): the machine is short of CPU, or the switch " +
		"was stopped"})
}

// SeeStation notes that a frame from a station took the fast path at time at. tci is its tag, where tagged.
func (s *Switch) SeeStation(i int, src uint64, tagged bool, tci frame.TCI, at int64) {
	if s.ports[i] == nil {
		return
	}
	if vid, refused := s.bridge.Ingress(i, tagged, tci.VID()); refused == bridge.DropNone {
		s.bridge.See(i, src, vid, at)
	}
}
