package traffic

import (
	"errors"
	"fmt"
	"time"

	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
	"pfcswitch/macctl"
)

// A pauser pauses the peer of a sink from the time when a quarter of the lossless ring is full until an eighth is full.
// The rest is for frames that arrive before the sink runs again: a switch without a speed sends a million frames a
// second.
type pauser struct {
	port      port.Port
	sender    *macctl.Initiator
	refresher *runner.Refresher // holds the peer while the sink gets no CPU
	self      runner.Observed   // the sink's thread
	mask      uint8
	holding   bool
	buf       [2 * macctl.FrameSize]byte
	blocked   bool
}

func newPauser(on port.Port, mode macctl.Mode, lossless uint8, speed int64, own [6]byte) (*pauser, error) {
	r, err := runner.NewRefresher(1, nil)
	if err != nil {
		return nil, err
	}
	p := &pauser{port: on, mask: lossless, refresher: r, sender: macctl.NewInitiator(
		macctl.InitiatorConfig{Mode: mode, Enabled: lossless, Speed: speed, Source: own})}
	hold, every := p.sender.AppendHold(nil)
	r.Protect(0, on, hold, every, runner.Watched{
		Wake:  func() {}, // a sink that sleeps is woken by the frames
		Looks: p.self.Pulse, Decides: p.self.Pulse})
	return p, nil
}

// update decides by the ring's backlog whether to pause the peer, and sends the control frames that are due. The caller
// then reads the rings.
func (p *pauser) update(now int64) {
	p.refresher.Look(0, p.port, now)
	if p.refresher.TakeLate(0) {
		p.countRefreshes()
		p.holding = true
		p.set(true, macctl.CauseRing)
	}
	if p.holding || p.port.BacklogExceeds(port.Lossless, minBacklog) {
		fill := p.port.Backlog(port.Lossless).Fill
		if holding := fill > 0.25 || p.holding && fill > 0.125; holding != p.holding {
			p.holding = holding
			p.set(holding, macctl.CauseRing)
		}
	}
	for p.countRefreshes(); p.sender.Pending(now); p.countRefreshes() {
		b, ok := p.sender.AppendFrame(p.buf[:0], now)
		if !ok {
			return
		}
		was := p.refresher.Set(0, p.port, b, now, p.sender.RefreshEvery())
		if p.port.SendControl(b) != nil {
			p.refresher.Undo(0, was)
			return
		}
		p.sender.Sent(now)
	}
}

// countRefreshes takes over what the refresher has sent.
func (p *pauser) countRefreshes() {
	if s := p.refresher.Taken(0); s.N > 0 {
		p.sender.Refreshed(s.N, s.At, s.All)
	}
}

// close ends the refreshes and frees the peer. Where the kernel does not take the XON, the peer's pause runs out.
func (p *pauser) close() error {
	err := errors.Join(p.refresher.Close(), p.self.Close())
	p.countRefreshes()
	p.set(false, macctl.CauseRing|macctl.CauseBuffer)
	now := runner.Now()
	if b, ok := p.sender.AppendFrame(p.buf[:0], now); ok && p.port.SendControl(b) == nil {
		p.sender.Sent(now)
	}
	return err
}

// holds tells whether the peer is held, or is to be.
func (p *pauser) holds() bool { return p.sender.XoffWanted()|p.sender.XoffSent() != 0 }

// block pauses the peer, or not, independently of the ring.
func (p *pauser) block(on bool) {
	if on != p.blocked {
		p.blocked = on
		p.set(on, macctl.CauseBuffer)
	}
}

// minBacklog is the backlog, in frames, from which on update reads the fill of the ring.
const minBacklog = 64

func (p *pauser) set(on bool, c macctl.Cause) {
	for q := range uint8(8) {
		switch {
		case p.mask&(1<<q) == 0:
		case on:
			p.sender.Hold(q, c)
		default:
			p.sender.Release(q, c)
		}
	}
}

// A Blocking makes a sink pause its peer for a while, once or periodically.
type Blocking struct {
	At    time.Time
	For   time.Duration // 0: never
	Every time.Duration // from one beginning to the next; 0: once
	Times int           // in all, with Every
	Rate  int64         // bit/s on the wire at which it takes frames meanwhile, and pauses while too many wait; 0: none
}

func (b *Blocking) check() error {
	switch {
	case b.For < 0:
		return fmt.Errorf("the peer is held for %v: 0 (never) or more", b.For)
	case b.Every < 0 || b.Every > 0 && b.For >= b.Every:
		return fmt.Errorf("the peer is held for %v every %v: the first has to be the shorter one", b.For, b.Every)
	case (b.Times > 0) != (b.Every > 0) || b.Times < 0:
		return fmt.Errorf("the peer is held %d times, one every %v: both, or neither, have to be above 0", b.Times,
			b.Every)
	case b.Rate < 0 || b.Rate > 0 && b.For == 0:
		return fmt.Errorf("frames are taken at %d bit/s, and nothing says when: write --block-at and --block-for",
			b.Rate)
	case b.For > 0 && b.At.IsZero():
		return fmt.Errorf("the peer is held for %v, and nothing says from when: write --block-at", b.For)
	}
	return nil
}

// active tells whether the sink pauses its peer at a moment.
func (b *Blocking) active(at time.Time) bool {
	since := at.Sub(b.At)
	if b.Every > 0 && since >= 0 && since/b.Every < time.Duration(b.Times) {
		since %= b.Every
	}
	return since >= 0 && since < b.For
}
