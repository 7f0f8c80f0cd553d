package runner

import (
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// runLosses reads once a second what the kernel lost, ages the filtering database and closes the watermarks' windows.
// While frames come, it looks ten times a second for rings that the kernel has stopped.
func (r *Runner) runLosses() {
	defer r.done.Done()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	look := time.NewTimer(stoppedPeriod)
	defer look.Stop()
	for n := 0; ; {
		select {
		case <-r.stop:
			return
		case <-look.C:
			r.readRings()
			if r.reportStopped(); r.receives() {
				look.Reset(stoppedPeriod)
			}
			continue
		case <-tick.C:
		}
		r.readLosses()
		if r.reportStopped(); r.receives() {
			look.Reset(stoppedPeriod)
		}
		r.seeStations()
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
		n++
	}
}

// followWakes hands on how late sleeps end. Recent sleeps count most, so that one slow hour is forgotten.
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

// wakeAll ends every worker's sleep, because deadlines have come nearer.
func (r *Runner) wakeAll() {
	r.tasksMu.Lock()
	defer r.tasksMu.Unlock()
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

// losses reads the loss counts of the port's rings, and the TAP drops of the newest refreshHostDrops. Runner.tasksMu
// guards it.
func (t *portTask) losses() dataplane.RingLosses {
	l := dataplane.RingLosses{Other: t.port.Losses(port.Other), Lossless: t.port.Losses(port.Lossless),
		Control: t.port.ControlLosses()}
	if tap, ok := t.port.(hostPort); ok {
		l.Host = tap.HostDrops()
	}
	return l
}

// refreshHostDrops updates the kernel's drop counters of every TAP whose port number match accepts.
func (r *Runner) refreshHostDrops(match func(i int) bool) {
	for _, tap := range portsOf[hostPort](r, match) {
		tap.RefreshHostDrops()
	}
}

// portsOf returns the ports of a kind whose numbers match accepts. A call of such a port may wait for the kernel: the
// caller then holds no lock.
func portsOf[T port.Port](r *Runner, match func(i int) bool) (all []T) {
	r.tasksMu.Lock()
	defer r.tasksMu.Unlock()
	for t := range r.attached() {
		if p, ok := t.port.(T); ok && match(t.index) {
			all = append(all, p)
		}
	}
	return all
}

func anyPort(int) bool { return true }

// readLosses takes over the kernel's loss counters of every ring.
func (r *Runner) readLosses() {
	r.refreshHostDrops(anyPort)
	r.tasksMu.Lock()
	defer r.tasksMu.Unlock()
	for t := range r.attached() {
		l, stopped := t.losses(), t.stopped()
		r.View(func(sw *dataplane.Switch) { readLosses(sw, t.index, l, stopped) })
	}
}

// readLosses hands the losses of port number i to the switch. stopped says in which classes the kernel has stopped a
// ring.
func readLosses(sw *dataplane.Switch, i int, l dataplane.RingLosses, stopped [port.NumClasses]bool) {
	for c, is := range stopped {
		if is {
			sw.RingStopped(i, port.Class(c), l, Now())
		}
	}
	sw.ReadLosses(i, l, Now())
}

// stoppedPeriod is the time between two looks for rings that the kernel has stopped. Where no port has received a frame
// for quietPeriod, only the tick looks, once a second: an idle switch hardly wakes up.
const (
	stoppedPeriod = 100 * time.Millisecond
	quietPeriod   = time.Second
)

// readRings looks at all rings.
func (r *Runner) readRings() {
	r.tasksMu.Lock()
	defer r.tasksMu.Unlock()
	for t := range r.attached() {
		t.losses()
	}
}

// reportStopped calls ringStopped where the last look has found a ring that the kernel has stopped.
func (r *Runner) reportStopped() {
	r.tasksMu.Lock()
	found := false
	for t := range r.attached() {
		found = found || t.stopped() != [port.NumClasses]bool{}
	}
	r.tasksMu.Unlock()
	if found && r.ringStopped != nil {
		r.ringStopped()
	}
}

// receives reports whether a port has received frames lately.
func (r *Runner) receives() bool {
	now, received := time.Now(), uint64(0)
	r.View(func(sw *dataplane.Switch) { received = sw.ReceivedFrames() })
	if received != r.received {
		r.received, r.receivedAt = received, now
	}
	return now.Sub(r.receivedAt) < quietPeriod
}

// refreshPorts is how many tx paths are refreshed in one call: each asks the kernel twice.
const refreshPorts = 32

// refreshTxPaths refreshes the tx paths of the ports, a part of them each turn where there are many.
func (r *Runner) refreshTxPaths(turn int) {
	ports := portsOf[pathPort](r, anyPort)
	turns := (len(ports) + refreshPorts - 1) / refreshPorts
	var look port.PacketSockets
	for i, p := range ports {
		if i%turns == turn%turns {
			p.RefreshTxPath(&look)
		}
	}
}

// allowXDP sets which tx path the port may use, as the task's configuration says. p is the task's port or its next one.
// Runner.change guards it.
func (t *portTask) allowXDP(p port.Port, look *port.PacketSockets) {
	if p, ok := p.(pathPort); ok {
		p.AllowXDP(look, !t.cfg.Packet && !t.fast())
	}
}
