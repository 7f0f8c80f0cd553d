package dataplane

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"runtime"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/mapping"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

// A Switch is the sequential core: it decides, and does no I/O. Times are nanoseconds of one monotonic clock. It is not
// safe for concurrent use.
type Switch struct {
	cfg            Config
	ports          [MaxPorts]*portState
	bridge         *bridge.Bridge
	buffer         *buffer.Manager
	memory         *memory
	events         eventLog
	statics        []Static
	trunks         []*trunkState
	random         uint64 // state of the random numbers for marks and early discards
	now            int64  // time of the running call
	arrived        int64  // when the frame arrived that is being admitted
	realTimeOffset int64  // real-time clock less the switch's clock, in the running burst
	worker         int    // number of the calling worker
	staged         []Move // copies of the running burst for ports of other workers
	// pending lists ports whose transmit task has work: a MAC Control frame or data frames to send.
	pending            bridge.PortSet
	foreign            bridge.PortSet // pending ports of other workers
	onlyLongQueues     bool           // the running frame meets long egress queues only
	mayLeaveSoon       bool           // a frame of the running burst meets a shorter queue
	losslessDepartures uint64         // only grows
	receivedFrames     uint64         // ReceivedFrames
	wakeDelay          int64
	inTime             bool                 // InTime
	ownAddresses       map[uint64]bool      // of all ports
	ownFirst, ownSame  uint64               // one of them, and the bits in which all are the same
	removedPorts       archive[removedPort] // counters of removed ports
	suspects           bridge.PortSet       // ports that the watchdog has to look at
	captureTap         capture.Tap
	disposition        disposition // of the frame that Ingress looks at
	// burstInRing is the burst whose frames may still lie in the ring. It is set while Dequeue runs.
	burstInRing   []Arrival
	trunkHolds    uint64                 // counts holds that a trunk began
	removedTrunks archive[TrunkSnapshot] // counters of trunks that are gone, or had other ports
	lossesEvicted losses                 // of removed ports whose counters made room for newer ones
	lossesRemoved losses                 // of all removed ports
	poolCells     int                    // of the packet memory, for what the pools charge
	forget        func()                 // OnForget
	bridgeChanges uint64                 // of the bridge, when forget was last called
	decidedUntil  int64                  // bridge.Until of the running frame
	sendFrames    int                    // LimitSendCalls
	fromRoom      Arrival                // the frame that leaves a waiting room, with its octets in roomFrame
	roomFrame     []byte
}

// A portState begins with what each frame needs.
type portState struct {
	index         int
	owner         int // worker that sends on the port
	up            bool
	occupied      uint8
	expected      uint8       // ingress queues that the buffer expects frames for
	xoffSent      uint8       // priorities that the newest sent XOFF holds
	watchedQueues uint8       // queues that the watchdog waits for to hold frames while paused
	discardQueues uint8       // queues that are emptied by the watchdog's order
	trunk         *trunkState // nil for a port of the bridge
	member        int         // number in the trunk, or uplink
	gates         *Gates      // nil where no frame takes the fast path
	receiver      *macctl.Receiver
	sender        *macctl.Initiator
	txAt          int64        // time at which the transmit task has to look again
	meter         sched.Shaper // ingress faster than the port's speed
	meteredAt     int64        // when the newest frame came that the meter knows
	shaper        sched.Shaper
	round         sched.State
	sched         sched.Config
	plan          plan
	room          waitingRoom
	queues        [NumPriorities]queue
	stream        stream
	cfg           PortConfig
	begun         int64 // PortSnapshot.Begun
	delayed       int   // frames in the delay line
	// delayedLossless are those of them that are of lossless priorities.
	delayedLossless int
	// inLine is how many octets on the wire the delay line holds, the port's own stream included (LineHolds).
	inLine int64
	// thresholdCrossedAt is when an admission crossed a threshold: 0 where XOFF has left since, timeNotSet before
	// ThresholdCrossedAt.
	thresholdCrossedAt int64
	crossingArrival    int64         // when the frame of that admission arrived
	lastReason         macctl.Reason // result of the newest MAC Control frame
	lastControlSource  uint64        // source of the newest MAC Control frame
	lastLosslessSource uint64        // source of the newest lossless frame
	dataFrames         uint64        // DataFrames
	count              Counters
	pauses             *Histogram // lengths of pauses by the peer; nil before the first
	holds              *Histogram // lengths of holds of the peer; likewise
	losses             RingLosses // as last read
	loop               string     // which probe shut the port's flooding; empty where flooding is on
	session            uint32     // counts how often the link went down
	modeChanged        bool       // by the newest configuration, which has ended all holds
	overran            bool       // what peerOverran told ReadLosses last
	waited             uint64     // HeadroomUse.Waited of all queues by then
	headroomUse        [NumPriorities]headroomUseMeter
	deferredFrames     []deferredFrame
	streamed           streamed
	traffic            traffic
	echo               macctl.EchoResponder
	reported           [NumDropReasons]bool // faults of frames that events have told of under this configuration
	reportedTraps      [numTraps]bool       // likewise of frames that nobody may send
	nextFloodEvent     int64                // from when on an event may tell of a flood of MAC Control frames
}

