package traffic

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/ack"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

// A Flow is the load of a sender in one priority.
type Flow struct {
	Priority uint8
	Octets   int // frame without FCS, with its tag
	Large    int // octets of each Every-th frame; 0: all frames have Octets
	Every    int
	Rate     int64  // bit/s on the wire; 0: as much as the port lets through
	Count    uint64 // frames that it sends in all; 0: any number
	DCQCN    bool   // it obeys the CNPs of its sink
	Window   uint64 // frames on their way without an acknowledgement at most; 0: any number
	Weight   int    // share of the port among the priorities that have frames: that of the first flow of a priority

	To    uint64        // address of its sink; 0: that of the sender
	After time.Duration // since the load began, when its first frame may go
	Lasts time.Duration // from then on, until its last frame may go; 0: until the load ends

	Shape
}

// length returns the octets of the frame of a flow that has a sequence number.
func (f *Flow) length(sequence uint64) int {
	if f.Replay != nil {
		return len(f.Replay.frame(sequence))
	}
	if f.Every > 0 && (sequence+1)%uint64(f.Every) == 0 {
		return f.Large
	}
	return f.Octets
}

// longest returns the octets of the flow's longest frame.
func (f *Flow) longest() int {
	if f.Replay != nil {
		return f.Replay.longest
	}
	return max(f.Octets, f.Large)
}

// wire returns the octets on the wire of the frame with a sequence number.
func (f *Flow) wire(sequence uint64) int64 { return int64(frame.WireOctets(f.length(sequence))) }

// A source decides which frames a sender sends next. It has a queue for each priority, whose flows, saturated or fed at
// a rate, take turns; then weighted round robin and the port's shaper. Frames are built when they are sent. Sequence
// numbers advance only by the frames that the kernel took, so a refused frame is built again unchanged.
type source struct {
	queues   [sched.NumQueues]queue
	octets   [sched.NumQueues]int64 // of the next frame of each queue, on the wire
	sched    sched.Config
	round    sched.State
	shaper   sched.Shaper
	receiver *macctl.Receiver
	limit    int64 // octets of a send call beyond its first frame
	burst    int64

	plan struct {
		n         int
		queues    [port.BatchFrames]uint8
		flows     [port.BatchFrames]*flowState
		turns     [port.BatchFrames]int // of the flow in its queue
		sequences [port.BatchFrames]uint64
		rounds    [port.BatchFrames]sched.State
	}
	blocked     int64 // ns in which pauses held all that there was to send
	blockedFrom int64
	controlled  bool  // a flow obeys what its sink says
	windowed    bool  // by acknowledgements, for which it waits
	retry       int64 // next look, where nothing can go
	maxFrames   int   // frames of the next send call

	frames [port.BatchFrames][]byte // one for each place in a batch
}

// A queue has the flows of one priority, which take turns.
type queue struct {
	flows []*flowState // that have not ended, by the time at which they begin
	begun int          // how many of them have
	turn  int
	head  *flowState // the flow that sends next, after the planned frames; nil where none has a frame
	at    int        // its place
}

// look finds the head, from a place on.
func (u *queue) look(from int, now int64) {
	u.head = nil
	for k := range u.begun {
		u.at = (from + k) % u.begun
		if f := u.flows[u.at]; f.due(now) <= now {
			u.head = f
			return
		}
	}
}

// update has flows begin whose time has come, and forgets those that have ended. It returns when the next begins.
func (u *queue) update(now int64) (next int64) {
	for i := 0; i < u.begun; {
		if !u.flows[i].ended(now) {
			i++
			continue
		}
		u.flows = slices.Delete(u.flows, i, i+1)
		if u.begun--; u.turn > i { // the turn stays at the same flow
			u.turn--
		}
	}
	for ; u.begun < len(u.flows); u.begun++ {
		if next = u.flows[u.begun].from; next > now {
			return next
		}
	}
	return math.MaxInt64
}

type flowState struct {
	Flow
	id       uint32
	from     int64 // ns, when the first frame may go
	until    int64 // ns, from which on none may; 0: no end
	sent     uint64
	octets   uint64 // of the frames that were sent
	planned  uint64 // frames of the next send call
	metered  int64  // octets of these on the wire
	meter    sched.Shaper
	burst    int64    // ns, from which on the meter counts: the start, or that of the last burst
	head     []byte   // of its frames: all that is not zero
	large    []byte   // likewise, of those with the other length
	at       int      // of the message in a frame
	control  *control // of DCQCN; nil: none
	acks     ack.Sender
	arrivals arrivals // with Poisson
}

