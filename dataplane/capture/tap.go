package capture

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// Ports is a set of port numbers.
type Ports [MaxPorts / 64]uint64

// AllPorts is every port, including later ones.
var AllPorts = Ports{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

// Add puts a port into the set.
func (p *Ports) Add(i int) { p[i/64] |= 1 << (i % 64) }

// Has tells whether a port is in the set.
func (p *Ports) Has(i int) bool { return uint(i) < MaxPorts && p[i/64]>>(i%64)&1 != 0 }

// Want is what a reader wants to see.
type Want struct {
	Ports Ports
	Snap  int // octets of each frame, at most; 1 to MaxSnap
}

// MaxSnap is longer than the longest frame.
const MaxSnap = 65600

// MaxCursors is how many may capture at the same time.
const MaxCursors = 16

// DefaultMemory is the default size of the ring in octets.
const DefaultMemory = 16 << 20

// ErrTooMany is returned by Attach when MaxCursors readers capture already.
var ErrTooMany = errors.New("capture: too many captures run already: end one")

// A Tap tells the data path whether anybody captures. The zero value is ready, and nobody does. Recorder, Lost and
// Describe are for the data path; the other methods are for readers.
type Tap struct {
	recorder atomic.Pointer[Recorder]
	watched  atomic.Bool
	losses   chan struct{}
	missing  atomic.Uint64

	readers  sync.Mutex // guards what follows; held for milliseconds while a ring is allocated
	onAttach func()
	octets   int
	cursors  []*Cursor

	// mu guards what follows and losses. It also makes sure that a new recorder knows all ports. It is taken inside
	// readers.
	mu sync.Mutex
	is [MaxPorts]*Interface
}

// Describe says which port has an index from now on. Frames captured before belong to the port that had the index then.
func (t *Tap) Describe(is Interface) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.is[is.Port]; old != nil && *old == is {
		return
	}
	t.is[is.Port] = &is
	if r := t.recorder.Load(); r != nil {
		r.describe(&is)
	}
}

// Recorder returns the ring for frames, or nil while nobody captures.
func (t *Tap) Recorder() *Recorder { return t.recorder.Load() }

// Lost says that a lossless frame was lost.
func (t *Tap) Lost() {
	if !t.watched.Load() {
		return
	}
	select {
	case t.losses <- struct{}{}:
	default:
	}
}

// Missing returns how many frames readers wanted and did not get because they were overwritten.
func (t *Tap) Missing() uint64 { return t.missing.Load() }

// Losses returns a channel that holds a value if a lossless frame was lost since the last receive. One reader may use
// it.
func (t *Tap) Losses() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.losses == nil {
		t.losses = make(chan struct{}, 1)
		t.watched.Store(true)
	}
	return t.losses
}

// SetMemory sets the size of the ring in octets (0: DefaultMemory; at least MinMemory). A ring in use is replaced. Its
// readers read it to its end and continue with the new ring. Later readers do not see its records.
func (t *Tap) SetMemory(octets int) {
	t.readers.Lock()
	defer t.readers.Unlock()
	if octets == t.octets {
		return
	}
	t.octets = octets
	if old := t.recorder.Load(); old != nil {
		r := newRecorder(t.octets)
		r.want.Store(old.want.Load())
		t.install(r)
	}
}

// install makes the data path write to a new ring.
func (t *Tap) install(r *Recorder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.is, r.newest().is = t.is, t.is // before the first frame comes
	t.recorder.Store(r)
}

// Attach returns a reader of what is captured from now on. The data path captures until the reader is closed.
func (t *Tap) Attach(w Want) (*Cursor, error) {
	w.Snap = min(max(1, w.Snap), MaxSnap)
	t.readers.Lock()
	defer t.readers.Unlock()
	if len(t.cursors) == MaxCursors {
		return nil, ErrTooMany
	}
	r := t.recorder.Load()
	first := r == nil
	if first {
		r = newRecorder(t.octets)
	}
	c := &Cursor{tap: t, recorder: r, want: w}
	c.number, c.at, c.seen = r.place()
	t.cursors = append(t.cursors, c)
	t.mergeWants(r)
	if first {
		t.install(r)
	}
	if t.onAttach != nil {
		t.onAttach()
	}
	return c, nil
}

// OnAttach sets what Attach and AddPorts call once the data path captures more than before: frames that pass the data
// path by have to come to it from then on.
func (t *Tap) OnAttach(f func()) {
	t.readers.Lock()
	defer t.readers.Unlock()
	t.onAttach = f
}

func (t *Tap) detach(c *Cursor) {
	t.readers.Lock()
	defer t.readers.Unlock()
	i := slices.Index(t.cursors, c)
	if i < 0 {
		return
	}
	t.cursors = slices.Delete(t.cursors, i, i+1)
	if len(t.cursors) == 0 {
		t.recorder.Store(nil)
		return
	}
	t.mergeWants(t.recorder.Load())
}

// addPorts adds to what a reader wants. Only that reader's goroutine calls it.
func (t *Tap) addPorts(c *Cursor, p Ports) {
	t.readers.Lock()
	defer t.readers.Unlock()
	all := c.want.Ports
	for i := range all {
		all[i] |= p[i]
	}
	if all == c.want.Ports || !slices.Contains(t.cursors, c) {
		return
	}
	c.want.Ports = all
	t.mergeWants(t.recorder.Load())
	if t.onAttach != nil {
		t.onAttach()
	}
}

// mergeWants makes the recorder keep what all readers together want.
func (t *Tap) mergeWants(r *Recorder) {
	all := &Want{}
	for _, c := range t.cursors {
		all.Snap = max(all.Snap, c.want.Snap)
		for i := range all.Ports {
			all.Ports[i] |= c.want.Ports[i]
		}
	}
	r.want.Store(all)
}
