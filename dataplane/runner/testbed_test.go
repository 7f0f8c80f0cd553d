package runner

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/macctl"
)

// An executor is a way to share ports among goroutines.
type executor struct {
	name    string
	cpus    int // as many are thought to be there: one less works
	perPort bool
}

var executors = []executor{{name: "one worker", cpus: 2}, {name: "three workers", cpus: 4}, {name: "per port",
	cpus: 2, perPort: true}}

// forExecutors runs a test under each of them.
func forExecutors(t *testing.T, f func(t *testing.T, e executor)) {
	for _, e := range executors {
		t.Run(e.name, func(t *testing.T) { f(t, e) })
	}
}

// A testbed is a Runner whose ports are joined with stations by links in memory.
type testbed struct {
	t           *testing.T
	r           *Runner
	cfg         dataplane.Config
	ports       map[int]dataplane.PortConfig
	statics     []dataplane.Static
	stations    []*station
	losesFrames bool // ports are removed, and their counters are out of sight until they come back, or frames are lost
}

// wallClock is the clock of receive stamps.
func wallClock() int64 { return time.Now().UnixNano() }

// byPriority is the steering of testPort.
func byPriority(b []byte) port.Class {
	if h, ok := frame.Parse(b); ok && h.Tagged && h.TCI.PCP() == lossless {
		return port.Lossless
	}
	return port.Other
}

// roomy is a configuration in which n ports seldom fill the buffer.
func roomy(n int) dataplane.Config {
	cfg := testConfig(n)
	cfg.Buffer.Lossless.Size += 1 << 20
	cfg.Buffer.Lossy.Size = 16 << 20
	return cfg
}

// newTestbed starts a Runner whose ports are up.
func newTestbed(t *testing.T, e executor, cfg dataplane.Config, ports ...dataplane.PortConfig) *testbed {
	t.Helper()
	r := assert.Got(New(cfg, Options{PerPort: e.perPort})).Must(t)
	r.cpus = e.cpus
	l := &testbed{t: t, r: r, cfg: cfg, ports: asMap(ports...)}
	t.Cleanup(func() { assert.NoError(t, r.Close(), "Close") })
	for i := range ports {
		l.statics = append(l.statics, dataplane.Static{MAC: host(i), VID: 1, Port: i})
		l.stations = append(l.stations, &station{l: l, id: i})
	}
	l.must(r.Configure(cfg, l.ports, l.statics))
	for i := range ports {
		l.attach(i, nil)
	}
	return l
}

// snapshot returns the state of the switch.
func (l *testbed) snapshot() *dataplane.Snapshot {
	v := new(dataplane.Snapshot)
	l.r.Snapshot(v)
	return v
}

func (l *testbed) snapshotOf(i int) *dataplane.PortSnapshot { return &l.snapshot().Ports[i] }

func (l *testbed) must(err error) {
	l.t.Helper()
	assert.Must(l.t, err)
}

// attach joins port i with its station by a new link; wrap, if it is not nil, is put around the switch's end.
func (l *testbed) attach(i int, wrap func(*porttest.End) port.Port) {
	l.t.Helper()
	near, far, err := porttest.Pair(porttest.Options{Now: wallClock, Slots: 8192, Classify: byPriority})
	l.must(err)
	l.t.Cleanup(func() { _ = far.Close() })
	var p port.Port = near
	if wrap != nil {
		p = wrap(near)
	}
	l.must(errors.Join(l.r.Attach(Attachment{Index: i, Port: p, MAC: testPort(i).MAC})...))
	l.must(l.r.SetUp(i, true))
	l.stations[i].link(near, far)
}

// patience is how long a test waits for what must happen. Only a test that fails waits that long.
const patience = 30 * time.Second

// eventually waits for a condition.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%s: not after %v\n%s", what, patience, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// balanced fails unless all frames are accounted for and no lossless one was lost.
func (l *testbed) balanced() *dataplane.Snapshot {
	l.t.Helper()
	v := l.snapshot()
	a := v.Balance()
	assert.True(l.t, (l.losesFrames || a.Received+a.Copies == a.Sent+a.Dropped+a.Held) && v.Buffer.Unbalanced == 0,
		"accounts %+v, unbalanced %d", a, v.Buffer.Unbalanced)
	assert.Equal(l.t, faults(v), 0, "lossless frames lost")
	return v
}

// empties waits until nothing is in the rings and nothing is held, and then compares the accounts.
func (l *testbed) empties() *dataplane.Snapshot {
	l.t.Helper()
	eventually(l.t, "the switch empties", func() bool {
		for _, s := range l.stations {
			if near := s.near.Load(); near.Backlog(port.Other).Frames+near.Backlog(port.Lossless).Frames > 0 {
				return false
			}
		}
		return l.snapshot().Balance().Held == 0
	})
	l.must(l.r.Do(func(sw *dataplane.Switch) error {
		if cells, descriptors := sw.InUse(); cells+descriptors != 0 {
			return fmt.Errorf("%d cells and %d descriptors are in use", cells, descriptors)
		}
		return nil
	}))
	return l.balanced()
}

