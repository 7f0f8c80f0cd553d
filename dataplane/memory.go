package dataplane

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/mapping"
	"pfcswitch/dataplane/port"
)

// none is the index that stands for no cell or no descriptor.
const none = ^uint32(0)

// A memory is the packet buffer: cells of one size, and a descriptor for each frame copy that waits or is being sent.
// A frame lies in a chain of cells. Admission charges whole cells for each copy, and there are as many cells and
// descriptors as the pools have, and the waiting rooms beside them, so neither can run out before the accounting does.
type memory struct {
	cell      int // octets
	kept      int // octets of a frame that are kept: what follows them is zero
	stride    int // octets of a cell that there are in data
	data      []byte
	next      []uint32 // next cell of a chain, of which the free ones form one
	descs     []descriptor
	freeCells stock
	freeDescs stock
}

// A stock is the free entries of a table: a list of entries that were given back, the newest first, and all entries
// from fresh on, which were never used. So no entry is written when a table begins or grows.
type stock struct {
	list  uint32
	fresh uint32
	left  int // number of free entries
}

func (s *stock) unused() uint32 {
	s.fresh++
	return s.fresh - 1
}

// A descriptor is one copy of a frame in an egress queue.
type descriptor struct {
	next    uint32 // next in the queue, or of those that are free
	sibling uint32 // next copy of the same arrival, until Settle
	cell    uint32 // first cell, none while the frame lies in the receive ring
	arrival uint32 // index in the burst, where cell is none
	length  uint32 // octets in memory
	vnet    frame.VnetHeader
	tci     uint16
	in      uint16 // ingress port
	prio    uint8  // priority that it was admitted with
	queue   uint8  // egress queue
	tag     tagAction
	charge  charge
	gone    bool // sent or dropped before Settle, which frees it

	// Where a trunk meters the frame:
	eligible bool   // the tag allows a drop
	metered  uint32 // octets

	at int64 // when it arrived: where a trunk meters it, or in a waiting room
}

// extraDescriptors is the number of descriptors beyond one per cell: those of a burst that were sent but not yet
// settled.
const extraDescriptors = 16384

// tagAction is what happens to the VLAN tag when a frame leaves.
type tagAction uint8

const (
	tagKeep   tagAction = iota
	tagStrip            // leave four octets out
	tagInsert           // put four octets in
	tagSet              // replace the TCI
)

// charge is the account that a descriptor's octets stand in.
type charge uint8

const (
	chargeLossless charge = iota // ingress queue (in, prio)
	chargeLossy                  // egress queue (port, queue)
	chargeDemoted                // the same, of a frame of a lossless priority that is flooded
)

func newMemory(cell int, octets int64) (*memory, error) {
	m := &memory{cell: cell, kept: math.MaxInt, stride: cell, freeCells: stock{list: none},
		freeDescs: stock{list: none}}
	return m, m.grow(int(octets) / cell)
}

// KeepHeads has the packet memory keep so many octets of a frame at most; what follows them leaves as zeros. So a frame
// of which nobody reads more takes little memory. A driver calls it before the first frame.
func (s *Switch) KeepHeads(octets int) {
	s.memory.kept, s.memory.stride = octets, min(octets, s.memory.cell)
}

// MemoryTouched is how many octets of memory frames have taken at most at one time. None is given back.
func (s *Switch) MemoryTouched() int64 {
	m := s.memory
	return int64(m.freeCells.fresh)*int64(m.stride+4) + int64(m.freeDescs.fresh)*int64(unsafe.Sizeof(descriptor{}))
}

// MemoryMost is what MemoryTouched can become, in octets.
func (s *Switch) MemoryMost() int64 {
	m := s.memory
	return int64(len(m.next))*int64(m.stride+4) + int64(len(m.descs))*int64(unsafe.Sizeof(descriptor{}))
}

// MemoryOf is what a waiting frame of so many octets takes of MemoryTouched.
func (s *Switch) MemoryOf(octets int) int64 {
	m := s.memory
	return int64(m.cells(octets)*(m.stride+4)) + int64(unsafe.Sizeof(descriptor{}))
}

