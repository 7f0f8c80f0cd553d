package lldp

import "slices"

// Timers of IEEE 802.1AB 9.2.5 that are not settable here, in seconds, and counts.
const (
	FastInterval = 1 // between the fast frames for a new neighbour
	FastInit     = 4 // fast frames for a new neighbour
	CreditMax    = 5 // frames that may leave at once; one more every second
	ReinitDelay  = 2 // silence after a shutdown frame
)

// Config is the configuration of an Agent.
type Config struct {
	// Local is what this end announces of itself. The Agent fills in TTL and Organization.
	Local    PDU
	MAC      [6]byte // source of frames
	Interval int     // seconds between frames, 1 to 3600
	Hold     int     // intervals for which an announcement holds, 2 to 10 (TTL = Interval · Hold + 1)
}

// An Agent speaks LLDP on one port. It has something to do at Next, when a frame comes, or when a method changes it.
// After that, Transmit has the frames to send.
type Agent struct {
	cfg    Config
	next   *Config // that follows after a shutdown frame
	extra  []Organization
	linkUp bool // portEnabled
	on     bool // adminStatus is enabledRxTx

	tickAt     int64 // next tick of the transmit timers
	rx         receiver
	tx         transmitter
	timer      txTimer
	neighbours neighbourTable
	log        eventLog
	stats      Statistics

	now         int64  // of run
	transitions uint64 // of all machines
}

// Statistics are those of IEEE 802.1AB 9.2.6. They never go back.
type Statistics struct {
	FramesSent       uint64
	FramesReceived   uint64 // discarded ones too
	FramesDiscarded  uint64 // as a whole
	FramesInErrors   uint64 // discarded, or with a discarded TLV
	TLVsDiscarded    uint64
	TLVsUnrecognized uint64 // of reserved types
	Ageouts          uint64 // neighbours whose time to live ran out
	NotStored        uint64 // neighbours that were forgotten because there was no room for another
}

const second = 1_000_000_000

// NewAgent returns an Agent that is switched on and whose link is down.
func NewAgent(c Config) *Agent {
	a := &Agent{cfg: c, on: true}
	a.rx.machine = machine{name: "receive", states: rxStates[:]}
	a.tx.machine = machine{name: "transmit", states: txStates[:]}
	a.timer.machine = machine{name: "timer", states: timerStates[:]}
	a.initializeTimer()
	a.neighbours.hold = a.crowdHold()
	return a
}

// Configure changes the configuration. A new MSAP or MAC makes the Agent another sender; the old sender first sends a
// shutdown frame.
func (a *Agent) Configure(c Config, now int64) {
	if a.announced() && (c.Local.MSAP() != a.cfg.Local.MSAP() || c.MAC != a.cfg.MAC) {
		a.next = &c
	} else {
		a.setConfig(c)
		a.timer.localChange = true
	}
	a.run(now)
}

// setConfig puts a configuration in force.
func (a *Agent) setConfig(c Config) {
	a.cfg, a.next = c, nil
	a.neighbours.hold = a.crowdHold()
}

// crowdHold is for how long a neighbour holds at most where there are others, in ns. Ends with long intervals are given
// as long as this end itself asks for.
func (a *Agent) crowdHold() int64 { return max(crowdHold, int64(a.ttl())) * second }

// SetOrganization replaces the organizationally specific TLVs that are sent. A change is sent soon.
func (a *Agent) SetOrganization(list []Organization, now int64) {
	if slices.Equal(list, a.extra) {
		return
	}
	a.extra = slices.Clone(list)
	a.timer.localChange = true
	a.run(now)
}

// SetLink says whether the link is up. A link that goes down removes the neighbours at once, though the standard lets
// them age: no neighbour may outlive the cable.
func (a *Agent) SetLink(up bool, now int64) {
	if up == a.linkUp {
		return
	}
	a.linkUp = up
	if up {
		a.tickAt = now + second
		a.neighbours.knownHeard = now
	}
	a.run(now)
}

// SetOn switches the Agent on or off. An Agent that is switched off sends a shutdown frame and forgets its neighbours.
func (a *Agent) SetOn(on bool, now int64) {
	a.on = on
	a.run(now)
}

// enabled is adminStatus. It is off for a moment while the Agent becomes another sender.
func (a *Agent) enabled() bool { return a.on && a.next == nil }

// announced reports whether neighbours may know this end.
func (a *Agent) announced() bool { return a.tx.at == txIdle }

// Receive handles and counts a frame of the link, whatever it is.
func (a *Agent) Receive(frame []byte, now int64) {
	if !a.linkUp || !a.enabled() {
		return
	}
	a.rx.frame = frame
	a.run(now)
	a.rx.frame = nil
}

// Advance does what is due.
func (a *Agent) Advance(now int64) { a.run(now) }

// Transmit returns the next frame to send, nil where there is none.
func (a *Agent) Transmit() []byte {
	if len(a.tx.out) == 0 {
		return nil
	}
	frame := a.tx.out[0]
	a.tx.out = a.tx.out[1:]
	return frame
}

// Next returns when Advance has to be called at the latest; math.MaxInt64 where only a frame or a call changes
// anything.
func (a *Agent) Next() int64 {
	next := a.neighbours.next()
	if a.ticking() {
		next = min(next, a.tickAt+(a.ticksToGo()-1)*second)
	}
	return next
}

// ticking reports whether a timer of the transmit machines runs.
func (a *Agent) ticking() bool { return a.linkUp && (a.tx.at == txIdle || a.tx.at == txShutdown) }

// ticksToGo returns how many ticks must pass until something happens.
func (a *Agent) ticksToGo() int64 {
	if a.tx.at == txShutdown {
		return int64(max(1, a.tx.shutdownWhile))
	}
	if a.timer.now {
		return 1 // a frame waits for credit
	}
	return int64(max(1, a.timer.ttr))
}

// run advances the time and lets the machines follow.
func (a *Agent) run(now int64) {
	a.now = now
	a.tick(now)
	a.rx.machine.run(a)
	a.timer.machine.run(a)
	a.tx.machine.run(a)
	a.timer.machine.run(a) // the transmit machine may have begun anew
	a.tx.machine.run(a)
}

// tick runs the ticks of the seconds that have passed.
func (a *Agent) tick(now int64) {
	if !a.linkUp || now < a.tickAt {
		return
	}
	ticks := 1 + (now-a.tickAt)/second
	a.tickAt += ticks * second
	for range min(ticks, int64(a.cfg.Interval+ReinitDelay)) { // no timer is longer
		a.timer.tick()
		a.tx.tick()
		a.timer.machine.run(a)
		a.tx.machine.run(a)
	}
}

// Neighbours returns the neighbours in the order in which they came. The caller must not change the list.
func (a *Agent) Neighbours() []*Neighbour { return a.neighbours.list }

// Follow returns the neighbour that counts, nil where there is none: the only one, and of several the one that this end
// knows. An end knows a neighbour that suits and was heard again, and remembers it when the link goes down. So made-up
// neighbours do not lock the real one out.
func (a *Agent) Follow(suits func(*Neighbour) bool) *Neighbour {
	return a.neighbours.follow(suits, a.now)
}

// Statistics returns the counters.
func (a *Agent) Statistics() Statistics { return a.stats }

// Config returns the newest configuration.
func (a *Agent) Config() Config {
	if a.next != nil {
		return *a.next
	}
	return a.cfg
}
