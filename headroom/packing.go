package headroom

import (
	"math"
	"sort"
)

// A Packing says how the frames that come after XOFF fill the buffer. A headroom is found in octets on the wire and
// used in whole cells of the buffer, so small frames take more bytes of it than they have octets on the wire.
type Packing struct {
	Cell     int64   // bytes of a buffer cell, 32 at least
	MaxFrame int64   // octets of the largest frame without FCS
	Small    float64 // share of the octets on the wire that come as frames that take most of the buffer, 0 to 1
}

// Packing returns how frames of the port fill cells of a size, a share of them small ones.
func (in Inputs) Packing(cell int64, small float64) Packing {
	return Packing{Cell: cell, MaxFrame: largestFrame(in.Speed, in.MaxFrame), Small: small}
}

// Bytes returns how many bytes of buffer hold so many octets on the wire, in whole cells: the share Small as frames
// that take most, the rest as largest frames.
func (p Packing) Bytes(octets int64) int64 {
	small := int64(math.Ceil(float64(octets) * p.Small))
	return p.costliest().bytes(small) + p.frame(p.MaxFrame).bytes(octets-small)
}

// Octets returns how many octets on the wire so many bytes of buffer hold: Bytes of the result is no more.
func (p Packing) Octets(bytes int64) int64 {
	most := 2 * max(0, bytes) // no frame has twice as many octets on the wire as bytes in the buffer
	return int64(sort.Search(int(most), func(n int) bool { return p.Bytes(int64(n)+1) > bytes }))
}

// A packedFrame is a frame on the wire and in the buffer.
type packedFrame struct{ octets, buffer int64 }

// bytes is the buffer that octets take as such frames.
func (f packedFrame) bytes(octets int64) int64 { return Cells(octets, f.octets) * f.buffer }

// frame returns a frame of n octets without FCS.
func (p Packing) frame(n int64) packedFrame {
	return packedFrame{n + WireOverhead, Cells(n, p.Cell) * p.Cell}
}

// minFrame is the smallest frame without FCS, in octets.
const minFrame int64 = 60

// costliest returns the frame that takes most of the buffer for its octets on the wire: the smallest one, or with small
// cells the shortest that takes a cell more.
func (p Packing) costliest() packedFrame {
	smallest, longer := p.frame(minFrame), p.frame(Cells(minFrame, p.Cell)*p.Cell+1)
	if longer.buffer*smallest.octets > smallest.buffer*longer.octets {
		return longer
	}
	return smallest
}
