// Package porttest is a pair of in-memory ports: what one end sends, the other receives, at a settable speed and delay.
// It lets the data plane run in a test without sockets. Beside it: Socket, a host's end of a real link, and frames.
package porttest

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// Options of a pair.
type Options struct {
	Now   func() int64 // clock of the link, ns; also the receive stamps
	Speed int64        // bit/s in each direction, 0 is no limit
	Delay int64        // ns in each direction
	Slots int          // slots of each data ring
	// Classify picks the ring that a frame lands in; nil is Other for all.
	Classify func(b []byte) port.Class
}

// control is the number of the MAC Control ring, behind those of the data rings.
const (
	control  = int(port.NumClasses)
	numRings = control + 1
)

// End is one end of the pair.
type End struct {
	o    Options
	peer *End

	mu     sync.Mutex
	rings  [numRings]ring
	busy   int64 // until when the link towards this end is busy
	refuse func() error
	closed bool
}

var _ port.Port = (*End)(nil)

type received struct {
	data []byte
	vnet frame.VnetHeader
	at   int64
}

// ring is a receive ring: frames of which the first taken were received and not released. As with the kernel's, its
// descriptor is readable while there is a frame in it; here also while one is on its way.
type ring struct {
	frames   []received
	taken    int
	lost     uint64
	event    int
	readable bool
}

// Pair returns the two ends of a link.
func Pair(o Options) (a, b *End, err error) {
	a, b = &End{o: o}, &End{o: o}
	a.peer, b.peer = b, a
	for _, e := range []*End{a, b} {
		for i := range e.rings {
			if e.rings[i].event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
				return nil, nil, err
			}
		}
	}
	return a, b, nil
}

// Refuse makes f decide on each frame that is sent at this end. If f returns an error, Send or SendControl returns that
// error, and the frame does not leave. A nil f lets all frames pass.
func (e *End) Refuse(f func() error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refuse = f
}

// ready counts the frames of the ring that have arrived.
func (r *ring) ready(now int64) int {
	n := 0
	for n < len(r.frames) && r.frames[n].at <= now {
		n++
	}
	return n
}

// follow makes the descriptor say whether the ring holds frames.
func (r *ring) follow() {
	holds := len(r.frames) > 0
	if holds == r.readable {
		return
	}
	r.readable = holds
	var b [8]byte
	if holds {
		binary.NativeEndian.PutUint64(b[:], 1)
		_, _ = unix.Write(r.event, b[:])
	} else {
		_, _ = unix.Read(r.event, b[:])
	}
}

// release forgets the n oldest frames.
func (r *ring) release(n int) {
	clear(r.frames[:n])
	r.frames = r.frames[n:]
	r.taken = max(0, r.taken-n)
	r.follow()
}

// Receive implements port.Port.
func (e *End) Receive(c port.Class, dst []port.Frame, maxBytes int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, n := &e.rings[c], 0
	for ready := r.ready(e.o.Now()); n < len(dst) && r.taken < ready && maxBytes > 0; n++ {
		f := &r.frames[r.taken]
		dst[n] = port.Frame{Data: f.data, Vnet: f.vnet, Stamp: f.at}
		maxBytes -= len(f.data)
		r.taken++
	}
	return n
}

// QueueBudget implements port.Port.
func (e *End) QueueBudget() int { return math.MaxInt }

// Release implements port.Port.
func (e *End) Release(c port.Class, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rings[c].release(n)
}

// Rewind implements port.Port.
func (e *End) Rewind(c port.Class) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rings[c].taken = 0
}

// BacklogExceeds implements port.Port.
func (e *End) BacklogExceeds(c port.Class, n int) bool { return e.Backlog(c).Frames > n }

// Backlog implements port.Port.
func (e *End) Backlog(c port.Class) port.Backlog {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, octets := e.rings[c].ready(e.o.Now()), 0
	for _, f := range e.rings[c].frames[:n] {
		octets += len(f.data)
	}
	return port.Backlog{Frames: n, Octets: octets, Fill: float64(n) / float64(e.o.Slots)}
}

