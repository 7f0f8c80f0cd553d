package runner

import "pfcswitch/dataplane/port"

// refreshPorts is how many ports are looked after at a time: each asks the kernel twice.
const refreshPorts = 32

// refreshTxPaths looks after the ways out of the ports, in turns where they are many.
func (r *Runner) refreshTxPaths(turn int) {
	ports := r.pathPorts()
	turns := (len(ports) + refreshPorts - 1) / refreshPorts
	var look port.PacketSockets
	for i, p := range ports {
		if i%turns == turn%turns {
			p.RefreshTxPath(&look)
		}
	}
}

// pathPorts returns the ports that there are now: looking after them may wait for the kernel, for which nobody else should wait.
func (r *Runner) pathPorts() (all []pathPort) {
	r.shape.Lock()
	defer r.shape.Unlock()
	for _, t := range r.tasks {
		if t == nil {
			continue
		}
		if p, ok := t.port.(pathPort); ok {
			all = append(all, p)
		}
	}
	return all
}

// allowXDP makes a port, a task's or one that is to become it, leave by the way that the task's configuration asks for. Runner.change
// guards it.
func (t *portTask) allowXDP(p port.Port, look *port.PacketSockets) {
	if p, ok := p.(pathPort); ok {
		p.AllowXDP(look, !t.cfg.Packet)
	}
}
