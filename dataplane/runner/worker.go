package runner

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// Limits of a worker's round. A burst is bounded so that one port cannot starve another.
const (
	burstFrames      = 64
	burstOctets      = 128 << 10
	burstArrivals    = 256       // segments of GSO frames included
	arenaOctets      = 256 << 10 // memory for those segments
	pauseOctets      = 64        // of a MAC Control frame that pauses
	sendCalls        = 4         // of one port in a row
	controlFrames    = 256       // likewise, a whole ring of them: a peer that sends more must not keep the lock
	controlYield     = 32        // of them between two yields
	roomYield        = 4         // frames that leave the waiting room between two yields: each is copied
	measureRingEvery = 4         // bursts between two measurements of a ring that is filling up
	minSleep         = 100_000   // ns; deadlines are coalesced to this
	spinStart        = 5_000     // ns
	// ns: what a sleep costs. After little work a longer spin costs more, and takes the CPU from the hosts.
	spinFew        = 15_000
	spinMax        = 200_000   // ns: after much work, within the spin budget, without contention
	spinRelax      = 8         // pauses of the processor between two looks: other workers want the lock too
	yieldRelax     = 4         // pauses of the processor in which another worker can take the lock
	hostModeration = 100_000   // ns for which a host NIC does not poll its rings after work, under CPU contention
	retryDelay     = 200_000   // ns until a frame that the kernel did not take is sent again
	delaySpin      = 300_000   // ns before a delay line's next frame from which on the worker does not sleep
	waitPeriod     = 1_000_000 // ns after which a frame that waits in its ring is offered in any case
	noDeadline     = math.MaxInt64
)

// A worker is a goroutine that runs receive and transmit tasks. What each frame needs is set aside at the start.
type worker struct {
	id              int
	r               *Runner
	receivers       []*portTask
	transmitters    []*portTask
	lines           []*portTask // transmitters with a delay line
	pollSetChanged  bool        // the descriptors to poll have changed
	poller          *port.Poller
	sleeping        atomic.Bool
	lookout         lookout
	self            Observed
	nextReceiver    int  // receiver that the next round begins with
	manyCPUs        bool // others can send while this worker spins or coalesces
	spin            int64
	spinBudget      int64 // ns that it may spin: length of its rounds less its spins, at most spinMax
	cpuContention   cpuContention
	worked          bool   // since it slept
	moderated       bool   // its sleep does not poll all rings
	longQueueUntil  int64  // of the port that it received from last
	hostNIC         bool   // a receiver is a TAP, so the worker serves a host
	framesThisRound int    // frames that this round has received
	burstWasFull    bool   // a burst of this round was as long as bursts may be
	receivedFrames  uint64 // Switch.ReceivedFrames after the last burst

	frames         [burstArrivals]port.Frame
	arrivals       [burstArrivals]dataplane.Arrival
	origin         [burstArrivals]frameSegment
	arena          []byte    // nil before the first GSO frame
	reading        *portTask // whose burst is running
	now            int64     // of this burst
	realTimeOffset int64     // real time less switch time, of this burst
	segmenter      frame.Segmenter
	scratch        []byte // a frame on its way into a delay line
	received       []byte // a MAC Control frame
	moves          []dataplane.Move
	portsToServe   []*portTask // ports to be served after a burst
	batch          *port.Batch
	control        [128]byte
	note           []byte // for the capture of the next MAC Control frame
	fds            []int32
	drops          []port.Drops

	locks, clocks int // how often it has taken the lock and read the clock, for the tests that count them
}

func newWorker(r *Runner, id int) (*worker, error) {
	poller, err := port.NewPoller()
	if err != nil {
		return nil, err
	}
	return &worker{id: id, r: r, manyCPUs: r.cpus != 1, cpuContention: newCPUContention(r.cpus),
		poller: poller, note: make([]byte, 0, capture.MaxNote), received: make([]byte, 0, pauseOctets),
		moves:        make([]dataplane.Move, 0, burstArrivals),
		portsToServe: make([]*portTask, 0, dataplane.MaxPorts), batch: port.NewBatch()}, nil
}

func (w *worker) close() error {
	return errors.Join(w.poller.Close(), w.cpuContention.close(), w.self.Close())
}

// lock takes the switch's lock for this worker.
func (w *worker) lock() *dataplane.Switch {
	if !w.r.mu.TryLock() {
		w.self.waits.Store(true)
		w.r.mu.Lock()
		w.self.waits.Store(false)
	}
	w.locks++
	w.r.sw.Begin(w.id)
	return w.r.sw
}

// clock is Now, and clockPair is ClockPair, of this worker's tasks.
func (w *worker) clock() int64 {
	w.clocks++
	return Now()
}

