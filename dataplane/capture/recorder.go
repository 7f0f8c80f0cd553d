package capture

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// chunkOctets is the size of a chunk. The longest record fits into half of it.
const chunkOctets = 256 << 10

// MinMemory is the smallest ring, in octets: a chunk for each reader, the newest chunk, and one to go on with.
const MinMemory = (MaxCursors + 2) * chunkOctets

// A chunk is a piece of the ring. Its octets below n do not change until it is reused, which needs that nobody reads
// it.
type chunk struct {
	reading sync.RWMutex // held by readers; the recorder only ever tries to take it
	number  uint64       // of all chunks begun; changes under Recorder.mu and reading
	first   [MaxPorts]uint32
	is      [MaxPorts]*Interface // the ports of its frames, constant once it has a frame of them; nil: not described
	n       atomic.Int64         // octets that readers may read
	full    atomic.Bool          // n does not change any more
	data    []byte
}

// A Recorder is the ring that the data path writes: records in chunks, of which the newest overwrites the oldest. All
// methods but Missed, PutAside and those of readers are called between Lock and Unlock.
type Recorder struct {
	mu     sync.Mutex // guards what follows
	chunks []*chunk   // oldest first
	at     int        // octets written of the newest
	counts [MaxPorts]uint32
	is     [MaxPorts]*Interface // the current ports

	missed [MaxPorts]atomic.Uint32
	want   atomic.Pointer[Want]
	aside  aside
}

// newRecorder returns a ring of that many octets (0: DefaultMemory; at least MinMemory).
func newRecorder(octets int) *Recorder {
	r := &Recorder{}
	for range max(MinMemory, cmp.Or(octets, DefaultMemory)) / chunkOctets {
		r.chunks = append(r.chunks, &chunk{data: make([]byte, chunkOctets)})
	}
	r.want.Store(&Want{})
	for i, c := range r.chunks { // empty chunks have numbers below the first used one
		c.number = uint64(i)
		c.full.Store(i < len(r.chunks)-1)
	}
	return r
}

// Wants tells whether any reader wants frames of a port.
func (r *Recorder) Wants(port int) bool { return r.want.Load().Ports.Has(port) }

// Lock begins a burst of records.
func (r *Recorder) Lock() { r.mu.Lock() }

// Unlock ends a burst of records and makes them visible to readers, with those that wait aside.
func (r *Recorder) Unlock() {
	for {
		r.takeAside()
		r.newest().n.Store(int64(r.at))
		r.mu.Unlock()
		if r.aside.waiting.Load() == 0 || !r.mu.TryLock() { // who has the lock now takes them
			return
		}
	}
}

func (r *Recorder) newest() *chunk { return r.chunks[len(r.chunks)-1] }

// Put adds a record of a frame of rec.Length octets and returns room for its first octets, as many as any reader
// wants. The caller fills the room before Unlock. Put never blocks and never allocates.
func (r *Recorder) Put(rec *Record) []byte {
	n := min(rec.Length, r.want.Load().Snap)
	rec.Note = rec.Note[:min(len(rec.Note), MaxNote)]
	rec.Missed = r.missed[rec.Port].Swap(0)
	size := rec.size(n)
	if r.at+size > chunkOctets {
		r.begin()
	}
	room := rec.put(r.newest().data[r.at:], n)
	r.at += size
	r.counts[rec.Port]++
	return room
}

// Missed says that n frames of a port are not recorded: its receive rings have lost them, or too many waited aside.
// The port's next record reports them. Any goroutine may call Missed, also without Lock.
func (r *Recorder) Missed(port, n int) { r.missed[port].Add(uint32(n)) }

// describe says what a port is from now on. Records in the ring belong to the port that had its index before.
func (r *Recorder) describe(is *Interface) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.is[is.Port] = is
	if newest := r.newest(); newest.first[is.Port] == r.counts[is.Port] {
		newest.is[is.Port] = is
	} else {
		r.begin()
	}
}

// described returns the current description of a port, or nil.
func (r *Recorder) described(port int) *Interface {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.is[port]
}

// begin reuses the oldest chunk that nobody reads as the newest. There is one, since there are more chunks than readers
// and each reads at most one.
func (r *Recorder) begin() {
	newest := r.newest()
	newest.n.Store(int64(r.at))
	newest.full.Store(true)
	for i, c := range r.chunks[:len(r.chunks)-1] {
		if !c.reading.TryLock() {
			continue
		}
		c.number, c.first, c.is = newest.number+1, r.counts, r.is
		c.n.Store(0)
		c.full.Store(false)
		c.reading.Unlock()
		r.chunks = append(slices.Delete(r.chunks, i, i+1), c)
		r.at = 0
		return
	}
}

// open returns the chunk with the given number, or the oldest one after it. The chunk is not reused until its reading
// lock is released.
func (r *Recorder) open(number uint64) *chunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.chunks {
		if c.number >= number {
			c.reading.RLock()
			return c
		}
	}
	return nil
}

// place returns the end of the ring: the number of the newest chunk, its octets, and the number of frames of each port.
func (r *Recorder) place() (number uint64, at int, counts [MaxPorts]uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest().number, r.at, r.counts
}

// start returns the beginning of the ring: the number of the oldest chunk, the time of its first record if older ones
// were overwritten (else 0), and the number of frames of each port.
func (r *Recorder) start() (number uint64, oldest int64, counts [MaxPorts]uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.chunks[0]
	if c.number >= uint64(len(r.chunks)) && c.n.Load() > 0 { // the first used one was newest of the empty ring
		oldest = header(c.data).time
	}
	return c.number, oldest, c.first
}
