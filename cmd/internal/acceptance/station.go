package acceptance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/bpf"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/sched"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// A Station is a host that sends numbered frames and counts those that arrive. It keeps to its speed and obeys the PFC
// or PAUSE of the switch. So no lossless frame may be lost, unless the mode is ModeOff.
type Station struct {
	t       *testing.T
	N       int // number of the host
	port    port.Port
	quit    atomic.Bool
	done    sync.WaitGroup
	speed   int64 // bit/s; 0: as fast as it can
	mode    macctl.Mode
	senders sync.WaitGroup
	sending sync.Mutex  // one sender at a time reads what the switch says
	Forget  atomic.Bool // keeps no list of what arrived
	Pliant  atomic.Bool // obeys both PFC and PAUSE, and also takes untagged numbered frames
	// Reaction is how many octets on the wire a sender still sends after each XOFF. Set it before Send.
	Reaction int64

	Sent     [8]atomic.Uint64 // frames by priority
	Limit    atomic.Uint64    // frames that a stream sends at most; 0: no limit
	Paused   atomic.Uint32    // priorities that the switch holds now
	Controls atomic.Uint64    // MAC Control frames that came
	XoffAt   atomic.Int64     // when the newest XOFF came, by clock
	FreeAt   atomic.Int64     // when the pause ends that it began or renewed

	mu       sync.Mutex // guards what follows
	received map[origin]*Tally
	log      []Arrival
}

// origin is the source of a numbered frame.
type origin struct {
	host int
	prio uint8
}

// Tally counts the frames of one source.
type Tally struct {
	Frames    uint64
	Next      uint64 // number that follows the highest one seen
	Reordered uint64
}

// Arrival is one received frame.
type Arrival struct {
	origin
	Stamp  time.Time
	octets int
	pfc    bool // a MAC Control frame of the switch, not a numbered one
}

// A Stream is what a station sends: tagged frames of one priority.
type Stream struct {
	To     int // number of a host
	Prio   uint8
	Octets int    // of a frame; 0: 1518
	Rate   int64  // bit/s; 0: the station's speed
	Frames uint64 // 0: until it is stopped
}

const (
	NumberedType = 0x88b5 // EtherType of numbered frames: Local Experimental 1
	minNumbered  = 18 + 10
	stationSlots = 16 << 10 // of a ring
)

// Station opens host n and starts counting.
func (r *Rig) Station(n int, mode macctl.Mode, speed int64) *Station {
	r.T.Helper()
	p := assert.Got(port.Open(port.Config{Interface: "eth0", Netns: r.Host(n).Path(), LosslessSlots: stationSlots,
		OtherSlots: 1, FrameSize: 1518, Fanout: OneRing(r.T)})).Must(r.T)
	r.T.Cleanup(func() { // after the station has stopped
		r.closing.Go(func() {
			if err := p.Close(); err != nil {
				r.T.Error(err)
			}
		})
	})
	s := &Station{t: r.T, N: n, port: p, mode: mode, speed: speed, received: map[origin]*Tally{}}
	s.done.Add(1)
	go s.runReceive()
	r.T.Cleanup(s.Stop)
	return s
}

// OneRing steers all frames except MAC Control to the lossless ring.
func OneRing(t *testing.T) []bpf.RawInstruction {
	t.Helper()
	program := assert.Got(bpf.Assemble([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(frame.TypeMACControl), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(port.Lossless)},
		bpf.RetConstant{Val: classify.RingControl},
	})).Must(t)
	return program
}

// Stop ends sending and receiving.
func (s *Station) Stop() {
	s.quit.Store(true)
	s.done.Wait()
}

// runReceive counts the frames that arrive.
func (s *Station) runReceive() {
	defer s.done.Done()
	w, err := port.NewPoller()
	if err != nil {
		s.t.Error(err)
		return
	}
	defer w.Close()
	w.Watch(s.port.Descriptors(nil, port.WorkLossless))
	var frames [64]port.Frame
	for !s.quit.Load() {
		n := s.port.Receive(port.Lossless, frames[:], 1<<20)
		if n == 0 {
			w.Wait(time.Millisecond)
			continue
		}
		s.mu.Lock()
		for _, f := range frames[:n] {
			s.record(f)
		}
		s.mu.Unlock()
		s.port.Release(port.Lossless, n)
	}
}

