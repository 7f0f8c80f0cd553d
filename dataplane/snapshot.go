package dataplane

import (
	"slices"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A Snapshot is the state of a switch at one moment, by value.
type Snapshot struct {
	Time   int64  // ns of the switch's clock
	Config Config // of the whole switch
	Buffer buffer.Snapshot
	Bridge bridge.Counters
	Xoff   Histogram // from the admission that crosses a threshold to the entry of the send call
	// XoffAge is the same from the arrival of the frame that crosses it, by the kernel's receive stamp.
	XoffAge Histogram
	Ports   []PortSnapshot
	Trunks  []TrunkSnapshot
	// LosslessDropsRemoved and LosslessDiscardedRemoved are those of ports that were removed. The counters of Ports,
	// and of Buffer, go on from those of removed ports of the same names.
	LosslessDropsRemoved, LosslessDiscardedRemoved uint64
}

// A PortSnapshot is the state of one port.
type PortSnapshot struct {
	Index    int
	Begun    int64 // when its counters were 0: a port that was removed and is remembered goes on from before
	Config   PortConfig
	Up       bool
	Loop     bridge.LoopState
	LoopWhy  string // where Loop is shut: the probe that came back
	Counters Counters
	Held     [NumPriorities]int // frames in the egress queues
	Delayed  int                // frames in the delay line
	Waiting  int                // frames that wait for buffer

	Paused      uint8 // priorities that the peer holds here now
	XoffWanted  uint8 // priorities of the peer that are held from here
	Received    macctl.ReceiverCounters
	ControlSent macctl.InitiatorCounters
	// PausedNs and HeldNs are the time for which the peer paused each priority here, and for which it was held from
	// here; the All fields the same for 802.3x PAUSE.
	PausedNs, HeldNs       [NumPriorities]int64
	PausedAllNs, HeldAllNs int64
	Pauses, Holds          Histogram // lengths of those that have ended

	RingSlots   port.Slots                 // of the lossless rings
	TxPath      port.TxPath                // how frames leave; zero where the port has no sockets, or is a TAP
	Assist      Assist                     // of the driver's programs
	HeadroomUse [NumPriorities]HeadroomUse // by lossless ingress queue; index 0 stands for all where Mode is PAUSE
	Reaction    Histogram                  // from XOFF received to the end of the last send call of its priority
	Late        Histogram                  // from when a frame had passed the delay line to its send call
}

// Snapshot fills v, except what only the driver of the ports knows. It allocates only where v's slices are too short.
func (s *Switch) Snapshot(v *Snapshot, now int64) {
	s.setTime(now)
	v.Time, v.Config = now, s.cfg
	s.buffer.Snapshot(&v.Buffer)
	for i := range v.Buffer.Ports {
		p := &v.Buffer.Ports[i]
		if old := s.removedPorts.byName[p.Name]; !p.Removed && old != nil {
			p.Combine(&old.buffer, Add)
		}
	}
	v.Bridge = s.bridge.Counters()
	v.LosslessDropsRemoved, v.LosslessDiscardedRemoved = s.lossesRemoved.lost, s.lossesRemoved.discarded
	v.Ports = v.Ports[:0]
	for p := range s.existing() {
		v.Ports = append(v.Ports, p.snapshot(s, now))
	}
	v.Trunks = v.Trunks[:0]
	for _, t := range s.trunks {
		v.Trunks = append(v.Trunks, s.snapshotTrunk(t))
	}
}

// CopyFrom makes v a copy of o that shares nothing with it. It allocates only where v's slices are too short.
func (v *Snapshot) CopyFrom(o *Snapshot) {
	ports, bufferPorts, trunks := v.Ports, v.Buffer.Ports, v.Trunks
	*v = *o
	v.Ports = append(ports[:0], o.Ports...)
	v.Buffer.Ports = append(bufferPorts[:0], o.Buffer.Ports...)
	v.Trunks = append(trunks[:0], o.Trunks...)
	for i := range v.Trunks {
		v.Trunks[i].Members = slices.Clone(o.Trunks[i].Members)
	}
}

func (p *portState) snapshot(s *Switch, now int64) PortSnapshot {
	v := PortSnapshot{Index: p.index, Begun: p.begun, Config: p.cfg, Up: p.up, Loop: s.bridge.LoopState(p.index),
		LoopWhy: p.loop, Counters: p.count, Delayed: p.delayed, Waiting: p.room.frames, Paused: p.receiver.Paused(now),
		XoffWanted: p.sender.XoffWanted(), Received: p.receiver.Counters(), ControlSent: p.sender.Counters(),
		PausedAllNs: p.receiver.PausedTime(macctl.WholePort, now), HeldAllNs: p.sender.HeldTime(macctl.WholePort, now)}
	v.Assist.Why = p.slow()
	v.Pauses, v.Holds = p.pauses.value(), p.holds.value() // after Paused, which records pauses that have run out
	for q := range p.queues {
		v.Held[q] = p.queues[q].frames + p.queues[q].staged
		v.PausedNs[q] = p.receiver.PausedTime(uint8(q), now)
		v.HeldNs[q] = p.sender.HeldTime(uint8(q), now)
		v.HeadroomUse[q] = p.headroomUse[q].HeadroomUse
	}
	if old := s.removedPorts.byName[p.cfg.Name]; old != nil {
		v.Combine(&old.PortSnapshot, Add)
		v.keepMaxima(&old.PortSnapshot)
	}
	return v
}

// Losses sums up the frames of lossless priorities that were lost by a fault, which must stay 0, and those that were
// discarded on purpose, of ports that are gone too.
func (v *Snapshot) Losses() (lost, discarded uint64) {
	sum := losses{v.LosslessDropsRemoved, v.LosslessDiscardedRemoved}
	for i := range v.Ports {
		sum.add(v.Ports[i].losses())
	}
	return sum.lost, sum.discarded
}

// A Balance adds up what a snapshot says of data frames: Received + Copies = Sent + Dropped + Held. A frame that was
// lost in a ring was not received.
type Balance struct{ Received, Copies, Sent, Dropped, Held uint64 }

// Balance returns the balance of all ports.
func (v *Snapshot) Balance() (b Balance) {
	for i := range v.Ports {
		p := &v.Ports[i]
		b.Received += p.Counters.ReceivedFrames
		b.Copies += p.Counters.Copies
		b.Sent += p.Counters.SentFrames
		b.Held += uint64(p.Delayed + p.Waiting)
		for _, n := range p.Held {
			b.Held += uint64(n)
		}
		for prio := range p.Counters.Drops {
			for reason, n := range p.Counters.Drops[prio] {
				if DropReason(reason) != DropRing {
					b.Dropped += n
				}
			}
		}
	}
	return b
}

// FDB appends entries of the filtering database to dst, in no order, from cursor on, which is 0 at first. It returns
// the next cursor; 0 where there are no more entries.
func (s *Switch) FDB(dst []bridge.Entry, cursor int, now int64) ([]bridge.Entry, int) {
	return s.bridge.Dump(dst, cursor, ageBudget, now)
}

// ClearWatermarks starts the user watermarks again. The other kinds go on.
func (s *Switch) ClearWatermarks() { s.buffer.ClearUser() }

// RotateWatermarks ends the window of the windowed watermarks and begins the next one.
func (s *Switch) RotateWatermarks() { s.buffer.RotateWindow() }
