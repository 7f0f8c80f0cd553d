package api

import (
	"fmt"
	"strings"

	"pfcswitch/cmd/internal/config"
)

// RingSpan is how long the lossless receive rings of a port take frames while the switch does not run.
type RingSpan struct {
	Port       string `json:"port"`
	Slots      int64  `json:"slots"`
	SmallSlots int64  `json:"small_slots"`  // for frames of up to 144 octets
	Bytes      int64  `json:"memory_bytes"` // of all rings of the port
	QueueBytes int64  `json:"queue_bytes"`  // beside, at most, for frames that wait: longer ones, or all before use
	FrameBytes int64  `json:"frame_bytes"`  // the longest frame in the ring, without FCS
	FullNs     int64  `json:"full_ns"`      // of such frames
	ShortNs    int64  `json:"short_ns"`     // of frames of 145 octets, the shortest beside the small slots
	SmallestNs int64  `json:"smallest_ns"`  // of frames of 60 octets
	AssistedNs *int64 `json:"assisted_ns"`  // full_ns where a program in the kernel holds the peer; null: the same
}

// NewRingSpans is what the rings of a resolved configuration take.
func NewRingSpans(c *config.Config) (all []RingSpan) {
	for _, s := range c.RingSpans() {
		all = append(all, RingSpan{s.Port, s.Slots, s.SmallSlots, s.Bytes, s.Queue, s.Frame, s.Full.Nanoseconds(),
			s.Short.Nanoseconds(), s.Smallest.Nanoseconds(), nonZero(s.Assisted.Nanoseconds())})
	}
	return all
}

const ringsTitle = `Receive rings: how long they take frames of so many octets while the switch does not run.
MiB: memory of all rings of the port. QUEUE: MiB beside, at most, while longer frames wait, or any frames before the
port is in use. FULL: of FRAME octets. 145, 60: once the port is in use. ASSISTED: FULL where a program in the kernel
holds the peer.`

// RingSpansText is a table with a line for each port, empty where none has lossless rings.
func RingSpansText(all []RingSpan) string {
	t := tableOf(all, func(t *table, s *RingSpan) {
		t.row(s.Port, s.Slots, s.SmallSlots, mebibytes(s.Bytes), mebibytes(s.QueueBytes), s.FrameBytes, ns(s.FullNs),
			ns(s.ShortNs), ns(s.SmallestNs), optional(s.AssistedNs, duration))
	}, "PORT", ">SLOTS", ">SMALL", ">MiB", ">QUEUE", ">FRAME", ">FULL", fmt.Sprint(">", config.ShortFrame),
		fmt.Sprint(">", config.SmallestFrame), ">ASSISTED")
	return strings.TrimPrefix(sections("", section{ringsTitle, t}), "\n")
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }
