package classify

import (
	"fmt"

	"pfcswitch/dataplane/frame"
)

// Priorities is the number of priorities of 802.1Q: 0–7.
const Priorities = 8

// DSCPs is the number of differentiated services codepoints: 0–63.
const DSCPs = 64

// Trust is what a port uses of the frames that it receives.
type Trust uint8

// What a port may trust.
const (
	TrustPCP  Trust = iota // the priority in the tag
	TrustDSCP              // the codepoint in the IP header, the tag never
	TrustPort              // nothing: each frame has the port's default priority
)

// String returns the word of the configuration: pcp, dscp or port.
func (t Trust) String() string {
	if t > TrustPort {
		return fmt.Sprintf("trust(%d)", uint8(t))
	}
	return [...]string{TrustPCP: "pcp", TrustDSCP: "dscp", TrustPort: "port"}[t]
}

// Config says how a port finds the priority of a frame. The zero value trusts the PCP and gives untagged frames
// priority 0.
type Config struct {
	Trust   Trust
	Default uint8        // 0–7: the priority of frames that carry nothing that the port trusts
	DSCP    [DSCPs]uint8 // 0–7: priority by codepoint
	MTU     int          // of the link, in octets behind the MAC header; 0: unknown
	Slot    int          // octets without FCS and outer tag of a frame that a slot of its ring holds; 0: of any frame
}

// DefaultDSCP returns the map that is in force where the user sets nothing: DSCP >> 3, the class selector (RFC 2474
// clause 4.2.2).
func DefaultDSCP() (m [DSCPs]uint8) {
	for dscp := range m {
		m[dscp] = uint8(dscp >> 3)
	}
	return m
}

// Validate reports the first value of c that is out of range.
func (c *Config) Validate() error {
	if c.Trust > TrustPort {
		return fmt.Errorf("classify: %v is unknown: trust pcp, dscp or port", c.Trust)
	}
	if c.Default >= Priorities {
		return fmt.Errorf("classify: default priority %d is out of range: use 0 to 7", c.Default)
	}
	for dscp, priority := range c.DSCP {
		if priority >= Priorities {
			return fmt.Errorf("classify: DSCP %d has priority %d, which is out of range: use 0 to 7", dscp, priority)
		}
	}
	return nil
}

// Priority returns the priority, 0–7, of the frame b whose header is h. c is valid.
func (c *Config) Priority(b []byte, h frame.Header) uint8 {
	switch c.Trust {
	case TrustPCP:
		if h.Tagged {
			return h.TCI.PCP()
		}
	case TrustDSCP:
		if dscp, ok := frame.DSCP(b, h.NetOffset, h.EtherType); ok {
			return c.DSCP[dscp]
		}
	}
	return c.Default
}
