package api

import (
	"slices"
	"time"

	"pfcswitch/deadlock"
)

// Watchdog is the answer to show watchdog: how each lossless egress queue is watched for deadlocks, and what was found.
type Watchdog struct {
	Header
	Queues []WatchdogQueue `json:"queues"`
}

// WatchdogQueue is one egress queue. Times are in ns. Detection, restoration and poll are SONiC's words.
type WatchdogQueue struct {
	Port        string   `json:"port"`
	Priority    Priority `json:"priority"`
	State       string   `json:"state"` // operational; stormed; closed: PFC is off after repeated deadlocks; off
	Action      string   `json:"action"`
	Detection   int64    `json:"detection_ns"`
	Restoration int64    `json:"restoration_ns"`
	Poll        int64    `json:"poll_ns"`
	Slow        bool     `json:"slow"`
	Since       *string  `json:"stormed_since"` // null: no storm lasts
	Detected    uint64   `json:"storms_detected"`
	Restored    uint64   `json:"storms_restored"`
	Recurred    uint64   `json:"recurred"` // times that PFC was switched off
	// Frames of the queue that left, or were dropped, during all storms and during the last one, which may last.
	Sent        uint64 `json:"storm_sent_frames"`
	Dropped     uint64 `json:"storm_dropped_frames"`
	LastSent    uint64 `json:"last_storm_sent_frames"`
	LastDropped uint64 `json:"last_storm_dropped_frames"`
}

// watchdogOff is the state of a queue that is not watched.
const watchdogOff = "off"

func (m *moment) readWatchdog() *Watchdog {
	all := m.source.Watchdog()
	m.base.subtractStorms(all)
	return &Watchdog{m.Header, each(all, m.watchdogQueue)}
}

func (m *moment) watchdogQueue(s *deadlock.Status) WatchdogQueue {
	q := WatchdogQueue{Port: s.Name, Priority: Priority(s.Queue), State: s.State, Action: s.Config.Action.String(),
		Detection: int64(s.Config.DetectionTime()), Restoration: int64(s.Config.Recovery), Poll: int64(s.Config.Period),
		Slow: s.Config.Slow, Detected: s.Detected, Restored: s.Recovered, Recurred: s.Recurred, Sent: s.Sent,
		Dropped: s.Dropped, LastSent: s.LastSent, LastDropped: s.LastDropped}
	if s.Queue == deadlock.All {
		q.Priority = All
	}
	if !s.Config.Fast {
		q.State = watchdogOff
	}
	if s.Since != 0 {
		q.Since = nonZero(m.source.WallOf(s.Since).UTC().Format(time.RFC3339Nano))
	}
	return q
}

// Quiet tells whether no queue is stormed, or closed after storms.
func (r *Watchdog) Quiet() bool {
	return !slices.ContainsFunc(r.Queues, func(q WatchdogQueue) bool {
		return q.State != watchdogOff && q.State != "operational"
	})
}

// Text implements Reply.
func (r *Watchdog) Text() string {
	t := newTable("PORT", "PRIO", "STATE", "ACTION", ">DETECTION", ">RESTORATION", ">POLL", ">DETECTED", ">RESTORED",
		">SENT", ">DROPPED", ">LAST SENT", ">LAST DROPPED")
	for _, q := range r.Queues {
		var action, detection, restoration, poll any = none, none, none, none
		if q.State != watchdogOff {
			action, detection, restoration, poll = q.Action, ns(q.Detection), ns(q.Restoration), ns(q.Poll)
		}
		t.row(q.Port, q.Priority, q.State, action, detection, restoration, poll, q.Detected, q.Restored, q.Sent,
			q.Dropped, q.LastSent, q.LastDropped)
	}
	return sections(r.headline(), section{"SENT, DROPPED: frames of the queue during storms; LAST: during the last " +
		"one. A storm in which counters are cleared counts as RESTORED alone.", t})
}
