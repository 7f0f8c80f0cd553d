package dataplane

import "pfcswitch/dataplane/port"

// tendPorts is how many ports are looked after at a time: each asks the kernel twice.
const tendPorts = 32

// tend looks after the ways out of the ports, in turns where they are many.
func (r *Runner) tend(turn int) {
	r.shape.Lock()
	defer r.shape.Unlock()
	var ports []*portTask
	for _, t := range r.tasks {
		if t != nil {
			ports = append(ports, t)
		}
	}
	r.look.Again()
	turns := (len(ports) + tendPorts - 1) / tendPorts
	for i, t := range ports {
		if i%turns == turn%turns {
			t.tend(&r.look)
		}
	}
}

func (t *portTask) tend(look *port.Look) {
	if p, ok := t.port.(*port.AFPacket); ok {
		p.Tend(look, !t.cfg.Packet)
	}
}

// follow makes every port leave by the way that its configuration asks for.
func (r *Runner) follow() {
	r.shape.Lock()
	defer r.shape.Unlock()
	r.look.Again()
	for _, t := range r.tasks {
		if t != nil {
			t.tend(&r.look)
		}
	}
}
