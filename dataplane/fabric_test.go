package dataplane

import (
	"container/heap"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A fabric is switches and hosts under virtual time. Links deliver what they are given after their delay, as veth pairs
// do: whoever sends keeps to the speed.
type fabric struct {
	tb    reporter
	now   int64
	queue timeline
	nodes []*switchNode
	hosts []*hostNode
}

// A timeline holds what is going to happen, in order of time and then of arrangement.
type timeline struct {
	events []happening
	serial int
}

type happening struct {
	at     int64
	serial int
	do     func()
}

func (q *timeline) Len() int { return len(q.events) }
func (q *timeline) Less(i, j int) bool {
	a, b := q.events[i], q.events[j]
	return a.at < b.at || a.at == b.at && a.serial < b.serial
}
func (q *timeline) Swap(i, j int) { q.events[i], q.events[j] = q.events[j], q.events[i] }
func (q *timeline) Push(x any)    { q.events = append(q.events, x.(happening)) }
func (q *timeline) Pop() any {
	last := q.events[len(q.events)-1]
	q.events = q.events[:len(q.events)-1]
	return last
}

// at arranges that do happens at a time.
func (f *fabric) at(t int64, do func()) {
	f.queue.serial++
	heap.Push(&f.queue, happening{max(t, f.now), f.queue.serial, do})
}

// run lets time pass until nothing more is going to happen, or until the given moment.
func (f *fabric) run(until int64) {
	for f.queue.Len() > 0 && f.queue.events[0].at <= until {
		e := heap.Pop(&f.queue).(happening)
		f.now = e.at
		e.do()
	}
}

// A receiver takes frames from a link.
type receiver interface{ take(b []byte) }

// An end is where a node sends to: the other node, some time later.
type end struct {
	f     *fabric
	to    receiver
	delay int64
}

func (e *end) send(b []byte) { e.f.at(e.f.now+e.delay, func() { e.to.take(b) }) }

// A switchNode runs a switch as a worker does.
type switchNode struct {
	f     *fabric
	r     *rig
	ends  []*end
	rings [][][]byte // frames that wait for buffer, by port
	waits int        // frames that had to wait
	wake  []int64    // when each port looks again
}

// A switchPort is the receiving side of one port of a switch.
type switchPort struct {
	n *switchNode
	i int
}

func (f *fabric) add(cfg Config, ports ...PortConfig) *switchNode {
	n := &switchNode{f: f, r: newRig(f.tb, cfg, ports...), ends: make([]*end, len(ports)), rings: make([][][]byte,
		len(ports)), wake: make([]int64, len(ports))}
	f.nodes = append(f.nodes, n)
	return n
}

func (p switchPort) take(b []byte) {
	n := p.n
	n.r.now = n.f.now
	if h, _ := frame.Parse(b); h.EtherType == frame.TypeMACControl {
		n.r.sw.Control(p.i, b, n.f.now, n.f.now)
	} else {
		n.rings[p.i] = append(n.rings[p.i], b)
	}
	n.serve()
}

// serve does what is to be done now, until there is nothing left.
func (n *switchNode) serve() {
	n.r.now = n.f.now
	for n.receive() || n.transmit() {
	}
	for i := range n.ends {
		n.sleep(i)
	}
}

func (n *switchNode) receive() (work bool) {
	for i, ring := range n.rings {
		work = n.r.leaveRoom(i) > 0 || work
		if len(ring) == 0 {
			continue
		}
		taken, _ := n.r.arrive(i, ring...)
		n.r.settle()
		if n.r.sw.RoomWaits(i) {
			n.waits++
		}
		n.rings[i] = ring[taken:]
		work = work || taken > 0
	}
	return work
}

func (n *switchNode) transmit() (work bool) {
	for i, e := range n.ends {
		if e == nil {
			continue
		}
		for b := n.r.tell(i); b != nil; b = n.r.tell(i) {
			e.send(b)
			work = true
		}
		for _, b := range n.r.send(i, port.BatchFrames) {
			e.send(b)
			work = true
		}
	}
	return work
}

// sleep arranges that port i is looked at again when it asks for it.
func (n *switchNode) sleep(i int) {
	at := n.r.sw.TxDeadline(i, n.f.now)
	if at > n.f.now+10*second || n.wake[i] > n.f.now && n.wake[i] <= at {
		return
	}
	n.wake[i] = at
	n.f.at(at, func() {
		n.r.sw.Tick(n.f.now)
		n.serve()
	})
}

// A hostNode sends at its speed, one frame after the other, and obeys PFC after its reaction time.
type hostNode struct {
	f        *fabric
	id       int
	speed    int64
	reaction int64 // ns from the arrival of XOFF until the last frame has left
	deaf     bool  // obeys nothing
	end      *end

	receiver *macctl.Receiver
	queues   [NumPriorities][][]byte
	turn     int
	sending  bool
	got      map[uint64][]int // sequence numbers by sender and priority
}

// host puts a host behind port i of a switch.
func (f *fabric) host(id int, n *switchNode, i int, delay, reaction int64) *hostNode {
	c := &n.r.sw.ports[i].cfg
	h := &hostNode{f: f, id: id, speed: c.Speed, reaction: reaction, got: map[uint64][]int{},
		receiver: macctl.NewReceiver(macctl.ModePFC, 0xff, c.Speed, [6]byte{})}
	h.end = &end{f, switchPort{n, i}, delay}
	n.ends[i] = &end{f, h, delay}
	f.hosts = append(f.hosts, h)
	return h
}

func (f *fabric) join(a *switchNode, i int, b *switchNode, j int, delay int64) {
	a.ends[i] = &end{f, switchPort{b, j}, delay}
	b.ends[j] = &end{f, switchPort{a, i}, delay}
}

func (h *hostNode) take(b []byte) {
	header, _ := frame.Parse(b)
	if header.EtherType != frame.TypeMACControl {
		key := header.Src<<3 | uint64(header.TCI.PCP())
		h.got[key] = append(h.got[key], sequence(b))
		return
	}
	if h.deaf {
		return
	}
	h.f.at(h.f.now+h.reaction, func() {
		h.receiver.Receive(b, h.f.now, h.f.now)
		h.next()
		if h.receiver.NextExpiry() < h.f.now+second {
			h.f.at(h.receiver.NextExpiry(), h.next)
		}
	})
}

// load queues n frames to another host.
func (h *hostNode) load(to int, prio uint8, n, octets int) {
	h.queues[prio] = append(h.queues[prio], several(h.id, to, prio, n, octets)...)
	h.f.at(h.f.now, h.next)
}

// next sends a frame of the next priority that has one and is not paused, and looks again when it has left.
func (h *hostNode) next() {
	if h.sending {
		return
	}
	paused := h.receiver.Paused(h.f.now)
	for range NumPriorities {
		h.turn = (h.turn + 1) % NumPriorities
		q := &h.queues[h.turn]
		if len(*q) == 0 || paused>>h.turn&1 == 1 {
			continue
		}
		b := (*q)[0]
		*q = (*q)[1:]
		h.sending = true
		left := h.f.now + int64(frame.WireOctets(len(b)))*8*1_000_000_000/h.speed
		h.f.at(left, func() {
			h.end.send(b)
			h.sending = false
			h.next()
		})
		return
	}
}
