package config

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// autoDepth is how long the fastest port sends what all queues of an automatic pool share.
const autoDepth = 5 * time.Millisecond

// Measured headrooms may add headroom.share to an automatic lossless pool, of what the fastest port sends in
// growthDepth, growthMost bytes at most, or in autoDepth, or of four frames for each measured queue, where that is
// more: a peer that is software answers late by milliseconds, one that lies by as much as it likes.
const (
	growthDepth = 20 * time.Millisecond
	growthMost  = 8 << 20
)

// ResolvedQueue is a lossless ingress queue (priority group) as the buffer manager needs it.
// Sizes are in bytes; Private and Headroom are whole cells.
type ResolvedQueue struct {
	Lossless  bool // false: nothing else is set
	Private   int64
	Headroom  int64
	Xon       int64
	XonOffset int64 // or buffer.NoXonOffset
	Xoff      int64 // threshold of PolicyStatic; 0: not written
	Alpha     float64
}

// Resolve returns a copy with everything that follows from link speeds: burst, headroom and xon of each port, and the
// sizes of the pools. speeds holds bit/s by port name and matters only for ports with SpeedAuto. A missing speed
// counts as 1G: a NIC whose link is down, and every veth and TAP, whatever their drivers claim. Resolve fails with an
// *Errors if the pool does not hold the reservations, or exceeds what a machine has.
func (c *Config) Resolve(speeds map[string]int64) (*Config, error) {
	resolved, faults := c.fill(speeds)
	faults = slices.Concat(faults, resolved.checkLimits(), resolved.checkWatchdogs())
	if !c.virtual {
		faults = append(faults, resolved.checkPortLimits()...)
	}
	if len(faults) > 0 {
		return nil, newErrors(faults)
	}
	return resolved, nil
}

// fill returns a copy with the values that follow from speeds, and the faults of its trunks and pools.
func (c *Config) fill(speeds map[string]int64) (*Config, []*Error) {
	resolved := *c
	resolved.Ports = slices.Clone(c.Ports)
	for p := range resolved.ports() {
		if p.SpeedAuto {
			if p.Speed = speeds[p.Name]; p.Speed <= 0 {
				p.Speed = defaultSpeed
			}
		}
		if p.Ring.OutageAuto {
			p.Ring.Outage = p.defaultOutage()
		}
		if p.BurstAuto {
			p.Burst = headroom.DefaultBurst(p.Speed, p.MaxFrame())
		}
		if p.StormAuto {
			p.Storm = p.defaultStorm()
		}
		p.resolveWatchdog()
		p.Queues = [8]ResolvedQueue{}
		for _, priority := range p.losslessPriorities(c) {
			p.Queues[priority] = p.resolveQueue(c, priority)
		}
	}
	return &resolved, slices.Concat(resolved.resolveTrunks(), resolved.resolvePools(), resolved.checkRooms())
}

// defaultStorm is what a port may flood where nothing is written, in bit/s: a tenth of its speed, and 1G at most.
func (p *Port) defaultStorm() int64 {
	const most = 1e9
	if p.Speed == 0 {
		return most
	}
	return min(p.Speed/10, most)
}

// HeadroomInputs are the inputs of the port's calculated headroom.
func (p *Port) HeadroomInputs() headroom.Inputs {
	in := headroom.Inputs{Speed: p.Speed, MaxFrame: p.MaxFrame(), Delay: p.Delay, Burst: p.Burst, K: p.K}
	if p.Speed == 0 {
		in.Burst = 0
	}
	return in
}

// Packing says how frames of a port fill the buffer after XOFF.
func (c *Config) Packing(p *Port) headroom.Packing {
	return p.HeadroomInputs().Packing(c.Buffer.Cell, c.Headroom.Small)
}

// CalculatedHeadroom is the port's calculated headroom in bits on the wire, whether or not the configuration uses it.
func (p *Port) CalculatedHeadroom() headroom.Calculation {
	return headroom.Calculate(p.HeadroomInputs(), p.FlowControl.Mode())
}

