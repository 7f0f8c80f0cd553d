package lldp

import "cmp"

// The transmit timer state machine, IEEE 802.1AB 9.2.10. It says when a frame should leave. The transmit machine sends
// that frame as soon as there is credit.
//
//	INITIALIZE ──on──▶ IDLE ──time is up──▶ EXPIRES ──▶ SIGNAL ──▶ IDLE
//	                    ├───new neighbour──▶ FAST_START ──▶ EXPIRES
//	                    └───own data changed──▶ SIGNAL
//
// From everywhere a link that goes down, or an Agent that is switched off, leads to INITIALIZE. The standard's state
// TX_TICK is the method tick.
const (
	timerInitialize = iota
	timerIdle
	timerExpires
	timerSignal
	timerFastStart
)

var timerStates = [...]state{
	timerInitialize: {"initialize", (*Agent).initializeTimer, []edge{
		{func(a *Agent) bool { return a.linkUp && a.enabled() && a.tx.at == txIdle }, timerIdle, reasonOn},
	}},
	timerIdle: {"idle", nil, []edge{
		{down, timerInitialize, reasonDown},
		{off, timerInitialize, reasonOff},
		{func(a *Agent) bool { return a.timer.newNeighbour }, timerFastStart, "new neighbour"},
		{func(a *Agent) bool { return a.timer.ttr == 0 }, timerExpires, "time is up"},
		{func(a *Agent) bool { return a.timer.localChange }, timerSignal, "own data changed"},
	}},
	timerExpires:   {"expires", (*Agent).timerExpired, []edge{{nil, timerSignal, "a frame is due"}}},
	timerSignal:    {"signal", (*Agent).signal, []edge{{nil, timerIdle, "signalled"}}},
	timerFastStart: {"fast-start", (*Agent).fastStart, []edge{{nil, timerExpires, "greeting"}}},
}

type txTimer struct {
	machine
	ttr          int  // seconds until the next frame
	fast         int  // fast frames that are left
	credit       int  // frames that may leave now
	now          bool // a frame is to leave
	localChange  bool
	newNeighbour bool
}

func (t *txTimer) tick() {
	t.ttr = max(0, t.ttr-1)
	t.credit = min(CreditMax, t.credit+1)
}

func (a *Agent) initializeTimer() {
	t := &a.timer
	t.ttr, t.fast, t.credit = 0, 0, CreditMax
	t.now, t.localChange, t.newNeighbour = false, false, false
}

func (a *Agent) timerExpired() { a.timer.fast = max(0, a.timer.fast-1) }

func (a *Agent) signal() {
	t := &a.timer
	t.now, t.localChange = true, false
	t.ttr = a.cfg.Interval
	if t.fast > 0 {
		t.ttr = FastInterval
	}
}

func (a *Agent) fastStart() {
	t := &a.timer
	t.newNeighbour = false
	t.fast = cmp.Or(t.fast, FastInit)
}
