package config

import "pfcswitch/buffer"

// Buffer is the shared buffer. Sizes are in bytes.
type Buffer struct {
	Cell     int64 // accounting granularity
	Lossless Pool
	Lossy    Pool
	Private  int64 // φ of each lossless ingress queue
	Headroom Headroom
	// HeadroomPool is the size of the headroom segment: a ratio of 1 is all headrooms together.
	HeadroomPool buffer.HeadroomSharing
	Xon          *int64 // resume threshold; nil: what keeps the link busy, see Resolve
	XonOffset    *int64 // below the threshold at which a paused queue resumes; nil: only Xon is written
	Xoff         *int64 // threshold of PolicyStatic; nil: not written
	Policy       Policy
	RingHold     bool // a lossless frame without room waits in its receive ring instead of being dropped
}

// Pool is one of the two hard-partitioned parts of the buffer.
type Pool struct {
	Size int64 // bytes
	Auto bool  // Size follows from the ports, see Resolve
	// Beside is what an automatic lossless pool has beside private and headroom: it keeps that while headrooms follow
	// their measurement, and Size is with those that are calculated.
	Beside int64
	Alpha  float64 // Dynamic Threshold factor of its queues
}

// Policy is how the threshold of a queue is found.
type Policy string

// The values of buffer.policy.
const (
	PolicyDT     Policy = "dt"     // Dynamic Threshold: alpha times the free shared segment
	PolicyStatic Policy = "static" // xoff
	PolicyDSH    Policy = "dsh"    // Dynamic Threshold, with dynamic and shared headroom
	PolicyABM    Policy = "abm"    // Dynamic Threshold, by congestion and rate: active buffer management
)

// Headroom is the source of η, the headroom of a lossless ingress queue.
type Headroom struct {
	Mode  HeadroomMode
	Bytes int64 // of HeadroomFixed
}

// HeadroomMode is the kind of that source.
type HeadroomMode string

// The values of buffer.headroom.
const (
	HeadroomAuto       HeadroomMode = "auto"       // measured where both ends can, else calculated
	HeadroomCalculated HeadroomMode = "calculated" // from speed, cable, frame size, burst and k
	HeadroomFixed      HeadroomMode = "fixed"      // a size in the file
)

// UnknownLossless is the treatment of unknown unicast, broadcast and multicast in a lossless class. Such frames are
// never flooded lossless, because flooding together with PFC deadlocks.
type UnknownLossless string

// The values of unknown_lossless.
const (
	Demote      UnknownLossless = "demote" // to the lossy pool and the queue of the lowest lossy priority
	DropUnknown UnknownLossless = "drop"
)

func defaultBuffer() Buffer {
	return Buffer{
		Cell:     256,
		Lossless: Pool{Auto: true, Alpha: 1},
		Lossy:    Pool{Auto: true, Alpha: 1},
		Private:  4 << 10,
		Headroom: Headroom{Mode: HeadroomAuto}, HeadroomPool: buffer.HeadroomSharing{Ratio: 1},
		Policy:   PolicyDT,
		RingHold: true,
	}
}

// Sharing says how queues share the headroom segment.
func (b *Buffer) Sharing() buffer.HeadroomSharing {
	if b.Policy == PolicyDSH {
		return buffer.HeadroomSharing{Dynamic: true}
	}
	return b.HeadroomPool
}

// defaultXonOffset fills in xon_offset, where neither it nor xon is written.
func (b *Buffer) defaultXonOffset() {
	if b.Xon == nil && b.XonOffset == nil {
		b.XonOffset = new(int64(4 << 10))
	}
}

// minCell keeps a GSO frame within what one send call takes: 1024 pieces (UIO_MAXIOV).
const minCell = 80

func (b *Buffer) fields() []field {
	pool := []field{
		key("ratio", &b.HeadroomPool.Ratio, poolRatio).when(b.HeadroomPool.Size == 0),
		key("size", &b.HeadroomPool.Size, size(1, maxSize)).when(b.HeadroomPool.Size > 0),
	}
	return []field{
		key("cell", &b.Cell, size(minCell, 64<<10)),
		b.Lossless.field("lossless"),
		b.Lossy.field("lossy"),
		key("private", &b.Private, size(0, maxSize)),
		key("headroom", &b.Headroom, headroomSource),
		inLine("headroom_pool", pool),
		optional("xon", &b.Xon, size(0, maxSize)),
		optional("xon_offset", &b.XonOffset, size(0, maxSize)),
		optional("xoff", &b.Xoff, size(1, maxSize)),
		key("policy", &b.Policy, oneOf(PolicyDT, PolicyStatic, PolicyDSH, PolicyABM)),
		key("ring_hold", &b.RingHold, toggle),
	}
}

func (p *Pool) field(name string) field {
	return inLine(name, []field{
		flagged("size", "auto", &p.Auto, &p.Size, or(size(1, maxSize), "auto")),
		key("alpha", &p.Alpha, alpha),
	}).noted(p.Auto, formatSize(p.Size))
}

var headroomSource = parser[Headroom]{readHeadroom, Headroom.String, func() []*Schema {
	return append([]*Schema{{Enum: []any{"auto", "calculated"}}}, size(0, maxSize).forms()...)
}}

func readHeadroom(text string) (Headroom, error) {
	if mode := HeadroomMode(text); mode == HeadroomAuto || mode == HeadroomCalculated {
		return Headroom{Mode: mode}, nil
	}
	n, err := or(size(0, maxSize), "auto", "calculated").read(text)
	return Headroom{HeadroomFixed, n}, err
}

// String writes the source as the file does.
func (h Headroom) String() string {
	if h.Mode == HeadroomFixed {
		return formatSize(h.Bytes)
	}
	return string(h.Mode)
}