// queue is one egress queue: a list of descriptors.
type queue struct {
	head, tail uint32
	frames     int
	staged     int // frames that are charged and on their way into the list
}

// New returns a switch without ports.
func New(cfg Config, now int64) (*Switch, error) {
	s := &Switch{cfg: cfg, now: now, ownAddresses: map[uint64]bool{}, wakeDelay: wakeDelayGuess,
		sendFrames: port.BatchFrames, random: binary.LittleEndian.Uint64(cfg.Identity.Public[:]) | 1}
	s.removedPorts.byName, s.removedTrunks.byName = map[string]*removedPort{}, map[string]*TrunkSnapshot{}
	var err error
	if s.buffer, err = buffer.New(cfg.Buffer, s); err != nil {
		return nil, err
	}
	if s.memory, err = newMemory(cfg.Buffer.Cell, cfg.Buffer.Lossless.Size+cfg.Buffer.Lossy.Size); err != nil {
		return nil, err
	}
	s.poolCells = len(s.memory.next)
	// In the Go heap, the table would let as much garbage pile up as its size, touched or not.
	table, err := mapping.Grow[bridge.Slot](nil, bridge.Slots(cfg.Stations))
	if err != nil {
		return nil, fmt.Errorf("map the filtering database: %w", err)
	}
	s.bridge, err = bridge.New(bridge.Config{MaxEntries: cfg.Stations, Table: table, Ageing: cfg.Ageing,
		Identity: cfg.Identity, Salt: cfg.Salt})
	if err != nil {
		_, _ = mapping.Free(table)
		return nil, err
	}
	runtime.AddCleanup(s.bridge, func(table []bridge.Slot) { _, _ = mapping.Free(table) }, table)
	return s, nil
}

// Close frees the packet memory.
func (s *Switch) Close() error { return s.memory.close() }

func (s *Switch) setTime(now int64) {
	s.now = now
	s.buffer.SetTime(now)
}

// at begins a call at time now and returns port i, nil where there is none.
func (s *Switch) at(i int, now int64) *portState {
	s.setTime(now)
	return s.ports[i]
}

// existing yields the ports that there are, by number.
func (s *Switch) existing() iter.Seq[*portState] {
	return func(yield func(*portState) bool) {
		for _, p := range s.ports {
			if p != nil && !yield(p) {
				return
			}
		}
	}
}

// newPort adds port i, which the buffer already has. The port is down until SetUp.
func (s *Switch) newPort(i int, cfg PortConfig) error {
	p := &portState{index: i, begun: s.now, txAt: math.MaxInt64}
	if old := s.removedPorts.byName[cfg.Name]; old != nil {
		p.begun = old.Begun
	}
	for q := range p.queues {
		p.queues[q] = queue{head: none, tail: none}
	}
	p.receiver = macctl.NewReceiver(cfg.Mode, cfg.Obeyed(), cfg.Speed, cfg.MAC)
	p.sender = macctl.NewInitiator(s.initiatorConfig(cfg))
	p.receiver.OnPauseEnd(func(ns int64) { record(&p.pauses, ns) })
	p.sender.OnPauseEnd(func(ns int64) { record(&p.holds, ns) })
	p.plan.frames = make([]planned, s.sendFrames)
	s.ports[i] = p
	err := s.configure(p, cfg)
	if err != nil {
		s.ports[i] = nil
	}
	return err
}

// configure gives a port its configuration. The buffer already has it.
func (s *Switch) configure(p *portState, cfg PortConfig) error {
	loop, err := s.bridge.SetPort(p.index, cfg.Bridge)
	if err != nil {
		return fmt.Errorf("port %s: %w", cfg.Name, err)
	}
	p.cfg, p.reported, p.reportedTraps = cfg, [NumDropReasons]bool{}, [numTraps]bool{}
	s.updateOwnAddresses()
	s.captureTap.Describe(p.described())
	if cfg.Delay > 0 && p.deferredFrames == nil {
		p.deferredFrames = make([]deferredFrame, 0, maxDeferredFrames)
	}
	if cfg.Prober != nil {
		cfg.Prober.SetUp(p.up, s.now)
	}
	s.loopEvent(loop)
	p.sched = sched.NewConfig(cfg.Egress, cfg.MaxFrame)
	p.shaper.Configure(cfg.Speed, cfg.Burst, s.now)
	p.meter.Configure(cfg.Speed, 2*cfg.Burst, s.now)
	return nil
}

// RemovePort removes a port and the frames that it holds, and keeps its counters.
func (s *Switch) RemovePort(i int, now int64) {
	p := s.at(i, now)
	if p == nil {
		return
	}
	s.SetUp(i, false, now)
	s.buffer.RemovePort(i)
	s.keepRemovedPort(p)
	s.bridge.RemovePort(i)
	s.ports[i] = nil
	s.updateOwnAddresses()
	s.pending.Remove(i)
	s.sumLossesRemoved()
}