func (s *Station) record(f port.Frame) {
	b := f.Data
	stamp := time.Unix(0, f.Stamp)
	if binary.BigEndian.Uint16(b[12:]) == macctl.EtherType {
		s.note(Arrival{Stamp: stamp, octets: len(b), pfc: true})
		return
	}
	body := b[14:]
	switch kind := binary.BigEndian.Uint16(b[12:]); {
	case kind == 0x8100 && len(b) >= minNumbered && binary.BigEndian.Uint16(b[16:]) == NumberedType:
		body = b[18:]
	case kind != NumberedType || len(b) < minNumbered || !s.Pliant.Load():
		return
	}
	from, number := origin{int(body[0]), body[1]}, binary.BigEndian.Uint64(body[2:])
	a := s.received[from]
	if a == nil {
		a = &Tally{}
		s.received[from] = a
	}
	a.Frames++
	if number < a.Next {
		a.Reordered++
	} else {
		a.Next = number + 1
	}
	s.note(Arrival{origin: from, Stamp: stamp, octets: len(b)})
}

func (s *Station) note(a Arrival) {
	if !s.Forget.Load() {
		s.log = append(s.log, a)
	}
}

// Send starts streams, after those of the last call. They end by their number of frames, or when the returned function
// is called.
func (s *Station) Send(streams ...Stream) (stop func()) {
	var ended atomic.Bool
	s.done.Add(1)
	s.senders.Add(1)
	go func() {
		defer s.done.Done()
		defer s.senders.Done()
		s.sending.Lock()
		defer s.sending.Unlock()
		s.runSend(streams, &ended)
	}()
	return func() { ended.Store(true); s.senders.Wait() }
}

// sender is the state of runSend.
type sender struct {
	*Station
	receivers []*macctl.Receiver
	shaper    sched.Shaper
	batch     *port.Batch
	start     time.Time
	paused    uint8 // at the last look
	left      int64 // of the reaction to the newest XOFF, octets
}

// receivers are those of the station's mode, or of both modes.
func (s *Station) receivers() (all []*macctl.Receiver) {
	modes := []macctl.Mode{s.mode}
	if s.Pliant.Load() {
		modes = []macctl.Mode{macctl.ModePFC, macctl.ModePause}
	}
	for _, m := range modes {
		all = append(all, macctl.NewReceiver(m, 0xff, s.speed, [6]byte(HostMAC(s.N))))
	}
	return all
}

func (s *Station) runSend(streams []Stream, ended *atomic.Bool) {
	w, err := port.NewPoller()
	if err != nil {
		s.t.Error(err)
		return
	}
	defer w.Close()
	w.Watch(s.port.Descriptors(nil, port.WorkControl))
	o := sender{Station: s, receivers: s.receivers(), batch: port.NewBatch(), start: time.Now()}
	o.shaper.Configure(s.speed, headroom.DefaultBurst(s.speed, 1518), clock())
	frames := make([][]byte, len(streams))
	for i, st := range streams {
		frames[i] = s.Numbered(st)
	}
	for !s.quit.Load() && !ended.Load() {
		busy, through := false, true
		for i, st := range streams {
			through = through && st.Frames > 0 && s.Sent[st.Prio].Load() >= st.Frames
			busy = o.serve(st, frames[i]) || busy
		}
		if through {
			return
		}
		if !busy {
			w.Wait(200 * time.Microsecond)
		}
	}
}

// serve makes one send call for a stream if the stream may send, and returns whether it did.
func (o *sender) serve(st Stream, b []byte) bool {
	before := o.paused
	if o.paused = o.obey(); o.paused&^before != 0 {
		o.left = o.Reaction
	}
	if o.paused&(1<<st.Prio) != 0 {
		return o.react(st, b)
	}
	limit := headroom.SendLimit(o.speed, int64(len(b))) / int64(len(b)+24)
	for n := int64(0); n < max(1, limit); n++ {
		if !o.due(st) {
			return n > 0
		}
		o.put(st, b)
	}
	return true
}

// react sends a frame of the rest of the reaction to XOFF, and returns whether it did.
func (o *sender) react(st Stream, b []byte) bool {
	wire := int64(len(b) + 24)
	if wire > o.left || !o.due(st) {
		return false
	}
	o.put(st, b)
	o.left -= wire
	return true
}

// due tells whether the next frame of a stream may leave now.
func (o *sender) due(st Stream) bool {
	sent, limit := o.Sent[st.Prio].Load(), o.Limit.Load()
	wire := int64(st.length() + 24)
	return (st.Frames == 0 || sent < st.Frames) && (limit == 0 || sent < limit) && o.shaper.Ready(wire, clock()) &&
		(st.Rate == 0 || float64(sent)*float64(wire)*8 <= float64(st.Rate)*time.Since(o.start).Seconds())
}

