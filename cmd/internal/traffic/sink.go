package traffic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/ack"
	"pfcswitch/dataplane/dcqcn"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

// A SinkConfig says what a sink does.
type SinkConfig struct {
	Interface, Netns string
	Speed            int64  // bit/s that pause quanta are counted in; 0: 10G
	FlowControl      string // pfc, pause or off: how the sink holds its peer when it falls behind
	Lossless         uint8
	Expect           int           // end when so many senders have settled their totals; 0: only by Duration or ctx
	Duration         time.Duration // 0: no limit
	From, Until      time.Time     // rates are measured between; zero: from the first frame to the last
	Slots            int           // equal parts of that time, which are counted each; 0: only the whole
	ReadRate         int64         // frames a second that the sink reads at most; 0: no limit
	DCQCN            bool          // answer frames that come marked with CNPs
	Block            Blocking
}

// Check reports what is wrong with the configuration.
func (c *SinkConfig) Check() error {
	switch {
	case c.Expect < 0:
		return fmt.Errorf("%d expected senders: 0 (no end by them) or more", c.Expect)
	case c.ReadRate < 0:
		return fmt.Errorf("%d frames a second to read: 0 (no limit) or more", c.ReadRate)
	case c.Duration < 0:
		return fmt.Errorf("a time of %v: 0 (no limit) or more", c.Duration)
	case !c.From.IsZero() && !c.Until.IsZero() && !c.Until.After(c.From):
		return errors.New("rates are measured up to a time that is not after the one from which they are")
	case c.Slots < 0 || c.Slots > maxSlots:
		return fmt.Errorf("%d parts of the time in which rates are measured: 0 (none) to %d", c.Slots, maxSlots)
	case c.Slots > 0 && (c.From.IsZero() || c.Until.IsZero()):
		return errors.New("only a time with a beginning and an end has parts")
	}
	return c.Block.check()
}

// maxSlots bounds the memory of a flow.
const maxSlots = 100

// settleTime is the time without a new frame after which a sink answers a total that it has not reached.
const settleTime = 300 * time.Millisecond

type flowKey struct {
	source   uint64
	flow     uint32
	priority uint8
}

type sinkFlow struct {
	tracker
	overtaking
	latency  dataplane.Latency
	last     int64 // ns of the clock at which the last frame was taken
	total    uint64
	finished bool  // the total is known and was answered
	answered int64 // ns of the clock at which it was last answered
	frames   uint64
	bits     uint64
	slots    []uint64 // bits in each part of the time
	stamp    int64    // of the last frame
	gap      int64    // the longest time between two frames
	gapFrom  int64
	gaps     []Gap // those of at least LongGap
	marked   uint64
	cnps     uint64
	point    dcqcn.NotificationPoint
	owed     ack.Receiver
}

type sink struct {
	c            *SinkConfig
	port         port.Port
	poller       *port.Poller
	own          uint64
	pauser       *pauser
	frames       [256]port.Frame
	flows        map[flowKey]*sinkFlow
	last         *sinkFlow // of the last frame, since flows come in bursts
	lastKey      flowKey
	foreign      uint64
	received     uint64
	control      uint64
	from         int64 // CLOCK_REALTIME
	until        int64
	first        int64
	final        int64
	stations     map[uint64]frame.Header // senders that asked for a sink, and how
	fdbRefreshed int64
	read         budget
	peer         *macctl.Receiver
	heldAt       int64         // ns of the clock at which the sink last held its peer
	backlog      sched.Backlog // with Block.Rate
	interval     int64         // ns between two CNPs of a flow
	asked        bool          // a sender waits for acknowledgements
	owed         []owed        // those that have to be sent
}

// budget limits the rate of reading, in frames a second.
type budget struct {
	rate, from int64
	used       int64
}

func (b *budget) left(now int64) int {
	if b.rate == 0 {
		return 256
	}
	b.from = cmp.Or(b.from, now)
	left := (now-b.from)/1000*b.rate/1_000_000 - b.used
	if most := max(256, b.rate/100); left > most { // time without frames earns no more than a burst, or 10 ms
		b.used += left - most
	}
	return int(min(256, max(0, left)))
}

