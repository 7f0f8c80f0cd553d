package runner

import (
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// A tick reads what the kernel lost, ages the filtering database and closes the watermarks' windows. While frames come,
// there is one a second. Without frames the time between two of them doubles up to tickIdle.
const (
	tickPeriod = int64(time.Second)
	tickIdle   = windowSeconds * tickPeriod
)

// A Tick is the rhythm of the ticks.
type Tick struct {
	at     int64 // when the last one was
	period int64 // from it to the next one
}

// NewTick returns the rhythm from time now on. The first tick is due a second later.
func NewTick(now int64) (k Tick, due int64) { return Tick{now, tickPeriod}, now + tickPeriod }

// Next records a tick at time now, and returns when the next one is due: at a whole multiple of the period, when others
// wake up as well. seconds is how many whole seconds have begun since the last tick, those of one tickIdle at most.
// window says that a window of the watermarks has ended.
func (t *Tick) Next(now int64, receives bool) (due, seconds int64, window bool) {
	seconds, window = min(now/tickPeriod-t.at/tickPeriod, windowSeconds), now/tickIdle != t.at/tickIdle
	if t.at = now; receives {
		t.period = tickPeriod
	} else {
		t.period = min(2*t.period, tickIdle)
	}
	return (now/t.period + 1) * t.period, seconds, window
}

// runLosses makes the ticks, and looks for rings that the kernel has stopped.
func (r *Runner) runLosses() {
	defer r.done.Done()
	first := int64(0)
	r.tick, first = NewTick(Now())
	r.nextTick.Set(first)
	look := time.NewTimer(stoppedPeriod)
	defer look.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-r.stop:
			return
		case <-look.C:
			r.readRings()
			r.reportStopped()
			if r.receives() {
				look.Reset(stoppedPeriod)
			}
			continue
		case <-r.due:
		}
		r.readLosses()
		r.reportStopped()
		r.seeStations()
		r.idle.Store(true) // first: a frame that receives does not see ends it
		receives := r.receives()
		if receives {
			r.idle.Store(false)
			look.Reset(stoppedPeriod)
		}
		due, seconds, window := r.tick.Next(Now(), receives)
		r.refreshTxPaths(turn, !receives)
		changed := false
		for range seconds {
			r.View(func(sw *dataplane.Switch) { sw.Age(Now()) })
		}
		r.View(func(sw *dataplane.Switch) {
			work := sw.SetIdle(!receives, Now())
			changed = r.followWakes(sw, Now()) || work
			if window {
				sw.RotateWatermarks()
			}
		})
		if changed {
			r.wakeAll()
		}
		if r.ticked != nil {
			r.ticked()
		}
		r.nextTick.Set(due)
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
// for quietPeriod, workers look in their sleep, once a second: nothing else tells of a ring that was stopped by the
// first frame.
const (
	stoppedPeriod = 100 * time.Millisecond
	quietPeriod   = time.Second
)

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
	now, received := Now(), uint64(0)
	r.View(func(sw *dataplane.Switch) { received = sw.ReceivedFrames() })
	if received != r.received {
		r.received, r.receivedAt = received, now
	}
	return now-r.receivedAt < int64(quietPeriod)
}

// frameCame makes a tick follow at once where ticks are rare.
func (r *Runner) frameCame() {
	if r.idle.Load() && r.idle.Swap(false) {
		r.tickNow()
	}
}

// tickNow makes a tick follow at once.
func (r *Runner) tickNow() {
	select {
	case r.due <- struct{}{}:
	default:
	}
}

// refreshPorts is how many tx paths are refreshed in one call: each asks the kernel twice.
const refreshPorts = 32

// refreshTxPaths refreshes the tx paths of the ports, a part of them each turn where there are many. In an idle switch
// it looks for captures alone.
func (r *Runner) refreshTxPaths(turn int, idle bool) {
	ports := portsOf[pathPort](r, anyPort)
	turns := (len(ports) + refreshPorts - 1) / refreshPorts
	r.look.Idle = idle
	r.look.Again()
	for i, p := range ports {
		if i%turns == turn%turns {
			p.RefreshTxPath(&r.look)
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
