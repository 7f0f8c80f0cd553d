package traffic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
)

type sender struct {
	c        *SendConfig
	port     port.Port
	poller   *port.Poller
	own      uint64
	source   *source
	flows    []*flowState
	batch    *port.Batch
	frames   [64]port.Frame
	answers  map[uint32]message // finAck by flow
	sink     uint64             // of flows that name none
	found    map[uint64]bool    // sinks of the others that have answered
	control  uint64
	startNs  int64
	elapsed  int64
	paused   pausedTime // during the load
	lateness lateness
}

// RunSend sends until the time is over, the count is reached, all flows have ended without a time, or ctx ends.
func RunSend(ctx context.Context, c SendConfig) (*SendReport, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	p, link, err := open(c.Netns, c.Interface, 0, senderSlots, !c.Packet)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	defer refreshTxPath(p)()
	s, err := newSender(&c, p, frame.Address(link.MAC[:]))
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.poller.Close() }()
	if err := s.findSinks(ctx); err != nil {
		return nil, err
	}
	s.prepare(link.MAC)
	if err := s.waitForStart(ctx); err != nil {
		return nil, err
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	path := p.TxPath()
	s.settle(ctx)
	r := s.report()
	r.Send = newWay(path)
	return r, nil
}

func newSender(c *SendConfig, p port.Port, own uint64) (*sender, error) {
	w, err := newPoller(p)
	if err != nil {
		return nil, err
	}
	return &sender{c: c, port: p, poller: w, own: own, batch: port.NewBatch(), answers: map[uint32]message{},
		found: map[uint64]bool{}}, nil
}

func (s *sender) sinkOf(f *Flow) uint64 { return cmp.Or(f.To, s.sink) }

func (s *sender) prepare(mac [6]byte) {
	for _, f := range s.c.Flows {
		s.flows = append(s.flows, newFlow(f, addressing{destination: s.sinkOf(&f), source: s.own, tagged: !s.c.Untagged,
			dscp: s.c.DSCP, ecn: s.c.ECN || f.DCQCN, tci: frame.MakeTCI(f.Priority, false, s.c.VID)}))
	}
	s.source = newSource(s.c, s.flows, mac, runner.Now())
}

func (s *sender) waitForStart(ctx context.Context) (err error) {
	for left := time.Until(s.c.Start); left > 0 && err == nil; left = time.Until(s.c.Start) {
		err = s.listen(ctx, left)
	}
	return err
}

// load sends until the duration is over, the count is reached, or all flows have ended where there is no duration.
func (s *sender) load(ctx context.Context) error {
	defer ownThread()()
	now := runner.Now()
	s.source.shaper.Configure(s.c.Speed, s.c.burst(), now)
	for _, f := range s.flows {
		f.start(s.c.Speed, now)
	}
	s.startNs, s.paused = now, s.source.pausedTime(now)
	s.lateness = lateness{due: now}
	end := now + int64(s.c.Duration)
	for calls := 0; (s.c.Duration == 0 || now < end) && !s.complete(); calls++ {
		if calls%64 == 0 && ctx.Err() != nil {
			break
		}
		s.readControl()
		var wall int64
		now, wall = runner.ClockPair()
		s.lateness.update(now)
		if s.source.controlled {
			s.readRings() // CNPs and acknowledgements
		}
		if s.source.next(now) == 0 {
			if s.ended(now) {
				break
			}
			if err := s.sleep(now, end); err != nil {
				return err
			}
			if ctx.Err() != nil {
				break
			}
			continue
		}
		if err := s.sendPlanned(wall); err != nil {
			return err
		}
	}
	s.endLoad(runner.Now())
	return s.replayError()
}

// ended tells whether all flows have ended. With a duration the sender stays until that is over, and counts the pauses.
func (s *sender) ended(now int64) bool {
	return s.c.Duration == 0 && !slices.ContainsFunc(s.flows, func(f *flowState) bool { return !f.ended(now) })
}

// endLoad records the duration of the load and the time in which it was paused. Pauses during settle do not count.
func (s *sender) endLoad(now int64) {
	s.lateness.update(now)
	s.elapsed = now - s.startNs
	for _, f := range s.flows {
		f.end(now)
	}
	s.source.account(0, 0, now)
	s.paused = s.source.pausedTime(now).since(s.paused)
}

// complete tells whether the count is reached; a send call never goes beyond it.
func (s *sender) complete() bool {
	if s.c.Count == 0 {
		return false
	}
	left := s.c.Count - s.total()
	s.source.maxFrames = int(min(left, port.BatchFrames))
	return left == 0
}

func (s *sender) total() (n uint64) {
	for _, f := range s.flows {
		n += f.sent
	}
	return n
}

func (s *sender) sendPlanned(wall int64) error {
	s.batch.Reset()
	s.source.fill(s.batch, wall)
	n, err := s.port.Send(s.batch)
	s.source.sent(n)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, port.ErrAgain), errors.Is(err, port.ErrDropped):
		s.poller.Poll(refusedDelay)
		return nil
	case errors.Is(err, port.ErrDown):
		return s.down()
	}
	return fmt.Errorf("%s: the kernel refuses frames of this length or kind: %w", s.c.Interface, err)
}

func (s *sender) down() error {
	return fmt.Errorf("%s: the interface went down after %d frames", s.c.Interface, s.total())
}

// sleep sleeps until a frame may be sent. Where everything is paused, a MAC Control frame ends the sleep, and where a
// flow has a window, an acknowledgement. Where tokens are missing, nothing ends it: control frames are read before the
// next send call, and pauses count from their arrival.
func (s *sender) sleep(now, end int64) error {
	if err := s.replayError(); err != nil {
		return err
	}
	until := s.source.retry
	if s.c.Duration != 0 {
		until = min(until, end)
	}
	if s.lateness.due = until; until <= now+readOn {
		return nil // a file is read on
	}
	until = min(until, now+int64(50*time.Millisecond))
	d := max(time.Duration(until-now), minimumSleep)
	if !s.source.held() && !s.source.windowed {
		port.Sleep(d)
	} else if s.poller.Poll(d) == port.Failed {
		return s.down()
	}
	s.readRings()
	return nil
}

// readControl reads all received MAC Control frames.
func (s *sender) readControl() {
	b, stamp := s.port.Control()
	if b == nil {
		return
	}
	now, wall := runner.ClockPair()
	for ; b != nil; b, stamp = s.port.Control() {
		if stamp > wall { // the frame came after the clock was read
			now, wall = runner.ClockPair()
		}
		if s.source != nil {
			s.source.receiver.Receive(b, now-(wall-stamp), now)
		}
		s.port.ControlDone()
	}
}

// lateness measures how late a sender runs: the time from when it is due until it runs. It waited for a CPU or in the
// kernel.
type lateness struct {
	due     int64 // time of the next run
	longest int64
}

// update records the lateness of this run. The sender is due again at once.
func (s *lateness) update(now int64) {
	s.longest = max(s.longest, now-s.due)
	s.due = now
}

var processors sync.Mutex // guards the change of GOMAXPROCS

// ownThread gives the calling goroutine a thread of its own, as the switch's workers have, and one more to GOMAXPROCS,
// which it may hold while it sleeps, until the returned function is called.
func ownThread() (giveBack func()) {
	runtime.LockOSThread()
	addProcessors(1)
	return func() {
		addProcessors(-1)
		runtime.UnlockOSThread()
	}
}

func addProcessors(n int) {
	processors.Lock()
	defer processors.Unlock()
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
}
