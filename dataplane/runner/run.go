package runner

import (
	"errors"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/assist"
)

// A Runner puts a Switch on real ports: it owns the workers and stops them for changes.
type Runner struct {
	mu sync.Mutex // guards sw and the histograms here and in tasks

	sw      *dataplane.Switch
	xoff    dataplane.Histogram // from the admission that crosses a threshold to the entry of the send call
	xoffAge dataplane.Histogram // the same from the arrival of the frame in the receive ring
	wake    dataplane.Histogram // how late sleeps of the workers ended
	tasks   [dataplane.MaxPorts]*portTask
	workers []*worker
	crew    atomic.Pointer[[]member] // the workers, for readers that must not wait for a lock
	perPort bool

	ringStopped func()
	ringsUsed   func()
	ticked      func()
	cpus        int // that the process may use: its affinity, and its cgroup's quota

	snapshots snapshots

	received   uint64 // data frames at the last look for stopped rings; runLosses owns it, and the next three
	receivedAt int64  // of the last look that found more
	tick       Tick
	look       port.PacketSockets
	nextTick   *Alarm
	idle       atomic.Bool   // ticks are rare, until the next frame comes
	due        chan struct{} // a tick is due

	change  sync.Mutex // one change at a time; a change may wait for peers and the kernel
	tasksMu sync.Mutex // taken after change; guards tasks, their ports and workers against readers outside of workers
	halt    atomic.Bool
	parked  chan struct{}
	resume  chan struct{}
	quit    atomic.Bool
	done    sync.WaitGroup
	stop    chan struct{}

	refresher *Refresher

	assist    AssistOptions
	forwarded map[int]*assist.Counts // what the switch has counted of the fast path, by port; guarded by mu
	forwards  bool                   // frames took the fast path since seeStations was called; guarded by mu
	sightedAt int64                  // when seeStations was last called; guarded by tasksMu
	toldFull  bool                   // an event said that the fast path is full; likewise
}

// base is the zero of the switch's clock. It lies in the past so that time 0 never comes.
var base = time.Now().Add(-time.Second)

// Now returns the switch's time: nanoseconds of a monotonic clock.
func Now() int64 { return int64(time.Since(base)) }

// ClockPair returns the switch's time and the real time (ns of CLOCK_REALTIME) of the same moment.
func ClockPair() (now, wall int64) {
	t := time.Now()
	return int64(t.Sub(base)), t.UnixNano()
}

// Options set how a Runner shares its ports among workers. The zero value is the default.
type Options struct {
	// PerPort gives each port a receive and a transmit goroutine of its own; else a worker serves several ports, and
	// there are as many workers as CPUs but one. The ports of a trunk share a worker in any case.
	PerPort bool
	// RingStopped is called while the kernel has stopped a receive ring of a port: only Replace helps.
	RingStopped func()
	// RingsUsed is called when a port has received its first lossless data frame, or 256 others: see Used. It must not
	// block.
	RingsUsed func()
	// Ticked is called after each tick: once a second, more rarely while no frame comes. It must not block.
	Ticked func()
	// Assist is help from programs in the kernel.
	Assist AssistOptions
}

// cpus is the number of CPUs that this process uses, before a Runner asks for more goroutines at a time.
var cpus = runtime.GOMAXPROCS(0)

// New returns a runner for a switch without ports.
func New(cfg dataplane.Config, o Options) (*Runner, error) {
	sw, err := dataplane.New(cfg, Now())
	if err != nil {
		return nil, err
	}
	r := &Runner{sw: sw, perPort: o.PerPort, assist: o.Assist, ringStopped: o.RingStopped, ringsUsed: o.RingsUsed,
		ticked: o.Ticked, cpus: cpus, due: make(chan struct{}, 1), parked: make(chan struct{}),
		stop: make(chan struct{}), forwarded: map[int]*assist.Counts{}}
	if r.refresher, err = NewRefresher(dataplane.MaxPorts, r.captureRefresh); err != nil {
		return nil, err
	}
	if o.Assist.Maps != nil {
		sw.OnForget(o.Assist.Maps.Forget)
		sw.Tap().OnAttach(o.Assist.Maps.Forget)
	}
	if r.nextTick, err = NewAlarm(r.tickNow); err != nil {
		return nil, errors.Join(err, r.refresher.Close())
	}
	addProcessors(0, 1)
	r.done.Add(1)
	go r.runLosses()
	return r, nil
}

func (r *Runner) maxWorkers(n int) int {
	if r.perPort {
		return 2 * n
	}
	return max(1, min(n, r.cpus-1))
}

// attached yields the tasks of the ports that have sockets, by number.
func (r *Runner) attached() iter.Seq[*portTask] {
	return func(yield func(*portTask) bool) {
		for _, t := range r.tasks {
			if t != nil && !yield(t) {
				return
			}
		}
	}
}

// Do runs f while every worker stands still between two rounds, so that f may change the switch and its ports.
func (r *Runner) Do(f func(sw *dataplane.Switch) error) error {
	r.change.Lock()
	defer r.change.Unlock()
	return r.do(f)
}

func (r *Runner) do(f func(sw *dataplane.Switch) error) error {
	return r.quiesce(func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		return f(r.sw)
	})
}

// quiesce runs f while every worker stands still. f must not wait for anything: no XOFF is sent meanwhile.
func (r *Runner) quiesce(f func() error) error {
	r.tasksMu.Lock()
	defer r.tasksMu.Unlock()
	r.resume = make(chan struct{})
	r.halt.Store(true)
	if !r.quit.Load() {
		for _, w := range r.workers {
			w.wake()
		}
		for range r.workers {
			<-r.parked
		}
	}
	defer func() {
		if r.assist.Maps != nil {
			r.assist.Maps.Forget() // f may have changed what decides about a frame
		}
		r.halt.Store(false)
		close(r.resume)
	}()
	return f()
}

