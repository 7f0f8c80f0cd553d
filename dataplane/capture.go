package dataplane

import (
	"pfcswitch/dataplane/capture"
	"pfcswitch/macctl"
)

// Workers capture frames outside of the switch's lock, so that no other worker waits for the copying. Two kinds of
// frames are captured under the lock: frames that no worker handles again (of an emptied queue, or dropped by a trunk),
// and the few MAC Control frames. Frames that pass beside the rings are captured by their sender or receiver. While
// nobody captures, each of these functions costs a load and a branch a burst.

// Tap is where readers attach. It needs no lock.
func (s *Switch) Tap() *capture.Tap { return &s.captureTap }

// Interfaces appends the ports as a capture describes them.
func (s *Switch) Interfaces(dst []capture.Interface) []capture.Interface {
	for p := range s.existing() {
		dst = append(dst, p.described())
	}
	return dst
}

// described is a port as a capture describes it.
func (p *portState) described() capture.Interface {
	return capture.Interface{Port: p.index, Name: p.cfg.Name, Speed: p.cfg.Speed, MAC: p.cfg.MAC}
}

// captureQueued captures a frame that is dropped from a queue of p, as it lies in the packet memory, or still in the
// ring.
func (s *Switch) captureQueued(p *portState, d *descriptor, reason DropReason) {
	recorder := s.captureTap.Recorder()
	if recorder == nil || !recorder.Wants(p.index) || d.cell == none && s.burstInRing == nil {
		return
	}
	r := capture.Record{Port: p.index, Out: true, Time: s.now, Length: int(d.length), Note: dropped(reason,
		d.charge == chargeLossless).note()}
	recorder.Lock()
	room := recorder.Put(&r)
	if d.cell == none {
		copy(room, s.burstInRing[d.arrival].Data)
	} else {
		s.memory.view(d.cell, 0, len(room), func(b []byte) { room = room[copy(room, b):] })
	}
	recorder.Unlock()
}

// captureMissed notes that the rings of port i have lost n frames.
func (s *Switch) captureMissed(i, n int) {
	if recorder := s.captureTap.Recorder(); recorder != nil && recorder.Wants(i) {
		recorder.Missed(i, n)
	}
}

// The numbers of ports fit a capture.
var _ = [1]struct{}{}[MaxPorts-capture.MaxPorts]

// causes are the words for why a peer is held.
var causes = [...]struct {
	cause macctl.Cause
	word  string
}{
	{macctl.CauseBuffer, "buffer"}, {macctl.CauseRing, "the receive ring fills up"}, {macctl.CauseTrunk, "trunk"},
	{macctl.CauseHeadroomProbe, "headroom measurement"},
}
