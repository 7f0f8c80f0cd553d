package runner

import (
	"sync"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// snapshotEvery bounds how often the switch's lock is held for readers.
const snapshotEvery = 2 * time.Millisecond

// snapshots are taken into memory of their own, so that nothing is allocated while the switch is locked.
type snapshots struct {
	sync.Mutex // guards last, which readers share who came before it was taken
	last       dataplane.Snapshot
}

// Snapshot fills v with the state of a moment after the call. It does not wait for a change that waits for something.
func (r *Runner) Snapshot(v *dataplane.Snapshot) {
	called := Now()
	s := &r.snapshots
	s.Lock()
	defer s.Unlock()
	if s.last.Time <= called {
		time.Sleep(time.Duration(s.last.Time-Now()) + snapshotEvery)
		r.takeSnapshot(&s.last)
	}
	v.CopyFrom(&s.last)
}

func (r *Runner) takeSnapshot(v *dataplane.Snapshot) {
	r.readLosses()
	r.tasksMu.Lock()
	defer r.tasksMu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.countForwarded(r.sw)
	r.sw.Snapshot(v, Now())
	v.Xoff, v.XoffAge = r.xoff, r.xoffAge
	for i := range v.Ports {
		t := r.tasks[v.Ports[i].Index]
		if t == nil {
			v.Ports[i].Assist = dataplane.Assist{} // there is no interface
			continue
		}
		v.Ports[i].Reaction.Combine(&t.reaction, dataplane.Add)
		v.Ports[i].Late.Combine(&t.lateness, dataplane.Add)
		v.Ports[i].RingSlots = t.port.Slots(port.Lossless)
		r.describeAssist(t, &v.Ports[i].Assist)
		if p, ok := t.port.(pathPort); ok {
			v.Ports[i].TxPath = p.TxPath()
		}
	}
}

// RemovedCounters is the snapshot of Switch.RemovedCounters.
func (r *Runner) RemovedCounters() *dataplane.Snapshot {
	var gone dataplane.RemovedCounters
	r.View(func(sw *dataplane.Switch) { gone = sw.RemovedCounters() })
	return gone.Snapshot()
}

// FDB returns the entries of the filtering database, in no order. The data path goes on meanwhile.
func (r *Runner) FDB() []bridge.Entry {
	var all []bridge.Entry
	for cursor := 0; ; {
		r.View(func(sw *dataplane.Switch) { all, cursor = sw.FDB(all, cursor, Now()) })
		if cursor == 0 {
			return all
		}
	}
}

// ClearWatermarks is Switch.ClearWatermarks.
func (r *Runner) ClearWatermarks() { r.View(func(sw *dataplane.Switch) { sw.ClearWatermarks() }) }

// Trace is Switch.Trace for the port of that name. The workers go on meanwhile.
func (r *Runner) Trace(name string, b []byte, v frame.VnetHeader) (f dataplane.TraceResult, ok bool) {
	r.View(func(sw *dataplane.Switch) {
		if i, known := sw.PortNumber(name); known {
			f, ok = sw.Trace(i, b, v, Now())
		}
	})
	return f, ok
}
