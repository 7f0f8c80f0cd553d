package api

import (
	"cmp"
	"iter"

	"pfcswitch/buffer"
	"pfcswitch/macctl"
)

// Buffer is the answer to show buffer. Bytes count whole cells.
type Buffer struct {
	Header
	Pools []Pool       `json:"pools"`
	Ports []BufferPort `json:"ports"`
}

// Pool is one of the two parts of the buffer.
type Pool struct {
	Pool      string   `json:"pool"` // lossless or lossy
	SizeBytes int64    `json:"size_bytes"`
	Segments  Segments `json:"segments"`
}

// Segments are the parts of a pool or of a lossless ingress queue. A lossy pool has only Shared.
type Segments struct {
	Private  *Segment `json:"private"`
	Shared   *Segment `json:"shared"`
	Headroom *Segment `json:"headroom"`
}

// All yields the segments that there are, by name.
func (s *Segments) All() iter.Seq2[string, *Segment] {
	return func(yield func(string, *Segment) bool) {
		_ = (s.Private == nil || yield("private", s.Private)) && (s.Shared == nil || yield("shared", s.Shared)) &&
			(s.Headroom == nil || yield("headroom", s.Headroom))
	}
}

// A Segment is a number of bytes with its watermarks.
type Segment struct {
	SizeBytes     *int64 `json:"size_bytes"` // null for a shared part, which a threshold bounds
	UsedBytes     int64  `json:"used_bytes"`
	MaxStartBytes int64  `json:"max_since_start_bytes"`
	MaxClearBytes int64  `json:"max_since_clear_bytes"`    // since clear watermarks
	MaxWindow     int64  `json:"max_in_last_window_bytes"` // in the last complete window of 10 s
}

// BufferPort is what one port holds.
type BufferPort struct {
	Port          string         `json:"port"`
	Up            bool           `json:"up"`
	Removed       bool           `json:"removed"`        // its frames still wait at other ports
	IngressQueues []IngressQueue `json:"ingress_queues"` // the lossless ones
	Insurance     *Segment       `json:"insurance"`      // of all of them together; null unless policy is dsh
	EgressQueues  []EgressBuffer `json:"egress_queues"`  // lossy frames that wait in queue 0 to 7, in this order
	Ring          *Ring          `json:"ring"`           // null for a removed port
}

// IngressQueue is a lossless ingress queue (priority group).
type IngressQueue struct {
	Priority       Priority `json:"priority"`
	Off            bool     `json:"off"`             // the peer is held
	ThresholdBytes int64    `json:"threshold_bytes"` // most of the shared segment that does not hold the peer now
	Segments       Segments `json:"segments"`
	WaitingBytes   int64    `json:"waiting_bytes"` // the frame that waits in the receive ring for buffer
	AdmittedFrames uint64   `json:"admitted_frames"`
	HeadroomFrames uint64   `json:"headroom_frames"` // those of them that went to the headroom
	WaitedFrames   uint64   `json:"waited_frames"`   // those of them that had to wait in the receive ring
	DroppedFrames  uint64   `json:"dropped_frames"`  // for want of headroom: must stay 0
	OversizeFrames uint64   `json:"oversize_frames"` // longer than the whole buffer
	Xoff           uint64   `json:"xoff"`            // turns OFF and ON
	Xon            uint64   `json:"xon"`
}

// EgressBuffer is the use of the lossy pool by a lossy egress queue.
type EgressBuffer struct {
	Queue          int     `json:"queue"`
	ThresholdBytes int64   `json:"threshold_bytes"`
	Segment        Segment `json:"shared"`
	AdmittedFrames uint64  `json:"admitted_frames"`
	DroppedFrames  uint64  `json:"dropped_frames"` // at the threshold
}

// Ring describes the lossless receive rings of a port.
type Ring struct {
	Slots      int    `json:"slots"`       // for frames of any length up to ring.frame
	SmallSlots int    `json:"small_slots"` // beside them, for frames of up to 144 octets
	MaxFrames  uint64 `json:"max_frames"`  // most that were seen waiting, since the start
	HoldNs     uint64 `json:"hold_ns"`     // time for which a frame waited for buffer
	HoldBytes  uint64 `json:"hold_bytes"`
}

func (m *moment) readBuffer() *Buffer {
	b := &m.snapshot.Buffer
	l := &b.Lossless
	return &Buffer{Header: m.Header, Ports: each(b.Ports, m.bufferPort), Pools: []Pool{
		{"lossless", l.Size, newSegments(&l.PrivateSize, &l.SharedSize, &l.HeadroomSize, &l.Used)},
		{"lossy", b.Lossy.Size, Segments{Shared: newSegment(&b.Lossy.SharedSize, &b.Lossy.Used.Shared)}},
	}}
}

func newSegments(private, shared, headroom *int64, used *buffer.Occupancy) Segments {
	return Segments{newSegment(private, &used.Private), newSegment(shared, &used.Shared),
		newSegment(headroom, &used.Headroom)}
}

func newSegment(size *int64, l *buffer.Level) *Segment {
	return &Segment{SizeBytes: size, UsedBytes: l.Now, MaxStartBytes: l.Persistent, MaxClearBytes: l.User,
		MaxWindow: l.Window}
}