// RunSink receives until all expected senders have settled, the time is over, or ctx ends.
func RunSink(ctx context.Context, c SinkConfig) (*SinkReport, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if mode(c.FlowControl) == macctl.ModePause {
		c.Lossless = 0xff // PAUSE stops all priorities
	}
	p, link, err := open(c.Netns, c.Interface, c.Lossless, sinkSlots, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	s, err := newSink(&c, p, link.MAC)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.poller.Close() }()
	if err := errors.Join(s.run(ctx), s.pauser.close()); err != nil {
		return nil, err
	}
	return s.report(), nil
}

func newSink(c *SinkConfig, p port.Port, mac [6]byte) (*sink, error) {
	w, err := newPoller(p)
	if err != nil {
		return nil, err
	}
	pauser, err := newPauser(p, mode(c.FlowControl), c.Lossless, c.Speed, mac)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	s := &sink{c: c, port: p, poller: w, own: frame.Address(mac[:]), flows: map[flowKey]*sinkFlow{},
		from: nanoseconds(c.From), until: nanoseconds(c.Until),
		stations: map[uint64]frame.Header{}, read: budget{rate: c.ReadRate},
		pauser: pauser, interval: dcqcn.For(macctl.SpeedOrNominal(c.Speed)).Interval,
		peer: macctl.NewReceiver(mode(c.FlowControl), c.Lossless, c.Speed, mac)}
	return s, nil
}

// nanoseconds is CLOCK_REALTIME at t, 0 where t is zero.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func (s *sink) run(ctx context.Context) error {
	defer ownThread()()
	s.pauser.self.Begin()
	if s.c.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.c.Duration)
		defer cancel()
	}
	pause, idle := s.c.pause(), idlePause
	if s.c.Block.For > 0 {
		idle = readPause
	}
	for ctx.Err() == nil && !s.settled(runner.Now()) {
		now := runner.Now()
		s.hold(now)
		s.readControl(now)
		s.refreshFDB(now)
		n := s.readRing(port.Lossless, now) + s.readRing(port.Other, now)
		s.acknowledge(now)
		if n > len(s.frames)/2 {
			continue
		}
		if n > 0 && !s.asked || s.read.rate > 0 {
			port.Sleep(pause)
			continue
		}
		sleep := idle
		if len(s.owed) > 0 { // for the end of a pause, or for room in the kernel
			sleep = min(idle, readPause)
		}
		if s.poller.Poll(sleep) == port.Failed {
			return fmt.Errorf("%s: the interface went down", s.c.Interface)
		}
	}
	now := runner.Now() // what has come counts
	for left, n := 2*sinkSlots, 1; left > 0 && n > 0; left -= n {
		n = s.readRing(port.Lossless, now) + s.readRing(port.Other, now)
	}
	return nil
}

// A sink lets its rings fill for a while after it has read them, instead of waking up for each frame. With nothing to
// read it sleeps for idlePause. Latencies use the kernel's receive stamps and do not change.
const (
	readPause = 500 * time.Microsecond
	longPause = 2 * time.Millisecond
	idlePause = 10 * time.Millisecond
)

// pause is how long a sink lets its rings fill: until the shortest frames at its speed would fill a quarter, where the
// peer is paused. A sink that blocks, reads at a rate, or answers marks has to be on time.
func (c *SinkConfig) pause() time.Duration {
	if c.Block.For > 0 || c.ReadRate > 0 || c.DCQCN {
		return readPause
	}
	octets := int64(sinkSlots / 4 * frame.WireOctets(minRaw))
	return min(max(readPause, time.Duration(octets*8*int64(time.Second)/macctl.SpeedOrNominal(c.Speed))), longPause)
}

// settled tells whether every expected sender has answers for all its flows and has not asked again, as it does when an
// answer is lost.
func (s *sink) settled(now int64) bool {
	if s.c.Expect == 0 {
		return false
	}
	senders, busy := map[uint64]bool{}, map[uint64]bool{}
	for k, f := range s.flows {
		senders[k.source] = true
		if !f.finished || now-max(s.lastSign(k, f), f.answered) <= int64(settleTime) {
			busy[k.source] = true
		}
	}
	return len(senders)-len(busy) >= s.c.Expect
}

// hold pauses the peer, or not.
func (s *sink) hold(now int64) {
	s.pauser.block(s.blocks(s.c.Block.active(time.Now()), now))
	s.pauser.update(now)
	if s.pauser.holds() {
		s.heldAt = now
	}
}

