package capture

import "unsafe"

// MaxPorts is the number of ports that a Recorder tells apart.
const MaxPorts = 256

// MaxNote is the longest note of a Record, in octets. A longer one is cut.
const MaxNote = 512

// A Record is a frame, or the first octets of one, as the data path saw it.
type Record struct {
	Port      int
	Interface *Interface // the port, for readers; nil: not described
	Out       bool       // sent by the port, else received
	Time      int64      // ns of the switch's clock: of arrival, or of the send call
	Held      int64      // ns for which it waited in the receive ring for buffer
	Length    int        // octets of the whole frame, without FCS
	Missed    uint32     // frames that the port's receive rings lost before it and that no earlier record reports
	Note      []byte     // text for people
	Data      []byte     // from the destination address on
}

// A recordHeader begins a record in a chunk. The note and the octets of the frame follow.
type recordHeader struct {
	size   uint32 // octets of the record, a multiple of 8 that keeps the next header aligned
	port   uint16
	out    bool
	time   int64
	held   int64
	length uint32 // octets of the frame
	data   uint32 // octets of the frame that follow
	missed uint32
	note   uint32 // octets of the note
}

const recordHeaderOctets = int(unsafe.Sizeof(recordHeader{}))

// header returns the header of the record at the start of b, which is aligned to 8 octets.
func header(b []byte) *recordHeader {
	_ = b[recordHeaderOctets-1]
	return (*recordHeader)(unsafe.Pointer(&b[0]))
}

// size returns how many octets a record takes with n octets of the frame.
func (r *Record) size(n int) int { return (recordHeaderOctets + len(r.Note) + n + 7) &^ 7 }

// put writes the record with room for n octets of the frame, and returns that room.
func (r *Record) put(b []byte, n int) []byte {
	*header(b) = recordHeader{size: uint32(r.size(n)), port: uint16(r.Port), out: r.Out, time: r.Time, held: r.Held,
		length: uint32(r.Length), data: uint32(n), missed: r.Missed, note: uint32(len(r.Note))}
	at := recordHeaderOctets + copy(b[recordHeaderOctets:], r.Note)
	return b[at : at+n : at+n]
}

// get reads a record that put wrote and returns how many octets it takes. Note and Data are borrowed from b.
func (r *Record) get(b []byte) int {
	h := header(b)
	note := recordHeaderOctets + int(h.note)
	*r = Record{Port: int(h.port), Out: h.out, Time: h.time, Held: h.held, Length: int(h.length), Missed: h.missed,
		Note: b[recordHeaderOctets:note], Data: b[note : note+int(h.data)]}
	return int(h.size)
}
