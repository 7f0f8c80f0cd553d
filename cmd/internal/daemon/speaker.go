package daemon

import (
	"math"
	"reflect"
	"sync"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
)

// A speaker runs LLDP and DCBX on one port, beside the data path. Its goroutine waits for frames of the peer and for
// timers.
type speaker struct {
	port     string
	socket   *port.LLDP
	onUpdate func(lldpUpdate) // is told what has changed, by any goroutine and without mu; must return at once
	tap      tapFunc
	done     chan struct{}

	mu              sync.Mutex // guards what follows
	x               *dcbx.Exchange
	agent           lldp.Config // as they were told to x
	machine         dcbx.Config
	outcome         dcbx.Outcome   // as it was told to heard
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
	status    *statusChange   // nil: nothing is to be said
	pfc       uint8           // priorities that are lossless
	agreement *lldp.Agreement // nil: as before
	neighbour string          // "" where there is none
	neighMAC  [6]byte
	peerPFC   uint8 // priorities that the neighbour has by its own word
}

// A tapFunc sees each received and sent frame. It must return at once and must not keep the frame.
type tapFunc func(out bool, frame []byte, now int64)

// startSpeaker starts LLDP on a port whose link is down.
func startSpeaker(name string, socket *port.LLDP, agent lldp.Config, machine dcbx.Config, heard func(lldpUpdate), saw tapFunc) *speaker {
	s := &speaker{port: name, socket: socket, onUpdate: heard, tap: saw, done: make(chan struct{}), agent: agent, machine: machine}
	s.x = dcbx.NewExchange(agent, machine)
	s.outcome, s.agreement = s.x.Outcome(), lldp.Agreement{Port: name}
	s.reported = dcbxStatusOf(&s.outcome)
	go s.run()
	return s
}

// Frames that are taken in a time: LLDP needs one in a second, and who sends thousands must not cost a CPU.
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
	now := dataplane.Now()
	f(s.x, now)
	for frame := s.x.Transmit(); frame != nil; frame = s.x.Transmit() {
		if s.socket.Send(frame) == nil { // a link that takes none now gets the next one
			s.tap(true, frame, now)
		}
	}
	s.wake(now)
	n, changed := s.change(now)
	s.mu.Unlock()
	if changed {
		s.onUpdate(n)
	}
	return true
}

// wake sets the timer for the next due action.
func (s *speaker) wake(now int64) {
	var at time.Time // never
	if next := s.x.Next(); next != math.MaxInt64 {
		at = time.Now().Add(time.Duration(next - now))
	}
	_ = s.socket.WakeAt(at) // fails only on a closed socket
}

// change returns what has changed since the last report.
func (s *speaker) change(now int64) (n lldpUpdate, changed bool) {
	n = lldpUpdate{port: s.port, events: s.x.Agent().Events(), before: s.outcome}
	if o := s.x.Outcome(); o != s.outcome {
		s.outcome, n.outcome = o, &o
	}
	s.addStatusChange(&n, now)
	if a := s.x.Agreement(s.port); a != s.agreement {
		s.agreement, n.agreement = a, &a
	}
	if all := s.x.Agent().Neighbours(); len(all) > 0 {
		n.neighbour, n.neighMAC = all[0].Name(), all[0].Source
		told, _ := dcbx.PeerPFC(s.outcome.Version, all[0].Organization)
		n.peerPFC = told.Enable
	}
	return n, len(n.events) > 0 || n.outcome != nil || n.agreement != nil || n.status != nil
}

// setLink sets whether the link is up.
func (s *speaker) setLink(up bool) {
	s.do(func(x *dcbx.Exchange, now int64) { x.SetLink(up, now) })
}

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
func (s *speaker) inForce() dcbx.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.x.Outcome()
}

// read runs f on the exchange. f must not change it.
func (s *speaker) read(f func(x *dcbx.Exchange, c *dcbx.Config, now int64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.x, &s.machine, dataplane.Now())
}

// close sends a goodbye and ends.
func (s *speaker) close() error {
	s.do(func(x *dcbx.Exchange, now int64) { x.Stop(now) })
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.socket.Close()
	<-s.done
	return err
}