// newFlow makes the heads of a flow's frames, all with the addresses and the tag of e.
func newFlow(f Flow, e addressing) *flowState {
	st := &flowState{Flow: f, id: rand.Uint32(), at: e.messageAt(), acks: ack.Sender{Window: f.Window}}
	if f.Replay != nil {
		return st
	}
	m := message{kind: kindData, asks: f.Window > 0, priority: f.Priority, flow: st.id}
	e.octets = f.Octets
	st.head = e.head(m)
	if e.octets = f.Large; f.Every > 0 {
		st.large = e.head(m)
	}
	return st
}

// maxCatchUp is the time whose frames a flow with a rate may send at once after a late wake-up. A sleep of minimumSleep
// takes less on a busy machine.
const maxCatchUp = 2 * time.Millisecond

// start begins the load at now. It lets the first frame of a flow with a rate go at the flow's start, and each further
// one when it is due. speed is that of the port, in bit/s.
func (f *flowState) start(speed, now int64) {
	if f.from = now + int64(f.After); f.Lasts > 0 {
		f.until = f.from + int64(f.Lasts)
	}
	if f.DCQCN {
		f.startControl(speed)
	}
	f.fillMeter(f.from)
}

// fillMeter has the meter begin with one frame. With Poisson there is none.
func (f *flowState) fillMeter(now int64) {
	rate := f.Rate
	switch {
	case f.control != nil:
		rate = f.control.rate
	case f.Poisson:
		rate = 0
	}
	f.burst, f.meter = now, sched.Shaper{}
	f.meter.Configure(rate, f.depth(rate), now)
	f.meter.Take(f.depth(rate) - int64(frame.WireOctets(f.longest())))
}

// depth returns the octets on the wire that the flow may send at once at a rate.
func (f *flowState) depth(rate int64) int64 {
	return max(2*int64(frame.WireOctets(f.longest())), rate/8*int64(maxCatchUp/time.Microsecond)/1_000_000)
}

// ended tells whether the flow sends nothing more.
func (f *flowState) ended(now int64) bool {
	return f.until != 0 && now >= f.until || f.Count > 0 && f.sent >= f.Count
}

// due returns when the frame after the planned ones may go, at now or later.
func (f *flowState) due(now int64) int64 {
	if !f.acks.Open(f.sent + f.planned) {
		return math.MaxInt64
	}
	if at, decided := f.shapedDue(now); decided {
		return at
	}
	switch {
	case f.until != 0 && now >= f.until:
		return math.MaxInt64
	case now < f.from:
		return f.from
	case f.Rate == 0 && f.control == nil:
		return now
	}
	at := f.meter.When(f.metered+f.wire(f.sent+f.planned), now)
	if f.control != nil {
		at = min(at, f.control.point.Next()) // the rate rises then
	}
	return at
}

// newSource returns a source of flows that sends at speed bit/s (0: no limit) with bursts of burst octets.
func newSource(c *SendConfig, flows []*flowState, own [6]byte, now int64) *source {
	s := &source{maxFrames: port.BatchFrames, burst: c.burst(),
		limit: dataplane.SendLimit(macctl.SpeedOrNominal(c.Speed))}
	var queues [sched.NumQueues]sched.Queue
	longest := 0
	for _, f := range flows {
		u := &s.queues[f.Priority]
		if u.flows = append(u.flows, f); len(u.flows) == 1 {
			queues[f.Priority].Weight = f.Weight
		}
		longest = max(longest, f.longest())
		f.start(c.Speed, now)
		s.windowed = s.windowed || f.Window > 0
		s.controlled = s.controlled || s.windowed || f.DCQCN
	}
	for q := range s.queues {
		slices.SortStableFunc(s.queues[q].flows, func(a, b *flowState) int { return cmp.Compare(a.After, b.After) })
	}
	for i := range s.frames {
		s.frames[i] = make([]byte, longest)
	}
	s.sched = sched.NewConfig(queues, frame.WireOctets(longest))
	s.shaper.Configure(c.Speed, c.burst(), now)
	s.receiver = macctl.NewReceiver(mode(c.FlowControl), c.Lossless, c.Speed, own)
	return s
}