// losslessPriorities are the indexes of the port's lossless ingress queues. With PAUSE, queue 0 stands for all
// priorities. A host can hold every priority.
func (p *Port) losslessPriorities(c *Config) (priorities []int) {
	switch p.FlowControl {
	case FlowPause:
		return []int{0}
	case FlowPFC:
		lossless := c.LosslessOf(p)
		for priority := range p.Queues {
			if lossless>>priority&1 == 1 {
				priorities = append(priorities, priority)
			}
		}
	}
	return priorities
}

func (p *Port) priorityKey(priority int) string {
	if p.FlowControl == FlowPause {
		return "all"
	}
	return strconv.Itoa(priority)
}

func (p *Port) resolveQueue(c *Config, priority int) ResolvedQueue {
	own, b := p.Priorities[priority], &c.Buffer
	eta := pick(own.Headroom, b.Headroom)
	share := b.Lossless.Alpha
	if eta.Mode != HeadroomFixed {
		eta.Bytes = c.Packing(p).Bytes(p.CalculatedHeadroom().Bytes())
	}
	if p.isTAP() {
		eta.Bytes, share = max(eta.Bytes, tapHeadroom()), tapAlpha
	}
	return ResolvedQueue{
		Lossless:  true,
		Private:   b.WholeCells(pick(own.Private, b.Private)),
		Headroom:  b.WholeCells(eta.Bytes),
		Xon:       pick(own.Xon, pick(b.Xon, headroom.DefaultXon(p.HeadroomInputs()))),
		XonOffset: pick(own.xonOffset(b), buffer.NoXonOffset),
		Xoff:      pick(own.Xoff, pick(b.Xoff, 0)),
		Alpha:     pick(own.Alpha, share),
	}
}

// WholeCells rounds octets up to whole cells.
func (b *Buffer) WholeCells(bytes int64) int64 { return headroom.Cells(bytes, b.Cell) * b.Cell }

// reservation is what the lossless queues of all ports reserve in the lossless pool, in bytes.
type reservation struct {
	queues            int
	private, headroom int64 // Σφ, and the headroom segment
	need              buffer.HeadroomNeed
	frames            int64 // the shared segment that they need: two largest frames each
	measured          int64 // two largest frames for each queue whose headroom is measured
}

func (r reservation) sum() int64 { return r.private + r.headroom + r.frames }

func (c *Config) reserve() (r reservation) {
	for p := range c.ports() {
		measured := c.MeasuredQueues(p)
		var headrooms [buffer.Priorities]int64
		for k, q := range p.Queues {
			if !q.Lossless {
				continue
			}
			frames := 2 * c.Buffer.WholeCells(p.MaxFrame())
			r.queues++
			r.private += q.Private
			headrooms[k] = q.Headroom
			r.frames += frames
			if measured>>k&1 == 1 {
				r.measured += frames
			}
		}
		r.need.Add(headrooms)
	}
	r.headroom = c.Buffer.Sharing().Segment(r.need, c.Buffer.Cell)
	return r
}

// Shared is B_s, the bytes of the lossless pool that are neither private nor headroom.
func (c *Config) Shared() int64 {
	r := c.reserve()
	return c.Buffer.Lossless.Size - r.private - r.headroom
}

// MostHeadroom is the most that a measured headroom may be, in bytes of the buffer for each queue of the port: what is
// calculated, and an equal part of what all may have beyond that, for each queue on any port whose headroom is
// measured. It is never less than headroom.min.
func (c *Config) MostHeadroom(p *Port) int64 {
	measured := int64(0)
	for other := range c.ports() {
		measured += int64(bits.OnesCount8(c.MeasuredQueues(other)))
	}
	part := int64(c.Headroom.Share * float64(c.growth()) / float64(max(1, measured)))
	packing := c.Packing(p)
	most := packing.Bytes(p.CalculatedHeadroom().Bytes()) + part/c.Buffer.Cell*c.Buffer.Cell
	return max(most, c.Buffer.WholeCells(packing.Bytes(c.Headroom.Min)))
}

// growth is what headroom.share is a part of: the shared segment of a pool whose size is written, since headrooms grow
// into it; an automatic pool grows itself.
func (c *Config) growth() int64 {
	if !c.Buffer.Lossless.Auto {
		return c.Shared()
	}
	least := max(2*c.reserve().measured, c.sentIn(autoDepth))
	return max(least, min(c.sentIn(growthDepth), growthMost))
}

