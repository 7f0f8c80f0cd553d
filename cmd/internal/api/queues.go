package api

import (
	"strconv"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
)

// Queues is the answer to show queues.
type Queues struct {
	Header
	Ports []QueuesPort `json:"ports"`
}

// QueuesPort is the egress side of one port, and the drops of frames that arrived at the port.
type QueuesPort struct {
	Port          string  `json:"port"`
	Queues        []Queue `json:"queues"`         // number 0 to 7, in this order
	DelayedFrames int     `json:"delayed_frames"` // in the delay line: they have left their queues
	WaitingFrames int     `json:"waiting_frames"` // that came by this port and wait for buffer
	Drops         []Drop  `json:"drops"`          // by the priority that the frames arrived with; only what happened
}

// Queue is one egress queue.
type Queue struct {
	Queue        int    `json:"queue"`
	Strict       bool   `json:"strict"`
	Weight       *int   `json:"weight"` // null for a strict queue
	PausedByPeer bool   `json:"paused_by_peer"`
	Frames       int    `json:"frames"`
	Bytes        int64  `json:"bytes"`
	MaxBytes     int64  `json:"max_since_start_bytes"`
	EcnMarked    uint64 `json:"ecn_marked_frames"`
	Dropped      uint64 `json:"dropped_frames"` // lossy frames, from any port, at the queue's threshold
	Transmitted  uint64 `json:"transmitted_frames"`
	Discarded    uint64 `json:"discarded_frames"` // by the watchdog
}

func (m *moment) readQueues() *Queues {
	return &Queues{m.Header, each(m.snapshot.Ports, func(p *dataplane.PortSnapshot) QueuesPort {
		v := QueuesPort{Port: p.Config.Name, DelayedFrames: p.Delayed, WaitingFrames: p.Waiting, Drops: dropsOf(p)}
		lossy := m.egress(p.Config.Name)
		for k := range dataplane.NumPriorities {
			v.Queues = append(v.Queues, queue(p, k, lossy[k].Dropped))
		}
		return v
	})}
}

// egress returns what the buffer knows of a port's egress queues.
func (m *moment) egress(name string) (queues [buffer.Priorities]buffer.LossySnapshot) {
	for i := range m.snapshot.Buffer.Ports {
		if p := &m.snapshot.Buffer.Ports[i]; p.Name == name && !p.Removed {
			return p.Egress
		}
	}
	return queues
}

func queue(p *dataplane.PortSnapshot, k int, dropped uint64) Queue {
	q := Queue{Queue: k, Strict: p.Config.Egress[k].Strict, PausedByPeer: p.Paused&(1<<k) != 0, Frames: p.Held[k],
		Bytes: p.Counters.QueueBytes[k], MaxBytes: p.Counters.QueueBytesMax[k], EcnMarked: p.Counters.Marked[k],
		Dropped: dropped, Transmitted: p.Counters.QueueSent[k], Discarded: p.Counters.QueueDiscarded[k]}
	if !q.Strict {
		q.Weight = &p.Config.Egress[k].Weight
	}
	return q
}

// Text implements Reply. It leaves idle queues out.
func (r *Queues) Text() string { return r.text(false) }

// Detail is the text with idle queues.
func (r *Queues) Detail() string { return r.text(true) }

func (r *Queues) text(all bool) string {
	queues := newTable("PORT", "QUEUE", "SERVICE", "STATE", ">SENT", ">DROPPED", ">DISCARDED", ">FRAMES", ">BYTES",
		">MAX BYTES", ">ECN MARKED")
	drops := newTable("PORT", "PRIO", "REASON", ">FRAMES", ">DISCARDED")
	delayed := newTable("PORT", ">FRAMES")
	idle := 0
	for _, p := range r.Ports {
		for _, q := range p.Queues {
			if q.idle() && !all {
				idle++
				continue
			}
			queues.row(p.Port, q.Queue, q.service(), q.state(), q.Transmitted, q.Dropped, q.Discarded, q.Frames,
				q.Bytes, q.MaxBytes, q.EcnMarked)
		}
		for _, d := range p.Drops {
			drops.row(p.Port, d.Priority, d.Reason, d.Frames, d.LosslessDiscarded)
		}
		if p.DelayedFrames > 0 {
			delayed.row(p.Port, p.DelayedFrames)
		}
	}
	head := r.headline()
	if idle > 0 {
		head += count(idle) + " queues are idle: -a shows them too\n"
	}
	return sections(head, section{"", queues}, section{"Drops, where the frames arrived", drops},
		section{"In the delay line", delayed})
}

// idle tells whether the queue had nothing to do.
func (q *Queue) idle() bool {
	return !q.PausedByPeer && q.Frames == 0 && q.MaxBytes == 0 && q.Transmitted+q.Dropped+q.Discarded+q.EcnMarked == 0
}

func (q *Queue) service() string {
	if q.Weight == nil {
		return "strict"
	}
	return "weight " + strconv.Itoa(*q.Weight)
}

func (q *Queue) state() string {
	switch {
	case q.PausedByPeer:
		return "paused"
	case q.Frames > 0:
		return "sending"
	}
	return "empty"
}
