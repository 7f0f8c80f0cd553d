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
}

func (m *moment) readQueues() *Queues {
	return &Queues{m.Header, each(m.snapshot.Ports, func(p *dataplane.PortSnapshot) QueuesPort {
		v := QueuesPort{Port: p.Config.Name, DelayedFrames: p.Delayed, WaitingFrames: p.Waiting,
			Drops: dropsOf(p)}
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
		Dropped: dropped}
	if !q.Strict {
		q.Weight = &p.Config.Egress[k].Weight
	}
	return q
}

// Text implements Reply.
func (r *Queues) Text() string {
	queues := newTable("PORT", "QUEUE", "SERVICE", "STATE", ">FRAMES", ">BYTES", ">MAX BYTES", ">ECN MARKED", ">DROPS")
	drops := newTable("PORT", "PRIO", "REASON", ">FRAMES", ">DISCARDED")
	delayed := newTable("PORT", ">FRAMES")
	for _, p := range r.Ports {
		for _, q := range p.Queues {
			queues.row(p.Port, q.Queue, q.service(), q.state(), q.Frames, q.Bytes, q.MaxBytes, q.EcnMarked, q.Dropped)
		}
		for _, d := range p.Drops {
			drops.row(p.Port, d.Priority, d.Reason, d.Frames, d.LosslessDiscarded)
		}
		if p.DelayedFrames > 0 {
			delayed.row(p.Port, p.DelayedFrames)
		}
	}
	return sections(r.headline(), section{"", queues}, section{"Drops, where the frames arrived", drops},
		section{"In the delay line", delayed})
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
