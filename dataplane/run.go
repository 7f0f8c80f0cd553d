package dataplane

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/bpf"

	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/port"
)

// A Runner puts a Switch on real ports: it owns the workers and stops them for changes.
type Runner struct {
	mu sync.Mutex // guards sw and the histograms here and in tasks

	sw      *Switch
	xoff    Histogram // from the admission that crosses a threshold to the entry of the send call
	xoffAge Histogram // the same from the arrival of the frame in the receive ring
	wake    Histogram // how late sleeps of the workers ended
	tasks   [MaxPorts]*portTask
	workers []*worker
	perPort bool
	cpus    int

	change sync.Mutex // one change at a time; a change may wait for peers and the kernel
	shape  sync.Mutex // within change: guards tasks, their ports and workers against their readers outside of workers
	halt   atomic.Bool
	parked chan struct{}
	resume chan struct{}
	quit   atomic.Bool
	done   sync.WaitGroup
	stop   chan struct{}
}

// A portTask is the receive and transmit task of one port. Each of its two parts is touched by its worker only.
type portTask struct {
	index    int
	port     port.Port
	classify classify.Config
	cfg      PortConfig
	rx, tx   *worker
	program  []bpf.RawInstruction // in force; guarded by Runner.change

	// receive task
	blocked   [port.NumClasses]bool   // the oldest frame waits for buffer
	blockedAt [port.NumClasses]uint64 // Switch.room when it last had to wait
	tryAt     [port.NumClasses]int64  // when it is looked at again, come what may
	pieces    [port.NumClasses]int    // pieces of the oldest frame that were taken already
	ringHeld  bool
	unwatched int  // bursts until a ring that fills up is measured again
	draining  bool // the peer is held until the rings are replaced, or until a configuration fits

	// transmit task
	stuck          stuck
	again          bool  // there may be more to send at once
	retryAt        int64 // no sending before: the kernel was full; 0 where it was not
	deadline       int64
	measureAt      int64 // when there is something to be sent about the headroom
	delay          *delayLine
	lastSent       [NumPriorities]int64 // end of the last send call with a frame of the priority
	reaction, late Histogram            // from XOFF received to the end of the last send call; from when a frame was due in delay to its own; guarded by Runner.mu
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

// NewRunner returns a runner for a switch without ports. perPort gives each port a receive and a transmit goroutine of
// its own; else a worker serves several ports, and there are as many workers as CPUs but one.
func NewRunner(cfg Config, perPort bool) (*Runner, error) {
	cfg.Clock = Now
	sw, err := New(cfg, Now())
	if err != nil {
		return nil, err
	}
	r := &Runner{sw: sw, perPort: perPort, cpus: runtime.NumCPU(), parked: make(chan struct{}), stop: make(chan struct{})}
	r.done.Add(1)
	go r.runLosses()
	return r, nil
}

// maxWorkers is the number of workers for n ports.
func (r *Runner) maxWorkers(n int) int {
	if r.perPort {
		return 2 * n
	}
	return max(1, min(n, r.cpus-1))
}

// Do runs f while every worker stands still between two rounds, so that f may change the switch and its ports.
func (r *Runner) Do(f func(sw *Switch) error) error {
	r.change.Lock()
	defer r.change.Unlock()
	return r.do(f)
}

func (r *Runner) do(f func(sw *Switch) error) error {
	r.shape.Lock()
	defer r.shape.Unlock()
	r.resume = make(chan struct{})
	r.halt.Store(true)
	for _, w := range r.workers {
		w.wake()
	}
	for range r.workers {
		<-r.parked
	}
	r.mu.Lock()
	err := f(r.sw)
	r.mu.Unlock()
	r.halt.Store(false)
	close(r.resume)
	return err
}

// park stops a worker until the change is done.
func (r *Runner) park() {
	resume := r.resume
	r.parked <- struct{}{}
	<-resume
}

// Attach gives the configured port number i its sockets and its address. The runner closes p when the port is detached.
// The port is down until SetUp.
func (r *Runner) Attach(i int, p port.Port, mac [6]byte) error {
	r.change.Lock()
	defer r.change.Unlock()
	if err := r.grow(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	t := &portTask{index: i, port: p}
	known := false
	r.View(func(sw *Switch) {
		if configured := sw.ports[i]; configured != nil {
			t.cfg, known = configured.cfg, true
		}
	})
	if !known {
		return fmt.Errorf("there is no port number %d", i)
	}
	if err := r.steer(t); err != nil {
		return fmt.Errorf("port %s: %w", t.cfg.Name, err)
	}
	return r.do(func(sw *Switch) error {
		cfg, err := sw.SetMAC(i, mac, Now())
		if err != nil {
			return err
		}
		if r.tasks[i] != nil {
			return fmt.Errorf("port %s: has its sockets already", cfg.Name)
		}
		t.configure(sw, cfg)
		sw.ports[i].losses = RingLosses{} // new sockets count from 0
		r.tasks[i] = t
		r.assign(sw)
		return nil
	})
}

// configure takes over what the tasks themselves need of a port's configuration.
func (t *portTask) configure(sw *Switch, cfg PortConfig) {
	if t.delay == nil || t.cfg.Delay != cfg.Delay || t.cfg.Nominal != cfg.Nominal || t.cfg.Burst != cfg.Burst {
		t.emptyDelay(sw)
		t.delay = nil
		if cfg.Delay > 0 {
			t.delay = newDelayLine(cfg.Delay, cfg.Nominal, cfg.Burst)
		}
	}
	t.cfg, t.classify = cfg, cfg.Classify
}

// Detach takes the sockets of port number i away and closes them, the slow part, beside others. The port stays configured, and down.
func (r *Runner) Detach(i int) error {
	t, err := r.detach(i)
	if t != nil {
		err = errors.Join(err, t.port.Close())
	}
	return err
}

// detach takes the task of port number i away from the workers and returns it; nil where it has none.
func (r *Runner) detach(i int) (*portTask, error) {
	r.change.Lock()
	defer r.change.Unlock()
	t := r.tasks[i]
	if t == nil {
		return nil, nil
	}
	return t, r.do(func(sw *Switch) error {
		t.freeRing(sw)
		sw.ReadLosses(i, t.losses(), Now())
		sw.SetUp(i, false, Now())
		sw.retireTask(t.cfg.Name, t)
		r.tasks[i] = nil
		r.assign(sw)
		return nil
	})
}

// SetUp tells that the link of port i came up or went down.
func (r *Runner) SetUp(i int, up bool) error {
	return r.Do(func(sw *Switch) error {
		if t := r.tasks[i]; t != nil {
			t.freeRing(sw)
			sw.SetUp(i, up, Now())
			if !up && t.delay != nil {
				t.delay.clear()
			}
			if tap, ok := t.port.(*port.TAP); ok {
				return tap.Free()
			}
		}
		return nil
	})
}

// grow starts workers until there are as many as the ports need with one more.
func (r *Runner) grow() error {
	n := 1
	for _, t := range r.tasks {
		if t != nil {
			n++
		}
	}
	for len(r.workers) < r.maxWorkers(n) {
		w, err := newWorker(r, len(r.workers))
		if err != nil {
			return err
		}
		r.shape.Lock()
		r.workers = append(r.workers, w)
		r.shape.Unlock()
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), len(r.workers)+4))
		r.done.Add(1)
		go w.run()
	}
	return nil
}

