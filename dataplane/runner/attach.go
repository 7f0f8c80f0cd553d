package runner

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
)

// An Attachment is what a configured port gets.
type Attachment struct {
	Index  int // of the port
	Port   port.Port
	MAC    [6]byte
	Assist *Assist // the programs at its interface; nil: none
}

// Attach gives configured ports their sockets, their addresses and their programs, while the workers pause once. It
// returns an error for each, in order; nil where the runner has the port now and closes it when it is detached. The
// ports are down until SetUp.
func (r *Runner) Attach(all ...Attachment) []error {
	if len(all) == 0 {
		return nil // no pause
	}
	r.change.Lock()
	defer r.change.Unlock()
	errs, tasks := make([]error, len(all)), make([]*portTask, len(all))
	failed := r.grow(len(all))
	var look port.PacketSockets
	for i, a := range all {
		if tasks[i], errs[i] = r.newTask(a); errs[i] == nil && failed != nil {
			errs[i] = fmt.Errorf("start a worker: %w", failed)
		}
		if errs[i] == nil {
			tasks[i].allowXDP(a.Port, &look)
		}
	}
	_ = r.do(func(sw *dataplane.Switch) error {
		for i, a := range all {
			if errs[i] == nil {
				errs[i] = r.attach(sw, tasks[i], a)
			}
		}
		r.assign(sw)
		return nil
	})
	return errs
}

// newTask returns the task of a port that is not attached yet.
func (r *Runner) newTask(a Attachment) (*portTask, error) {
	t := &portTask{index: a.Index, port: a.Port, assist: a.Assist}
	known := false
	r.View(func(sw *dataplane.Switch) { t.cfg, known = sw.PortConfig(a.Index) })
	if !known {
		return t, fmt.Errorf("there is no port number %d", a.Index)
	}
	if err := t.steer(); err != nil {
		return t, fmt.Errorf("port %s: %w", t.cfg.Name, err)
	}
	return t, nil
}

// attach makes a task one of the runner's. The workers stand still.
func (r *Runner) attach(sw *dataplane.Switch, t *portTask, a Attachment) error {
	cfg, err := sw.SetMAC(a.Index, a.MAC, Now())
	if err != nil {
		return err
	}
	if r.tasks[a.Index] != nil {
		return fmt.Errorf("port %s: has its sockets already", cfg.Name)
	}
	if err := sw.SetRoom(a.Index, a.Port.Octets(port.Lossless)); err != nil {
		return fmt.Errorf("port %s: %w", cfg.Name, err)
	}
	t.configure(cfg)
	sw.RingsReplaced(a.Index)
	if a.Assist != nil {
		t.setAssist(sw, r, a.Assist)
	}
	r.tasks[a.Index] = t
	return nil
}

// Detach takes the sockets of port number i away and closes them, and meanwhile closes what else only they needed.
// Closing is slow and does not stop the workers. The port stays configured, and down.
func (r *Runner) Detach(i int, closeToo ...func() error) error {
	t, err := r.detach(i)
	errs := make([]error, len(closeToo)+1)
	var all sync.WaitGroup
	for n, f := range closeToo {
		all.Go(func() { errs[n] = f() })
	}
	if t != nil {
		errs[len(closeToo)] = t.port.Close()
	}
	all.Wait()
	return errors.Join(append(errs, err)...)
}

// detach takes the task of port number i away from the workers and returns it; nil where it has none.
func (r *Runner) detach(i int) (*portTask, error) {
	r.change.Lock()
	defer r.change.Unlock()
	t := r.tasks[i]
	if t == nil {
		return nil, nil
	}
	r.refreshHostDrops(func(n int) bool { return n == i })
	return t, r.do(func(sw *dataplane.Switch) error {
		t.releasePeerForRing(sw)
		t.setAssist(sw, r, nil)
		sw.ReadLosses(i, t.losses(), Now())
		sw.SetUp(i, false, Now())
		t.keepMeasurements(sw)
		r.refresher.Stop(i)
		r.tasks[i] = nil
		r.assign(sw)
		return nil
	})
}