// blocks tells whether the peer has to be paused while the sink blocks, and has its backlog follow that.
func (s *sink) blocks(active bool, now int64) bool {
	rate := s.c.Block.Rate
	switch {
	case rate == 0 || !active:
		s.backlog.Rate = 0
		return active
	case s.backlog.Rate == 0:
		s.backlog.Start(rate, now)
	}
	s.backlog.Update(now)
	return s.backlog.Full
}

// lastSign returns when the last frame of a flow came, or when the sink last held those that are missing.
func (s *sink) lastSign(k flowKey, f *sinkFlow) int64 {
	if f.received < f.total && s.pauser.mask>>k.priority&1 != 0 {
		return max(f.last, s.heldAt)
	}
	return f.last
}

// readControl reads all received MAC Control frames.
func (s *sink) readControl(now int64) {
	for b, _ := s.port.Control(); b != nil; b, _ = s.port.Control() {
		s.peer.Receive(b, now, now)
		s.port.ControlDone()
	}
}

func (s *sink) readRing(c port.Class, now int64) int {
	n := s.port.Receive(c, s.frames[:s.read.left(now)], 1<<20)
	for i := range n {
		s.backlog.Add(int64(frame.WireOctets(len(s.frames[i].Data))), now)
		s.see(&s.frames[i], now)
	}
	s.port.Release(c, n)
	s.read.used += int64(n)
	return n
}

func (s *sink) see(f *port.Frame, now int64) {
	m, h, err := parse(f.Data)
	if err != nil || h.Dst != s.own && h.Dst != broadcast {
		s.foreign++
		return
	}
	switch m.kind {
	case kindData:
		s.data(&m, &h, f, now)
	case kindHello:
		if len(s.stations) < maxStations {
			s.stations[h.Src] = h
		}
		s.answer(&h, message{kind: kindHelloAck})
	case kindFin:
		s.fin(&m, &h, now)
	}
}

// flow returns the record of a flow, a new one where there is none; nil beyond MaxFlows.
func (s *sink) flow(k flowKey) *sinkFlow {
	if s.last != nil && s.lastKey == k {
		return s.last
	}
	f := s.flows[k]
	if f == nil {
		if len(s.flows) >= MaxFlows {
			s.foreign++
			return nil
		}
		f = &sinkFlow{slots: make([]uint64, s.c.Slots)}
		s.flows[k] = f
	}
	s.last, s.lastKey = f, k
	return f
}

func (s *sink) data(m *message, h *frame.Header, received *port.Frame, now int64) {
	f := s.flow(flowKey{h.Src, m.flow, m.priority})
	if f == nil {
		return
	}
	if frame.CE(received.Data, h.NetOffset, h.EtherType) {
		f.marked++
		if s.c.DCQCN && f.point.Marked(s.interval, now) {
			f.cnps++
			s.notify(h, m)
		}
	}
	stamp := received.Stamp
	m.complete(f.next, stamp)
	f.record(&f.tracker, m.sequence, len(received.Data)+frame.FCSOctets)
	f.count(m.sequence)
	if m.asks && f.owed.Came() {
		dscp, _ := frame.DSCP(received.Data, h.NetOffset, h.EtherType)
		to := addressing{destination: h.Src, tagged: h.Tagged, tci: h.TCI, dscp: dscp}
		s.asked, s.owed = true, append(s.owed, owed{to, m.priority, m.flow, f})
	}
	f.latency.Record(stamp - int64(m.time))
	f.last = now
	if f.stamp != 0 {
		f.recordGap(stamp)
	}
	f.stamp = stamp
	s.received++
	s.first = cmp.Or(s.first, stamp)
	s.final = stamp
	if stamp >= s.from && (s.until == 0 || stamp < s.until) {
		bits := uint64(frame.WireOctets(len(received.Data))) * 8
		f.frames++
		f.bits += bits
		if s.c.Slots > 0 {
			f.slots[s.slot(stamp)] += bits
		}
	}
}

// slot returns the part of the window with a moment in it.
func (s *sink) slot(stamp int64) int64 {
	n := int64(s.c.Slots)
	return max(0, min(n-1, (stamp-s.from)/max(1, (s.until-s.from)/n)))
}

