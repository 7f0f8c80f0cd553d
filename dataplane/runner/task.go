package runner

import (
	"sync/atomic"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A portTask is the receive and transmit task of one port. Each of its two parts is touched by its worker only.
type portTask struct {
	index    int
	port     port.Port
	classify classify.Config
	cfg      dataplane.PortConfig
	rx, tx   *worker

	refresh *refresh // also whether the peer is held for the rings

	// receive task
	blocked       [port.NumClasses]bool   // the oldest frame waits in the ring
	blockedAt     [port.NumClasses]uint64 // Switch.Departures when it last had to wait
	tryAt         [port.NumClasses]int64  // when it is offered again in any case
	segmentsTaken [port.NumClasses]int    // segments of the oldest frame that were taken already
	sockets       [port.NumClasses]span   // of the rings, among the descriptors that the worker polls
	left          [port.NumClasses]bool   // the newest burst has left frames in the ring
	used          atomic.Bool             // see noteUse
	dataFrames    uint64                  // Switch.DataFrames at its last call
	jammed        [port.NumClasses]bool   // the ring seems to have frames, and gave none
	awaited       bool                    // the turn of this member of a trunk waits for them
	roomWaits     bool                    // frames wait in the waiting room
	roomAt        uint64                  // Switch.Departures when they last had to stay
	roomTryAt     int64                   // when they are offered again in any case

	lookWithin          int64 // ns after which the Refresher holds the peer if this task does not look; 0: never
	burstsUntilMeasured int   // of a ring that fills up
	draining            bool  // the peer is held until the rings are replaced, or until a configuration fits
	interval            int64 // ns for which the rings may stay unpolled; 0: never
	unpolledNs          int64 // for which they stay unpolled in the coming sleep
	longQueueUntil      int64 // until then the egress queues of the last burst hold frames
	pollUntil           int64 // until then the rings are polled

	up     bool    // the link
	assist *Assist // nil: no program helps
	// kernelHolds says that the programs hold the peer where nobody looks at its lossless frames.
	kernelHolds bool
	suspended   bool // no frame of the port takes the fast path, because it has sockets of two ports

	// transmit task
	stuck     stuck
	more      bool  // there may be more to send at once
	retryAt   int64 // no send call before, because the kernel was full; 0 where it was not
	deadline  int64
	measureAt int64 // when a measurement frame is due
	delay     *delayLine
	police    policer
	mtu       linkMTU
	lastSent  [dataplane.NumPriorities]int64 // end of the last send call with a frame of the priority

	// guarded by Runner.mu
	reaction dataplane.Histogram // from XOFF received to the end of the last send call
	lateness dataplane.Histogram // from when a frame was due in delay to its send call

	lost         [port.NumClasses]uint64 // what the switch has counted of frames that another program took
	toldOverflow bool                    // an event said that the port has more flows than the fast path
}

// A span is a range of numbers without to.
type span struct{ from, to int }

// configure sets what the tasks need of a port's configuration.
func (t *portTask) configure(cfg dataplane.PortConfig) {
	changed := t.cfg.Delay != cfg.Delay || t.cfg.Speed != cfg.Speed || t.cfg.Burst != cfg.Burst
	switch {
	case t.delay == nil && cfg.Delay > 0:
		t.delay = newDelayLine(cfg.Delay, cfg.Speed, cfg.Burst)
		t.delay.mtu = &t.mtu
	case t.delay != nil && changed:
		t.delay.change(cfg.Delay, cfg.Speed, cfg.Burst)
	}
	t.mtu.setPort(cfg.Classify.MTU)
	t.cfg, t.classify, t.interval = cfg, cfg.Classify, moderation(&cfg)
}

// refreshable tells whether the Refresher may send MAC Control frames of the port. A host NIC's TAP obeys a state,
// which never runs out.
func (t *portTask) refreshable() bool {
	_, host := t.port.(hostPort)
	return !host
}

// refreshEvery returns after how many ns the Refresher sends the frame of ControlOut again, 0 for never.
func (t *portTask) refreshEvery(sw *dataplane.Switch) int64 {
	if !t.refreshable() {
		return 0
	}
	return sw.RefreshEvery(t.index)
}

// protect lets the program in the kernel and the Refresher hold the peer where the worker does not look at the lossless
// rings. The worker stands still.
func (t *portTask) protect(sw *dataplane.Switch, r *Runner) {
	hold, every := t.hold(sw)
	if every == 0 || !t.up {
		hold = nil
	}
	t.configureAssist(sw, hold, &r.assist)
	t.watch(sw, r)
}

// hold returns the frame that holds the peer for all that is lossless, and after how many ns the Refresher is to send
// it again, 0 where it must not send it.
func (t *portTask) hold(sw *dataplane.Switch) (b []byte, every int64) {
	if b, every = sw.AppendHold(t.index, nil); !t.refreshable() {
		every = 0
	}
	return b, every
}

// watch lets the Refresher hold the peer. Before a port with a queue in place of rings is in use, the program in the
// kernel alone does so, where it sees all frames: then the Refresher of an idle switch has no thread. The worker stands
// still, or the switch is locked.
func (t *portTask) watch(sw *dataplane.Switch, r *Runner) {
	hold, every := t.hold(sw)
	unused := t.port.Slots(port.Lossless).Queued && !t.used.Load()
	by := Watched{Wake: t.rx.wake, Looks: t.rx.self.Pulse, Decides: t.tx.self.Pulse,
		ByKernel: unused && t.kernelHolds && t.assist.First}
	t.lookWithin = r.refresher.Protect(t.index, t.port, hold, every, by)
	r.lookSooner(t, Now())
	if t.used.Load() || !unused && every > 0 {
		useProcessors()
	}
}

// hostPort is a port that leads to the stack of the host.
type hostPort interface {
	port.Port
	ClearPause() error // lets the host send again after the port's link has come up or gone down
	RefreshHostDrops() // reads the drop counts of the host's queues from the kernel, which may take a while
	HostDrops() uint64 // returns the newest counts
}

// ringPort is a port with rings that the kernel may stop.
type ringPort interface {
	port.Port
	Stopped(c port.Class) bool // whether it has, by the last call of Losses
	Drops(to []port.Drops) []port.Drops
}

// stopped tells in which classes the kernel has stopped a ring of the port.
func (t *portTask) stopped() (in [port.NumClasses]bool) {
	if p, ok := t.port.(ringPort); ok {
		for c := range in {
			in[c] = p.Stopped(port.Class(c))
		}
	}
	return in
}

// pathPort is a port with more than one tx path.
type pathPort interface {
	port.Port
	AllowXDP(look *port.PacketSockets, xdpTx bool) // sets whether the faster path may be used
	RefreshTxPath(look *port.PacketSockets)        // chooses the path anew
	TxPath() port.TxPath                           // returns the path in use
}

var (
	_ hostPort = (*port.TAP)(nil)
	_ pathPort = (*port.AFPacket)(nil)
	_ ringPort = (*port.AFPacket)(nil)
)

// keepMeasurements hands the task's measurements to the switch, because the sockets of its port go.
func (t *portTask) keepMeasurements(sw *dataplane.Switch) {
	lossless := t.port.Backlog(port.Lossless).Frames
	inRings := lossless + t.port.Backlog(port.Other).Frames
	if t.cfg.Mode == macctl.ModeOff {
		lossless = 0
	}
	sw.KeepMeasurements(t.cfg.Name, &t.reaction, &t.lateness, inRings, lossless)
}
