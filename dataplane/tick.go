package dataplane

import (
	"time"

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
		changed := false
		r.View(func(sw *Switch) {
			sw.Age(Now())
			if r.wake.Count >= wakeSamples {
				changed = sw.SetWakeDelay(r.wake.Quantile(0.999), Now())
			}
			if n%windowSeconds == 0 {
				sw.buffer.RotateWindow()
			}
		})
		if changed {
			r.wakeAll()
		}
	}
}

// wakeAll ends every worker's sleep: deadlines have come nearer.
func (r *Runner) wakeAll() {
	r.shape.Lock()
	defer r.shape.Unlock()
	for _, w := range r.workers {
		w.wake()
	}
}

// wakeSamples is how many sleeps make a 99.9 % value.
const wakeSamples = 1000

// windowSeconds is the length of the watermarks' window.
const windowSeconds = 10

// losses reads what the port's rings have lost, and what a host has lost before it came here. Runner.shape guards it.
func (t *portTask) losses() RingLosses {
	l := RingLosses{Other: t.port.Losses(port.Other), Lossless: t.port.Losses(port.Lossless), Control: t.port.ControlLosses()}
	if tap, ok := t.port.(*port.TAP); ok {
		l.Host = tap.HostDrops()
	}
	return l
}

// readLosses takes over the kernel's loss counters of every ring.
func (r *Runner) readLosses() {
	r.shape.Lock()
	defer r.shape.Unlock()
	for i, t := range r.tasks {
		if t == nil {
			continue
		}
		l := t.losses()
		r.View(func(sw *Switch) { sw.ReadLosses(i, l, Now()) })
	}
}
