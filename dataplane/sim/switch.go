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
	name     string
	classify classify.Config
	maxFrame int
	wire     int32 // that leaves by it; none where there is no link
	measures bool  // the headroom of its link
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
		s.ports = append(s.ports, switchPort{c.Name, c.Classify, c.MaxFrame, none, c.Prober != nil})
	}
	sw.LimitSendCalls(1)
	sw.InTime(f.now)
	f.nodes = append(f.nodes, node{sw: s})
	return len(f.nodes) - 1, nil
}

// Watch has a switch watched.
func (f *Fabric) Watch(n int, w Watcher) {
	f.nodes[n].sw.watcher = w
	f.watch(f.nodes[n].sw)
}

// watch has the watcher of a switch look, and carries out its orders.
func (f *Fabric) watch(n *switchNode) {
	if at := n.watcher(n.sw.Suspects(), f.now); at < n.watchAt {
		n.watchAt = max(at, f.now+1)
		f.events.add(n.watchAt, watch, n.number)
	}
	n.sw.Tick(f.now)
	f.serve(n, nil)
}

// reportSuspects has the watcher of a switch look if a queue may be stuck.
func (f *Fabric) reportSuspects(n *switchNode) {
	if n.watcher != nil && n.sw.Suspicious() {
		f.watch(n)
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
func (f *Fabric) receiveAtSwitch(n *switchNode, i int, t *transit) {
	copy(f.scratch[:headOctets], t.head[:])
	b := f.scratch[:t.octets]
	var burst []dataplane.Arrival
	if etherType(b) == frame.TypeMACControl {
		taken := false
		if n.ports[i].measures {
			taken, _ = n.sw.Measurement(i, b, false, f.now, f.now, 0)
		}
		if !taken {
			n.sw.Control(i, b, f.now, f.now)
		}
		f.captureControl(n, i, b)
	} else {
		if f.limited && f.expires(b) {
			f.expired++
			return
		}
		burst = f.arrival[:]
		burst[0].Data, burst[0].At = b, f.now
		burst[0].Prepare(&n.ports[i].classify, n.ports[i].maxFrame)
		f.admit(n, i, burst)
	}
	f.serve(n, burst)
	f.moves = n.sw.Settle(burst, f.moves[:0])
	n.sw.Store(f.moves)
	n.sw.Tick(f.now)
	f.serve(n, nil)
	f.reportSuspects(n)
}

func etherType(b []byte) uint16 { return uint16(b[12])<<8 | uint16(b[13]) }

// admit offers a burst to the switch. A frame that finds the waiting room full is lost, as in a full receive ring.
func (f *Fabric) admit(n *switchNode, i int, burst []dataplane.Arrival) {
	for taken := 0; taken < len(burst); {
		first := taken
		var stop dataplane.Stop
		taken, stop = n.sw.Ingress(i, burst, taken, f.now, 0)
		for k := first; k < taken; k++ {
			f.captureReceived(n, i, &burst[k])
		}
		f.moves = n.sw.Staged(f.moves[:0])
		n.sw.Store(f.moves)
		n.sw.Publish(f.moves, f.now)
		if n.sw.RoomWaits(i) {
			n.rooms.Add(i)
		}
		if stop == dataplane.Done {
			continue
		}
		n.sw.ThresholdCrossedAt(i, f.now)
		if f.transmitControl(n, i); stop == dataplane.FrameWaits {
			n.sw.RingLost(i, port.Lossless, len(burst)-taken, f.now)
			f.lostInRings += uint64(len(burst) - taken)
			return
		}
	}
}

// serve serves the ports with work until none has any. burst is the burst that has not been settled.
func (f *Fabric) serve(n *switchNode, burst []dataplane.Arrival) {
	for {
		f.leaveRooms(n)
		pending := n.sw.PendingPorts()
		if pending.Empty() {
			return
		}
		for i := range pending.All() {
			n.sw.TakePending(i)
			f.transmit(n, i, burst)
		}
	}
}

// leaveRooms offers the frames that wait for buffer to it again, where frames have left since.
func (f *Fabric) leaveRooms(n *switchNode) {
	if n.rooms.Empty() || n.sw.Departures() == n.departures {
		return
	}
	n.departures = n.sw.Departures()
	rooms := n.rooms
	for i := range rooms.All() {
		n.sw.LeaveRoom(i, math.MaxInt, f.now)
		if !n.sw.RoomWaits(i) {
			n.rooms.Remove(i)
		}
	}
}

// transmit sends by port i what goes first, if its wire is free, or arranges when to look again.
func (f *Fabric) transmit(n *switchNode, i int, burst []dataplane.Arrival) {
	w := f.wireOf(n, i)
	if w == nil || f.busy(n.ports[i].wire) || w.down || f.transmitControl(n, i) ||
		n.ports[i].measures && f.measureFromSwitch(n, i) {
		return
	}
	if b, ok := n.sw.LoopProbe(i, f.control[:0], f.now); ok {
		f.captureSent(n, i, b, len(b))
		f.put(n.ports[i].wire, b, false)
		f.probes++
		n.sw.LoopProbeSent(i)
		return
	}
	if n.sw.Dequeue(i, f.now, burst) == 0 {
		f.wakeBy(n.ports[i].wire, f.deadline(n, i))
		return
	}
	f.batch.Reset()
	n.sw.Fill(i, f.batch, burst)
	t := w.flight.push()
	f.batch.Peek(0, t.head[:])
	t.octets, t.data = int32(f.batch.Length(0)), true
	f.captureSent(n, i, t.bytes(), int(t.octets))
	n.sw.Sent(i, 1, f.now)
	f.depart(n.ports[i].wire, t)
	if !n.sw.Rests(i, f.now) || f.deadline(n, i) < w.wakeAt {
		f.busy(n.ports[i].wire)
	}
}

// deadline returns when port i has to look what it can send, even if nothing happens.
func (f *Fabric) deadline(n *switchNode, i int) int64 {
	at := min(n.sw.TxDeadline(i, f.now), n.sw.LoopProbeDeadline(i))
	if n.ports[i].measures {
		at = min(at, n.sw.MeasureDeadline(i))
	}
	return at
}

// transmitControl sends the MAC Control frame of port i, if there is one and the wire is free.
func (f *Fabric) transmitControl(n *switchNode, i int) (sent bool) {
	w := f.wireOf(n, i)
	if w == nil || f.busy(n.ports[i].wire) || w.down {
		return false
	}
	b, ok := n.sw.ControlOut(i, f.control[:0], f.now)
	if !ok {
		return false
	}
	f.captureControlOut(n, i, b)
	f.put(n.ports[i].wire, b, true)
	n.sw.ControlSent(i, f.now)
	return true
}

// wireOf returns the wire that leaves by port i, nil where there is none.
func (f *Fabric) wireOf(n *switchNode, i int) *wire {
	if n.ports[i].wire == none {
		return nil
	}
	return &f.wires[n.ports[i].wire]
}

// sendAtSwitch looks at a port whose wire is free, or whose deadline has come.
func (f *Fabric) sendAtSwitch(n *switchNode, i int) {
	f.transmit(n, i, nil)
	n.sw.Tick(f.now)
	f.serve(n, nil)
	f.reportSuspects(n)
}