// SetUp reports that the link of port i came up or went down.
func (r *Runner) SetUp(i int, up bool) error {
	return r.Do(func(sw *dataplane.Switch) error {
		if t := r.tasks[i]; t != nil {
			t.releasePeerForRing(sw)
			r.refresher.Stop(i)
			sw.SetUp(i, up, Now())
			if t.up = up; up && t.assist != nil && t.assist.TakeAdopted() {
				sw.ControlRefreshed(i, 0, Now(), true) // the peer needs XON
			}
			t.protect(sw, r)
			if !up && t.delay != nil {
				t.delay.clear()
			}
			if tap, ok := t.port.(hostPort); ok {
				return tap.ClearPause()
			}
		}
		return nil
	})
}

// grow starts workers until there are enough for n more ports.
func (r *Runner) grow(n int) error {
	for range r.attached() {
		n++
	}
	for len(r.workers) < r.maxWorkers(n) {
		w, err := newWorker(r, len(r.workers))
		if err != nil {
			return err
		}
		r.tasksMu.Lock()
		r.workers = append(r.workers, w)
		r.tasksMu.Unlock()
		addProcessors(1, 0)
		r.done.Add(1)
		go w.run()
	}
	return nil
}

// processors are places among GOMAXPROCS, of all Runners of this process.
var processors struct {
	sync.Mutex
	workers, refreshers int
	used                atomic.Bool // see useProcessors
}

// idleWorkers is how many workers of an idle process run without keeping others waiting for the Go runtime. More
// seldom have work at the same time, and the runtime makes as many threads as GOMAXPROCS and ends none.
const idleWorkers = 5

// addProcessors counts more workers and Refreshers, or fewer.
func addProcessors(workers, refreshers int) {
	processors.Lock()
	defer processors.Unlock()
	processors.workers += workers
	processors.refreshers += refreshers
	provideProcessors()
}

// useProcessors is called where a port is in use, or has its rings from the start on: from then on no worker may wait.
// It does not wait itself: GOMAXPROCS stops all goroutines.
func useProcessors() {
	if !processors.used.Swap(true) {
		go addProcessors(0, 0)
	}
}

// provideProcessors lets each worker and Refresher run without keeping others waiting for the Go runtime, once the
// switch is in use: what is neither has three places then.
func provideProcessors() {
	most := min(processors.workers, idleWorkers) + 1
	if processors.used.Load() {
		most = max(cpus, processors.workers+processors.refreshers+3)
	}
	if most > runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(most)
	}
}

// assign shares the tasks among the workers. The workers stand still.
func (r *Runner) assign(sw *dataplane.Switch) {
	for _, w := range r.workers {
		w.receivers, w.transmitters, w.lines = w.receivers[:0], w.transmitters[:0], w.lines[:0]
		w.pollSetChanged = true
	}
	tasks := make([]int, len(r.workers)) // of each worker
	take := func() *worker {
		least := slices.Index(tasks, slices.Min(tasks))
		tasks[least]++
		return r.workers[least]
	}
	uplinks, trunks := r.uplinks(sw), map[int]*worker{} // by port; by uplink
	for t := range r.attached() {
		uplink, joined := uplinks[t.index]
		switch {
		case joined && trunks[uplink] != nil:
			t.rx, t.tx = trunks[uplink], trunks[uplink]
			tasks[t.rx.id]++
		case r.perPort && !joined:
			t.rx, t.tx = take(), take()
		default:
			t.rx = take()
			t.tx = t.rx
			if joined {
				trunks[uplink] = t.rx
			}
		}
		t.rx.receivers = append(t.rx.receivers, t)
		t.tx.transmitters = append(t.tx.transmitters, t)
		if t.delay != nil {
			t.tx.lines = append(t.tx.lines, t)
			t.delay.sendPause = func(b []byte, holds uint16, now, every int64) (int64, error) {
				return r.refresher.SendDelayed(t.index, t.port, b, holds, now, every)
			}
		}
		sw.SetOwner(t.index, t.tx.id)
		t.refresh = &r.refresher.ports[t.index]
		t.protect(sw, r)
	}
	r.muster()
}

// uplinks returns the uplink of the trunk of each port that is in one. One worker serves the ports of a trunk: it knows
// which members have frames in their rings, and so whose turn it is.
func (r *Runner) uplinks(sw *dataplane.Switch) map[int]int {
	uplinks := map[int]int{}
	for t := range r.attached() {
		for _, member := range sw.Members(t.index) {
			uplinks[member], uplinks[t.index] = t.index, t.index
		}
	}
	return uplinks
}
