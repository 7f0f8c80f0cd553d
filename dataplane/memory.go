package dataplane

import (
	"fmt"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

// none is the index that stands for no cell or no descriptor.
const none = ^uint32(0)

// A memory is the packet buffer: cells of one size in a mapping outside the Go heap, and a descriptor for each frame
// copy that waits or is being sent. A frame lies in a chain of cells. Admission charges whole cells for each copy, and
// there are as many cells and descriptors as the pools have, so neither can run out before the accounting does.
type memory struct {
	cell  int
	data  []byte
	next  []uint32 // next cell of a chain
	free  []uint32 // free cells
	descs []descriptor
	spare []uint32 // free descriptors
}

// A descriptor is one copy of a frame in an egress queue.
type descriptor struct {
	next    uint32 // next in the queue
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
	at       int64  // when it arrived
}

// unsettled is the number of descriptors beyond one per cell: those of a burst that were sent but not yet settled.
const unsettled = 16384

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
)

func newMemory(cell int, octets int64) (*memory, error) {
	m := &memory{cell: cell}
	return m, m.grow(int(octets) / cell)
}

// grow makes the memory at least n cells large. Frames in it stay in their cells, and are not copied: nothing is forwarded meanwhile.
func (m *memory) grow(n int) error {
	if n <= len(m.next) {
		return nil
	}
	data, err := m.remap(n * m.cell)
	if err != nil {
		return fmt.Errorf("map packet buffer of %d octets: %w", n*m.cell, err)
	}
	_ = unix.Madvise(data, unix.MADV_HUGEPAGE)
	old := len(m.next)
	m.data = data
	m.next = append(m.next, make([]uint32, n-old)...)
	m.free = append(indexes(old, n), m.free...)
	described := len(m.descs)
	m.descs = append(m.descs, make([]descriptor, n+unsettled-described)...)
	m.spare = append(indexes(described, n+unsettled), m.spare...)
	return nil
}

func (m *memory) remap(octets int) ([]byte, error) {
	if m.data == nil {
		return unix.Mmap(-1, 0, octets, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	}
	return unix.Mremap(m.data, octets, unix.MREMAP_MAYMOVE)
}

// indexes returns the numbers from a to b-1 as a stack with the lowest on top, with room for all below b.
func indexes(a, b int) []uint32 {
	s := make([]uint32, 0, b)
	for i := b - 1; i >= a; i-- {
		s = append(s, uint32(i))
	}
	return s
}

func (m *memory) close() error {
	if m.data == nil {
		return nil
	}
	err := unix.Munmap(m.data)
	m.data = nil
	return err
}

// describe returns a free descriptor, or none.
func (m *memory) describe() uint32 {
	n := len(m.spare)
	if n == 0 {
		return none
	}
	d := m.spare[n-1]
	m.spare = m.spare[:n-1]
	return d
}

// alloc returns a chain of cells for octets, or none.
func (m *memory) alloc(octets int) uint32 {
	cells := max(1, (octets+m.cell-1)/m.cell)
	n := len(m.free)
	if n < cells {
		return none
	}
	first := none
	for _, c := range m.free[n-cells:] {
		m.next[c] = first
		first = c
	}
	m.free = m.free[:n-cells]
	return first
}

// drop frees a descriptor and its cells. One that an arrival still refers to is freed by Settle.
func (m *memory) drop(d uint32) {
	if m.descs[d].cell == none {
		m.descs[d].gone = true
		return
	}
	for c := m.descs[d].cell; c != none; c = m.next[c] {
		m.free = append(m.free, c)
	}
	m.spare = append(m.spare, d)
}

// store copies b into a chain.
func (m *memory) store(first uint32, b []byte) {
	for c := first; c != none && len(b) > 0; c = m.next[c] {
		b = b[copy(m.data[int(c)*m.cell:int(c+1)*m.cell], b):]
	}
}

// view calls part for the octets [from, to) of a chain, in order, joining cells that lie side by side.
func (m *memory) view(first uint32, from, to int, part func([]byte)) {
	for c := first; c != none && from < to; {
		start, n := int(c)*m.cell, m.cell
		for m.next[c] == c+1 && n < to {
			c++
			n += m.cell
		}
		if from < n {
			part(m.data[start+from : start+min(n, to)])
		}
		from, to = max(0, from-n), to-n
		c = m.next[c]
	}
}
