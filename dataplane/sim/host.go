package sim

import (
	"fmt"
	"math/bits"
	"slices"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

// NumPriorities is the number of queues of a host's NIC.
const NumPriorities = sched.NumQueues

// A HostConfig describes a host with one NIC.
type HostConfig struct {
	Name string
	MAC  uint64
	Mode macctl.Mode // what its NIC obeys, in all priorities
	// Lossless are the priorities that it pauses where a fault has it pause its peer.
	Lossless uint8
	// Response is how long the NIC goes on beginning frames after a MAC Control frame was received, in ns. Negative:
	// the limit of the standard at the link's speed.
	Response int64
	// Late returns by how many ns more it is late this time, from 0 on; nil: never.
	Late func() int64
	// Prober measures the headroom of the link by frames of this form. It answers when it would obey. nil: it does not.
	Prober      dataplane.HeadroomProber
	Measurement macctl.MeasurementFormat
}

// A host sends flows by its NIC and counts what arrives. It pauses its peer only where a fault says so.
type host struct {
	HostConfig
	wire     int32
	receiver *macctl.Receiver
	heard    fifo  // MAC Control frames that are not obeyed yet
	obeysAt  int64 // when it obeys the newest of them
	mac      [6]byte
	sched    sched.Config
	round    sched.State
	queues   [NumPriorities]nicQueue
	used     uint8 // queues that have had a flow or an answer
	initiator
}

// A nicQueue is the flows of one priority, which take turns. Acknowledgements and CNPs go before them.
type nicQueue struct {
	flows   []int32 // by the time at which they begin
	begun   int     // how many of them have
	active  []int32 // those that have begun and not ended
	turn    int     // index of active
	answers valueFifo[int32]
}

// AddHost adds a host.
func (f *Fabric) AddHost(c HostConfig) (number int) {
	f.nodes = append(f.nodes, node{host: &host{HostConfig: c, wire: none}})
	return len(f.nodes) - 1
}

// prepare makes the NIC of a host ready when its link and its flows are known.
func (f *Fabric) prepare(h *host) error {
	if h.wire == none {
		return fmt.Errorf("host %s has no link", h.Name)
	}
	speed := f.wires[h.wire].speed
	if h.Response < 0 {
		h.Response = (macctl.ResponseLimitBits(speed)*nsPerSecond + speed - 1) / speed
	}
	frame.PutAddress(h.mac[:], h.MAC)
	h.receiver = macctl.NewReceiver(h.Mode, 0xff, speed, h.mac)
	h.initiator.prepare(macctl.InitiatorConfig{Mode: h.Mode, Enabled: h.Lossless, Speed: speed, Source: h.mac,
		InTime: true})
	longest := macctl.FrameSize
	for q := range h.queues {
		for _, i := range h.queues[q].flows {
			longest = max(longest, frame.WireOctets(f.flows[i].Octets))
		}
	}
	h.sched = sched.NewConfig([NumPriorities]sched.Queue{}, longest)
	return nil
}

// receiveAtHost takes a frame off a wire.
func (s *shard) receiveAtHost(h *host, t *transit) {
	b := t.bytes()
	switch {
	case etherType(b) == frame.TypeMACControl:
		heard, at := h.heard.push(), s.now+h.Response
		*heard = *t
		heard.at = s.now
		if h.Late != nil {
			at += h.Late()
		}
		h.obeysAt = max(h.obeysAt, at) // in the order in which they came
		s.events.add(h.obeysAt, obey, h.wire)
	case t.data:
		s.deliver(h, b, int(t.octets))
		if h.backlog.Rate > 0 {
			s.fill(h, int64(frame.WireOctets(int(t.octets))))
		}
	}
}

// obeyAtHost obeys the oldest MAC Control frame that the host has received, or answers it.
func (s *shard) obeyAtHost(h *host) {
	if t := h.heard.pop(); !t.lost && !s.measureAtHost(h, t) {
		h.receiver.Receive(t.bytes(), t.at, s.now)
	}
	s.sendAtHost(h)
}

// sendAtHost sends the next frame if the wire is free, or arranges when to look again. No flow begins before Start.
func (s *shard) sendAtHost(h *host) {
	w := &s.wires[h.wire]
	if w.half == nil && s.busy(h.wire) || w.down || s.controlAtHost(h) ||
		w.half != nil && s.busy(h.wire) || s.measureFromHost(h) || s.begun == 0 {
		return
	}
	var heads [NumPriorities]int
	var lengths [NumPriorities]int64
	waiting, at := s.waiting(h, &heads, &lengths)
	paused := h.receiver.Paused(s.now)
	q := h.sched.Pick(&h.round, waiting, waiting&^paused, &lengths)
	if q < 0 {
		if waiting&paused != 0 {
			at = min(at, h.receiver.NextExpiry())
		}
		s.wakeBy(h.wire, at)
		return
	}
	queue := &h.queues[q]
	t := s.push(w)
	if heads[q] == none {
		number := uint32(queue.answers.pop())
		s.flows[number&^notifies].answer(t, number, s.now)
	} else {
		i := queue.active[heads[q]]
		queue.turn = heads[q] + 1
		s.flows[i].build(t, i, s.now)
	}
	s.depart(h.wire, t)
	s.lookAgain(h.wire)
}

// waiting finds the priorities that have a frame to send now, the flow whose turn it is in each (none: an
// answer goes first) and the octets of its frame on the wire, and when there will be more of them.
func (s *shard) waiting(h *host, heads *[NumPriorities]int, lengths *[NumPriorities]int64) (waiting uint8,
	next int64) {
	if next = h.nextControl(); h.Prober != nil {
		next = min(next, h.Prober.Next())
	}
	for used := h.used; used != 0; used &= used - 1 {
		q := bits.TrailingZeros8(used)
		queue := &h.queues[q]
		next = min(next, s.beginFlows(queue))
		if !queue.answers.empty() {
			waiting |= 1 << q
			heads[q], lengths[q] = none, int64(frame.WireOctets(MinOctets))
			continue
		}
		for k := 0; k < len(queue.active); {
			i := queue.turn + k
			if i >= len(queue.active) { // turn is its length at most
				i %= len(queue.active)
			}
			fl := &s.flows[queue.active[i]]
			if fl.ended(s.now) {
				queue.remove(i)
				continue
			}
			due := fl.due(s.now)
			if due > s.now {
				next = min(next, due)
				k++
				continue
			}
			waiting |= 1 << q
			heads[q], lengths[q] = i, fl.wire
			break
		}
	}
	return waiting, next
}

// beginFlows makes flows active whose time has come, and returns when the next begins.
func (s *shard) beginFlows(queue *nicQueue) (next int64) {
	for ; queue.begun < len(queue.flows); queue.begun++ {
		i := queue.flows[queue.begun]
		if begin := s.flows[i].begins(); begin > s.now {
			return begin
		}
		queue.active = append(queue.active, i)
	}
	return never
}

// remove takes flow i of the active ones out. The turn stays at the same flow.
func (queue *nicQueue) remove(i int) {
	queue.active = slices.Delete(queue.active, i, i+1)
	if queue.turn %= len(queue.active) + 1; queue.turn > i {
		queue.turn--
	}
}

// answer queues an acknowledgement or a CNP.
func (h *host) answer(priority uint8, number uint32) {
	h.queues[priority].answers.push(int32(number))
	h.used |= 1 << priority
}
