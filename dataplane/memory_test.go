package dataplane

import (
	"bytes"
	"math/bits"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// gather returns the octets [from, to) of a chain.
func gather(m *memory, first uint32, from, to int) (b []byte) {
	m.view(first, from, to, func(part []byte) {
		if len(part) == 0 {
			b = append(b, "an empty part"...)
		}
		b = append(b, part...)
	})
	return b
}

// What is stored comes out again, however scattered its chain, and also after the memory has grown.
func TestMemoryKeepsOctets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 7, 64, 256}).Draw(t, "cell")
		cells := rapid.IntRange(1, 60).Draw(t, "cells")
		m := assert.Got(newMemory(size, int64(cells*size))).Must(t)
		defer func() { _ = m.close() }()
		type stored struct {
			desc uint32
			b    []byte
		}
		var held []stored
		used := 0
		need := func(n int) int { return max(1, (n+size-1)/size) }
		t.Repeat(map[string]func(*rapid.T){
			"store": func(t *rapid.T) {
				n := rapid.IntRange(0, 20*size).Draw(t, "octets")
				c := m.alloc(n)
				assert.MustBeTrue(t, (used+need(n) <= cells) == (c != none),
					"%d cells for %d octets, %d of %d used: got %v", need(n), n, used, cells, c != none)
				if c == none {
					return
				}
				b := make([]byte, n)
				for i := range b {
					b[i] = byte(i*31 + len(held))
				}
				m.store(c, b)
				d := m.allocDescriptor()
				m.descs[d] = descriptor{cell: c, length: uint32(n)}
				held = append(held, stored{d, b})
				used += need(n)
			},
			"drop": func(t *rapid.T) {
				if len(held) == 0 {
					t.Skip("nothing held")
				}
				i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				used -= need(len(held[i].b))
				m.freeFrame(held[i].desc)
				held = append(held[:i], held[i+1:]...)
			},
			"grow": func(t *rapid.T) {
				n := cells + rapid.IntRange(-5, 10).Draw(t, "more")
				assert.Must(t, m.grow(n))
				cells = max(cells, n)
			},
			"": func(t *rapid.T) {
				for _, s := range held {
					from := len(s.b) / 3
					c := m.descs[s.desc].cell
					assert.MustBeSame(t, gather(m, c, 0, len(s.b)), s.b, "whole")
					assert.MustBeSame(t, gather(m, c, from, len(s.b)-from), s.b[from:len(s.b)-from], "from %d", from)
				}
				if m.freeCells.left != cells-used || m.freeDescs.left != cells+extraDescriptors-len(held) {
					t.Fatalf("%d cells and %d descriptors free, want %d and %d", m.freeCells.left, m.freeDescs.left,
						cells-used, cells+extraDescriptors-len(held))
				}
			},
		})
	})
}

// What cannot grow stays as it was, and can grow by less.
func TestMemoryThatCannotGrow(t *testing.T) {
	m, err := newMemory(cell, 2*cell)
	assert.Must(t, err)
	defer func() { _ = m.close() }()
	c := m.alloc(cell)
	m.store(c, []byte{1, 2, 3})
	err = m.grow(1 << 50 / cell)
	assert.MustBeTrue(t, err != nil, "the memory grew beyond what a processor can address")
	assert.True(t, m.freeCells.left == 1 && m.freeDescs.left == 2+extraDescriptors,
		"%d cells and %d descriptors free, want 1 and %d", m.freeCells.left, m.freeDescs.left, 2+extraDescriptors)
	if err := m.grow(4); err != nil || m.alloc(3*cell) == none || m.alloc(cell) != none {
		t.Errorf("the memory did not grow by two cells: %v", err)
	}
	assert.Same(t, gather(m, c, 0, 3), []byte{1, 2, 3}, "the first cell holds")
}

// Cells that lie side by side leave as one part: a fresh memory scatters nothing.
func TestViewJoinsNeighbours(t *testing.T) {
	m := assert.Got(newMemory(cell, 100*cell)).Must(t)
	defer func() { _ = m.close() }()
	parts := 0
	m.view(m.alloc(10*cell), 5, 9*cell, func([]byte) { parts++ })
	assert.Equal(t, parts, 1, "parts in which ten cells in a row leave")
	assert.Equal(t, m.allocDescriptor(), 0, "the lowest descriptor does not come first")
	m.freeDescs.left = 0
	assert.Equal(t, m.allocDescriptor(), none, "a descriptor where none is left")
}

// Of a memory that keeps heads, what follows the head comes out as zeros, and takes no cells.
func TestMemoryKeepsHeads(t *testing.T) {
	const kept, longest = 64, 1500
	for _, size := range []int{7, kept, 256} {
		s := &Switch{memory: assert.Got(newMemory(size, 1<<20)).Must(t)}
		defer func() { _ = s.Close() }()
		s.KeepHeads(kept)
		m, cells := s.memory, 0
		for _, octets := range []int{longest, kept, kept + 1, 3} {
			b := bytes.Repeat([]byte{byte(octets)}, octets)
			c := m.alloc(octets)
			m.store(c, b)
			cells += m.cells(min(octets, kept))
			clear(b[min(octets, kept):])
			loaded := bytes.Repeat([]byte{1}, octets)
			m.load(c, loaded)
			assert.Same(t, loaded, b, "loaded")
			for _, from := range []int{0, 2, 60, kept, kept + 1} {
				for _, to := range []int{3, 62, kept, kept + 1, longest} {
					if from < to && to <= octets {
						assert.Same(t, gather(m, c, from, to), b[from:to], "octets %d to %d of %d", from, to, octets)
					}
				}
			}
		}
		assert.Equal(t, len(m.next)-m.freeCells.left, cells, "cells that are taken")
		assert.Equal(t, s.MemoryTouched(), int64(cells*(min(size, kept)+4)), "octets of memory that are taken")
	}
}