// fin answers a total when all frames have come, or no more come.
func (s *sink) fin(m *message, h *frame.Header, now int64) {
	k := flowKey{h.Src, m.flow, m.priority}
	f := s.flow(k)
	if f == nil {
		return
	}
	f.last = cmp.Or(f.last, now)
	f.total = m.total
	if f.received < m.total && now-s.lastSign(k, f) < int64(settleTime) {
		return
	}
	f.finished, f.answered = true, now
	s.answer(h, message{kind: kindFinAck, priority: m.priority, flow: m.flow, total: m.total, received: f.received,
		reordered: f.reordered, duplicated: f.duplicated})
}

// fdbRefreshPeriod keeps the sink in the filtering databases on the way, which forget a silent station after 300 s
// (802.1Q table 8-6). Frames of a lossless priority to it would then be unknown unicast, which is not carried lossless.
const fdbRefreshPeriod = 30 * time.Second

// maxStations and MaxFlows bound the memory of senders. A flow takes 32 KiB.
const (
	maxStations = 256
	MaxFlows    = 8 * maxStations
)

// refreshFDB sends a frame to each sender, from which the bridges on the way learn the sink's address.
func (s *sink) refreshFDB(now int64) {
	if now-s.fdbRefreshed < int64(fdbRefreshPeriod) {
		return
	}
	s.fdbRefreshed = now
	for _, h := range s.stations {
		s.answer(&h, message{kind: kindHelloAck})
	}
}

// answer sends a message to the sender of a frame, with the same tag.
func (s *sink) answer(h *frame.Header, m message) {
	_ = s.send(addressing{destination: h.Src, tagged: h.Tagged, tci: h.TCI}, m)
}

// notify sends a CNP to the sender of a flow.
func (s *sink) notify(h *frame.Header, m *message) {
	_ = s.send(addressing{destination: h.Src, tagged: h.Tagged, dscp: dcqcn.DSCP,
		tci: frame.MakeTCI(dcqcn.Priority, false, h.TCI.VID())}, message{kind: kindCNP, priority: m.priority,
		flow: m.flow})
}

// An owed acknowledgement is one of a flow, with the tag and the DSCP of its frames.
type owed struct {
	to       addressing
	priority uint8
	number   uint32
	flow     *sinkFlow
}

// acknowledge sends the acknowledgements that are owed, in the priorities of their flows. One waits while it is paused,
// or the kernel does not take it.
func (s *sink) acknowledge(now int64) {
	paused := s.peer.Paused(now)
	s.owed = slices.DeleteFunc(s.owed, func(o owed) bool {
		m := message{kind: kindAck, priority: o.priority, flow: o.number, sequence: o.flow.next}
		if paused>>o.priority&1 != 0 || s.send(o.to, m) != nil {
			return false
		}
		o.flow.owed.Leaves()
		return true
	})
}

func (s *sink) send(e addressing, m message) error {
	s.control++
	e.source, e.octets = s.own, minMessage
	return s.port.SendControl(wrap(e, m))
}

func (s *sink) report() *SinkReport {
	sent := s.pauser.sender.Counters()
	r := &SinkReport{Schema: 1, Interface: s.c.Interface, Address: macString(s.own), Flows: []ReceivedFlow{},
		Window:  max(0, cmp.Or(s.until, s.final)-max(s.first, s.from)), // 0 where the first frame came after it
		Foreign: s.foreign, ReceivedFrames: s.received, Control: s.control,
		RingLossless: s.port.Losses(port.Lossless), RingOther: s.port.Losses(port.Other),
		PFCSent: sent.PFCFrames, PauseSent: sent.PauseFrames, PFCReceived: s.peer.Counters().PFCFrames}
	for k, f := range s.flows {
		r.Flows = append(r.Flows, ReceivedFlow{Source: macString(k.source), Flow: k.flow, Priority: k.priority,
			Finished: f.finished, Sent: f.total, Received: f.received, Lost: f.total - min(f.total, f.received),
			Reordered: f.reordered, Overtaken: f.maxBytes, Duplicated: f.duplicated,
			WindowFrames: f.frames, WindowBits: f.bits, SlotBits: f.slots,
			LongestGap: f.gap, GapFrom: f.gapFrom, Gaps: f.gaps, LastAt: f.stamp, Marked: f.marked, CNPs: f.cnps,
			Latency: Latencies{f.latency.Quantile(.5), f.latency.Quantile(.99), f.latency.Quantile(.999),
				f.latency.Max}})
	}
	slices.SortFunc(r.Flows, func(a, b ReceivedFlow) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Flow, b.Flow))
	})
	return r
}