// SetUp reports that a port's link came up or went down. A port that goes down releases what it holds, and both ends
// forget who paused whom.
func (s *Switch) SetUp(i int, up bool, now int64) {
	p := s.at(i, now)
	if p == nil || p.up == up {
		return
	}
	p.up = up
	p.closeGates(0xff)
	p.thresholdCrossedAt = 0
	s.emptyRoom(p)
	s.loopEvent(s.bridge.SetUp(i, p.bridged()))
	p.sender.Reset(now)
	s.updateXoffSent(p, now, false)
	if p.cfg.Prober != nil {
		p.cfg.Prober.SetUp(up, now)
	}
	defer s.updateHoldsOfPort(p)
	if up {
		s.event(Event{Kind: EventPortUp, Port: p.cfg.Name, Priority: -1})
		s.markPending(p) // a peer that missed our XOFF must hear it
		return
	}
	p.receiver.Reset(now)
	p.stream = stream{}
	p.echo.Reset()
	s.endWatch(p)
	s.event(Event{Kind: EventPortDown, Port: p.cfg.Name, Priority: -1})
	s.purge(p, DropPortDown)
}

// purge drops every frame that waits at p.
func (s *Switch) purge(p *portState, r DropReason) {
	s.purgeArbiter(p, r)
	for q := range p.queues {
		for p.queues[q].head != none {
			s.dropQueued(p, s.pop(p, uint8(q)), r)
		}
	}
	for ; p.delayed > 0; p.delayed-- {
		c := chargeLossy
		if p.delayedLossless > 0 {
			p.delayedLossless--
			c = chargeLossless
		}
		s.drop(p, Unknown, r, c)
	}
	p.plan.n = 0
	s.buffer.Resume()
}

// dropQueued releases a descriptor that was taken off a queue of p and counts the drop where the frame came in.
func (s *Switch) dropQueued(p *portState, d uint32, r DropReason) {
	dsc := s.memory.descs[d]
	from := s.ports[dsc.in]
	if from == nil {
		from = p
	}
	s.captureQueued(p, &dsc, r)
	s.release(p, d)
	s.drop(from, dsc.prio, r, dsc.charge)
}

// Hold implements the buffer manager's flow control: the peer of port must stop priority prio.
func (s *Switch) Hold(port int, prio uint8) { s.holdPeer(s.ports[port], prio, macctl.CauseBuffer) }

// Release implements the buffer manager's flow control: the peer of port may send priority prio again.
func (s *Switch) Release(port int, prio uint8) {
	s.releasePeer(s.ports[port], prio, macctl.CauseBuffer)
}

// markPending notes that the transmit task of p has work.
func (s *Switch) markPending(p *portState) {
	s.pending.Add(p.index)
	if p.owner != s.worker {
		s.foreign.Add(p.index)
	}
}

// holdPeer holds a priority of the peer of p for one more cause. p is nil where the port is gone.
func (s *Switch) holdPeer(p *portState, prio uint8, c macctl.Cause) {
	if p == nil {
		return
	}
	p.sender.Hold(prio, c)
	if c == macctl.CauseBuffer && p.thresholdCrossedAt == 0 {
		p.thresholdCrossedAt, p.crossingArrival = timeNotSet, s.arrived
	}
	s.markPending(p)
}

// releasePeer ends the hold for one cause.
func (s *Switch) releasePeer(p *portState, prio uint8, c macctl.Cause) {
	if p == nil {
		return
	}
	p.sender.Release(prio, c)
	s.markPending(p)
}

// wakeDelayGuess is how late a wake-up is taken to be until it has been measured, in ns.
const wakeDelayGuess = 300_000

// SetWakeDelay sets how late 99.9 % of wake-ups are at most, so that XOFF is refreshed in time. A change by less than a
// factor of 2 is ignored. After any other change, the workers have to look at their deadlines.
func (s *Switch) SetWakeDelay(ns, now int64) (changed bool) {
	s.setTime(now)
	if ns < 2*s.wakeDelay && 2*ns > s.wakeDelay {
		return false
	}
	s.wakeDelay = ns
	for p := range s.existing() {
		p.sender.Configure(s.initiatorConfig(p.cfg), now)
		s.markPending(p)
	}
	return true
}

// InTime says that the driver calls whenever something is due and never later, as in virtual time. Nobody is held yet.
func (s *Switch) InTime(now int64) {
	s.wakeDelay, s.inTime = 0, true
	for p := range s.existing() {
		p.sender.Configure(s.initiatorConfig(p.cfg), now)
	}
}

func (s *Switch) initiatorConfig(c PortConfig) macctl.InitiatorConfig {
	return macctl.InitiatorConfig{Mode: c.Mode, Enabled: c.Lossless, Speed: c.Speed, Source: c.MAC, Quanta: c.Quanta,
		Remaining: c.Remain, WakeDelay: s.wakeDelay, InTime: s.inTime}
}

func bufferPort(c PortConfig) buffer.PortConfig {
	return buffer.PortConfig{Name: c.Name, Mode: c.Mode, Lossless: c.Lossless, MTU: c.MaxFrame, Speed: c.Speed,
		Queues: c.Ingress}
}
