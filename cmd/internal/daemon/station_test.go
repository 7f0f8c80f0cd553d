package daemon

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/bpf"

	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/sched"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// A station is a host that sends numbered frames and keeps account of those that come. It keeps its speed and obeys the
// PFC or PAUSE of the switch, so that nothing may be lost that the switch promised to carry, unless its mode is
// ModeOff.
type station struct {
	t       *testing.T
	n       int // number of the host
	port    port.Port
	quit    atomic.Bool
	done    sync.WaitGroup
	speed   int64 // bit/s; 0: as fast as it can
	mode    macctl.Mode
	senders sync.WaitGroup
	// obeys PFC and PAUSE, and takes numbered frames that have lost their tag: whatever the switch is told
	pliant atomic.Bool

	sent     [8]atomic.Uint64 // frames by priority
	paused   atomic.Uint32    // priorities that the switch holds now
	controls atomic.Uint64    // MAC Control frames that came

	mu       sync.Mutex // guards what follows
	received map[origin]*tally
	log      []arrival
}

// origin is where a numbered frame comes from.
type origin struct {
	host int
	prio uint8
}

// tally is what came from one source.
type tally struct {
	frames    uint64
	next      uint64 // number that follows the highest one seen
	reordered uint64
}

// arrival is one received frame.
type arrival struct {
	origin
	stamp  time.Time
	octets int
	pfc    bool // a MAC Control frame of the switch, not a numbered one
}

// A stream is what a station sends: tagged frames of one priority.
type stream struct {
	to     int // number of a host
	prio   uint8
	octets int    // of a frame; 0: 1518
	rate   int64  // bit/s; 0: the station's speed
	frames uint64 // 0: until it is stopped
}

const (
	numbered     = 0x88b5 // EtherType of numbered frames: Local Experimental 1
	minNumbered  = 18 + 10
	stationSlots = 16 << 10
)

// station opens host n, whose account of the frames that come begins.
func (r *rig) station(n int, mode macctl.Mode, speed int64) *station {
	r.t.Helper()
	p, err := port.Open(port.Config{Interface: "eth0", Netns: r.host(n).Path(), LosslessSlots: stationSlots,
		OtherSlots: 1, FrameSize: 1518, Fanout: oneRing(r.t)})
	must(r.t, err)
	r.t.Cleanup(func() { // after the station has stopped
		r.closing.Go(func() {
			if err := p.Close(); err != nil {
				r.t.Error(err)
			}
		})
	})
	return newStation(r.t, n, p, mode, speed)
}

// oneRing steers all frames but MAC Control to the lossless ring.
func oneRing(t *testing.T) []bpf.RawInstruction {
	t.Helper()
	program, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(frame.TypeMACControl), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(port.Lossless)},
		bpf.RetConstant{Val: classify.RingControl},
	})
	must(t, err)
	return program
}

// newStation makes a station of host n's end of its link, which is not to be closed before the station has stopped.
func newStation(t *testing.T, n int, p port.Port, mode macctl.Mode, speed int64) *station {
	s := &station{t: t, n: n, port: p, mode: mode, speed: speed, received: map[origin]*tally{}}
	s.done.Add(1)
	go s.runReceive()
	t.Cleanup(s.stop)
	return s
}

// stop ends sending and receiving.
func (s *station) stop() {
	s.quit.Store(true)
	s.done.Wait()
}

// runReceive keeps account of what comes.
func (s *station) runReceive() {
	defer s.done.Done()
	w, err := port.NewWaiter()
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
			s.take(f)
		}
		s.mu.Unlock()
		s.port.Release(port.Lossless, n)
	}
}

func (s *station) take(f port.Frame) {
	b := f.Data
	stamp := time.Unix(0, f.Stamp)
	if binary.BigEndian.Uint16(b[12:]) == macctl.EtherType {
		s.log = append(s.log, arrival{stamp: stamp, octets: len(b), pfc: true})
		return
	}
	body := b[14:]
	switch kind := binary.BigEndian.Uint16(b[12:]); {
	case kind == 0x8100 && len(b) >= minNumbered && binary.BigEndian.Uint16(b[16:]) == numbered:
		body = b[18:]
	case kind != numbered || len(b) < minNumbered || !s.pliant.Load():
		return
	}
	from, number := origin{int(body[0]), body[1]}, binary.BigEndian.Uint64(body[2:])
	a := s.received[from]
	if a == nil {
		a = &tally{}
		s.received[from] = a
	}
	a.frames++
	if number < a.next {
		a.reordered++
	} else {
		a.next = number + 1
	}
	s.log = append(s.log, arrival{origin: from, stamp: stamp, octets: len(b)})
}

// send starts sending streams until they are through, or until the returned function is called.
func (s *station) send(streams ...stream) (stop func()) {
	var ended atomic.Bool
	s.done.Add(1)
	s.senders.Add(1)
	go func() {
		defer s.done.Done()
		defer s.senders.Done()
		s.runSend(streams, &ended)
	}()
	return func() { ended.Store(true); s.senders.Wait() }
}

// sender is what runSend works with.
type sender struct {
	*station
	receivers []*macctl.Receiver
	shaper    sched.Shaper
	batch     *port.Batch
	start     time.Time
}

