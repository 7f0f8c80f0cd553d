package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pfcswitch/macctl"
)

// longWait is the time in the buffer above which Warnings names a queue.
const longWait = 50 * time.Millisecond

// A Wait is the longest time that a frame of a priority waits in the buffer for a port: while all other ports send
// nothing but that priority to it, each as much as its threshold lets in, and the port sends at its speed.
type Wait struct {
	Port     string        `json:"port"`
	Speed    *int64        `json:"speed_bits_per_second"` // null: none, and the Time is that at macctl.NominalSpeed
	Priority int           `json:"priority"`
	Lossless bool          `json:"lossless"` // for some of those that send
	Bytes    int64         `json:"bytes"`    // that may wait: shared, private, and octets that the headroom holds
	Time     time.Duration `json:"wait_ns"`  // of Bytes at Speed
}

// Waits returns the waits of all egress queues, by port and priority. TAPs are left out, since the host behind one
// takes what comes, and so are queues that no other port sends to. The configuration must be resolved.
func (c *Config) Waits() (all []Wait) {
	for out := range c.ports() {
		if out.isTAP() {
			continue
		}
		from := c.sendersTo(out)
		for priority := range 8 {
			w := Wait{Port: out.Name, Priority: priority}
			if out.Speed > 0 {
				w.Speed = &out.Speed
			}
			for _, in := range from {
				q := in.ingressQueue(priority)
				w.Lossless = w.Lossless || q.Lossless
				w.Bytes += c.Packing(in).Octets(q.Headroom)
			}
			w.Bytes += c.belowXOFF(from, priority)
			if len(from) > 0 {
				w.Time = time.Duration(float64(w.Bytes) * 8 / float64(macctl.SpeedOrNominal(out.Speed)) * 1e9)
				all = append(all, w)
			}
		}
	}
	return all
}

// sendersTo returns the ports that may send to a port, whatever the VLANs: a wire sends to its TAP alone, and the
// reverse.
func (c *Config) sendersTo(out *Port) (from []*Port) {
	taps := c.wires()
	joined := cmp.Or(out.Wire, taps[out.Name])
	for in := range c.ports() {
		other := cmp.Or(in.Wire, taps[in.Name])
		if in != out && (in.Name == joined || joined == "" && other == "") {
			from = append(from, in)
		}
	}
	return from
}

// ingressQueue is the queue that frames of a priority come by.
func (p *Port) ingressQueue(priority int) *ResolvedQueue {
	if p.FlowControl == FlowPause {
		priority = 0
	}
	return &p.Queues[priority]
}

// belowXOFF is what may wait of a priority of some ports before the last of them is held: all of what is lossy. Queues
// fill one after the other, since each then finds the most free: k of them leave the part 1/(1+alpha)^k of the shared
// segment.
func (c *Config) belowXOFF(from []*Port, priority int) (bytes int64) {
	shared, free, xoff, lossy := c.Shared(), 1.0, int64(0), int64(0)
	for _, in := range from {
		q := in.ingressQueue(priority)
		if !q.Lossless {
			lossy = int64(float64(c.Buffer.Lossy.Size) * (1 - freeBeside(c.Buffer.Lossy.Alpha)))
			continue
		}
		free *= freeBeside(q.Alpha)
		xoff += q.Xoff
		bytes += q.Private
	}
	switch {
	case free == 1: // none is lossless
		return lossy
	case c.Buffer.Policy == PolicyDT:
		shared = int64(float64(shared) * (1 - free))
	case c.Buffer.Policy == PolicyStatic:
		shared = min(shared, xoff)
	}
	return bytes + shared + lossy
}

// freeBeside is the share of a pool that one queue under a dynamic threshold leaves free.
func freeBeside(alpha float64) float64 { return 1 / (1 + alpha) }

// warnWaits finds the longest wait for each pool.
func (c *Config) warnWaits() (all []Warning) {
	longest := map[bool]Wait{}
	for _, w := range c.Waits() {
		if w.Time > longest[w.Lossless].Time {
			longest[w.Lossless] = w
		}
	}
	for _, lossless := range []bool{true, false} {
		w, key := longest[lossless], "buffer.lossy.size"
		if w.Time <= longWait {
			continue
		}
		if lossless {
			key = "buffer.lossless.size"
		}
		speed := formatRate(macctl.NominalSpeed) + " (speed: none)"
		if w.Speed != nil {
			speed = formatRate(*w.Speed)
		}
		all = append(all, c.warning(key, "frames of priority %d may wait %s in the buffer for port %s, which then "+
			"has %d bytes to send at %s: write a smaller size or alpha, or speeds of ports that are alike; the "+
			"headroom of a long cable counts too",
			w.Priority, w.Time.Round(time.Millisecond), w.Port, w.Bytes, speed))
	}
	return all
}

// warnMarks finds priorities whose thresholds of ECN are too high for the pool: two ports, those that may use most,
// send to a third one, and are held before the queue is long enough for a mark. It names the first such third port.
// More senders may have more.
func (c *Config) warnMarks() (all []Warning) {
	for priority, ecn := range c.ECN {
		if !ecn.Enabled {
			continue
		}
		alone := map[*Port]int64{}
		for p := range c.ports() {
			alone[p] = c.belowXOFF([]*Port{p}, priority)
		}
		for out := range c.ports() {
			if out.isTAP() {
				continue
			}
			from := slices.SortedStableFunc(slices.Values(c.sendersTo(out)), func(a, b *Port) int {
				return cmp.Compare(alone[b], alone[a])
			})
			if len(from) < 2 {
				continue
			}
			from = from[:2]
			holds := c.belowXOFF(from, priority)
			if holds > ecn.Kmin {
				continue
			}
			pool, until := "buffer.lossy.size", "frames are dropped"
			if from[0].ingressQueue(priority).Lossless {
				pool, until = "buffer.lossless.size", "they are held"
			}
			var names []string
			for _, in := range from {
				names = append(names, in.Name)
			}
			w := c.warning(fmt.Sprintf("ecn.%d.kmin", priority), "%s: senders at %s may have at most %d bytes waiting "+
				"for port %s before %s, so that no frame is marked until then: write ecn: {%d: {kmin: %s, "+
				"kmax: %s}}, or a larger %s", formatSize(ecn.Kmin), strings.Join(names, " and "), holds, out.Name,
				until, priority, formatSize(max(1, holds>>13)<<10), formatSize(max(2, holds>>11)<<10), pool)
			if _, written := c.source.lines["ecn"]; !written {
				w.Line = c.source.line("preset")
			}
			all = append(all, w)
			break
		}
	}
	return all
}
