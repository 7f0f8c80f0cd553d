package lldp

// The transmit state machine, IEEE 802.1AB 9.2.9:
//
//	INITIALIZE ──on──▶ IDLE ──txNow and credit──▶ INFO_FRAME ──▶ IDLE
//	    ▲               └──off──▶ SHUTDOWN_FRAME
//	    └─────────────────2 s────────┘
//
// From everywhere a link that goes down leads to INITIALIZE.
const (
	txInitialize = iota
	txIdle
	txShutdown
	txInfo
)

var txStates = [...]state{
	txInitialize: {"initialize", (*Agent).initializeTransmit, []edge{
		{func(a *Agent) bool { return a.linkUp && a.enabled() }, txIdle, reasonOn},
	}},
	txIdle: {"idle", nil, []edge{
		{down, txInitialize, reasonDown},
		{off, txShutdown, reasonOff},
		{func(a *Agent) bool { return a.timer.now && a.timer.credit > 0 }, txInfo, "a frame is to leave"},
	}},
	txShutdown: {"shutdown-frame", (*Agent).sendShutdown, []edge{
		{down, txInitialize, reasonDown},
		{func(a *Agent) bool { return a.tx.shutdownWhile == 0 }, txInitialize, "silence is over"},
	}},
	txInfo: {"info-frame", (*Agent).sendInfo, []edge{{nil, txIdle, "sent"}}},
}

type transmitter struct {
	machine
	shutdownWhile int      // seconds of silence that are left
	out           [][]byte // frames that are to be sent
}

// maxOut bounds the frames that wait where the caller does not fetch them.
const maxOut = 2 * CreditMax

func (t *transmitter) tick() { t.shutdownWhile = max(0, t.shutdownWhile-1) }

func (a *Agent) initializeTransmit() {
	a.tx.shutdownWhile = 0
	if a.next != nil {
		a.setConfig(*a.next)
	}
}

// sendShutdown ends what was announced.
func (a *Agent) sendShutdown() {
	p := PDU{Chassis: a.cfg.Local.Chassis, Port: a.cfg.Local.Port}
	a.send(&p)
	a.tx.shutdownWhile = ReinitDelay
}

func (a *Agent) sendInfo() {
	p := a.cfg.Local
	p.TTL, p.Organization = a.ttl(), a.extra
	a.send(&p)
	a.timer.credit--
	a.timer.now = false
}

// ttl returns the time to live that is announced, in seconds.
func (a *Agent) ttl() uint16 { return uint16(min(0xFFFF, a.cfg.Interval*a.cfg.Hold+1)) }

func (a *Agent) send(p *PDU) {
	if len(a.tx.out) < maxOut {
		a.tx.out = append(a.tx.out, AppendFrame(nil, a.cfg.MAC, p))
		a.stats.FramesSent++
	}
}