// receivers are those of the station's mode, or of both.
func (s *station) receivers() (all []*macctl.Receiver) {
	modes := []macctl.Mode{s.mode}
	if s.pliant.Load() {
		modes = []macctl.Mode{macctl.ModePFC, macctl.ModePause}
	}
	for _, m := range modes {
		all = append(all, macctl.NewReceiver(m, 0xff, s.speed, [6]byte(hostMAC(s.n))))
	}
	return all
}

func (s *station) runSend(streams []stream, ended *atomic.Bool) {
	w, err := port.NewWaiter()
	if err != nil {
		s.t.Error(err)
		return
	}
	defer w.Close()
	w.Watch(s.port.Descriptors(nil, port.WorkControl))
	o := sender{station: s, receivers: s.receivers(), batch: port.NewBatch(), start: time.Now()}
	o.shaper.Configure(s.speed, headroom.DefaultBurst(s.speed, 1518), clock())
	frames := make([][]byte, len(streams))
	for i, st := range streams {
		frames[i] = s.numbered(st)
	}
	for !s.quit.Load() && !ended.Load() {
		busy, through := false, true
		for i, st := range streams {
			through = through && st.frames > 0 && s.sent[st.prio].Load() >= st.frames
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

// serve makes one send call for a stream, if it may, and returns whether it did.
func (o *sender) serve(st stream, b []byte) bool {
	if o.obey()&(1<<st.prio) != 0 {
		return false
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

// due tells whether a stream's next frame may go now.
func (o *sender) due(st stream) bool {
	sent := o.sent[st.prio].Load()
	wire := int64(st.length() + 24)
	return (st.frames == 0 || sent < st.frames) && o.shaper.Ready(wire, clock()) &&
		(st.rate == 0 || float64(sent)*float64(wire)*8 <= float64(st.rate)*time.Since(o.start).Seconds())
}

// put sends one frame. What the kernel cannot take now it is given again: it was not lost.
func (o *sender) put(st stream, b []byte) {
	binary.BigEndian.PutUint64(b[20:], o.sent[st.prio].Load())
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
	o.sent[st.prio].Add(1)
}

// obey reads what the switch has to say and returns the priorities that must not be sent.
func (o *sender) obey() uint8 {
	for {
		b, stamp := o.port.Control()
		now := clock()
		if b == nil {
			paused := uint8(0)
			for _, r := range o.receivers {
				paused |= r.Paused(now)
			}
			o.paused.Store(uint32(paused))
			return paused
		}
		o.controls.Add(1)
		for _, r := range o.receivers {
			r.Receive(b, now-(time.Now().UnixNano()-stamp), now)
		}
		o.port.ControlDone()
	}
}

var (
	epoch    = time.Now().Add(-time.Second) // zero of the stations' clock
	complete frame.VnetHeader               // nothing left to do
)

func clock() int64 { return int64(time.Since(epoch)) }

func (st stream) length() int {
	if st.octets == 0 {
		return 1518
	}
	return st.octets
}

// numbered is a frame of a stream. Its number stands in octets 20 to 27.
func (s *station) numbered(st stream) []byte {
	head := append([]byte{byte(s.n), st.prio}, make([]byte, 8)...)
	b := tagged(ethernet(s.n, st.to, numbered, head), 0x8100, uint16(st.prio)<<13)
	return append(b, make([]byte, max(0, st.length()-len(b)))...)
}

// finish waits until the streams that the station sends are through.
func (s *station) finish() {
	s.t.Helper()
	through := make(chan struct{})
	go func() { s.senders.Wait(); close(through) }()
	select {
	case <-through:
	case <-time.After(2 * testTimeout):
		s.t.Errorf("h%d is not through after %v: paused %08b", s.n, 2*testTimeout, s.paused.Load())
		s.quit.Store(true)
		<-through
	}
}

// tally returns the account of what came from a host with a priority.
func (s *station) tally(host int, prio uint8) tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.received[origin{host, prio}]; a != nil {
		return *a
	}
	return tally{}
}

// arrivals returns what has come since a moment.
func (s *station) arrivals(since time.Time) []arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := slices.BinarySearchFunc(s.log, since, func(a arrival, t time.Time) int { return a.stamp.Compare(t) })
	return slices.Clone(s.log[i:])
}

// whole fails the test where not every frame that from has sent with a priority has come, in order.
func (s *station) whole(from *station, prio uint8) {
	s.t.Helper()
	from.finish()
	sent := from.sent[prio].Load()
	for deadline := time.Now().Add(testTimeout); s.tally(from.n, prio).frames < sent && time.Now().Before(deadline); {
		time.Sleep(2 * time.Millisecond)
	}
	if got := s.tally(from.n, prio); got.frames != sent || got.reordered != 0 {
		s.t.Errorf("h%d to h%d, priority %d: sent %d frames, received %d, %d of them late (station's ring lost %d)",
			from.n, s.n, prio, sent, got.frames, got.reordered, s.port.Losses(port.Lossless))
	}
	if sent == 0 {
		s.t.Errorf("h%d to h%d, priority %d: nothing was sent, so nothing is shown", from.n, s.n, prio)
	}
}