// assign shares the tasks among the workers, which stand still.
func (r *Runner) assign(sw *Switch) {
	for _, w := range r.workers {
		w.receivers, w.transmitters, w.lines = w.receivers[:0], w.transmitters[:0], w.lines[:0]
		w.rewatch = true
	}
	next := 0
	for _, t := range r.tasks {
		if t == nil {
			continue
		}
		t.rx = r.workers[next%len(r.workers)]
		if r.perPort {
			next++
		}
		t.tx = r.workers[next%len(r.workers)]
		next++
		t.rx.receivers = append(t.rx.receivers, t)
		t.tx.transmitters = append(t.tx.transmitters, t)
		if t.delay != nil {
			t.tx.lines = append(t.tx.lines, t)
		}
		sw.SetOwner(t.index, t.tx.id)
	}
}

// Configure puts a whole configuration in force, or on error nothing: ports by number, those that are new and those that
// are gone included. The sockets of a port that is gone are closed.
func (r *Runner) Configure(cfg Config, ports map[int]PortConfig, statics []Static) error {
	cfg.Clock = Now
	r.change.Lock()
	defer r.change.Unlock()
	var gone []*portTask
	err := r.do(func(sw *Switch) error {
		defer r.holdDraining(sw)
		for i, t := range r.tasks {
			if t == nil {
				continue
			}
			t.freeRing(sw) // its priorities may be others now; the ring is looked at before each burst
			if _, stays := ports[i]; !stays {
				sw.ReadLosses(i, t.losses(), Now())
			}
		}
		if err := sw.Reconfigure(cfg, ports, statics, Now()); err != nil {
			return err
		}
		gone = r.adopt(sw, ports)
		r.assign(sw)
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range r.tasks {
		if t != nil {
			r.regret(t, "frames are still sorted into rings by the priorities of before (apply the configuration again)", r.steer(t))
		}
	}
	r.follow()
	for _, t := range gone {
		r.regret(t, "closing the sockets of a port that is gone", t.port.Close())
	}
	return nil
}

// adopt hands each port's new configuration to its tasks. It returns the tasks of ports that are gone.
func (r *Runner) adopt(sw *Switch, ports map[int]PortConfig) (gone []*portTask) {
	for i, t := range r.tasks {
		if t == nil {
			continue
		}
		c, ok := ports[i]
		if !ok {
			sw.retireTask(t.cfg.Name, t)
			gone = append(gone, t)
			r.tasks[i] = nil
			continue
		}
		c.MAC = t.cfg.MAC
		t.configure(sw, c)
	}
	return gone
}

// View runs f on the switch while the workers go on; f must only read, and briefly.
func (r *Runner) View(f func(sw *Switch)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.sw)
}

// Prod runs f, which may change what the Prober of port number i does, under the switch's lock, and makes the port's
// transmit task look at it.
func (r *Runner) Prod(i int, f func(now int64)) {
	r.View(func(sw *Switch) {
		f(Now())
		if p := sw.ports[i]; p != nil {
			sw.rouse(p)
		}
	})
	r.wakeAll()
}

// SetHeadroom is Switch.SetHeadroom. The workers go on meanwhile.
func (r *Runner) SetHeadroom(i int, octets int64) error {
	var err error
	r.Prod(i, func(now int64) { err = r.sw.SetHeadroom(i, octets, now) })
	return err
}

// SetXon is Switch.SetXon. The workers go on meanwhile.
func (r *Runner) SetXon(i int, octets int64) error {
	var err error
	r.Prod(i, func(now int64) { err = r.sw.SetXon(i, octets, now) })
	return err
}

// Note adds an event.
func (r *Runner) Note(e Event) {
	r.View(func(sw *Switch) { sw.Note(e, Now()) })
}

// Close stops the workers and closes every port.
func (r *Runner) Close() error {
	var errs []error
	for i := range r.tasks {
		errs = append(errs, r.Detach(i))
	}
	r.quit.Store(true)
	close(r.stop)
	for _, w := range r.workers {
		w.wake()
	}
	r.done.Wait()
	for _, w := range r.workers {
		errs = append(errs, w.waiter.Close())
	}
	return errors.Join(append(errs, r.sw.Close())...)
}

// Static is a static entry of the filtering database.
type Static struct {
	MAC  uint64
	VID  uint16
	Port int
}