func (w *worker) clockPair() (now, wall int64) {
	w.clocks++
	return ClockPair()
}

// unlock gives the lock back and wakes the workers whose ports got work.
func (w *worker) unlock() {
	foreign := w.r.sw.Foreign()
	w.r.mu.Unlock()
	if !foreign.Empty() {
		w.r.wakeOwners(foreign)
	}
}

// yield lets other workers have the lock: one of them may have XOFF to send. It wakes those whose ports got work.
func (w *worker) yield() {
	w.unlock()
	relax(yieldRelax)
	w.lock()
}

// wake ends the worker's sleep. It costs a system call only where the worker sleeps.
func (w *worker) wake() {
	if w.sleeping.Swap(false) {
		w.lookout.begin(Now())
		w.poller.Wake()
	}
}

// run is a worker's goroutine. It keeps its thread: the Go scheduler preempts a busy goroutine every 10 ms, and the
// kernel may put the next thread on the CPU of a host.
func (w *worker) run() {
	defer w.r.done.Done()
	defer addProcessors(-1, 0)
	port.OnOwnThread(w.work)
}

// work makes rounds while there is work, then spins for a while, then sleeps.
func (w *worker) work() {
	port.Name(fmt.Sprintf("worker %d", w.id))
	w.self.Begin()
	idle := int64(0) // since when there was no work
	for !w.r.quit.Load() {
		if w.r.halt.Load() {
			w.pause()
		}
		now := w.clock()
		w.lookout.look(now)
		w.framesThisRound, w.burstWasFull = 0, false
		if w.round(now) {
			w.updateSpinBudget(idle, now, w.clock())
			w.worked, idle = true, 0
			if !w.loaded(now) {
				w.coalesce()
				continue
			}
		}
		idle = cmp.Or(idle, now)
		if !w.loaded(now) && w.spins(idle, now) {
			relax(spinRelax)
			continue
		}
		w.sleep()
		w.updateSpinBudget(idle, now, now)
		idle = 0
	}
}

// pause stops the worker until a change is done.
func (w *worker) pause() {
	resume := w.r.resume
	w.self.waits.Store(true)
	w.r.parked <- struct{}{}
	<-resume
	w.self.waits.Store(false)
}

// spins reports whether the worker goes on looking for work after it has had none since idle. Beyond the cost of a
// sleep each time, it spins no longer than its rounds last: frames of a load do not meet a sleeping worker in every
// gap, and few frames do not keep a CPU busy. It spins for longer than a sleep costs only while no other thread wants
// the CPU.
func (w *worker) spins(idle, now int64) bool {
	spun := now - idle
	if !w.manyCPUs || spun < min(w.spin, spinFew) {
		return spun < w.spin
	}
	// Called even where this spin is over, so that cpuContention learns that no thread waits any more.
	free := w.cpuContention.spinAllowed(idle, now)
	return free && spun < min(w.spin, w.spinBudget)
}

// updateSpinBudget counts a round with work, from one time until another, and the spin before it, which began at idle;
// 0 where there was none.
func (w *worker) updateSpinBudget(idle, from, until int64) {
	if idle != 0 {
		w.spinBudget = max(0, w.spinBudget-(from-idle))
	}
	w.spinBudget = min(w.spinBudget+until-from, spinMax)
}

// round serves every task once and reports whether there was work.
func (w *worker) round(now int64) bool {
	work := false
	for _, t := range w.transmitters {
		work = w.readControl(t) || work
	}
	w.now = now
	n := len(w.receivers)
	for i := range n {
		t := w.receivers[(w.nextReceiver+i)%n]
		arrived := t.arrived()
		work = w.leaveRoom(t) || work
		for _, c := range []port.Class{port.Lossless, port.Other} {
			_, worked := w.receive(t, c, burstFrames)
			work = work || worked
		}
		t.emptied(arrived)
		w.flushLate()
	}
	w.nextReceiver++
	w.lock()
	for i, t := range w.due(now) {
		if i > 0 {
			w.yield()
		}
		work = w.transmit(t, nil) || work
	}
	w.unlock()
	return work
}

// flushLate sends frames of this worker's delay lines that became due while a port was served: such frames must leave
// on time.
func (w *worker) flushLate() {
	for _, t := range w.lines {
		if t.delay.due(t.retryAt) <= w.clock() {
			w.flushDelay(t)
		}
	}
}

// due collects the ports whose transmit task has work. The switch is locked.
func (w *worker) due(now int64) []*portTask {
	w.portsToServe = w.portsToServe[:0]
	sw := w.r.sw
	for _, t := range w.transmitters {
		if sw.TakePending(t.index) || t.more || now >= t.deadline || t.delay != nil && now >= t.delay.due(t.retryAt) {
			w.portsToServe = append(w.portsToServe, t)
		}
	}
	return w.portsToServe
}

