package sim

import (
	"fmt"
	"math"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// A switchNode is a Switch and what its driver remembers.
type switchNode struct {
	name       string
	sw         *dataplane.Switch
	ports      []switchPort   // by number
	rooms      bridge.PortSet // ports with frames that wait for buffer
	departures uint64         // Switch.Departures, when those were last offered to the buffer
	number     int32          // of the node
	watcher    Watcher
	watchAt    int64 // of the event watch that counts
}

// A Watcher watches the queues of a switch for deadlocks, and may give it orders. It gets the ports of Switch.Suspects,
// if there are any, and returns when it has to look next, in ns; math.MaxInt64: when there are some.
type Watcher func(suspects bridge.PortSet, now int64) (next int64)

type switchPort struct {
	wire     int32 // that leaves by it; none where there is no link
	measures bool  // the headroom of its link
	maxFrame int
	classify classify.Config
	name     string
}

const none = -1

// AddSwitch adds a switch with ports 0 to n-1, all up. The Fabric drives it from now on, with a delay of 0 at all of
// its ports: delays are those of the links.
func (f *Fabric) AddSwitch(name string, sw *dataplane.Switch, n int) (number int, err error) {
	s := &switchNode{name: name, sw: sw, number: int32(len(f.nodes)), watchAt: never}
	for i := range n {
		c, ok := sw.PortConfig(i)
		if !ok || c.Speed == 0 || c.Delay != 0 || c.TAP {
			return 0, fmt.Errorf("switch %s: port %d is not there, or has no speed, or a delay, or is a TAP", name, i)
		}
		s.ports = append(s.ports, switchPort{none, c.Prober != nil, c.MaxFrame, c.Classify, c.Name})
	}
	sw.LimitSendCalls(1)
	sw.KeepHeads(headOctets)
	sw.InTime(f.now)
	f.nodes = append(f.nodes, node{sw: s})
	return len(f.nodes) - 1, nil
}

// Watch has a switch watched, from Learn on.
func (f *Fabric) Watch(n int, w Watcher) { f.nodes[n].sw.watcher = w }

// watch has the watcher of a switch look, and carries out its orders.
func (s *shard) watch(n *switchNode) {
	if at := n.watcher(n.sw.Suspects(), s.now); at < n.watchAt {
		n.watchAt = max(at, s.now+1)
		s.events.add(n.watchAt, watch, n.number)
	}
	n.sw.Tick(s.now)
	s.serve(n, nil)
}

// reportSuspects has the watcher of a switch look if a queue may be stuck.
func (s *shard) reportSuspects(n *switchNode) {
	if n.watcher != nil && n.sw.Suspicious() {
		s.watch(n)
	}
}

// disconnect takes the ports without a link down.
func (n *switchNode) disconnect(now int64) {
	for i := range n.ports {
		if n.ports[i].wire == none {
			n.sw.SetUp(i, false, now)
		}
	}
}

// receiveAtSwitch takes a frame off a wire.
func (s *shard) receiveAtSwitch(n *switchNode, i int, t *transit) {
	copy(s.scratch[:headOctets], t.head[:])
	b := s.scratch[:t.octets]
	var burst []dataplane.Arrival
	if etherType(b) == frame.TypeMACControl {
		taken := false
		if n.ports[i].measures {
			taken, _ = n.sw.Measurement(i, b, false, s.now, s.now, 0)
		}
		if !taken {
			n.sw.Control(i, b, s.now, s.now)
		}
		s.captureControl(n, i, b)
	} else {
		if s.limited && s.expires(b) {
			s.expired++
			return
		}
		burst = s.arrival[:]
		burst[0].Data, burst[0].At = b, s.now
		burst[0].Prepare(&n.ports[i].classify, n.ports[i].maxFrame)
		s.admit(n, i, burst)
	}
	s.serve(n, burst)
	s.moves = n.sw.Settle(burst, s.moves[:0])
	n.sw.Store(s.moves)
	n.sw.Tick(s.now)
	s.serve(n, nil)
	s.reportSuspects(n)
}

func etherType(b []byte) uint16 { return uint16(b[12])<<8 | uint16(b[13]) }

// admit offers a burst to the switch. A frame that finds the waiting room full is lost, as in a full receive ring.
func (s *shard) admit(n *switchNode, i int, burst []dataplane.Arrival) {
	for taken := 0; taken < len(burst); {
		first := taken
		var stop dataplane.Stop
		taken, stop = n.sw.Ingress(i, burst, taken, s.now, 0)
		for k := first; k < taken; k++ {
			s.captureReceived(n, i, &burst[k])
		}
		if s.moves = n.sw.Staged(s.moves[:0]); len(s.moves) > 0 {
			n.sw.Store(s.moves)
			n.sw.Publish(s.moves, s.now)
		}
		if n.sw.RoomWaits(i) {
			n.rooms.Add(i)
		}
		if stop == dataplane.Done {
			continue
		}
		n.sw.ThresholdCrossedAt(i, s.now)
		if s.transmitControl(n, i); stop == dataplane.FrameWaits {
			n.sw.RingLost(i, port.Lossless, len(burst)-taken, s.now)
			s.lostInRings += uint64(len(burst) - taken)
			return
		}
	}
}

// serve serves the ports with work until none has any. burst is the burst that has not been settled.
func (s *shard) serve(n *switchNode, burst []dataplane.Arrival) {
	for {
		if !n.rooms.Empty() {
			s.leaveRooms(n)
		}
		pending := n.sw.PendingPorts()
		if pending.Empty() {
			return
		}
		for i := range pending.All() {
			n.sw.TakePending(i)
			s.transmit(n, i, burst)
		}
	}
}

// leaveRooms offers the frames that wait for buffer to it again, where frames have left since.
func (s *shard) leaveRooms(n *switchNode) {
	if n.sw.Departures() == n.departures {
		return
	}
	n.departures = n.sw.Departures()
	rooms := n.rooms
	for i := range rooms.All() {
		n.sw.LeaveRoom(i, math.MaxInt, s.now)
		if !n.sw.RoomWaits(i) {
			n.rooms.Remove(i)
		}
	}
}

// transmit sends by port i what goes first, if its wire is free, or arranges when to look again.
func (s *shard) transmit(n *switchNode, i int, burst []dataplane.Arrival) {
	w, p := s.wireOf(n, i), &n.ports[i]
	if w == nil || w.half == nil && s.busy(p.wire) || w.down || s.sendControl(n, i) ||
		w.half != nil && s.busy(p.wire) || p.measures && s.measureFromSwitch(n, i) {
		return
	}
	if b, ok := n.sw.LoopProbe(i, s.control[:0], s.now); ok {
		s.captureSent(n, i, b, len(b))
		s.put(p.wire, b, false)
		s.probes++
		n.sw.LoopProbeSent(i)
		return
	}
	if n.sw.Dequeue(i, s.now, burst) == 0 {
		s.wakeBy(p.wire, s.deadline(n, i))
		return
	}
	t := s.push(w)
	t.data = true
	if a := n.sw.AsItCame(i, burst); a != nil {
		copy(t.head[:], a.Data)
		t.octets = int32(len(a.Data))
	} else {
		s.batch.Reset()
		n.sw.Fill(i, s.batch, burst)
		s.batch.Peek(0, t.head[:])
		t.octets = int32(s.batch.Length(0))
	}
	s.captureSent(n, i, t.bytes(), int(t.octets))
	n.sw.Sent(i, 1, s.now)
	s.depart(p.wire, t)
	if !n.sw.Rests(i, s.now) || s.deadline(n, i) < w.wakeAt {
		s.lookAgain(p.wire)
	}
}

// deadline returns when port i has to look what it can send, even if nothing happens.
func (s *shard) deadline(n *switchNode, i int) int64 {
	at := min(n.sw.TxDeadline(i, s.now), n.sw.LoopProbeDeadline(i))
	if n.ports[i].measures {
		at = min(at, n.sw.MeasureDeadline(i))
	}
	return at
}

// transmitControl sends the MAC Control frame of port i, if there is one and the wire is free. The station of a
// half-duplex link takes orders at all times.
func (s *shard) transmitControl(n *switchNode, i int) (sent bool) {
	w := s.wireOf(n, i)
	return w != nil && (w.half != nil || !s.busy(n.ports[i].wire)) && !w.down && s.sendControl(n, i)
}

// sendControl sends the MAC Control frame of port i, if there is one, by its wire, which takes it.
func (s *shard) sendControl(n *switchNode, i int) (sent bool) {
	b, ok := n.sw.ControlOut(i, s.control[:0], s.now)
	if !ok {
		return false
	}
	s.captureControlOut(n, i, b)
	s.put(n.ports[i].wire, b, true)
	n.sw.ControlSent(i, s.now)
	return true
}

// wireOf returns the wire that leaves by port i, nil where there is none.
func (p *plant) wireOf(n *switchNode, i int) *wire {
	if n.ports[i].wire == none {
		return nil
	}
	return &p.wires[n.ports[i].wire]
}

// sendAtSwitch looks at a port whose wire is free, or whose deadline has come.
func (s *shard) sendAtSwitch(n *switchNode, i int) {
	s.transmit(n, i, nil)
	n.sw.Tick(s.now)
	s.serve(n, nil)
	s.reportSuspects(n)
}
