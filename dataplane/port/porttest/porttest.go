// Package porttest is a pair of in-memory ports: what one end sends, the other receives, at a settable speed and delay.
// It lets the data plane run in a test without sockets, under the real clock or a test's own. Socket is the other way to test:
// a plain packet socket at the far end of a real link.
package porttest

import (
	"encoding/binary"
	"sync"

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

// End is one end of the pair.
type End struct {
	o     Options
	peer  *End
	event int

	mu      sync.Mutex
	rings   [port.NumClasses]ring
	control []received
	busy    int64 // until when the link towards this end is busy
	down    bool
	again   int // send calls that will find the kernel full
}

var _ port.Port = (*End)(nil)

type received struct {
	data []byte
	vnet frame.VnetHeader
	at   int64
}

// ring is a receive ring: frames of which the first taken were received and not released.
type ring struct {
	frames []received
	taken  int
	lost   uint64
}

// Pair returns the two ends of a link.
func Pair(o Options) (a, b *End, err error) {
	a, b = &End{o: o}, &End{o: o}
	a.peer, b.peer = b, a
	for _, e := range []*End{a, b} {
		if e.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
			return nil, nil, err
		}
	}
	return a, b, nil
}

// SetDown makes sending at this end fail as if the interface were down.
func (e *End) SetDown(down bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = down
}

// RefuseSends makes the next n send calls at this end fail as if the kernel's queue were full.
func (e *End) RefuseSends(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.again = n
}

// ready counts the frames of the ring that have arrived.
func (e *End) ready(c port.Class) int {
	now, n := e.o.Now(), 0
	for n < len(e.rings[c].frames) && e.rings[c].frames[n].at <= now {
		n++
	}
	return n
}

// Receive implements port.Port.
func (e *End) Receive(c port.Class, dst []port.Frame, maxBytes int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, n := &e.rings[c], 0
	for ready := e.ready(c); n < len(dst) && r.taken < ready && maxBytes > 0; n++ {
		f := &r.frames[r.taken]
		dst[n] = port.Frame{Data: f.data, Vnet: f.vnet, Stamp: f.at}
		maxBytes -= len(f.data)
		r.taken++
	}
	if e.idle() {
		e.drain()
	}
	return n
}

// idle tells whether everything that came was received.
func (e *End) idle() bool {
	for c := range e.rings {
		if len(e.rings[c].frames) > e.rings[c].taken {
			return false
		}
	}
	return len(e.control) == 0
}

// Release implements port.Port.
func (e *End) Release(c port.Class, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := &e.rings[c]
	r.frames = r.frames[n:]
	r.taken -= n
}

// Rewind implements port.Port.
func (e *End) Rewind(c port.Class) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rings[c].taken = 0
	e.signal()
}

// Behind implements port.Port.
func (e *End) Behind(c port.Class, n int) bool { return e.Backlog(c) > n }

// Backlog implements port.Port.
func (e *End) Backlog(c port.Class) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ready(c)
}

// Slots implements port.Port.
func (e *End) Slots(port.Class) int { return e.o.Slots }

// Control implements port.Port.
func (e *End) Control() ([]byte, int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.control) == 0 || e.control[0].at > e.o.Now() {
		return nil, 0
	}
	return e.control[0].data, e.control[0].at
}

// ControlDone implements port.Port.
func (e *End) ControlDone() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.control = e.control[1:]
}

// Send implements port.Port.
func (e *End) Send(b *port.Batch) (int, error) {
	if err := e.refusal(); err != nil {
		return 0, err
	}
	for i := range b.Len() {
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

func (e *End) refusal() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.down:
		return port.ErrDown
	case e.again > 0:
		e.again--
		return port.ErrAgain
	}
	return nil
}

// arrive puts a frame on the link towards this end.
func (e *End) arrive(b []byte, v frame.VnetHeader) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.o.Now()
	if e.o.Speed > 0 {
		e.busy = max(e.busy, at) + int64(frame.WireOctets(len(b)))*8*1_000_000_000/e.o.Speed
		at = e.busy
	}
	f := received{data: b, vnet: v, at: at + e.o.Delay}
	if h, ok := frame.Parse(b); ok && h.EtherType == frame.TypeMACControl {
		e.control = append(e.control, f)
		e.signal()
		return
	}
	c := port.Other
	if e.o.Classify != nil {
		c = e.o.Classify(b)
	}
	if r := &e.rings[c]; len(r.frames) < e.o.Slots {
		r.frames = append(r.frames, f)
	} else {
		r.lost++
	}
	e.signal()
}

// signal and drain make the descriptor readable, and not.
func (e *End) signal() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(e.event, one[:])
}

func (e *End) drain() {
	var n [8]byte
	_, _ = unix.Read(e.event, n[:])
}

// Steer implements port.Port. The rings follow Options.Classify instead.
func (e *End) Steer([]bpf.RawInstruction) error { return nil }

// Descriptors implements port.Port.
func (e *End) Descriptors(fds []int32, _ port.Work) []int32 { return append(fds, int32(e.event)) }

// Losses implements port.Port.
func (e *End) Losses(c port.Class) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rings[c].lost
}

// ClearError implements port.Port.
func (e *End) ClearError() {}

// Close implements port.Port.
func (e *End) Close() error { return unix.Close(e.event) }
