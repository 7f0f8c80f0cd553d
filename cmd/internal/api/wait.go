package api

import (
	"slices"
	"strconv"
	"strings"

	"pfcswitch/cmd/internal/config"
)

// waitsTitle says what the table counts and what it leaves out.
const waitsTitle = `Longest wait in the buffer: what all other ports may have waiting for the port in one priority,
by pools, thresholds and headroom, at the port's speed (-: 10G). Not counted: other priorities, pauses by
the receiver, receive rings, cables, and what waits in other switches and in senders.`

// WaitsText is a table with a line for the priorities of a port that wait alike, empty where nothing can wait.
func WaitsText(all []config.Wait) string {
	alike := func(a, b config.Wait) bool { return a.Port == b.Port && a.Lossless == b.Lossless && a.Bytes == b.Bytes }
	t := newTable("PORT", ">SPEED", "PRIORITIES", "KIND", ">BYTES", ">WAIT")
	for i, w := range all {
		if slices.ContainsFunc(all[:i], func(o config.Wait) bool { return alike(o, w) }) {
			continue // in the line of that one
		}
		var priorities []string
		for _, o := range all[i:] {
			if alike(o, w) {
				priorities = append(priorities, strconv.Itoa(o.Priority))
			}
		}
		t.row(w.Port, optional(w.Speed, Rate), strings.Join(priorities, ","), either(w.Lossless, "lossless", "lossy"),
			w.Bytes, ns(w.Time))
	}
	return strings.TrimPrefix(sections("", section{waitsTitle, t}), "\n")
}