// A station is a host at the far end of a link. It obeys PFC.
type station struct {
	l    *testbed
	id   int
	near atomic.Pointer[porttest.End]
	far  atomic.Pointer[porttest.End]

	mu            sync.Mutex
	receiver      *macctl.Receiver
	todo          [][]byte
	got           map[uint64][]int // sequence numbers by sender and priority
	holdsAtRandom bool             // holds the switch now and then
	batch         *port.Batch
}

func (s *station) link(near, far *porttest.End) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Changes make ports slower, so that a pause lasts longer.
	speed := min(gigabit, macctl.SpeedOrNominal(s.l.ports[s.id].Speed))
	s.receiver = macctl.NewReceiver(macctl.ModePFC, 0xff, speed, [6]byte{})
	s.batch = port.NewBatch()
	if s.got == nil {
		s.got = map[uint64][]int{}
	}
	s.near.Store(near)
	s.far.Store(far)
}

// send gives frames to the link at once.
func (s *station) send(frames ...[]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.give(frames)
}

func (s *station) give(frames [][]byte) {
	for len(frames) > 0 {
		s.batch.Reset()
		n := min(len(frames), port.BatchFrames)
		for _, b := range frames[:n] {
			s.batch.Begin(&frame.VnetHeader{})
			s.batch.Part(b)
			s.batch.End()
		}
		_, _ = s.far.Load().Send(s.batch)
		frames = frames[n:]
	}
}

func (s *station) hold(quanta uint16) { _ = s.far.Load().SendControl(pfc(lossless, quanta)) }

// stop holds priority lossless and waits until the switch obeys.
func (s *station) stop() {
	s.l.t.Helper()
	eventually(s.l.t, "PFC is read", func() bool {
		s.hold(0xffff) // again where the pause has ended before it was seen
		return s.l.snapshotOf(s.id).Paused == 1<<lossless
	})
}

// step receives what has come and sends some of what it may, and tells whether all is sent.
func (s *station) step() (done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive()
	if s.holdsAtRandom {
		switch rand.IntN(200) {
		case 0:
			s.hold(0xffff)
		case 1, 2, 3:
			s.hold(0)
		}
	}
	paused := s.receiver.Paused(Now())
	var now [][]byte
	for len(s.todo) > 0 && len(now) < 16 {
		if h, _ := frame.Parse(s.todo[0]); paused>>h.TCI.PCP()&1 == 1 {
			break
		}
		now = append(now, s.todo[0])
		s.todo = s.todo[1:]
	}
	s.give(now)
	return len(s.todo) == 0
}

// receive takes control frames and data.
func (s *station) receive() {
	far := s.far.Load()
	for b, _ := far.Control(); b != nil; b, _ = far.Control() {
		s.receiver.Receive(b, Now(), Now())
		far.ControlDone()
	}
	var frames [64]port.Frame
	for c := range port.NumClasses {
		n := far.Receive(c, frames[:], 1<<20)
		for i := range n {
			h, _ := frame.Parse(frames[i].Data)
			key := h.Src<<3 | uint64(h.TCI.PCP())
			s.got[key] = append(s.got[key], sequence(frames[i].Data))
		}
		far.Release(c, n)
	}
}

// received returns the sequence numbers that came from a host.
func (s *station) received(from int, prio uint8) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive()
	return append([]int(nil), s.got[host(from)<<3|uint64(prio)]...)
}

// await sleeps until a lossless frame comes, and takes what has come.
func (s *station) await() {
	s.l.t.Helper()
	poll := []unix.PollFd{{Fd: s.far.Load().Descriptors(nil, port.WorkLossless)[0], Events: unix.POLLIN}}
	for n := 0; n == 0; {
		var err error
		n, err = unix.Poll(poll, int(patience.Milliseconds()))
		assert.MustBeTrue(s.l.t, n != 0 || err != nil, "station %d: no frame in %v: a wake-up was lost", s.id, patience)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive()
	clear(s.got)
}

// paused returns the priorities that the switch holds here.
func (s *station) paused() uint8 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive()
	return s.receiver.Paused(Now())
}

// live lets the stations work until all have sent what they have and until says that it is enough.
func (l *testbed) live(until func() bool) {
	l.t.Helper()
	deadline := time.Now().Add(patience)
	var wg sync.WaitGroup
	for _, s := range l.stations {
		wg.Go(func() {
			for !s.step() || !until() {
				if time.Now().After(deadline) {
					l.t.Errorf("station %d: %d frames are still to be sent after %v", s.id, len(s.todo), patience)
					return
				}
				if rand.IntN(4) == 0 {
					time.Sleep(time.Duration(rand.IntN(150)) * time.Microsecond)
				}
			}
			s.mu.Lock()
			s.holdsAtRandom = false
			s.hold(0)
			s.mu.Unlock()
		})
	}
	wg.Wait()
}
