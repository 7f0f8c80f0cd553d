package buffer

import (
	"errors"
	"fmt"

	"pfcswitch/macctl"
)

const (
	// Priorities is the number of priorities of IEEE 802.1Q, and of queues of a port in each direction.
	Priorities = 8
	// MinAlpha and MaxAlpha bound a threshold's α. The range contains SAI's (2^-8 to 2^7) and devlink's (from 2^-10).
	MinAlpha, MaxAlpha = 1.0 / 1024, 1024.0
	// NoXonOffset is the XonOffset of a queue whose Xon alone counts.
	NoXonOffset = -1
	// MaxSize bounds every size, in bytes, so that no product or sum of sizes overflows or loses a bit in a float64.
	MaxSize = 1 << 40
	// MaxPort is the highest port number: ports stand in a slice.
	MaxPort = 1<<16 - 1
)

// Config is what all ports share. Sizes are in bytes.
type Config struct {
	Cell     int        // bytes of an allocation unit, e.g. 256; fixed for a Manager's life
	Lossless PoolConfig // rounded down to cells
	Lossy    PoolConfig // rounded down to cells
	// Beside makes the lossless pool follow the headrooms where it is above 0: the pool has the private segments, all
	// headrooms, and so many bytes beside them, at least 2 MTU for each queue. Lossless.Size is the most it may have.
	Beside int64
	// RingHold makes a lossless frame that finds no room Wait in the receive ring. Without it the frame is dropped.
	RingHold bool
	// Threshold is the policy of the lossless pool; nil means DynamicThreshold. The lossy pool is always dynamic.
	Threshold Threshold
	Headroom  HeadroomSharing
	// Active is ABM, for both pools: see active.go. It does not go with Headroom.Dynamic.
	Active bool
}

// PoolConfig describes one of the two pools.
type PoolConfig struct {
	Size  int64   // bytes, 0 to MaxSize
	Alpha float64 // α of the queues that set none, MinAlpha to MaxAlpha
}

// PortConfig describes one port. Its flow control decides on its ingress queues:
//   - macctl.ModeOff: every priority is lossy.
//   - macctl.ModePFC: each lossless priority has an ingress queue, with the priority's number.
//   - macctl.ModePause: all eight priorities are lossless, in one ingress queue, number 0.
type PortConfig struct {
	Name       string // for messages; "port N" if empty
	Mode       macctl.Mode
	Lossless   uint8                   // ModePFC: bit n = priority n is lossless; ignored otherwise
	Speed      int64                   // of its link, bit/s, for Config.Active; 0: not known
	MTU        int                     // the port's largest frame, octets without FCS
	Queues     [Priorities]QueueConfig // lossless ingress queues; ModePause uses number 0 only
	LossyAlpha [Priorities]float64     // α of the lossy egress queues; 0 means the lossy pool's
}

// QueueConfig describes one lossless ingress queue. Sizes are in bytes.
type QueueConfig struct {
	Private   int64 // φ, guaranteed to this queue; rounded up to cells
	Headroom  int64 // η, for what arrives after XOFF, counted in cells; rounded up to cells
	Xon       int64 // resume at or below this much of the shared segment...
	XonOffset int64 // ...or this far below the threshold, whichever is higher; NoXonOffset: xon alone counts
	Xoff      int64 // the threshold of StaticThreshold; not used by DynamicThreshold
	// Alpha is the queue's α; 0 means the lossless pool's.
	Alpha float64
}

// ErrConfig is wrapped by every error about a configuration that can never be in force:
//   - a number is out of its range,
//   - a port or queue does not exist,
//   - private segments and headroom leave less than two MTU per lossless queue to share,
//   - an MTU-sized frame would not fit even into an empty buffer.
var ErrConfig = errors.New("configuration refused")

func configError(format string, args ...any) error {
	return fmt.Errorf("buffer: "+format+" (%w)", append(args, ErrConfig)...)
}

