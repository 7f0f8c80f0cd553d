package daemon

import (
	"errors"
	"math"
	"reflect"
	"sync"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
)

// A speaker runs LLDP and DCBX on one port, beside the data path. Its goroutine waits for frames of the peer and for
// timers.
type speaker struct {
	port     string
	socket   *port.LLDP
	onUpdate func(lldpUpdate) // gets what has changed, by any goroutine and without mu; must return at once
	tap      tapFunc
	alarm    *runner.Alarm
	done     chan struct{}

	mu              sync.Mutex // guards what follows
	x               *dcbx.Exchange
	agent           lldp.Config // the settings of x
	machine         dcbx.Config
	outcome         dcbx.Outcome   // of the last update
	agreement       lldp.Agreement // likewise
	reported        dcbxStatus     // likewise
	reportAllowance lldp.EventLimiter
	closed          bool
}

// An lldpUpdate is what has changed at a port.
type lldpUpdate struct {
	port      string
	events    []lldp.Event
	outcome   *dcbx.Outcome // nil: as before
	before    dcbx.Outcome
	status    *statusChange // nil: nothing to report
	pfc       uint8         // priorities that are lossless
	agreed    bool          // who can measure headroom has changed
	neighbour string        // "" where there is none
	neighMAC  [6]byte
	peerPFC   uint8 // priorities that the neighbour has by its own word
}

// A tapFunc sees each received and sent frame. It must return at once and must not keep the frame.
type tapFunc func(out bool, frame []byte, now int64)

// startSpeaker starts LLDP on a port whose link is down.
func startSpeaker(name string, socket *port.LLDP, agent lldp.Config, machine dcbx.Config, onUpdate func(lldpUpdate),
	tap tapFunc) (*speaker, error) {
	alarm, err := runner.NewAlarm(func() { _ = socket.Wake() }) // fails only on a closed socket
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	s := &speaker{port: name, socket: socket, onUpdate: onUpdate, tap: tap, alarm: alarm, done: make(chan struct{}),
		agent: agent, machine: machine, x: dcbx.NewExchange(agent, machine), agreement: lldp.Agreement{Port: name}}
	s.outcome = s.x.Outcome()
	s.reported = dcbxStatusOf(&s.outcome)
	go s.run()
	return s, nil
}

// At most frameBudget frames are received in frameWindow. LLDP needs one in a second, and a flood must not cost a CPU.
const (
	frameBudget = 100
	frameWindow = 100 * time.Millisecond
)

// run receives frames until the speaker is closed.
func (s *speaker) run() {
	defer close(s.done)
	b := make([]byte, 2048)
	left, window := frameBudget, time.Now()
	for s.do(func(x *dcbx.Exchange, now int64) { x.Advance(now) }) {
		n, err := s.socket.Receive(b)
		if n > 0 {
			s.do(func(x *dcbx.Exchange, now int64) {
				s.tap(false, b[:n], now)
				x.Receive(b[:n], now)
			})
		}
		if left--; err == nil && left > 0 {
			continue
		}
		if rest := frameWindow - time.Since(window); rest > 0 {
			time.Sleep(rest)
		}
		left, window = frameBudget, time.Now()
	}
}

// do runs f on the exchange, sends the frames that are due and reports what has changed. It returns false if the
// speaker is closed. Frames are sent under the lock, so that none leaves after the goodbye.
func (s *speaker) do(f func(x *dcbx.Exchange, now int64)) bool {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false
	}
	now := runner.Now()
	f(s.x, now)
	for frame := s.x.Transmit(); frame != nil; frame = s.x.Transmit() {
		if s.socket.Send(frame) == nil { // a link that takes none now gets the next one
			s.tap(true, frame, now)
		}
	}
	_ = s.socket.Rest() // likewise
	s.alarm.Set(together(s.x.Next(), now))
	n, changed := s.change(now)
	s.mu.Unlock()
	if changed {
		s.onUpdate(n)
	}
	return true
}

// The timers of LLDP count seconds. What is due in more than patience waits for the next whole second, in which the
// speakers of other ports wake up as well.
const patience = 5 * time.Second

// together returns when to wake up at time now for what is due at next; math.MaxInt64: never.
func together(next, now int64) int64 {
	if next-now <= int64(patience) || next == math.MaxInt64 {
		return next
	}
	return (next + int64(time.Second) - 1) / int64(time.Second) * int64(time.Second)
}

// change returns what has changed since the last report.
func (s *speaker) change(now int64) (n lldpUpdate, changed bool) {
	n = lldpUpdate{port: s.port, events: s.x.Agent().Events(), before: s.outcome}
	if o := s.x.Outcome(); o != s.outcome {
		s.outcome, n.outcome = o, &o
	}
	s.addStatusChange(&n, now)
	if a := s.x.Agreement(s.port); a != s.agreement {
		s.agreement, n.agreed = a, true
	}
	if peer := s.x.Peer(); peer != nil {
		n.neighbour, n.neighMAC = peer.Name(), peer.Source
		pfc, _ := dcbx.PeerPFC(s.outcome.Version, peer.Organization)
		n.peerPFC = pfc.Enable
	}
	return n, len(n.events) > 0 || n.outcome != nil || n.agreed || n.status != nil
}

func (s *speaker) setLink(up bool) { s.do(func(x *dcbx.Exchange, now int64) { x.SetLink(up, now) }) }

// configure changes what the port tells. Equal settings change nothing.
func (s *speaker) configure(agent lldp.Config, machine dcbx.Config) {
	s.do(func(x *dcbx.Exchange, now int64) {
		if !reflect.DeepEqual(agent, s.agent) || !reflect.DeepEqual(machine, s.machine) {
			s.agent, s.machine = agent, machine
			x.Configure(agent, machine, now)
		}
	})
}

// inForce returns the outcome of the exchange.
func (s *speaker) inForce() (o dcbx.Outcome) {
	s.read(func(x *dcbx.Exchange) { o = x.Outcome() })
	return o
}

// read runs f on the exchange. f must not change it.
func (s *speaker) read(f func(x *dcbx.Exchange)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.x)
}

// close sends a goodbye and ends.
func (s *speaker) close() error {
	s.do(func(x *dcbx.Exchange, now int64) { x.Stop(now) })
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := errors.Join(s.alarm.Close(), s.socket.Close())
	<-s.done
	return err
}

func (s source) LLDP() []api.LLDPPort {
	v := s.d.published.Load()
	var all []api.LLDPPort
	for i := range v.cfg.Ports {
		c := &v.cfg.Ports[i]
		if speaker := v.speakers[c.Name]; speaker != nil {
			p := speaker.describe()
			p.DCBX.LosslessPriorities = api.Priorities(v.cfg.LosslessOf(c))
			all = append(all, p)
		}
	}
	return all
}

// describe returns what a port sends and receives by LLDP.
func (s *speaker) describe() (p api.LLDPPort) {
	s.read(func(x *dcbx.Exchange) { p = DescribeLLDP(s.port, x, &s.machine, runner.Now()) })
	return p
}
