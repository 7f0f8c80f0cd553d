package capture

import (
	"fmt"
	"slices"
	"strconv"
)

// Options are what a reader wants.
type Options struct {
	Snap    int      // octets of each frame, at most
	Filter  *Filter  // nil: all frames
	Frames  uint64   // the file ends after so many; 0: it does not
	Since   int64    // leave out frames before this time of the switch's clock; 0: none
	Ports   []string // names of the wanted ports; none: all
	Program string   // what writes the file
	Comment string   // of the whole file
	// Interfaces appends all ports, which the file describes even if they have no frames.
	Interfaces func([]Interface) []Interface
	// Wall is real time minus the switch's time, in ns.
	Wall int64
}

// A Stream makes a pcapng file of what a Cursor reads: Begin, then Append whenever there may be frames, then End. It
// does no I/O: the caller writes what a method appends.
type Stream struct {
	cursor *Cursor
	o      Options
	ports  [MaxPorts]*streamPort // by index, as of the port's newest frame; nil: not described yet
	known  map[Interface]*streamPort
	files  []*streamPort // by number of the interface in the file
	frames uint64
	text   []byte
}

// streamPort is a port in a file. A port that changes, or whose index goes to another port, becomes a new one.
type streamPort struct {
	is        *Interface
	wanted    bool
	id        int
	delivered uint64
	missing   lost // in all
	pending   lost // not reported yet
}

// lost are frames that are not in the file.
type lost struct{ ring, overwritten uint64 }

func (p *streamPort) lose(ring, overwritten uint64) {
	for _, l := range []*lost{&p.missing, &p.pending} {
		l.ring += ring
		l.overwritten += overwritten
	}
}

// NewStream returns a stream of what c reads.
func NewStream(c *Cursor, o Options) *Stream {
	return &Stream{cursor: c, o: o, known: map[Interface]*streamPort{}}
}

// Frames returns how many frames are in the file.
func (s *Stream) Frames() uint64 { return s.frames }

// Done tells whether the file has as many frames as were wanted.
func (s *Stream) Done() bool { return s.o.Frames > 0 && s.frames >= s.o.Frames }

// Begin appends what a file begins with: the section and the interfaces.
func (s *Stream) Begin(dst []byte) []byte {
	dst = appendSection(dst, s.o.Program, s.o.Comment)
	for _, is := range s.o.Interfaces(nil) {
		if s.cursor.want.Ports.Has(is.Port) {
			dst, _ = s.port(dst, is.Port, &is)
		}
	}
	return dst
}

// port returns the port with an index and appends its description if the file does not have it. An undescribed port
// keeps its last description, or gets its index as its name.
func (s *Stream) port(dst []byte, number int, is *Interface) ([]byte, *streamPort) {
	p := s.ports[number]
	if p != nil && (is == nil || is == p.is) {
		return dst, p
	}
	if is == nil {
		is = &Interface{Port: number, Name: "port " + strconv.Itoa(number)}
	}
	if p = s.known[*is]; p == nil {
		p = &streamPort{is: is, wanted: len(s.o.Ports) == 0 || slices.Contains(s.o.Ports, is.Name), id: len(s.files)}
		s.known[*is] = p
		if p.wanted {
			s.files = append(s.files, p)
			dst = appendInterface(dst, is, s.o.Snap)
		}
	}
	p.is, s.ports[number] = is, p
	return dst, p
}

// Append appends the frames that have arrived since, until dst has about limit octets. more means that others wait.
func (s *Stream) Append(dst []byte, limit int) (out []byte, more bool) {
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

// packet appends a frame if it is wanted.
func (s *Stream) packet(dst []byte, r *Record) []byte {
	n := s.cursor.Missing(r.Port)
	if s.o.Since != 0 && r.Time < s.o.Since {
		if p := s.ports[r.Port]; p != nil {
			p.missing, p.pending = lost{}, lost{} // those frames were even earlier
		}
		return dst
	}
	dst, p := s.port(dst, r.Port, r.Interface)
	p.lose(uint64(r.Missed), n)
	if !p.wanted {
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

// explain adds what the note of a record does not say.
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
	return fmt.Appendf(b, "missing before it: %d frames lost in the receive ring (it is read once a second), %d that "+
		"this capture was too slow for", before.ring, before.overwritten)
}

// End appends the end of a file: for each interface the number of its frames, and of missing ones, captured between two
// times of the switch's clock.
func (s *Stream) End(dst []byte, from, to int64) []byte {
	for number := range MaxPorts {
		n := s.cursor.Missing(number)
		if n == 0 || !s.cursor.want.Ports.Has(number) {
			continue
		}
		p := s.ports[number]
		if p == nil {
			dst, p = s.port(dst, number, s.cursor.recorder.described(number))
		}
		p.lose(0, n)
	}
	for id, p := range s.files {
		dst = appendStatistics(dst, id, from+s.o.Wall, to+s.o.Wall, p.delivered, p.missing)
	}
	return dst
}
