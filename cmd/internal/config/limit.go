package config

import (
	"pfcswitch/headroom"
)

// What a switch may take of the machine. The accounts number cells by 32 bits and keep some 50 bytes for each, the rings
// and the delay lines are memory that is taken at once: beyond these limits the process would not refuse but die.
const (
	maxPoolBytes  int64 = 16 << 30 // bytes of both pools
	maxCells      int64 = 16 << 20
	maxDelayBytes int64 = 2 << 30 // bytes of all delay lines
	maxRingBytes  int64 = 1 << 30 // bytes of the other ring of a port, as Ring.Max of the lossless one
)

// checkLimits refuses a resolved configuration that is too large for any machine.
func (c *Config) checkLimits() (faults []*Error) {
	b := &c.Buffer
	key, what := "buffer.lossless.size", formatSize(b.Lossless.Size)
	remedy := "lower it"
	switch {
	case b.Lossy.Size > b.Lossless.Size:
		key, what = "buffer.lossy.size", formatSize(b.Lossy.Size)
	case b.Lossless.Auto:
		what = "auto would be " + what
		remedy = "lower the headroom (it follows from speed, delay, cable, mtu and k) or private, or write a size"
	}
	switch total := b.Lossless.Size + b.Lossy.Size; {
	case total > maxPoolBytes:
		faults = append(faults, c.Errorf(key, "%s: both pools together may have %s: %s", what, formatSize(maxPoolBytes), remedy))
	case total/b.Cell > maxCells:
		faults = append(faults, c.Errorf("buffer.cell", "%s: the pools would have %d cells, and %d are the most: write at least %s, or smaller pools",
			formatSize(b.Cell), total/b.Cell, maxCells, formatSize((total+maxCells-1)/maxCells)))
	}
	return append(faults, c.checkPortLimits()...)
}

func (c *Config) checkPortLimits() (faults []*Error) {
	var delayed int64
	for i := range c.Ports {
		p := &c.Ports[i]
		if ring := int64(p.Ring.Other) * p.Ring.SlotBytes(); ring > maxRingBytes {
			faults = append(faults, c.Errorf("ports."+p.Name+".ring.other", "%d slots of %d bytes are %s, and %s are the most: lower it, or ring.frame",
				p.Ring.Other, p.Ring.SlotBytes(), formatSize(ring), formatSize(maxRingBytes)))
		}
		before := delayed
		if delayed += p.delayBytes(); before <= maxDelayBytes && delayed > maxDelayBytes {
			faults = append(faults, c.Errorf("ports."+p.Name+".delay", "%s: the frames under way here would take %s, and those of all ports may take %s: "+
				"lower delay, speed or burst", formatTime(p.Delay), formatSize(p.delayBytes()), formatSize(maxDelayBytes)))
		}
	}
	return faults
}

// delayBytes is the memory of the delay line of a port: two bursts, and twice what the link holds, because small frames
// need more.
func (p *Port) delayBytes() int64 {
	if p.Delay == 0 {
		return 0
	}
	return 2 * (headroom.BitsIn(p.Speed, p.Delay)/8 + 2*p.Burst)
}
