package capture

import (
	"fmt"
	"strconv"
)

// Options are what a reader wants.
type Options struct {
	Snap    int     // octets of each frame, at most
	Filter  *Filter // nil: all frames
	Frames  uint64  // the file ends after so many; 0: it does not
	Since   int64   // frames before this time of the switch's clock are left out
	Until   int64   // and those that come after it, where it is not 0
	Program string  // what writes the file
	Comment string  // of the whole file
	// Interfaces appends all ports that there are.
	Interfaces func([]Interface) []Interface
	// Wall is real time less the switch's time, in ns.
	Wall int64
}

// A Stream makes a pcapng file of what a Cursor reads: Begin, Append as often as there may be something, End. It does no
// I/O: what it appends is to be written, and then forgotten.
type Stream struct {
	cursor *Cursor
	o      Options
	ports  [MaxPorts]streamed
	ids    []int // port by number of the interface
	scan   []Interface
	frames uint64
	text   []byte
}

// streamed is a port in a file.
type streamed struct {
	known     bool
	id        int
	is        Interface
	delivered uint64
	missing   uint64 // overwritten before they were read, in all
	pending   lost   // not told of yet
}

// lost are frames that are not in the file.
type lost struct{ ring, overwritten uint64 }

// NewStream returns a stream of what c reads.
func NewStream(c *Cursor, o Options) *Stream { return &Stream{cursor: c, o: o} }

// Frames returns how many frames are in the file.
func (s *Stream) Frames() uint64 { return s.frames }

// Done tells whether the file has all frames that were wanted.
func (s *Stream) Done() bool { return s.o.Frames > 0 && s.frames >= s.o.Frames }

// Begin appends what a file begins with: the section and the interfaces.
func (s *Stream) Begin(dst []byte) []byte {
	return s.describe(appendSection(dst, s.o.Program, s.o.Comment))
}

// describe appends interfaces that are new or have changed.
func (s *Stream) describe(dst []byte) []byte {
	s.scan = s.o.Interfaces(s.scan[:0])
	for _, i := range s.scan {
		p := &s.ports[i.Port]
		if !s.cursor.want.Ports.Has(i.Port) || p.known && p.is == i {
			continue
		}
		p.known, p.id, p.is = true, len(s.ids), i
		s.ids = append(s.ids, i.Port)
		dst = appendInterface(dst, &i, s.o.Snap)
	}
	return dst
}

// Append appends the frames that have come since, until dst has limit octets or so. more tells that there are others.
func (s *Stream) Append(dst []byte, limit int) (out []byte, more bool) {
	dst = s.describe(dst)
	for more = true; more && len(dst) < limit && !s.Done(); {
		more = s.cursor.Read(func(r *Record) bool {
			if len(dst) >= limit || s.Done() {
				return false
			}
			dst = s.packet(dst, r)
			return true
		})
	}
	return dst, more && !s.Done()
}

// packet appends a frame where it is wanted.
func (s *Stream) packet(dst []byte, r *Record) []byte {
	p := &s.ports[r.Port]
	n := s.cursor.Missing(r.Port)
	p.missing += n
	p.pending.overwritten += n
	p.pending.ring += uint64(r.Missed)
	if !p.known || r.Time < s.o.Since || s.o.Until != 0 && r.Time > s.o.Until {
		return dst
	}
	keep := min(s.o.Filter.Keep(r.Data, r.Length), s.o.Snap)
	if keep == 0 {
		return dst
	}
	pending := p.pending
	p.pending = lost{}
	p.delivered++
	s.frames++
	s.text = explain(s.text[:0], r, pending)
	return appendPacket(dst, p.id, r.Time+s.o.Wall, r, r.Data[:keep], pending.ring+pending.overwritten, r.Note, s.text)
}

// explain says what the note of a record does not.
func explain(b []byte, r *Record, before lost) []byte {
	if r.Held > 0 {
		b = append(b, "held in the receive ring for "...)
		b = strconv.AppendFloat(b, float64(r.Held)/1e6, 'f', 3, 64)
		b = append(b, " ms: no room in the buffer"...)
	}
	if before == (lost{}) {
		return b
	}
	if len(b) > 0 {
		b = append(b, "; "...)
	}
	return fmt.Appendf(b, "missing before it: %d frames lost in the receive ring (it is read once a second), %d that this capture was too slow for",
		before.ring, before.overwritten)
}

// End appends what a file ends with: how many frames it has of each interface, and how many are missing, which were
// captured between two times of the switch's clock.
func (s *Stream) End(dst []byte, from, to int64) []byte {
	for id, port := range s.ids {
		p := &s.ports[port]
		p.missing += s.cursor.Missing(port)
		if p.id != id {
			continue // it was described again
		}
		dst = appendStatistics(dst, id, from+s.o.Wall, to+s.o.Wall, p.delivered, p.missing)
	}
	return dst
}
