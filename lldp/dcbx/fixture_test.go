package dcbx

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/lldp"
)

const second = 1_000_000_000

func unhex(tb testing.TB, text string) string { return string(assert.Hex(tb, text)) }

// weights are half for 0, half for 3, and 6 strict, the other queues without a share to speak of.
var weights = Queues{{Weight: 50}, {Weight: 1}, {Weight: 1}, {Weight: 50}, {Weight: 1}, {Weight: 1}, {Strict: true},
	{Weight: 1}}

// end returns the configuration of an end with priorities pfc. n is its address.
func end(n byte, pfc uint8, change ...func(c *Config)) Config {
	c := Config{Mode: ModeAuto, HigherWins: true, IEEEBit: 0x20, LegacyBit: 0x10, Hold: second,
		MAC: [6]byte{2, 0, 0, 0, 0, n}, CanPFC: true,
		PFC: pfc, Queues: weights, Apps: []App{{3, SelectUDP, RoCEv2Port}}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func willing(c *Config)   { c.Willing = true }
func lowerWins(c *Config) { c.HigherWins = false }
func noBits(c *Config)    { c.IEEEBit, c.LegacyBit = 0, 0 }
func noPFC(c *Config)     { c.CanPFC, c.PFC = false, 0 }

func mode(m Mode) func(*Config) { return func(c *Config) { c.Mode = m } }

func agent(c Config) lldp.Config {
	return lldp.Config{MAC: c.MAC, Interval: 30, Hold: 4, Local: lldp.PDU{
		Chassis:         lldp.ID{Subtype: lldp.ChassisMAC, Value: string(c.MAC[:])},
		Port:            lldp.ID{Subtype: lldp.PortIfName, Value: "p1"},
		PortDescription: "eth1", SystemDescription: "an end",
		Capabilities: &lldp.Capabilities{Supported: lldp.CapabilityBridge, Enabled: lldp.CapabilityBridge},
		Management: []lldp.ManagementAddress{{Family: lldp.FamilyMAC, Address: string(c.MAC[:]),
			Numbering: lldp.NumberIfIndex, Interface: 2}}}}
}

// A link joins two ends under virtual time.
type link struct {
	t      *testing.T
	now    int64
	ends   [2]*Exchange
	frames int
}

func connect(t *testing.T, one, two Config) *link {
	t.Helper()
	l := &link{t: t, ends: [2]*Exchange{NewExchange(agent(one), one), NewExchange(agent(two), two)}}
	for _, x := range l.ends {
		x.SetLink(true, 0)
	}
	return l
}

// run runs both ends for some seconds.
func (l *link) run(seconds int64) {
	l.t.Helper()
	for until := l.now + seconds*second; ; {
		for l.carry(0) || l.carry(1) {
		}
		next := min(l.ends[0].Next(), l.ends[1].Next())
		assert.MustBeTrue(l.t, next > l.now, "at %d: next %d", l.now, next)
		l.now = min(next, until)
		for _, x := range l.ends {
			x.Advance(l.now)
		}
		if l.now == until {
			return
		}
	}
}

// carry takes one frame across.
func (l *link) carry(from int) bool {
	f := l.ends[from].Transmit()
	if f == nil {
		return false
	}
	l.frames++
	l.ends[1-from].Receive(f, l.now)
	return true
}

// A result is the part of an Outcome that tests compare.
type result struct {
	Version  Version
	PFC      uint8
	Reason   Reason
	Mismatch bool
	Measures bool
}

func (l *link) want(one, two result) {
	l.t.Helper()
	for i, want := range []result{one, two} {
		o := l.ends[i].Outcome()
		assert.Equal(l.t, result{o.Version, o.PFC, o.Reason, o.Mismatch, o.Measures}, want, "at %d s, end %d",
			l.now/second, i)
	}
}