// HeadroomGrowth is the most that measured headrooms may add to an automatic lossless pool, in bytes: as much as
// MostHeadroom lets each queue have.
func (c *Config) HeadroomGrowth() (bytes int64) {
	if !c.Buffer.Lossless.Auto {
		return 0
	}
	for p := range c.ports() {
		measured := c.MeasuredQueues(p)
		if measured == 0 {
			continue
		}
		most := c.MostHeadroom(p)
		for q := range p.Queues {
			if measured>>q&1 == 1 {
				bytes += max(0, most-p.Queues[q].Headroom)
			}
		}
	}
	return bytes
}

// MeasuredQueues are the ingress queues of a port whose headroom follows the measurement: buffer.headroom or their own
// is auto.
func (c *Config) MeasuredQueues(p *Port) (queues uint8) {
	for q := range p.Queues {
		source := pick(p.Priorities[q].Headroom, c.Buffer.Headroom)
		if !p.isTAP() && p.Queues[q].Lossless && source.Mode == HeadroomAuto {
			queues |= 1 << q
		}
	}
	return queues
}

// lossyFrames are two largest frames for each lossy egress queue, in bytes, and for each port without one.
func (c *Config) lossyFrames() (size int64) {
	for p := range c.ports() {
		lossy := buffer.Priorities - bits.OnesCount8(p.FlowControl.Mode().Lossless(c.LosslessOf(p)))
		size += int64(max(1, lossy)) * 2 * c.Buffer.WholeCells(p.MaxFrame())
	}
	return size
}

// below is what queues must share, so that a dynamic threshold lets one of them hold so many bytes.
func (p *Pool) below(bytes int64) int64 {
	return int64(math.Ceil(float64(bytes) * (1 + p.Alpha) / p.Alpha))
}

// sentIn is what the fastest port sends in a time, in bytes. A port without a speed counts as everywhere. A TAP does
// not count, since the host behind it waits for room.
func (c *Config) sentIn(depth time.Duration) int64 {
	fastest := int64(0)
	for p := range c.ports() {
		if !p.isTAP() {
			fastest = max(fastest, macctl.SpeedOrNominal(p.Speed))
		}
	}
	return headroom.BitsIn(fastest, depth) / 8
}

// resolvePools sizes automatic pools and refuses pools that are too small.
func (c *Config) resolvePools() (faults []*Error) {
	r, pool, lossy := c.reserve(), &c.Buffer.Lossless, &c.Buffer.Lossy
	marks, bursts := c.trunkDepth()
	if pool.Auto {
		// What headrooms save that share is shared.
		pool.Beside = c.Buffer.WholeCells(max(r.frames, pool.below(marks), c.sentIn(autoDepth)))
		pool.Size = r.private + r.need.Sum + pool.Beside
	}
	if lossy.Auto {
		lossy.Size = c.Buffer.WholeCells(max(c.lossyFrames(), lossy.below(bursts), c.sentIn(autoDepth)))
	}
	const key = "buffer.lossless.size"
	shared := pool.Size - r.private - r.headroom
	switch {
	case shared < 0:
		faults = append(faults, c.Errorf(key,
			"%s does not hold what %d lossless queues reserve, %s private and %s headroom: write at least %s, or auto",
			formatSize(pool.Size), r.queues, formatSize(r.private), formatSize(r.headroom), atLeast(r.sum())))
	case shared < r.frames:
		faults = append(faults, c.Errorf(key,
			"%s leaves %s to share, beside %s private and %s headroom, and %d lossless queues need %s, two largest "+
				"frames each: write at least %s, or auto", formatSize(pool.Size), formatSize(shared),
			formatSize(r.private), formatSize(r.headroom), r.queues, formatSize(r.frames), atLeast(r.sum())))
	}
	for p := range c.ports() {
		if frame := c.Buffer.WholeCells(p.MaxFrame()); c.Buffer.Lossy.Size < frame {
			return append(faults, c.Errorf("buffer.lossy.size",
				"%s does not hold one frame of port %s: write at least %s", formatSize(c.Buffer.Lossy.Size), p.Name,
				atLeast(frame)))
		}
	}
	return faults
}

// atLeast is a round size that is not below n.
func atLeast(n int64) string { return formatSize((n + 1023) / 1024 * 1024) }
