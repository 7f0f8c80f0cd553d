package sim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// An End is an end of a link: a port of a switch, or the NIC of a host, which is port 0.
type End struct{ Node, Port int }

// A node is a switch or a host.
type node struct {
	sw    *switchNode
	host  *host
	shard *shard
}

// A Fabric is switches, hosts and links in virtual time, which begins at 1 ns. Nodes, links and flows are added first.
// It is not safe for concurrent use.
type Fabric struct {
	Config
	plant
	now      int64
	events   timeline // of the whole fabric: looks and changes
	shards   []*shard
	workers  []*worker
	divided  bool // by a test: each switch has a shard, in a small fabric too
	clock    clock
	faults   []fault
	lastStop int64 // when the last flow stops
	ended    int   // flows before this one have ended
	ending   Ending
	tried    map[tried]visit // by Path

	seen       uint64 // Hops when there was progress last
	progressAt int64
}

// A plant is what all shards use: each its own nodes, the wires that leave them, and of a flow what its sender or its
// receiver knows.
type plant struct {
	nodes   []node
	wires   []wire
	flows   []flow
	begun   int64 // when the flows' time 0 is
	limited bool  // a flow has a TTL
	side    int   // of wire.leaving, for frames that are sent now
}

// A Config is what the whole run follows.
type Config struct {
	Seed uint64 // of the moments at which flows begin, and of backoffs
	// Stall is after how many ns without a frame that moves the run ends, while a switch holds frames.
	Stall int64
	// LookEvery is how often, in ns, the run looks whether it is to end.
	LookEvery int64
	// Together, where set, does each of so many tasks once, on as many goroutines as it likes: up to Workers. Each has
	// a number below that. The result is the same.
	Together func(tasks int, do func(worker, task int))
	Workers  int
}

// An Ending is why a run has ended.
type Ending uint8

// The endings.
const (
	Running Ending = iota // it has not
	Done                  // every flow has stopped, and no frame is left
	Stalled               // frames are held and none has moved for Config.Stall
)

// New returns an empty fabric.
func New(c Config) (*Fabric, error) {
	if c.Stall <= 0 || c.LookEvery <= 0 {
		return nil, errors.New("a time of 0 ns for Stall or LookEvery")
	}
	f := &Fabric{Config: c, now: 1, clock: clock{sideBySide: 1000}, events: newTimeline()}
	for range max(1, c.Workers) {
		f.workers = append(f.workers, newWorker())
	}
	f.events.add(f.now, look, none)
	return f, nil
}

// Now returns the time, in ns.
func (f *Fabric) Now() int64 { return f.now }

// Begun returns when the flows' time 0 is.
func (f *Fabric) Begun() int64 { return f.begun }

// Connect joins two ends by a link. speeds are those of the ends, in bit/s, and delays what the link adds, in ns, each
// for what the end sends.
func (f *Fabric) Connect(ends [2]End, speeds, delays [2]int64) error {
	first := int32(len(f.wires))
	for i, e := range ends {
		at, err := f.wireAt(e)
		if err != nil {
			return err
		}
		if *at != none || speeds[i] <= 0 || delays[i] < 0 {
			return fmt.Errorf("port %d of node %d has a link already, a speed of 0, or a negative delay", e.Port,
				e.Node)
		}
		*at = first + int32(i)
		f.wires = append(f.wires, wire{from: e, to: ends[1-i], speed: speeds[i], delay: delays[i], wakeAt: never})
	}
	return nil
}

// wireAt returns where an end keeps the wire that leaves by it.
func (f *Fabric) wireAt(e End) (*int32, error) {
	switch {
	case e.Node < 0 || e.Node >= len(f.nodes):
	case f.nodes[e.Node].host != nil && e.Port == 0:
		return &f.nodes[e.Node].host.wire, nil
	case f.nodes[e.Node].sw != nil && e.Port >= 0 && e.Port < len(f.nodes[e.Node].sw.ports):
		return &f.nodes[e.Node].sw.ports[e.Port].wire, nil
	}
	return nil, fmt.Errorf("node %d has no port %d", e.Node, e.Port)
}

// AddFlow adds a flow, whose times count from Start.
func (f *Fabric) AddFlow(c FlowConfig) error {
	for _, n := range []int{c.From, c.To} {
		if n < 0 || n >= len(f.nodes) || f.nodes[n].host == nil {
			return fmt.Errorf("flow %d: node %d is no host", len(f.flows), n)
		}
	}
	if c.Priority >= NumPriorities || c.Octets < MinOctets || c.Octets > port.MaxFrame || c.Rate < 0 || c.Start < 0 ||
		c.Stop < c.Start || c.TTL > MaxTTL {
		return fmt.Errorf("flow %d: a priority above 7, frames of less than %d octets or more than %d, a negative "+
			"rate or time, or a TTL above %d", len(f.flows), MinOctets, port.MaxFrame, MaxTTL)
	}
	h := f.nodes[c.From].host
	queue := &h.queues[c.Priority]
	queue.flows, h.used = append(queue.flows, int32(len(f.flows))), h.used|1<<c.Priority
	f.limited = f.limited || c.TTL > 0
	f.flows = append(f.flows, flow{FlowConfig: c, src: f.nodes[c.From].host.MAC, dst: f.nodes[c.To].host.MAC})
	return nil
}

