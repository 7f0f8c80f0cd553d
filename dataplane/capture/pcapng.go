package capture

import (
	"encoding/binary"

	"pfcswitch/dataplane/frame"
)

// Blocks and options of a pcapng file (draft-ietf-opsawg-pcapng), in the machine's order of octets, as its section
// header says. A block is
//
//	4 octets  type
//	4 octets  length of the block, a multiple of 4
//	n octets  body
//	m octets  options: 2 octets code, 2 octets length, value, up to 3 octets of padding; 4 octets of 0 behind the last
//	4 octets  length again
const (
	blockSection    = 0x0A0D0D0A
	blockInterface  = 1
	blockStatistics = 5
	blockPacket     = 6 // Enhanced Packet Block

	blockHeader = 8
	minBlock    = 12

	magic        = 0x1A2B3C4D
	linkEthernet = 1

	optionComment     = 1
	optionApplication = 4 // of a section
	optionName        = 2 // of an interface
	optionMAC         = 6
	optionSpeed       = 8
	optionResolution  = 9
	optionFCS         = 13
	optionFlags       = 2 // of a packet
	optionDropCount   = 4
	optionStart       = 2 // of statistics
	optionEnd         = 3
	optionDelivered   = 8
	optionIfDropped   = 5
	optionOSDropped   = 7

	nanoseconds = 9 // if_tsresol: 10^-9 s

	flagIn, flagOut                           = 1, 2
	flagUnicast, flagMulticast, flagBroadcast = 1 << 2, 2 << 2, 3 << 2
)

// An Interface is a port as the file describes it.
type Interface struct {
	Port  int
	Name  string
	Speed int64 // bit/s, 0: none
	MAC   [6]byte
}

// A builder appends one block.
type builder struct {
	b     []byte
	start int
}

func begin(dst []byte, kind uint32) builder {
	w := builder{dst, len(dst)}
	w.u32(kind)
	w.u32(0) // known at the end
	return w
}

func (w *builder) u16(n uint16) { w.b = binary.NativeEndian.AppendUint16(w.b, n) }
func (w *builder) u32(n uint32) { w.b = binary.NativeEndian.AppendUint32(w.b, n) }
func (w *builder) u64(n uint64) { w.b = binary.NativeEndian.AppendUint64(w.b, n) }

// stamp appends a time as two halves, the upper first.
func (w *builder) stamp(ns int64) {
	w.u32(uint32(uint64(ns) >> 32))
	w.u32(uint32(ns))
}

func (w *builder) pad() {
	for (len(w.b)-w.start)%4 != 0 {
		w.b = append(w.b, 0)
	}
}

func (w *builder) option(code uint16, length int) {
	w.u16(code)
	w.u16(uint16(length))
}

func (w *builder) text(code uint16, text []byte) {
	w.option(code, len(text))
	w.b = append(w.b, text...)
	w.pad()
}

func (w *builder) number(code uint16, n uint64) {
	w.option(code, 8)
	w.u64(n)
}

// end completes the block, options included.
func (w *builder) end() []byte {
	w.u32(0)
	length := uint32(len(w.b) - w.start + 4)
	w.u32(length)
	binary.NativeEndian.PutUint32(w.b[w.start+4:], length)
	return w.b
}

// appendSection appends the block that a file begins with.
func appendSection(dst []byte, application, comment string) []byte {
	w := begin(dst, blockSection)
	w.u32(magic)
	w.u16(1)          // version 1.0
	w.u16(0)          //
	w.u64(^uint64(0)) // the section's length: not known
	w.text(optionApplication, []byte(application))
	w.text(optionComment, []byte(comment))
	return w.end()
}

// appendInterface appends the description of an interface. Interfaces are numbered in this order from 0.
func appendInterface(dst []byte, i *Interface, snap int) []byte {
	w := begin(dst, blockInterface)
	w.u16(linkEthernet)
	w.u16(0)
	w.u32(uint32(snap))
	w.text(optionName, []byte(i.Name))
	w.text(optionMAC, i.MAC[:])
	if i.Speed > 0 {
		w.number(optionSpeed, uint64(i.Speed))
	}
	w.text(optionResolution, []byte{nanoseconds})
	w.text(optionFCS, []byte{0})
	return w.end()
}

// appendPacket appends a frame that was captured at interface number id at stamp, in ns since 1970. data are its first
// octets. missing is how many frames of that interface are missing in the file since the one before.
func appendPacket(dst []byte, id int, stamp int64, r *Record, data []byte, missing uint64, comments ...[]byte) []byte {
	w := begin(dst, blockPacket)
	w.u32(uint32(id))
	w.stamp(stamp)
	w.u32(uint32(len(data)))
	w.u32(uint32(r.Length))
	w.b = append(w.b, data...)
	w.pad()
	for _, c := range comments {
		if len(c) > 0 {
			w.text(optionComment, c)
		}
	}
	w.option(optionFlags, 4)
	w.u32(flags(r.Out, data))
	if missing > 0 {
		w.number(optionDropCount, missing)
	}
	return w.end()
}

// flags returns direction and kind of destination.
func flags(out bool, data []byte) uint32 {
	f := uint32(flagIn)
	if out {
		f = flagOut
	}
	switch {
	case len(data) < frame.AddressOctets:
		return f
	case frame.Address(data) == frame.Broadcast:
		return f | flagBroadcast
	case data[0]&1 != 0:
		return f | flagMulticast
	}
	return f | flagUnicast
}

// appendStatistics appends the statistics of interface number id at the end. Times are in ns since 1970.
func appendStatistics(dst []byte, id int, from, to int64, delivered uint64, missing lost) []byte {
	w := begin(dst, blockStatistics)
	w.u32(uint32(id))
	w.stamp(to)
	w.option(optionStart, 8)
	w.stamp(from)
	w.option(optionEnd, 8)
	w.stamp(to)
	w.number(optionIfDropped, missing.ring)
	w.number(optionOSDropped, missing.overwritten)
	w.number(optionDelivered, delivered)
	return w.end()
}