func (m *moment) bufferPort(b *buffer.PortSnapshot) BufferPort {
	v := BufferPort{Port: b.Name, Removed: b.Removed}
	if i := &b.Insurance; i.Size > 0 {
		v.Insurance = newSegment(&i.Size, &i.Used)
	}
	for k := range b.Ingress {
		if q := &b.Ingress[k]; q.Lossless {
			v.IngressQueues = append(v.IngressQueues, ingressQueue(q, b.Mode, k))
		}
		q := &b.Egress[k]
		v.EgressQueues = append(v.EgressQueues, EgressBuffer{Queue: k, ThresholdBytes: q.Threshold,
			Segment: *newSegment(nil, &q.Used), AdmittedFrames: q.Admitted, DroppedFrames: q.Dropped})
	}
	if p := m.port(b.Name); p != nil && !b.Removed {
		c := &p.Counters
		v.Up, v.Ring = p.Up, &Ring{Slots: p.RingSlots.Full, SmallSlots: p.RingSlots.Small,
			MaxFrames: c.RingFramesMax, HoldNs: c.RingHoldNs, HoldBytes: c.RingHoldBytes}
	}
	return v
}

func ingressQueue(q *buffer.QueueSnapshot, mode macctl.Mode, number int) IngressQueue {
	priority := Priority(number)
	if mode == macctl.ModePause {
		priority = All
	}
	return IngressQueue{
		Priority: priority, Off: q.Off, ThresholdBytes: q.Threshold, WaitingBytes: q.Waiting,
		Segments:       newSegments(&q.Config.Private, nil, &q.Config.Headroom, &q.Used),
		AdmittedFrames: q.Admitted, HeadroomFrames: q.AdmittedHeadroom, WaitedFrames: q.Waited,
		DroppedFrames: q.Dropped, OversizeFrames: q.Oversize, Xoff: q.Xoff, Xon: q.Xon,
	}
}

// Text implements Reply.
func (r *Buffer) Text() string {
	pools := tableOf(r.Pools, func(t *table, p *Pool) {
		t.row(p.Pool, "", p.SizeBytes, "", "", "", "")
		for name, s := range p.Segments.All() {
			t.row("", name, s.SizeBytes, s.UsedBytes, s.MaxStartBytes, s.MaxClearBytes, s.MaxWindow)
		}
	}, "POOL", "SEGMENT", ">SIZE", ">USED", ">MAX", ">MAX SINCE CLEAR", ">MAX LAST 10 s")
	egress := tableOf(r.Ports, func(t *table, p *BufferPort) {
		for i, q := range p.EgressQueues {
			if s := q.Segment; s.MaxStartBytes > 0 || q.DroppedFrames > 0 {
				t.row(p.label(), i, s.UsedBytes, q.ThresholdBytes, s.MaxStartBytes, s.MaxClearBytes, s.MaxWindow,
					q.DroppedFrames)
			}
		}
	}, "PORT", "QUEUE", ">USED", ">THRESHOLD", ">MAX", ">MAX SINCE CLEAR", ">MAX LAST 10 s", ">DROPS")
	insurances := tableOf(r.Ports, func(t *table, p *BufferPort) {
		if s := p.Insurance; s != nil {
			t.row(p.label(), s.SizeBytes, s.UsedBytes, s.MaxStartBytes, s.MaxClearBytes, s.MaxWindow)
		}
	}, "PORT", ">SIZE", ">USED", ">MAX", ">MAX SINCE CLEAR", ">MAX LAST 10 s")
	rings := tableOf(r.Ports, func(t *table, p *BufferPort) {
		if p.Ring != nil && len(p.IngressQueues) > 0 {
			t.row(p.Port, p.Ring.Slots, p.Ring.SmallSlots, p.Ring.MaxFrames, ns(p.Ring.HoldNs), p.Ring.HoldBytes)
		}
	}, "PORT", ">SLOTS", ">SMALL SLOTS", ">MOST WAITING", ">HELD FOR", ">HELD BYTES")
	return sections(r.headline(), section{"Pools, bytes of the buffer", pools},
		section{"Lossless ingress queues, bytes of the buffer", r.ingressTable()},
		section{"Insurances of ports", insurances}, section{"Lossy egress queues that were used", egress},
		section{"Lossless receive rings", rings})
}

func (r *Buffer) ingressTable() *table {
	return tableOf(r.Ports, func(t *table, p *BufferPort) {
		for _, q := range p.IngressQueues {
			s, peer := q.Segments, "runs" // in an answer of another program any segment may be missing
			private, shared := cmp.Or(s.Private, &Segment{}), cmp.Or(s.Shared, &Segment{})
			headroom := cmp.Or(s.Headroom, &Segment{})
			switch {
			case !p.Up:
				peer = "down"
			case q.Off:
				peer = "held"
			}
			t.row(p.label(), q.Priority, peer, private.UsedBytes, shared.UsedBytes, q.ThresholdBytes,
				headroom.UsedBytes, headroom.SizeBytes, headroom.MaxStartBytes, q.Xoff, q.WaitedFrames, q.DroppedFrames)
		}
	}, "PORT", "PRIO", "PEER", ">PRIVATE", ">SHARED", ">THRESHOLD", ">HEADROOM", ">OF", ">PEAK", ">XOFF", ">WAITS",
		">LOST")
}

func (p *BufferPort) label() string {
	if p.Removed {
		return p.Port + " (removed)"
	}
	return p.Port
}