// Configure puts a whole configuration in force, or on error nothing. ports are by number: it adds, changes and removes
// ports. The sockets of a removed port are closed. The workers stop only for a configuration that the buffer has room
// for: the others fail with a buffer.BusyError.
func (r *Runner) Configure(cfg dataplane.Config, ports map[int]dataplane.PortConfig, statics []dataplane.Static) error {
	next, err := dataplane.Prepare(cfg, ports, statics)
	if err != nil {
		return err
	}
	r.change.Lock()
	defer r.change.Unlock()
	if r.View(func(sw *dataplane.Switch) { err = sw.Ready(next) }); err != nil {
		return err
	}
	r.steerNext(ports)
	var gone []*portTask
	r.refreshHostDrops(func(i int) bool { _, stays := ports[i]; return !stays })
	if err = r.do(func(sw *dataplane.Switch) (err error) {
		gone, err = r.putInForce(sw, next, ports)
		return err
	}); err != nil {
		for t := range r.attached() {
			err = errors.Join(err, t.steer())
		}
		return err
	}
	var look port.PacketSockets
	for t := range r.attached() {
		r.warn(t, "frames are still sorted into rings by the priorities of before (apply the configuration again)",
			t.steer())
		t.allowXDP(t.port, &look)
	}
	for _, t := range gone {
		r.warn(t, "closing the sockets of a port that is gone", t.port.Close())
	}
	return nil
}

// putInForce puts a prepared configuration in force, or on error nothing. It returns the tasks of removed ports. The
// workers stand still.
func (r *Runner) putInForce(sw *dataplane.Switch, next *dataplane.Configuration, ports map[int]dataplane.PortConfig) (
	gone []*portTask, err error) {
	held := r.releasePeersForRings(sw)
	r.countForwarded(sw) // of ports that go, too
	for t := range r.attached() {
		if _, stays := ports[t.index]; !stays {
			sw.ReadLosses(t.index, t.losses(), Now())
		}
	}
	if err = sw.Apply(next, Now()); err == nil {
		gone = r.adopt(sw, ports)
	}
	r.assign(sw)
	r.holdPeersForRings(sw, held)
	return gone, err
}

// adopt gives each task the new configuration of its port. It returns the tasks of removed ports.
func (r *Runner) adopt(sw *dataplane.Switch, ports map[int]dataplane.PortConfig) (gone []*portTask) {
	for t := range r.attached() {
		c, ok := ports[t.index]
		if !ok {
			t.setAssist(sw, r, nil)
			t.keepMeasurements(sw)
			gone = append(gone, t)
			r.refresher.Stop(t.index)
			r.tasks[t.index] = nil
			continue
		}
		c.MAC = t.cfg.MAC
		t.configure(c)
	}
	return gone
}

// View runs f on the switch while the workers go on; f must only read, and briefly.
func (r *Runner) View(f func(sw *dataplane.Switch)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.sw)
}

// Kick runs f, which may change the Prober of port number i, under the switch's lock, and gives the port's transmit
// task work.
func (r *Runner) Kick(i int, f func(now int64)) {
	r.View(func(sw *dataplane.Switch) {
		f(Now())
		sw.MarkPending(i)
	})
	r.wakeAll()
}

// SetHeadroom is Switch.SetHeadroom. The workers go on meanwhile.
func (r *Runner) SetHeadroom(i int, octets int64) error {
	var err error
	r.Kick(i, func(now int64) { err = r.sw.SetHeadroom(i, octets, now) })
	return err
}

// SetXon is Switch.SetXon. The workers go on meanwhile.
func (r *Runner) SetXon(i int, octets int64) error {
	var err error
	r.Kick(i, func(now int64) { err = r.sw.SetXon(i, octets, now) })
	return err
}

// Note adds an event.
func (r *Runner) Note(e dataplane.Event) { r.View(func(sw *dataplane.Switch) { sw.Note(e, Now()) }) }

// Stop ends the workers: no frame is forwarded any more. Then no change has to wait for a worker, so that the ports of
// a loaded switch are detached without a wait each.
func (r *Runner) Stop() {
	r.change.Lock()
	defer r.change.Unlock()
	if r.quit.Swap(true) {
		return
	}
	close(r.stop)
	for _, w := range r.workers {
		w.wake()
	}
	r.done.Wait()
}

// Urgent lets the thread that holds peers while workers get no CPU be a real-time one. From then on no thread may give
// up capabilities for all: libcap lets all threads wait for each other in a loop that yields, and a real-time thread
// yields to no other.
func (r *Runner) Urgent() { r.refresher.Urgent() }

// Close stops the workers and closes every port.
func (r *Runner) Close() error {
	r.Stop()
	var errs []error
	for i := range r.tasks {
		errs = append(errs, r.Detach(i))
	}
	for _, w := range r.workers {
		errs = append(errs, w.close())
	}
	r.View(func(sw *dataplane.Switch) {
		r.countForwarded(sw)
		r.forwarded = nil // the maps go
	})
	errs = append(errs, r.nextTick.Close(), r.refresher.Close())
	addProcessors(0, -1)
	return errors.Join(append(errs, r.sw.Close())...)
}

// Act runs f, which may give ports work, while the workers go on, and wakes the workers of these ports.
func (r *Runner) Act(f func(sw *dataplane.Switch)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sw.Begin(dataplane.Nobody)
	f(r.sw)
	r.wakeOwners(r.sw.Foreign())
}

// wakeOwners wakes the workers that send on these ports.
func (r *Runner) wakeOwners(ports bridge.PortSet) {
	for i := range ports.All() {
		if t := r.tasks[i]; t != nil {
			t.tx.wake()
		}
	}
}
