package config

// Buffer is the shared buffer. Sizes are in bytes.
type Buffer struct {
	Cell      int64 // accounting granularity
	Lossless  Pool
	Lossy     Pool
	Private   int64 // φ of each lossless ingress queue
	Headroom  Headroom
	Xon       *int64 // resume threshold; nil: what keeps the link busy, see Resolve
	XonOffset int64  // below the threshold at which a paused queue resumes
	Xoff      *int64 // threshold of PolicyStatic; nil: not written
	Policy    Policy
	RingHold  bool // a lossless frame without room waits in its receive ring instead of being dropped
}

// Pool is one of the two hard-partitioned parts of the buffer.
type Pool struct {
	Size  int64   // bytes
	Auto  bool    // Size follows from the ports, see Resolve; lossless only
	Alpha float64 // Dynamic Threshold factor of its queues
}

// Policy is how the threshold of a queue is found.
type Policy string

// The values of buffer.policy.
const (
	PolicyDT     Policy = "dt"     // Dynamic Threshold: alpha times the free shared segment
	PolicyStatic Policy = "static" // xoff
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
		Cell:      256,
		Lossless:  Pool{Auto: true, Alpha: 1},
		Lossy:     Pool{Size: 4 << 20, Alpha: 1},
		Private:   4 << 10,
		Headroom:  Headroom{Mode: HeadroomAuto},
		XonOffset: 4 << 10,
		Policy:    PolicyDT,
		RingHold:  true,
	}
}

// minCell keeps a GSO frame within what one send call takes: 1024 pieces (UIO_MAXIOV).
const minCell = 80

func (b *Buffer) read(v value) {
	v.read(
		field{"cell", set(&b.Cell, size(minCell, 64<<10))},
		field{"lossless", func(v value) {
			v.read(field{"size", b.Lossless.readSize}, field{"alpha", set(&b.Lossless.Alpha, alpha)})
		}},
		field{"lossy", func(v value) {
			v.read(field{"size", set(&b.Lossy.Size, size(1, maxSize))}, field{"alpha", set(&b.Lossy.Alpha, alpha)})
		}},
		field{"private", set(&b.Private, size(0, maxSize))},
		field{"headroom", b.Headroom.read},
		field{"xon", setOptional(&b.Xon, size(0, maxSize))},
		field{"xon_offset", set(&b.XonOffset, size(0, maxSize))},
		field{"xoff", setOptional(&b.Xoff, size(1, maxSize))},
		field{"policy", set(&b.Policy, oneOf(PolicyDT, PolicyStatic))},
		field{"ring_hold", set(&b.RingHold, toggle)},
	)
}

func (p *Pool) readSize(v value) {
	if p.Auto = v.is("auto"); !p.Auto {
		set(&p.Size, or(size(1, maxSize), "auto"))(v)
	}
}

func (h *Headroom) read(v value) {
	switch {
	case v.is("auto"):
		*h = Headroom{Mode: HeadroomAuto}
	case v.is("calculated"):
		*h = Headroom{Mode: HeadroomCalculated}
	default:
		h.Mode = HeadroomFixed
		set(&h.Bytes, or(size(0, maxSize), "auto", "calculated"))(v)
	}
}
