package traffic

import (
	"errors"
	"fmt"
	"net"
	"time"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A SendConfig says what a sender does.
type SendConfig struct {
	Interface, Netns string
	Speed            int64  // bit/s of the port; 0: as fast as the machine can
	Burst            int64  // octets on the wire; 0: the larger of two frames and 500 µs at Speed
	FlowControl      string // pfc, pause, or off: obeys nothing
	Lossless         uint8  // priorities on which PFC is obeyed
	Flows            []Flow
	Destination      uint64 // address of the sink; 0: ask for it
	VID              uint16 // of the tag; 0: priority-tagged
	Untagged         bool
	DSCP             uint8
	Duration         time.Duration
	Count            uint64    // frames in all; 0: by Duration alone
	Start            time.Time // zero: as soon as the sink was found
	NoSink           bool      // load only: nothing is asked and no totals are exchanged
}

func (c *SendConfig) mode() macctl.Mode { return mode(c.FlowControl) }

func mode(flowControl string) macctl.Mode {
	switch flowControl {
	case "pfc":
		return macctl.ModePFC
	case "pause":
		return macctl.ModePause
	}
	return macctl.ModeOff
}

func (c *SendConfig) burst() int64 {
	if c.Burst > 0 {
		return c.Burst
	}
	longest := 0
	for _, f := range c.Flows {
		longest = max(longest, frame.WireOctets(f.longest()))
	}
	return max(2*int64(longest), c.Speed/8/2000)
}

// Check reports what is wrong with the configuration.
func (c *SendConfig) Check() error {
	seen := uint8(0)
	if len(c.Flows) == 0 {
		return errors.New("no flow: name at least one priority")
	}
	for _, f := range c.Flows {
		switch {
		case f.Priority > 7:
			return fmt.Errorf("priority %d: priorities are 0 to 7", f.Priority)
		case seen&(1<<f.Priority) != 0:
			return fmt.Errorf("priority %d has two flows: give it one", f.Priority)
		case f.Octets < minRaw || f.Octets > port.MaxFrame:
			return fmt.Errorf("frames of %d octets: %d to %d are possible (without FCS, with the tag)", f.Octets,
				minRaw, port.MaxFrame)
		case f.Every < 0 || (f.Every == 0) != (f.Large == 0):
			return fmt.Errorf("priority %d: large frames of %d octets at every %d-th place: give both, or none",
				f.Priority, f.Large, f.Every)
		case f.Every > 0 && (f.Large < minRaw || f.Large > port.MaxFrame):
			return fmt.Errorf("large frames of %d octets: %d to %d are possible (without FCS, with the tag)", f.Large,
				minRaw, port.MaxFrame)
		case f.Weight < 1:
			return fmt.Errorf("priority %d: weight %d: it has to be at least 1", f.Priority, f.Weight)
		}
		seen |= 1 << f.Priority
	}
	switch {
	case c.VID > maxVID:
		return fmt.Errorf("VLAN %d: 0 (a priority tag) to %d are possible", c.VID, maxVID)
	case c.DSCP > maxDSCP:
		return fmt.Errorf("DSCP %d: 0 to %d are possible", c.DSCP, maxDSCP)
	case c.Duration < 0:
		return fmt.Errorf("a time of %v: it cannot be negative", c.Duration)
	case c.Duration == 0 && c.Count == 0:
		return errors.New("neither a time nor a number of frames: the load has to end")
	}
	return nil
}

// The largest VLAN (802.1Q table 9-2) and DSCP (RFC 2474 section 3).
const (
	maxVID  = 4094
	maxDSCP = 63
)

// ParseMAC reads the address of a station, such as 02:00:00:00:00:01; "" is 0.
func ParseMAC(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != frame.AddressOctets {
		return 0, fmt.Errorf("%s: not a MAC address such as 02:00:00:00:00:01", text)
	}
	return frame.Address(mac), nil
}
