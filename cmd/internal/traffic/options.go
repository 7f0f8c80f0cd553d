package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A SendConfig says what a sender does.
type SendConfig struct {
	Interface, Netns string
	Speed            int64  // bit/s of the port; 0: as fast as the machine can
	FlowControl      string // pfc, pause, or off: obeys nothing
	Lossless         uint8  // priorities on which PFC is obeyed
	Flows            []Flow
	Destination      uint64 // address of the sink; 0: ask for it
	VID              uint16 // of the tag; 0: priority-tagged
	Untagged         bool
	DSCP             uint8
	ECN              bool // all flows are ECN-capable; those with DCQCN are in any case
	Duration         time.Duration
	Count            uint64    // frames in all; 0: by Duration alone
	Start            time.Time // zero: as soon as the sink was found
	NoSink           bool      // load only: nothing is asked and no totals are exchanged
	Packet           bool      // all frames leave by the packet socket

	// Waiting is called once where no sink has answered at once; nil: nobody is told.
	Waiting func(text string)
}

// mode returns the mode of a flow control: pfc, pause, or another text for off.
func mode(flowControl string) macctl.Mode {
	return map[string]macctl.Mode{"pfc": macctl.ModePFC, "pause": macctl.ModePause}[flowControl]
}

// burst returns the octets on the wire that the port sends at once: two frames, or 500 µs at Speed where that is more.
func (c *SendConfig) burst() int64 {
	longest := 0
	for _, f := range c.Flows {
		longest = max(longest, frame.WireOctets(f.longest()))
	}
	return max(2*int64(longest), c.Speed/8/2000)
}

// Check reports what is wrong with the configuration.
func (c *SendConfig) Check() error {
	type load struct {
		priority uint8
		to       uint64
		after    time.Duration
	}
	seen := map[load]bool{}
	for _, f := range c.Flows {
		if err := f.check(); err != nil {
			return err
		}
		key := load{f.Priority, f.To, f.After}
		if seen[key] && f.Count == 0 {
			return fmt.Errorf("priority %d has two flows to one sink that start together: give it one", f.Priority)
		}
		seen[key] = seen[key] || f.Count == 0
	}
	switch {
	case len(c.Flows) == 0:
		return errors.New("no flow: name at least one priority")
	case c.VID > maxVID:
		return fmt.Errorf("VLAN %d: 0 (a priority tag) to %d are possible", c.VID, maxVID)
	case c.DSCP > maxDSCP:
		return fmt.Errorf("DSCP %d: 0 to %d are possible", c.DSCP, maxDSCP)
	case c.Speed == 0 && slices.ContainsFunc(c.Flows, func(f Flow) bool { return f.DCQCN }):
		return errors.New("DCQCN without a speed: its rates are shares of that: give the speed of the port")
	case c.NoSink && slices.ContainsFunc(c.Flows, func(f Flow) bool { return f.Window > 0 }):
		return errors.New("a window without a sink: nothing would acknowledge its frames: leave out one of the two")
	case c.Duration == 0 && slices.ContainsFunc(c.Flows, func(f Flow) bool { return f.Window > 0 && f.Lasts == 0 }):
		return errors.New("a window without a time: where all of its frames are lost, the flow stands still: give " +
			"one (--seconds, or for in the flow)")
	case c.Duration < 0:
		return fmt.Errorf("a time of %v: it cannot be negative", c.Duration)
	case c.Duration == 0 && c.Count == 0 && slices.ContainsFunc(c.Flows, func(f Flow) bool {
		return f.Count == 0 && f.Lasts == 0
	}):
		return errors.New("neither a time nor a number of frames: give one (--seconds, --count, or count or for in " +
			"each flow), so that the load ends")
	}
	return nil
}

func (f *Flow) check() error {
	switch {
	case f.Priority > 7:
		return fmt.Errorf("priority %d: priorities are 0 to 7", f.Priority)
	case f.Every < 0 || (f.Every == 0) != (f.Large == 0):
		return fmt.Errorf("priority %d: large frames of %d octets at every %d-th place: give both, or none", f.Priority,
			f.Large, f.Every)
	case f.Weight < 1:
		return fmt.Errorf("priority %d: weight %d: it has to be at least 1", f.Priority, f.Weight)
	case f.Window > 0 && (f.Replay != nil || min(f.Octets, cmp.Or(f.Large, f.Octets)) < MinAsking):
		return fmt.Errorf("priority %d: with a window frames have at least %d octets, to ask for acknowledgements",
			f.Priority, MinAsking)
	case f.After < 0 || f.Lasts < 0:
		return fmt.Errorf("priority %d: it starts after %v and lasts %v: times cannot be negative", f.Priority, f.After,
			f.Lasts)
	}
	if err := f.checkShape(); err != nil || f.Replay != nil {
		return err
	}
	for _, octets := range []int{f.Octets, cmp.Or(f.Large, f.Octets)} {
		if octets < minRaw || octets > port.MaxFrame {
			return fmt.Errorf("frames of %d octets: %d to %d are possible (without FCS, with the tag)", octets, minRaw,
				port.MaxFrame)
		}
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