// A frame without the memory that its admission promised is a fault of its own, and leaves no trace in the accounts.
func TestBufferMemoryFault(t *testing.T) {
	for _, worker := range []int{0, 1} {
		r := plainRig(t, 2)
		r.sw.SetOwner(1, worker)
		spare, free := r.sw.memory.freeDescs, r.sw.memory.freeCells
		if worker == 0 {
			r.sw.memory.freeDescs = stock{}
		} else {
			r.sw.memory.freeCells = stock{}
		}
		r.arrive(0, data(0, 1, lossless, 0, small), data(0, 1, 0, 0, small))
		r.sw.memory.freeDescs, r.sw.memory.freeCells = spare, free
		c := r.count(0)
		assert.True(t, c.Drops[lossless][DropBufferMemory] == 1 && c.Drops[0][DropBufferMemory] == 1 &&
			c.LosslessDrops[lossless] == 1 && c.LosslessDrops[0] == 0, "worker %d: drops %v, lossless %v", worker,
			c.Drops, c.LosslessDrops)
		r.settle()
		r.empty()
	}
}

// The packet memory never runs out before the accounts do, whatever the lengths of the frames, with every port
// unsettled at once and while the pools change their sizes.
func TestMemoryLastsAsLongAsTheAccounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const n = 4
		cfg := testConfig(n)
		cfg.Buffer.Cell = rapid.SampledFrom([]int{64, 256, 1000}).Draw(t, "cell")
		cfg.Buffer.Lossless = resize(t, "lossless", cfg.Buffer.Cell)
		cfg.Buffer.Lossy = resize(t, "lossy", cfg.Buffer.Cell)
		var ports []PortConfig
		for i := range n {
			c := pausePort(i)
			c.MaxFrame, c.Bridge.Flood = 100, true
			c.Mode = rapid.SampledFrom([]macctl.Mode{macctl.ModePFC, macctl.ModePause, macctl.ModeOff}).Draw(t, "mode")
			c.Ingress[0].Headroom, c.Ingress[0].Private = int64(2*cfg.Buffer.Cell), int64(cfg.Buffer.Cell)
			for q := range c.Ingress {
				c.Ingress[q] = c.Ingress[0]
			}
			ports = append(ports, c)
		}
		r := newRig(t, cfg, ports...)
		for range 3 {
			r.fillUp(t, n)
			next := cfg
			next.Buffer.Lossless = resize(t, "lossless", cfg.Buffer.Cell)
			next.Buffer.Lossy = resize(t, "lossy", cfg.Buffer.Cell)
			// What does not fit yet is refused, and the old one stays.
			_ = r.sw.Reconfigure(next, asMap(ports...), nil, r.now)
		}
		r.settle()
		for more := true; more; {
			more = false
			for i := range n {
				r.drain(i, r.now+100*second)
			}
			for i := range n {
				more = r.leaveRoom(i) > 0 || more
			}
		}
		for i := range n {
			assert.True(t, r.count(i).Drops[0][DropBufferMemory] == 0, "port %d: memory ran out: %v", i,
				r.count(i).Drops[0])
		}
		r.empty()
	})
}

// fillUp offers frames of one cell, to one host and to all, until nothing is admitted any more.
func (r *rig) fillUp(t *rapid.T, n int) {
	full := 0
	for full < 2*n {
		in := rapid.IntRange(0, n-1).Draw(t, "in")
		dst := host((in + rapid.IntRange(1, n-1).Draw(t, "out")) % n)
		if rapid.Bool().Draw(t, "flood") {
			dst = 0xFF_FF_FF_FF_FF_FF
		}
		before := r.sw.memory.freeCells.left + r.sw.memory.freeDescs.left
		taken, _ := r.arrive(in, slices.Repeat([][]byte{ether(dst, host(in), nil, experimental, 0, 14)}, 64)...)
		if bits.OnesCount(uint(taken))%2 == 0 { // some of it leaves before the rest is settled
			r.send(rapid.IntRange(0, n-1).Draw(t, "sender"), 64)
			r.now += second
		}
		r.settle()
		if r.sw.memory.freeCells.left+r.sw.memory.freeDescs.left >= before {
			full++
		}
	}
}

// The filtering database, which is mostly empty, takes nothing of the Go heap: the garbage collector would let as much
// garbage pile up as its size.
func TestTableOutsideOfTheHeap(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := New(testConfig(2), 0)
	runtime.ReadMemStats(&after)
	assert.Must(t, err)
	defer func() { _ = s.Close() }()
	took := after.TotalAlloc - before.TotalAlloc
	assert.True(t, took <= 1<<20, "%d octets of the Go heap", took)
}