// next plans a send call at time now and returns the number of its frames.
func (s *source) next(now int64) int {
	s.plan.n, s.retry = 0, math.MaxInt64
	waiting := s.waiting(now)
	ready := waiting &^ s.receiver.Paused(now)
	s.account(waiting, ready, now)
	if ready == 0 {
		s.retry = min(s.retry, s.receiver.NextExpiry())
		return 0
	}
	round := s.round
	var octets int64
	heads := s.octets
	for s.plan.n < s.maxFrames {
		q := s.sched.Pick(&round, waiting, ready, &heads)
		octets += heads[q]
		if s.plan.n > 0 && octets > s.limit {
			break
		}
		if !s.shaper.Ready(octets, now) {
			if s.plan.n == 0 {
				s.retry = s.shaper.When(max(octets, sched.Quantum(s.burst)), now)
			}
			break
		}
		u, i := &s.queues[q], s.plan.n
		f := u.head
		s.plan.queues[i], s.plan.rounds[i], s.plan.flows[i], s.plan.turns[i] = uint8(q), round, f, u.at
		s.plan.sequences[i] = f.sent + f.planned
		s.plan.n++
		f.metered += heads[q]
		f.planned++
		if u.look(u.at+1, now); u.head != nil {
			heads[q] = u.head.wire(u.head.sent + u.head.planned)
			continue
		}
		waiting &^= 1 << q
		if ready &^= 1 << q; ready == 0 {
			break
		}
	}
	return s.plan.n
}

// waiting returns the priorities that have a frame to send.
func (s *source) waiting(now int64) (w uint8) {
	for q := range s.queues {
		u := &s.queues[q]
		s.retry = min(s.retry, u.update(now))
		for _, f := range u.flows[:u.begun] {
			f.planned, f.metered = 0, 0
			f.advance(now)
			if due := f.due(now); due > now {
				s.retry = min(s.retry, due)
			}
		}
		if u.look(u.turn, now); u.head != nil {
			w |= 1 << q
			s.octets[q] = u.head.wire(u.head.sent)
		}
	}
	return w
}

// account measures the time in which pauses stop everything. That time earns no tokens.
func (s *source) account(waiting, ready uint8, now int64) {
	held := waiting != 0 && ready == 0
	switch {
	case held && s.blockedFrom == 0:
		s.blockedFrom = now
		s.shaper.Stop(now)
	case !held && s.blockedFrom != 0:
		since := s.freeSince(ready, now)
		s.blocked += since - s.blockedFrom
		s.blockedFrom = 0
		s.shaper.Start(since, now)
	}
}

// held tells whether a pause stopped every waiting frame at the last call of next.
func (s *source) held() bool { return s.blockedFrom != 0 }

// freeSince returns when the pause of everything ended, which may be before now.
func (s *source) freeSince(ready uint8, now int64) int64 {
	since := now
	for q := range uint8(sched.NumQueues) {
		if ready&(1<<q) != 0 {
			since = min(since, s.receiver.FreeSince(q))
		}
	}
	return max(since, s.blockedFrom)
}

// A pausedTime is how long the peer has paused each priority by PFC, and all by PAUSE, in ns.
type pausedTime struct {
	each [sched.NumQueues]int64
	all  int64
}

func (s *source) pausedTime(now int64) pausedTime {
	t := pausedTime{all: s.receiver.PausedTime(macctl.WholePort, now)}
	for q := range t.each {
		t.each[q] = s.receiver.PausedTime(uint8(q), now)
	}
	return t
}

func (t pausedTime) since(from pausedTime) pausedTime {
	t.all -= from.all
	for q := range t.each {
		t.each[q] -= from.each[q]
	}
	return t
}

// fill makes the planned frames, all with the time of sending wall.
func (s *source) fill(b *port.Batch, wall int64) {
	var none frame.VnetHeader
	for i := range s.plan.n {
		b.Begin(&none)
		b.Part(s.plan.flows[i].frame(s.frames[i], s.plan.sequences[i], wall))
		b.End()
	}
}

// frame makes the frame with a sequence number in b, of which no head has touched what follows the message.
func (f *flowState) frame(b []byte, sequence uint64, wall int64) []byte {
	if f.Replay != nil {
		return f.Replay.frame(sequence)
	}
	b = b[:f.length(sequence)]
	head := f.head
	if len(b) != f.Octets {
		head = f.large
	}
	copy(b, head)
	putNumber(b[f.at:], sequence, wall)
	return b
}

// sent confirms that the first n planned frames left.
func (s *source) sent(n int) {
	for i, f := range s.plan.flows[:n] {
		wire := f.wire(f.sent)
		s.shaper.Take(wire)
		f.meter.Take(wire)
		f.arrivals.arrived()
		f.octets += uint64(f.length(f.sent))
		if f.control != nil {
			f.control.point.Sent(int64(f.length(f.sent)))
		}
		f.sent++
		s.queues[f.Priority].turn = s.plan.turns[i] + 1
	}
	if n > 0 {
		s.round = s.plan.rounds[n-1]
	}
	s.plan.n = 0
}