// Slots implements port.Port.
func (e *End) Slots(port.Class) port.Slots { return port.Slots{Full: e.o.Slots} }

// Octets implements port.Port: as if each slot were of slotOctets.
func (e *End) Octets(port.Class) int { return e.o.Slots * slotOctets }

const slotOctets = 2048

// Control implements port.Port.
func (e *End) Control() ([]byte, int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := &e.rings[control]
	if r.ready(e.o.Now()) == 0 {
		return nil, 0
	}
	return r.frames[0].data, r.frames[0].at
}

// ControlDone implements port.Port.
func (e *End) ControlDone() { e.Release(port.Class(control), 1) }

// Send implements port.Port.
func (e *End) Send(b *port.Batch) (int, error) {
	for i := range b.Len() {
		if err := e.refusal(); err != nil {
			return i, err
		}
		e.peer.arrive(b.Frame(i, nil), b.Vnet(i))
	}
	return b.Len(), nil
}

// SendControl implements port.Port.
func (e *End) SendControl(b []byte) error {
	if err := e.refusal(); err != nil {
		return err
	}
	e.peer.arrive(append([]byte(nil), b...), frame.VnetHeader{})
	return nil
}

// SendStamped implements port.Port. The link has no stamps.
func (e *End) SendStamped(b []byte) (int64, error) { return 0, e.SendControl(b) }

func (e *End) refusal() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuse == nil {
		return nil
	}
	return e.refuse()
}

// arrive puts a frame on the link towards this end.
func (e *End) arrive(b []byte, v frame.VnetHeader) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	at := e.o.Now()
	if e.o.Speed > 0 {
		e.busy = max(e.busy, at) + int64(frame.WireOctets(len(b)))*8*1_000_000_000/e.o.Speed
		at = e.busy
	}
	r := &e.rings[e.classify(b)]
	if len(r.frames) == e.o.Slots {
		r.lost++
		return
	}
	r.frames = append(r.frames, received{data: b, vnet: v, at: at + e.o.Delay})
	r.follow()
}

func (e *End) classify(b []byte) int {
	if h, ok := frame.Parse(b); ok && h.EtherType == frame.TypeMACControl {
		return control
	}
	if e.o.Classify == nil {
		return int(port.Other)
	}
	return int(e.o.Classify(b))
}

// Steer implements port.Port. The rings follow Options.Classify instead.
func (e *End) Steer([]bpf.RawInstruction) error { return nil }

// Descriptors implements port.Port.
func (e *End) Descriptors(fds []int32, what port.Work) []int32 {
	for i, kind := range []port.Work{port.WorkOther, port.WorkLossless, port.WorkControl} {
		if what&kind != 0 {
			fds = append(fds, int32(e.rings[i].event))
		}
	}
	return fds
}

// ControlLosses implements port.Port.
func (e *End) ControlLosses() uint64 { return e.Losses(port.Class(control)) }

// Losses implements port.Port.
func (e *End) Losses(c port.Class) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rings[c].lost
}

// ClearError implements port.Port.
func (e *End) ClearError() {}

// Close implements port.Port. What is sent to a closed end is lost.
func (e *End) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	var errs []error
	for i := range e.rings {
		errs = append(errs, unix.Close(e.rings[i].event))
	}
	return errors.Join(errs...)
}

// RequireXDP skips a test for which a port has to send by an AF_XDP socket where it does not. With REQUIRE_NETNS=1 in
// the environment it does so only where the kernel is too old for that, and else the test fails.
func RequireXDP(t testing.TB, path port.TxPath) {
	t.Helper()
	switch {
	case path.XDP:
	case os.Getenv("REQUIRE_NETNS") == "1" && !strings.Contains(path.Why, port.XDPNeeds):
		t.Fatalf("REQUIRE_NETNS=1, but the port does not send by an AF_XDP socket: %s", path.Why)
	default:
		t.Skipf("NOT TESTED: a port that sends by an AF_XDP socket: %s", path.Why)
	}
}