// validate reports every number that is out of range.
func (c *Config) validate() error {
	var faults []error
	if c.Cell < 1 || c.Cell > 1<<16 {
		faults = append(faults,
			configError("cell %d B is outside 1 to 65536: a chip has 64 to 512, 256 is usual", c.Cell))
	}
	for _, p := range []struct {
		name string
		PoolConfig
	}{{"lossless", c.Lossless}, {"lossy", c.Lossy}} {
		if p.Size < 0 || p.Size > MaxSize {
			faults = append(faults,
				configError("%s pool: size %d B is outside 0 to %d", p.name, p.Size, int64(MaxSize)))
		}
		if !validAlpha(p.Alpha) {
			faults = append(faults, configError("%s pool: alpha %v is outside %v to %v: 1 is usual",
				p.name, p.Alpha, MinAlpha, MaxAlpha))
		}
	}
	if c.Beside < 0 || c.Beside > MaxSize {
		faults = append(faults, configError("lossless pool: %d B beside private and headroom are outside 0 to %d",
			c.Beside, int64(MaxSize)))
	}
	if err := c.Headroom.validate(); err != nil {
		faults = append(faults, configError("%w", err))
	}
	if c.Active && c.Headroom.Dynamic {
		faults = append(faults, configError("active thresholds and dynamic headroom exclude each other: set one"))
	}
	return errors.Join(faults...)
}

func (c *PortConfig) validate(port int, policy Threshold) error {
	if port < 0 || port > MaxPort {
		return configError("port number %d is outside 0 to %d", port, MaxPort)
	}
	var faults []error
	if c.Mode > macctl.ModePFC {
		faults = append(faults, configError("%s: unknown flow control mode %d", c.label(port), c.Mode))
	}
	if c.ingress() != 0 && (c.MTU < 1 || int64(c.MTU) > MaxSize) {
		faults = append(faults, configError("%s: MTU %d is outside 1 to %d, a port with lossless priorities needs one",
			c.label(port), c.MTU, int64(MaxSize)))
	}
	for k := range uint8(Priorities) {
		if a := c.LossyAlpha[k]; a != 0 && !validAlpha(a) {
			faults = append(faults, configError("%s: alpha %v of lossy queue %d is outside %v to %v",
				c.label(port), a, k, MinAlpha, MaxAlpha))
		}
		if !c.isIngress(k) {
			continue
		}
		if err := c.Queues[k].validate(policy); err != nil {
			faults = append(faults, configError("%s: %w", c.queueLabel(port, k), err))
		}
	}
	return errors.Join(faults...)
}

func (c *QueueConfig) validate(policy Threshold) error {
	for _, s := range []struct {
		name string
		size int64
	}{
		{"private", c.Private}, {"headroom", c.Headroom}, {"xon", c.Xon}, {"xon_offset", c.XonOffset}, {"xoff", c.Xoff},
	} {
		if (s.size < 0 || s.size > MaxSize) && (s.name != "xon_offset" || s.size != NoXonOffset) {
			return fmt.Errorf("%s %d B is outside 0 to %d", s.name, s.size, int64(MaxSize))
		}
	}
	if c.Alpha != 0 && !validAlpha(c.Alpha) {
		return fmt.Errorf("alpha %v is outside %v to %v", c.Alpha, MinAlpha, MaxAlpha)
	}
	return policy.Check(*c)
}

func validAlpha(a float64) bool { return a >= MinAlpha && a <= MaxAlpha } // false for NaN

// ingress returns the port's lossless ingress queues, bit n = queue n.
func (c *PortConfig) ingress() uint8 {
	switch c.Mode {
	case macctl.ModePFC:
		return c.Lossless
	case macctl.ModePause:
		return 1
	default:
		return 0
	}
}

func (c *PortConfig) isIngress(queue uint8) bool { return c.ingress()>>queue&1 == 1 }

// queueMask maps a priority to the number of its ingress queue: priority & queueMask.
func (c *PortConfig) queueMask() uint8 {
	if c.Mode == macctl.ModePause {
		return 0
	}
	return Priorities - 1
}

func (c *PortConfig) label(port int) string {
	if c.Name != "" {
		return c.Name
	}
	return fmt.Sprintf("port %d", port)
}

func (c *PortConfig) queueLabel(port int, queue uint8) string {
	if c.Mode == macctl.ModePause {
		return c.label(port) + " priority all"
	}
	return fmt.Sprintf("%s priority %d", c.label(port), queue)
}
