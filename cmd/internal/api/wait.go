package api

import (
	"slices"
	"strconv"
	"strings"

	"pfcswitch/cmd/internal/config"
)

// Wait is the longest time that a frame of a priority waits in the buffer for a port, by the pools and thresholds.
type Wait struct {
	Port               string `json:"port"`
	SpeedBitsPerSecond *int64 `json:"speed_bits_per_second"` // null: none, and the port counts as one of 10G
	Priority           int    `json:"priority"`
	Lossless           bool   `json:"lossless"` // for some of the ports that send
	Bytes              int64  `json:"bytes"`
	WaitNs             int64  `json:"wait_ns"`
}

// NewWaits is what a resolved configuration lets wait.
func NewWaits(c *config.Config) (all []Wait) {
	for _, w := range c.Waits() {
		row := Wait{Port: w.Port, Priority: w.Priority, Lossless: w.Lossless, Bytes: w.Bytes,
			WaitNs: w.Time.Nanoseconds()}
		if w.Speed > 0 {
			row.SpeedBitsPerSecond = &w.Speed
		}
		all = append(all, row)
	}
	return all
}

// waitsTitle says what the table counts and what it leaves out.
const waitsTitle = `Longest wait in the buffer: what all other ports may have waiting for the port in one priority,
by pools, thresholds and headroom, at the port's speed (-: 10G). Not counted: other priorities, pauses by
the receiver, receive rings, cables, and what waits in other switches and in senders.`

// WaitsText is a table with a line for the priorities of a port that wait alike, empty where nothing can wait.
func WaitsText(all []Wait) string {
	alike := func(a, b Wait) bool { return a.Port == b.Port && a.Lossless == b.Lossless && a.Bytes == b.Bytes }
	t := newTable("PORT", ">SPEED", "PRIORITIES", "KIND", ">BYTES", ">WAIT")
	for i, w := range all {
		if slices.ContainsFunc(all[:i], func(o Wait) bool { return alike(o, w) }) {
			continue // in the line of that one
		}
		var priorities []string
		for _, o := range all[i:] {
			if alike(o, w) {
				priorities = append(priorities, strconv.Itoa(o.Priority))
			}
		}
		kind := "lossy"
		if w.Lossless {
			kind = "lossless"
		}
		speed := optional(w.SpeedBitsPerSecond, Rate)
		t.row(w.Port, speed, strings.Join(priorities, ","), kind, w.Bytes, ns(w.WaitNs))
	}
	return strings.TrimPrefix(sections("", section{waitsTitle, t}), "\n")
}