// sleep waits for a socket, a deadline or another worker, and adapts the length of the spins.
func (w *worker) sleep() {
	if w.pollSetChanged {
		w.updatePollSet()
	}
	from := w.clock()
	w.lookout.rest() // before others may wake the worker
	w.sleeping.Store(true)
	d, ok := w.quiet(from)
	if !ok || w.r.halt.Load() || w.r.quit.Load() {
		w.sleeping.Store(false)
		w.lookout.begin(from)
		return
	}
	why := w.poller.Poll(d)
	w.sleeping.Store(false)
	slept := w.clock() - from
	w.lookout.begin(dueAfter(from, slept, d))
	switch why {
	case port.Expired:
		if !w.poller.Looked() {
			w.lock()
			w.r.wake.Record(slept - int64(d))
			w.unlock()
		}
	case port.Failed:
		w.clearErrors()
	case port.Dropped:
		w.r.tickNow()
	}
	if !w.moderated && why != port.Dropped {
		w.adapt(slept)
	}
}

// dueAfter is when a sleep had to end that began at from, took slept, and was to last for at most d (-1: for ever).
func dueAfter(from, slept int64, d time.Duration) int64 {
	if d < 0 {
		return from + slept
	}
	return from + min(slept, int64(d))
}

// clearErrors clears the pending errors of all sockets, which would end every sleep at once.
func (w *worker) clearErrors() {
	for _, t := range w.receivers {
		t.port.ClearError()
	}
	for _, t := range w.transmitters {
		t.port.ClearError()
	}
}

// adapt makes the spin longer after a sleep that a spin could have replaced, and shorter after a long sleep.
func (w *worker) adapt(slept int64) {
	most := int64(spinFew)
	if !w.cpuContention.contended() {
		most = min(max(w.spinBudget, spinFew), spinMax)
	}
	switch {
	case !w.manyCPUs:
	case slept < most:
		w.spin = min(most, max(spinStart, 2*w.spin))
	case slept > 4*most:
		if w.spin /= 2; w.spin < spinStart {
			w.spin = 0
		}
	}
}

// quiet returns how long the worker may sleep (-1: for ever), or false where there is work.
func (w *worker) quiet(now int64) (time.Duration, bool) {
	at := int64(noDeadline)
	sw := w.lock()
	defer w.unlock()
	for _, t := range w.transmitters {
		if sw.Pending(t.index) || t.more {
			return 0, false
		}
		at = min(at, t.deadline, sw.LoopProbeDeadline(t.index))
		if t.delay != nil {
			if due := t.delay.due(t.retryAt); due < now+delaySpin {
				return 0, false
			} else if due != noDeadline {
				at = min(at, due-delaySpin)
			}
		}
	}
	for _, t := range w.receivers {
		if t.roomWaits {
			if sw.Departures() != t.roomAt {
				return 0, false
			}
			at = min(at, t.roomTryAt)
		}
		for c := range port.NumClasses {
			if !t.blocked[c] {
				continue
			}
			if sw.Departures() != t.blockedAt[c] {
				return 0, false
			}
			at = min(at, t.tryAt[c])
		}
		if t.refresh.hold.late() || t.heldByKernel() || t.assist != nil && !t.assist.Settled() {
			return 0, false
		}
		if t.refresh.hold.held() {
			at = min(at, now+waitPeriod) // the ring holds the peer, and other workers make room in the buffer
		}
	}
	d := w.moderate(sw, max(at-now, minSleep), now)
	if at == noDeadline && !w.moderated {
		return -1, true
	}
	return time.Duration(d), true
}

// updatePollSet sets which sockets the sleeps poll. A ring whose oldest frame has to wait is left out, because it is
// always readable.
func (w *worker) updatePollSet() {
	w.pollSetChanged = false
	w.fds, w.drops, w.hostNIC = w.fds[:0], w.drops[:0], false
	for _, t := range w.transmitters {
		w.fds = t.port.Descriptors(w.fds, port.WorkControl)
	}
	for _, t := range w.receivers {
		_, host := t.port.(hostPort)
		w.hostNIC = w.hostNIC || host
		if p, ok := t.port.(ringPort); ok {
			w.drops = p.Drops(w.drops)
		}
		for c := range port.NumClasses {
			t.sockets[c].from = len(w.fds)
			if !t.blocked[c] {
				w.fds = t.port.Descriptors(w.fds, 1<<c)
			}
			t.sockets[c].to = len(w.fds)
		}
	}
	w.poller.Watch(w.fds)
	w.poller.WatchDrops(w.drops)
}