// put sends one frame, and repeats it if the kernel cannot take it now.
func (o *sender) put(st Stream, b []byte) {
	binary.BigEndian.PutUint64(b[20:], o.Sent[st.Prio].Load())
	o.batch.Reset()
	o.batch.Begin(&complete)
	o.batch.Part(b)
	o.batch.End()
	_, err := o.port.Send(o.batch)
	for errors.Is(err, port.ErrAgain) && !o.quit.Load() {
		_, err = o.port.Send(o.batch)
	}
	if err != nil {
		time.Sleep(time.Millisecond)
		return // the link is down
	}
	o.shaper.Take(int64(len(b) + 24))
	o.Sent[st.Prio].Add(1)
}

// obey reads MAC Control frames and returns the paused priorities.
func (o *sender) obey() uint8 {
	for {
		b, stamp := o.port.Control()
		now := clock()
		if b == nil {
			paused := uint8(0)
			for _, r := range o.receivers {
				paused |= r.Paused(now)
			}
			o.Paused.Store(uint32(paused))
			return paused
		}
		o.Controls.Add(1)
		came := now - (time.Now().UnixNano() - stamp)
		for _, r := range o.receivers {
			r.Receive(b, came, now)
			if r.Paused(came) != 0 {
				o.XoffAt.Store(came)
				o.FreeAt.Store(r.NextExpiry())
			}
		}
		o.port.ControlDone()
	}
}

var (
	epoch    = time.Now().Add(-time.Second) // zero of the stations' clock
	complete frame.VnetHeader               // nothing left to do
)

func clock() int64 { return int64(time.Since(epoch)) }

func (st Stream) length() int {
	if st.Octets == 0 {
		return 1518
	}
	return st.Octets
}

// Numbered is a frame of a stream. Its number is in octets 20 to 27.
func (s *Station) Numbered(st Stream) []byte {
	head := append([]byte{byte(s.N), st.Prio}, make([]byte, 8)...)
	b := Tagged(Ethernet(s.N, st.To, NumberedType, head), 0x8100, uint16(st.Prio)<<13)
	return append(b, make([]byte, max(0, st.length()-len(b)))...)
}

// Finish waits until the station's streams have ended.
func (s *Station) Finish() {
	s.t.Helper()
	through := make(chan struct{})
	go func() { s.senders.Wait(); close(through) }()
	select {
	case <-through:
	case <-time.After(2 * Timeout):
		s.t.Errorf("h%d is not through after %v: paused %08b", s.N, 2*Timeout, s.Paused.Load())
		s.quit.Store(true)
		<-through
	}
}

// Tally returns the counts of the frames of a host with a priority.
func (s *Station) Tally(host int, prio uint8) Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.received[origin{host, prio}]; a != nil {
		return *a
	}
	return Tally{}
}

// Arrivals returns the frames that have arrived since a moment.
func (s *Station) Arrivals(since time.Time) []Arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := slices.BinarySearchFunc(s.log, since, func(a Arrival, t time.Time) int { return a.Stamp.Compare(t) })
	return slices.Clone(s.log[i:])
}

// Whole fails the test unless every frame that from has sent with a priority has arrived, in order.
func (s *Station) Whole(from *Station, prio uint8) {
	s.t.Helper()
	from.Finish()
	sent := from.Sent[prio].Load()
	for deadline := time.Now().Add(Timeout); s.Tally(from.N, prio).Frames < sent && time.Now().Before(deadline); {
		time.Sleep(2 * time.Millisecond)
	}
	if got := s.Tally(from.N, prio); got.Frames != sent || got.Reordered != 0 {
		s.t.Errorf("h%d to h%d, priority %d: sent %d frames, received %d, %d of them late (station's ring lost %d)",
			from.N, s.N, prio, sent, got.Frames, got.Reordered, s.port.Losses(port.Lossless))
	}
	assert.True(s.t, sent != 0, "h%d to h%d, priority %d: nothing was sent, so nothing is shown", from.N, s.N, prio)
}

// Took waits until the switch has received every frame that a station has sent.
func (r *Rig) Took(s *Station) {
	r.T.Helper()
	s.Finish()
	eventually(r.T, fmt.Sprintf("all frames of h%d have come", s.N), func() bool {
		var sent uint64
		for i := range s.Sent {
			sent += s.Sent[i].Load()
		}
		return r.Snapshot(s.N).Counters.ReceivedFrames >= sent
	})
}

// PFC sends XOFF, or XON for 0 quanta, for the priorities in vector.
func (s *Station) PFC(vector uint8, quanta uint16) {
	s.t.Helper()
	var times [8]uint16
	for i := range times {
		times[i] = quanta
	}
	must(s.t, s.port.SendControl(macctl.AppendPFC(nil, [6]byte(HostMAC(s.N)), vector, times)))
}
