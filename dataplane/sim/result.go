package sim

import (
	"fmt"

	"pfcswitch/dataplane"
	"pfcswitch/macctl"
)

// A FlowResult is what has become of a flow.
type FlowResult struct {
	Sent, Received, Reordered uint64
	Duplicated                uint64 // frames that came beyond those that were sent
	// Rate is that of arrival while all flows were sending, or, where they never were at once, while this one was. In
	// bit/s on the wire.
	Rate    int64
	Latency *dataplane.Latency // from the first bit sent to the last bit received, in ns; nil with FlowConfig.Frames
	Took    int64              // ns from Start until the last of FlowConfig.Frames had come; 0: it has not

	DCQCN ControlResult // zero without FlowConfig.DCQCN
}

// Flow returns the result of flow i, in the order of AddFlow.
func (f *Fabric) Flow(i int) FlowResult {
	fl := &f.flows[i]
	r := FlowResult{Sent: fl.sent, Received: fl.received, Reordered: fl.reordered, Latency: fl.latency}
	if fl.done > 0 {
		r.Took = fl.done - fl.Start
	}
	if fl.control != nil {
		r.DCQCN = fl.control.ControlResult
		r.DCQCN.Rate = fl.control.point.Rate()
	}
	if fl.received > fl.sent {
		r.Duplicated = fl.received - fl.sent
	}
	if span := min(fl.window[1], f.now) - fl.window[0]; span > 0 {
		r.Rate = scale(fl.windowOctets*8, nsPerSecond, span)
	}
	return r
}

// FlowConfig returns what was added as flow i, with the times of virtual time once that has started.
func (f *Fabric) FlowConfig(i int) FlowConfig { return f.flows[i].FlowConfig }

// scale returns n·by/to without overflow where the result is in range.
func scale(n, by, to int64) int64 { return n/to*by + n%to*by/to }

// A HostResult is what a host's NIC has obeyed.
type HostResult struct {
	Received macctl.ReceiverCounters
	PausedNs [NumPriorities]int64 // by PFC
	// PausedAllNs is the time for which PAUSE, or the other end of a half-duplex link, stopped the NIC.
	PausedAllNs int64
}

// Host returns the result of a host.
func (f *Fabric) Host(n int) HostResult {
	h := f.nodes[n].host
	r := HostResult{Received: h.receiver.Counters(),
		PausedAllNs: h.receiver.PausedTime(macctl.WholePort, f.now) + f.HeldByPeer(End{Node: n})}
	for q := range r.PausedNs {
		r.PausedNs[q] = h.receiver.PausedTime(uint8(q), f.now)
	}
	return r
}

// A Sum is where the frames of the whole run are. Sent + Copies = Received + Dropped + Held.
type Sum struct {
	Sent     uint64 // by hosts, and loop probes
	Copies   uint64 // that switches made to flood them
	Received uint64 // by hosts
	Dropped  uint64 // by switches, and where a TTL ended; on links that went down; after 16 collisions; loop probes
	Held     uint64 // in switches and on wires
}

// Sum adds up what hosts, switches and wires say. Each switch's own balance is in unbalanced where it does not hold.
func (f *Fabric) Sum() (s Sum, unbalanced []string) {
	n := f.count()
	s.Received, s.Held, s.Dropped = n.received, uint64(n.onWires), n.lostInRings+n.lostOnWires+n.givenUp+n.expired
	between := uint64(0) // frames that one switch has sent to another
	var v dataplane.Snapshot
	for i := range f.nodes {
		sw := f.nodes[i].sw
		if sw == nil {
			continue
		}
		sw.sw.Snapshot(&v, f.now)
		b := v.Balance()
		if b.Received+b.Copies != b.Sent+b.Dropped+b.Held || v.Buffer.Unbalanced != 0 {
			unbalanced = append(unbalanced, fmt.Sprintf("%s: received %d and %d copies; sent %d, dropped %d, held %d; "+
				"%d octets of the buffer given back twice", sw.name, b.Received, b.Copies, b.Sent, b.Dropped, b.Held,
				v.Buffer.Unbalanced))
		}
		between += b.Sent
		s.Copies += b.Copies
		s.Dropped += b.Dropped
		s.Held += b.Held
		for p := range v.Ports {
			for _, probes := range v.Ports[p].Counters.LoopProbesReceived {
				s.Dropped += probes
			}
		}
	}
	s.Sent = n.departures - between
	return s, unbalanced
}

// Hops returns how many frames have crossed a wire, MAC Control frames and loop probes left out.
func (f *Fabric) Hops() uint64 {
	n := f.count()
	return n.departures - n.probes
}

// Events returns how many events have happened.
func (f *Fabric) Events() uint64 { return f.count().happened }

// Name returns the name of a port, as SWITCH:PORT, or of a host.
func (f *Fabric) Name(e End) string {
	if h := f.nodes[e.Node].host; h != nil {
		return h.Name
	}
	n := f.nodes[e.Node].sw
	return n.name + ":" + n.ports[e.Port].name
}
