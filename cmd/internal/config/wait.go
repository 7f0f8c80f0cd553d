package config

import (
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
			lossy := false
			for _, in := range from {
				w.Lossless = w.Lossless || in.ingressQueue(priority).Lossless
				lossy = lossy || !in.ingressQueue(priority).Lossless
			}
			if w.Lossless {
				w.Bytes = c.losslessWait(from, priority)
			}
			if lossy {
				w.Bytes += int64(float64(c.Buffer.Lossy.Size) * (1 - freeBeside(c.Buffer.Lossy.Alpha)))
			}
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
	joined, _ := c.Joined(out)
	for in := range c.ports() {
		if other, _ := c.Joined(in); in != out && (in.Name == joined || joined == "" && other == "") {
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

// losslessWait is what may wait in the lossless pool of one priority of some ports. Queues fill one after the other,
// since each then finds the most free: k of them leave the part 1/(1+alpha)^k of the shared segment.
func (c *Config) losslessWait(from []*Port, priority int) (bytes int64) {
	shared, free, xoff := c.Shared(), 1.0, int64(0)
	for _, in := range from {
		q := in.ingressQueue(priority)
		if !q.Lossless {
			continue
		}
		free *= freeBeside(q.Alpha)
		xoff += q.Xoff
		bytes += q.Private + c.Packing(in).Octets(q.Headroom)
	}
	switch c.Buffer.Policy {
	case PolicyDT:
		return bytes + int64(float64(shared)*(1-free))
	case PolicyStatic:
		return bytes + min(shared, xoff)
	}
	return bytes + shared
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
