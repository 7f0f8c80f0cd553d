package sim

import (
	"fmt"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
)

// A Fault is why a flow cannot reach its host as what it is.
type Fault struct {
	Switch string
	Reason string
}

// Path follows a frame of flow i through the filtering databases of the switches, without sending it: on its own way,
// and where a switch chooses by the flow on all others too, since a link that goes down moves the flow. Where the frame
// would not come, or not with its priority, Path returns why: a frame with a TTL may circle. lossless says whether the
// frame is lossless at each switch.
func (f *Fabric) Path(i int) (lossless bool, fault *Fault) {
	fl := &f.flows[i]
	var t transit
	probe := flow{FlowConfig: fl.FlowConfig, src: fl.src, dst: fl.dst}
	probe.begin(f.wires[f.nodes[fl.From].host.wire].speed, 0) // the header of its frames is that of its control
	probe.build(&t, int32(i), f.now)
	p := path{Fabric: f, flow: fl, frame: make([]byte, fl.Octets), lossless: true, visits: map[End]visit{}}
	copy(p.frame, t.head[:])
	if f.tried == nil {
		f.tried = map[tried]visit{}
	}
	fault = p.follow(f.wires[f.nodes[fl.From].host.wire].to, true)
	return p.lossless && fault == nil, fault
}

// A path is what Path knows of one flow.
type path struct {
	*Fabric
	flow     *flow
	frame    []byte
	lossless bool
	visits   map[End]visit // of ports of switches by which the frame has come
}

type visit uint8

const (
	passing       visit = iota + 1 // on the way that is followed
	leadsLossless                  // all ways from there lead to the host, and are lossless
	leads                          // or not
)

// A tried port is one from which all ways of such frames lead to a host.
type tried struct {
	node, port, to, octets int32
	priority               uint8
	ip                     bool
}

// follow follows the frame from the port of a switch by which it comes. own: it does come there, else it may, and then
// what another flow has tried need not be tried again.
func (p *path) follow(at End, own bool) *Fault {
	n := p.nodes[at.Node].sw
	if n == nil {
		if at.Node == p.flow.To {
			return nil
		}
		return &Fault{p.nodes[at.Node].host.Name, "is where the frames come, which is another host"}
	}
	if p.visits[at] == passing {
		if p.flow.TTL > 0 {
			return nil
		}
		return &Fault{n.name, "is passed again and again: the routes form a circle"}
	}
	key := tried{int32(at.Node), int32(at.Port), int32(p.flow.To), int32(p.flow.Octets), p.flow.Priority, p.flow.DCQCN}
	result := p.visits[at]
	if result == 0 && !own {
		result = p.tried[key]
	}
	if result == 0 {
		before := p.lossless
		p.visits[at], p.lossless = passing, true
		if fault := p.leave(n, at.Port, own); fault != nil {
			return fault
		}
		if result = leadsLossless; !p.lossless {
			result = leads
		}
		if p.visits[at], p.lossless = result, before; !own && p.flow.TTL == 0 {
			p.tried[key] = result
		}
	}
	p.lossless = p.lossless && result == leadsLossless
	return nil
}

// leave follows the frame by all ports by which a switch may send it on.
func (p *path) leave(n *switchNode, in int, own bool) *Fault {
	r, _ := n.sw.Trace(in, p.frame, frame.VnetHeader{}, p.now)
	p.lossless = p.lossless && r.Lossless
	if fault := p.stopped(n, in, &r); fault != nil {
		return fault
	}
	ways := r.Ways
	if ways == nil {
		ways = []int{r.Copies[0].Port}
	}
	for _, port := range ways {
		link := p.wireOf(n, port)
		if link == nil {
			return &Fault{n.name, "forwards to a port without a link"}
		}
		if fault := p.follow(link.to, own && port == r.Copies[0].Port); fault != nil {
			return fault
		}
	}
	return nil
}

// stopped says why a frame does not go on, or not as it came.
func (p *path) stopped(n *switchNode, port int, r *dataplane.TraceResult) *Fault {
	in := n.ports[port].name
	switch {
	case r.Dropped || len(r.Copies) == 0:
		return &Fault{n.name, fmt.Sprintf("drops what comes by %s: %v", in, r.Reason)}
	case r.Priority != p.flow.Priority:
		return &Fault{n.name, fmt.Sprintf("gives what comes by %s priority %d: frames carry their priority in a VLAN "+
			"tag", in, r.Priority)}
	case len(r.Copies) > 1 || r.Demoted:
		return &Fault{n.name, fmt.Sprintf("does not know the station, and floods what comes by %s", in)}
	}
	return nil
}
