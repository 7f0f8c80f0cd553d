package capture

import "encoding/binary"

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

// Layout of a record in a chunk, in the machine's order of octets:
//
//	 0  4 octets  length of the record, a multiple of 8
//	 4  2 octets  port
//	 6  1 octet   1: out
//	 7  1 octet   0
//	 8  8 octets  time
//	16  8 octets  held
//	24  4 octets  length of the frame
//	28  4 octets  octets of it that follow
//	32  4 octets  missed
//	36  4 octets  length of the note
//	40  n octets  note, frame
const (
	recordPort   = 4
	recordOut    = 6
	recordTime   = 8
	recordHeld   = 16
	recordLength = 24
	recordData   = 28
	recordMissed = 32
	recordNote   = 36
	recordHeader = 40
)

// size returns how many octets a record takes with n octets of the frame.
func (r *Record) size(n int) int { return (recordHeader + len(r.Note) + n + 7) &^ 7 }

// put writes the record with room for n octets of the frame, and returns that room.
func (r *Record) put(b []byte, n int) []byte {
	o := binary.NativeEndian
	o.PutUint32(b, uint32(r.size(n)))
	o.PutUint16(b[recordPort:], uint16(r.Port))
	b[recordOut], b[recordOut+1] = 0, 0
	if r.Out {
		b[recordOut] = 1
	}
	o.PutUint64(b[recordTime:], uint64(r.Time))
	o.PutUint64(b[recordHeld:], uint64(r.Held))
	o.PutUint32(b[recordLength:], uint32(r.Length))
	o.PutUint32(b[recordData:], uint32(n))
	o.PutUint32(b[recordMissed:], r.Missed)
	o.PutUint32(b[recordNote:], uint32(len(r.Note)))
	at := recordHeader + copy(b[recordHeader:], r.Note)
	return b[at : at+n : at+n]
}

// get reads a record that put wrote and returns how many octets it takes. Note and Data are borrowed from b.
func (r *Record) get(b []byte) int {
	o := binary.NativeEndian
	note, n := int(o.Uint32(b[recordNote:])), int(o.Uint32(b[recordData:]))
	*r = Record{Port: int(o.Uint16(b[recordPort:])), Out: b[recordOut] != 0, Time: int64(o.Uint64(b[recordTime:])),
		Held: int64(o.Uint64(b[recordHeld:])), Length: int(o.Uint32(b[recordLength:])),
		Missed: o.Uint32(b[recordMissed:]),
		Note:   b[recordHeader : recordHeader+note], Data: b[recordHeader+note : recordHeader+note+n]}
	return int(o.Uint32(b))
}