// ErrLoop is returned where frames that are flooded circulate.
var ErrLoop = errors.New("flooded frames circulate: the topology has a loop")

// Learn has every host send one frame to all, so that the switches learn where the hosts are, and waits until the last
// of these frames has gone. Ports without a link go down. Add no nodes and links after Learn.
func (f *Fabric) Learn() error {
	f.divide()
	hosts := 0
	for _, n := range f.nodes {
		if n.host == nil {
			n.sw.disconnect(f.now)
			if n.sw.watcher != nil {
				f.on(n.shard).watch(n.sw)
			}
			continue
		}
		if err := f.prepare(n.host); err != nil {
			return err
		}
		hosts++
		f.on(n.shard).announce(n.host)
	}
	for i := range f.wires {
		f.on(f.nodes[f.wires[i].from.Node].shard).wakeBy(int32(i), f.now)
	}
	most := uint64(hosts * len(f.wires)) // without a loop none crosses a wire twice
	for until := f.now; f.holds(); until += f.LookEvery {
		for done := false; !done; {
			if done = f.advance(until, most); f.Hops() > most {
				return ErrLoop
			}
		}
	}
	return nil
}

// announce has a host send one frame to all.
func (s *shard) announce(h *host) {
	w := &s.wires[h.wire]
	t := s.push(w)
	*t = transit{octets: MinOctets, data: true}
	frame.PutAddress(t.head[:], frame.Broadcast)
	frame.PutAddress(t.head[frame.AddressOctets:], h.MAC)
	t.head[12], t.head[13] = announceType>>8, announceType&0xff
	s.depart(h.wire, t)
}

// announceType is Local Experimental EtherType 2, which hosts do not look into.
const announceType = 0x88B6

// Start begins the flows' time.
func (f *Fabric) Start() {
	f.begun, f.progressAt, f.tried = f.now, f.now, nil
	random := rand.New(rand.NewPCG(f.Seed, 0))
	latest, earliest := int64(0), int64(never)
	for i := range f.flows {
		fl := &f.flows[i]
		fl.Start, fl.Stop = fl.Start+f.begun, fl.Stop+f.begun
		h := f.nodes[fl.From].host
		fl.begin(f.wires[h.wire].speed, random.Uint64())
		latest, earliest = max(latest, fl.Start), min(earliest, fl.Stop)
		f.lastStop = max(f.lastStop, fl.Stop)
		f.on(f.nodes[fl.From].shard).wakeBy(h.wire, fl.begins())
	}
	for _, n := range f.nodes {
		if n.host != nil {
			for q := range n.host.queues {
				f.sortFlows(&n.host.queues[q])
			}
			if n.host.Prober != nil {
				f.on(n.shard).wakeBy(n.host.wire, n.host.Prober.Next())
			}
		}
	}
	f.startFaults()
	for i := range f.flows {
		fl := &f.flows[i]
		if fl.window = [2]int64{latest, earliest}; latest >= earliest {
			fl.window = [2]int64{fl.Start, fl.Stop}
		}
	}
}

// sortFlows brings flows in the order in which they begin, and makes room for as many active ones.
func (f *Fabric) sortFlows(q *nicQueue) {
	slices.SortStableFunc(q.flows, func(a, b int32) int {
		return cmp.Compare(f.flows[a].begins(), f.flows[b].begins())
	})
	q.active = make([]int32, 0, len(q.flows))
}

// allEnded reports whether no flow sends anything more.
func (f *Fabric) allEnded() bool {
	if f.now >= f.lastStop {
		return true
	}
	for ; f.ended < len(f.flows); f.ended++ {
		if !f.flows[f.ended].ended(f.now) {
			return false
		}
	}
	return true
}

// Advance lets time pass until the run ends, or until a time of the flows, in ns.
func (f *Fabric) Advance(until int64) Ending {
	for !f.AdvanceBy(until, math.MaxUint64) {
	}
	return f.ending
}

// AdvanceBy is Advance for about so many events at most, and at each switch no more of them. It reports whether the
// time has come or the run has ended.
func (f *Fabric) AdvanceBy(until int64, events uint64) (done bool) {
	return f.advance(f.begun+until, events)
}

// Ending returns why the run has ended, or Running.
func (f *Fabric) Ending() Ending { return f.ending }

// holds reports whether there are frames that have been sent and not received.
func (f *Fabric) holds() bool {
	if f.count().onWires > 0 {
		return true
	}
	for i := range f.nodes {
		if n := f.nodes[i].sw; n != nil {
			if _, frames := n.sw.InUse(); frames > 0 {
				return true
			}
		}
	}
	return false
}

// look ends a run that is done or stands still.
func (f *Fabric) look() {
	f.events.add(f.now+f.LookEvery, look, none)
	holds := f.holds()
	if !holds || f.Hops() != f.seen {
		f.seen, f.progressAt = f.Hops(), f.now
	}
	switch {
	case f.begun == 0:
	case !holds && f.allEnded():
		f.ending = Done
	case f.now-f.progressAt >= f.Stall:
		f.ending = Stalled
	}
}
