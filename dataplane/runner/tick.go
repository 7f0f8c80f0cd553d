package runner

import (
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// runLosses reads once a second what the kernel lost, ages the filtering database and closes the watermarks' windows.
func (r *Runner) runLosses() {
	defer r.done.Done()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-r.stop:
			return
		case <-tick.C:
		}
		r.readLosses()
		r.refreshTxPaths(n)
		changed := false
		r.View(func(sw *dataplane.Switch) {
			sw.Age(Now())
			changed = r.followWakes(sw, Now())
			if n%windowSeconds == 0 {
				sw.RotateWatermarks()
			}
		})
		if changed {
			r.wakeAll()
		}
	}
}

// followWakes hands on how late sleeps end, those of late above all: what a machine did in its worst hour is forgotten.
func (r *Runner) followWakes(sw *dataplane.Switch, now int64) (changed bool) {
	if r.wake.Count < wakeSamples {
		return false
	}
	changed = sw.SetWakeDelay(r.wake.Quantile(0.999), now)
	if r.wake.Count >= wakeMemory {
		r.wake.Halve()
	}
	return changed
}

// wakeAll ends every worker's sleep: deadlines have come nearer.
func (r *Runner) wakeAll() {
	r.shape.Lock()
	defer r.shape.Unlock()
	for _, w := range r.workers {
		w.wake()
	}
}

// How many sleeps make a 99.9 % value, and after how many those before them count half.
const (
	wakeSamples = 1000
	wakeMemory  = 1 << 16
)

// windowSeconds is the length of the watermarks' window.
const windowSeconds = 10

// losses reads what the port's rings have lost, and what a host had lost before it came here when refreshHostDrops
// asked last. Runner.shape guards it.
func (t *portTask) losses() dataplane.RingLosses {
	l := dataplane.RingLosses{Other: t.port.Losses(port.Other), Lossless: t.port.Losses(port.Lossless),
		Control: t.port.ControlLosses()}
	if tap, ok := t.port.(hostPort); ok {
		l.Host = tap.HostDrops()
	}
	return l
}

// refreshHostDrops asks what the hosts behind TAPs have lost, those of the ports of which. The kernel may keep it
// waiting: nobody else waits with it.
func (r *Runner) refreshHostDrops(which func(i int) bool) {
	var all []hostPort
	r.shape.Lock()
	for i, t := range r.tasks {
		if t == nil || !which(i) {
			continue
		}
		if tap, ok := t.port.(hostPort); ok {
			all = append(all, tap)
		}
	}
	r.shape.Unlock()
	for _, tap := range all {
		tap.RefreshHostDrops()
	}
}

// readLosses takes over the kernel's loss counters of every ring.
func (r *Runner) readLosses() {
	r.refreshHostDrops(func(int) bool { return true })
	r.shape.Lock()
	defer r.shape.Unlock()
	for i, t := range r.tasks {
		if t == nil {
			continue
		}
		l := t.losses()
		r.View(func(sw *dataplane.Switch) { sw.ReadLosses(i, l, Now()) })
	}
}

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

// pathPorts returns the ports that there are now: looking after them may wait for the kernel, for which nobody else
// should wait.
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

// allowXDP makes a port, a task's or one that is to become it, leave by the way that the task's configuration asks
// for. Runner.change guards it.
func (t *portTask) allowXDP(p port.Port, look *port.PacketSockets) {
	if p, ok := p.(pathPort); ok {
		p.AllowXDP(look, !t.cfg.Packet)
	}
}
