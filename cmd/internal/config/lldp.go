package config

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"time"
)

// LLDP configures what the ports send to their neighbours, and whether they follow them.
type LLDP struct {
	Agent      bool          // speak and hear LLDP at all
	Interval   time.Duration // between frames, whole seconds
	Hold       int           // intervals for which the neighbors keep what they received
	DCBX       DCBX
	Willing    bool          // follow what a peer has
	TieBreak   TieBreak      // where both ends are willing
	BitIEEE    uint8         // of mask 0x30, 0: off: the bit that says that headroom can be measured
	BitLegacy  uint8         // of mask 0x1F, likewise, in CEE and CIN
	ChangeHold time.Duration // between two changes that follow from what the peer tells
}

// DCBX is the version of the exchange.
type DCBX string

// The values of dcbx.
const (
	DCBXAuto DCBX = "auto" // IEEE, unless the peer speaks only an older one
	DCBXIEEE DCBX = "ieee"
	DCBXCEE  DCBX = "cee"
	DCBXCIN  DCBX = "cin"
	DCBXOff  DCBX = "off" // LLDP without it: the lossless priorities are those of the configuration
)

// TieBreak chooses the end whose priorities apply if both ends are willing, by MAC address.
type TieBreak string

// The values of tie_break.
const (
	TieHigher TieBreak = "higher"
	TieLower  TieBreak = "lower"
)

func defaultLLDP() LLDP {
	return LLDP{Agent: true, Interval: 30 * time.Second, Hold: 4, DCBX: DCBXAuto, TieBreak: TieHigher, BitIEEE: 0x20,
		BitLegacy: 0x10, ChangeHold: time.Second}
}

func (l *LLDP) fields() []field {
	return []field{
		key("agent", &l.Agent, toggle),
		key("interval", &l.Interval, wholeSeconds(time.Second, time.Hour)),
		key("hold", &l.Hold, number[int]("number of intervals", 2, 10)),
		key("dcbx", &l.DCBX, oneOf(DCBXAuto, DCBXIEEE, DCBXCEE, DCBXCIN, DCBXOff)),
		key("willing", &l.Willing, truth),
		key("tie_break", &l.TieBreak, oneOf(TieHigher, TieLower)),
		key("bit_ieee", &l.BitIEEE, bitIEEE),
		key("bit_legacy", &l.BitLegacy, bitLegacy),
		key("change_hold", &l.ChangeHold, duration(0, time.Hour)),
	}
}

// wholeSeconds reads a time in whole seconds, which LLDP needs.
func wholeSeconds(least, most time.Duration) parser[time.Duration] {
	p := duration(least, most)
	read := p.read
	p.read = func(text string) (time.Duration, error) {
		d, err := read(text)
		if err == nil && d%time.Second != 0 {
			err = errors.New("is no whole number of seconds: write one, such as 30s")
		}
		return d, err
	}
	return p
}

var bitIEEE, bitLegacy = oneBit(0x30), oneBit(0x1F)

// oneBit reads one bit of a mask, or off.
func oneBit(mask uint8) parser[uint8] {
	p := simple(bitsOf(mask), fmt.Sprintf("is no bit of the reserved ones: write one bit of 0x%02x, or off", mask),
		func(n uint8) string { return fmt.Sprintf("0x%02x", n) },
		func(text string) (uint8, bool) {
			n, err := strconv.ParseUint(text, 0, 8)
			return uint8(n), err == nil && bits.OnesCount64(n) == 1 && uint8(n)&^mask == 0
		})
	return withWord(p, "off", 0, p.forms)
}

// bitsOf lists the values of oneBit.
func bitsOf(mask uint8) *Schema {
	s := words([]string{"off"})
	for n := uint8(1); n != 0; n <<= 1 {
		if mask&n != 0 {
			s.Enum = append(s.Enum, int(n))
		}
	}
	return s
}

// Negotiated holds the settings that DCBX puts in place of a port's configuration. They stand in no file.
type Negotiated struct {
	Lossless uint8    // priorities under PFC, bit n = priority n
	Queues   [8]Queue // egress queues
}

// WithNegotiated returns a copy with negotiated settings by port name. Other ports have their configuration. The copy
// has to be resolved again.
func (c *Config) WithNegotiated(all map[string]Negotiated) *Config {
	changed := *c
	changed.Ports = slices.Clone(c.Ports)
	for p := range changed.ports() {
		p.Negotiated = nil
		if e, ok := all[p.Name]; ok {
			p.Negotiated = &e
		}
	}
	return &changed
}

// LosslessOf returns the priorities of a port that are under PFC, bit n = priority n; 0 without PFC. A host behind a
// TAP can hold all of them.
func (c *Config) LosslessOf(p *Port) uint8 {
	switch {
	case p.FlowControl != FlowPFC:
		return 0
	case p.isTAP():
		return 0xff
	case p.Negotiated != nil:
		return p.Negotiated.Lossless
	}
	return c.Priorities.Lossless
}

// QueuesOf returns the egress queues of a port.
func (c *Config) QueuesOf(p *Port) [8]Queue {
	if p.Negotiated != nil {
		return p.Negotiated.Queues
	}
	return c.Queues
}
