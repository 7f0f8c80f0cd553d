package dataplane

import "pfcswitch/dataplane/port"

// tendPorts is how many ports are looked after at a time: each asks the kernel twice.
const tendPorts = 32

// A tended is a port whose way out is looked after.
type tended struct {
	port   *port.AFPacket
	packet bool
}

// tend looks after the ways out of the ports, in turns where they are many.
func (r *Runner) tend(turn int) {
	ports := r.tended()
	turns := (len(ports) + tendPorts - 1) / tendPorts
	var look port.Look
	for i, p := range ports {
		if i%turns == turn%turns {
			p.port.Tend(&look, !p.packet)
		}
	}
}

// follow makes every port leave by the way that its configuration asks for.
func (r *Runner) follow() {
	var look port.Look
	for _, p := range r.tended() {
		p.port.Tend(&look, !p.packet)
	}
}

// tended returns the ports that there are now: looking after them may wait for the kernel, for which nobody else should wait.
func (r *Runner) tended() (all []tended) {
	r.shape.Lock()
	defer r.shape.Unlock()
	for _, t := range r.tasks {
		if t == nil {
			continue
		}
		if p, ok := t.port.(*port.AFPacket); ok {
			all = append(all, tended{p, t.cfg.Packet})
		}
	}
	return all
}