// grow makes the memory at least n cells large. Frames stay in their cells. Nothing is copied or written, because
// nothing is forwarded meanwhile.
func (m *memory) grow(n int) error {
	old := len(m.next)
	if n <= old {
		return nil
	}
	var err error
	if m.data, err = mapping.Grow(m.data, n*m.cell); err == nil {
		m.descs, err = mapping.Grow(m.descs, n+extraDescriptors)
	}
	if err == nil {
		m.next, err = mapping.Grow(m.next, n) // the last: its length is that of the memory
	}
	if err != nil {
		return fmt.Errorf("map packet buffer of %d octets: %w", n*m.cell, err)
	}
	mapping.Huge(m.data)
	m.freeCells.left += n - old
	m.freeDescs.left += n - old
	if old == 0 {
		m.freeDescs.left += extraDescriptors
	}
	return nil
}

func (m *memory) close() error {
	var errs [3]error
	m.data, errs[0] = mapping.Free(m.data)
	m.next, errs[1] = mapping.Free(m.next)
	m.descs, errs[2] = mapping.Free(m.descs)
	return errors.Join(errs[:]...)
}

// allocDescriptor returns a free descriptor, or none.
func (m *memory) allocDescriptor() uint32 {
	if m.freeDescs.left == 0 {
		return none
	}
	m.freeDescs.left--
	d := m.freeDescs.list
	if d == none {
		return m.freeDescs.unused()
	}
	m.freeDescs.list = m.descs[d].next
	return d
}

// freeDescriptor frees a descriptor that has no cells.
func (m *memory) freeDescriptor(d uint32) {
	m.descs[d].next = m.freeDescs.list
	m.freeDescs.list = d
	m.freeDescs.left++
}

// cells is the number of cells of a frame.
func (m *memory) cells(octets int) int { return max(1, (octets+m.cell-1)/m.cell) }

// alloc returns a chain of cells for a frame of so many octets, or none.
func (m *memory) alloc(octets int) uint32 {
	cells := m.cells(min(octets, m.kept))
	if m.freeCells.left < cells {
		return none
	}
	m.freeCells.left -= cells
	first := m.nextFree()
	last := first
	for range cells - 1 {
		c := m.nextFree()
		m.next[last] = c
		last = c
	}
	m.next[last] = none
	return first
}

// nextFree returns a free cell. alloc has counted it.
func (m *memory) nextFree() uint32 {
	c := m.freeCells.list
	if c == none {
		return m.freeCells.unused()
	}
	m.freeCells.list = m.next[c]
	return c
}

// freeFrame frees a descriptor and its cells. Settle frees a descriptor that an arrival still refers to.
func (m *memory) freeFrame(d uint32) {
	first := m.descs[d].cell
	if first == none {
		m.descs[d].gone = true
		return
	}
	last := first
	m.freeCells.left++
	for ; m.next[last] != none; last = m.next[last] {
		m.freeCells.left++
	}
	m.next[last] = m.freeCells.list
	m.freeCells.list = first
	m.freeDescriptor(d)
}

// store copies what is kept of b into a chain.
func (m *memory) store(first uint32, b []byte) {
	b = b[:min(len(b), m.kept)]
	for c := first; c != none && len(b) > 0; c = m.next[c] {
		b = b[copy(m.data[int(c)*m.stride:int(c+1)*m.stride], b):]
	}
}

// load copies a chain into b.
func (m *memory) load(first uint32, b []byte) {
	clear(b[min(len(b), m.kept):])
	b = b[:min(len(b), m.kept)]
	for c := first; c != none && len(b) > 0; c = m.next[c] {
		b = b[copy(b, m.data[int(c)*m.stride:int(c+1)*m.stride]):]
	}
}

// zeros are the octets of a frame that are not kept.
var zeros [port.MaxFrame + frame.TagOctets]byte

// view calls part for the octets [from, to) of a chain, in order, joining cells that lie side by side.
func (m *memory) view(first uint32, from, to int, part func([]byte)) {
	rest := zeros[:max(0, to-max(from, m.kept))]
	to -= len(rest)
	for c := first; c != none && from < to; {
		start, n := int(c)*m.stride, m.stride
		for m.next[c] == c+1 && n < to {
			c++
			n += m.stride
		}
		if from < n {
			part(m.data[start+from : start+min(n, to)])
		}
		from, to = max(0, from-n), to-n
		c = m.next[c]
	}
	if len(rest) > 0 {
		part(rest)
	}
}
