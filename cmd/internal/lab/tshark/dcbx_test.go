package tshark

import (
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/lldp"
	"pfcswitch/lldp/dcbx"
)

// end returns the configuration of an end with priorities pfc. n is its address.
func end(n byte, pfc uint8, change ...func(c *dcbx.Config)) dcbx.Config {
	c := dcbx.Config{Mode: dcbx.ModeAuto, HigherWins: true, IEEEBit: 0x20, LegacyBit: 0x10, Hold: second,
		MAC: [6]byte{2, 0, 0, 0, 0, n}, CanPFC: true, PFC: pfc,
		Queues: dcbx.Queues{{Weight: 50}, {Weight: 1}, {Weight: 1}, {Weight: 50}, {Weight: 1}, {Weight: 1},
			{Strict: true}, {Weight: 1}},
		Apps: []dcbx.App{{Priority: 3, Selector: dcbx.SelectUDP, Protocol: dcbx.RoCEv2Port}}}
	for _, f := range change {
		f(&c)
	}
	return c
}

func willing(c *dcbx.Config) { c.Willing = true }

func mode(m dcbx.Mode) func(*dcbx.Config) { return func(c *dcbx.Config) { c.Mode = m } }

func agent(c dcbx.Config) lldp.Config {
	return lldp.Config{MAC: c.MAC, Interval: 30, Hold: 4, Local: lldp.PDU{
		Chassis:         lldp.ID{Subtype: lldp.ChassisMAC, Value: string(c.MAC[:])},
		Port:            lldp.ID{Subtype: lldp.PortIfName, Value: "p1"},
		PortDescription: "eth1", SystemName: "s1", SystemDescription: "an end",
		Capabilities: &lldp.Capabilities{Supported: lldp.CapabilityBridge, Enabled: lldp.CapabilityBridge},
		Management: []lldp.ManagementAddress{{Family: lldp.FamilyMAC, Address: string(c.MAC[:]),
			Numbering: lldp.NumberIfIndex, Interface: 2}}}}
}

const second = 1_000_000_000

// exchange lets two ends speak for five seconds and returns all that they send, goodbyes included.
func exchange(one, two dcbx.Config) (all [][]byte) {
	ends := [2]*dcbx.Exchange{dcbx.NewExchange(agent(one), one), dcbx.NewExchange(agent(two), two)}
	now := int64(0)
	carry := func() {
		for sent := true; sent; {
			sent = false
			for i, x := range ends {
				if f := x.Transmit(); f != nil {
					all, sent = append(all, f), true
					ends[1-i].Receive(f, now)
				}
			}
		}
	}
	for _, x := range ends {
		x.SetLink(true, now)
	}
	for range 5 {
		carry()
		now += second
		for _, x := range ends {
			x.Advance(now)
		}
	}
	for _, x := range ends {
		x.Stop(now)
	}
	carry()
	return all
}

// Another implementation reads every frame without a complaint, and reads out of it what was meant.
func TestReadsDCBX(t *testing.T) {
	for _, tt := range []struct {
		name     string
		one, two dcbx.Config
		want     map[string]string // in a frame of either end
	}{
		{"ieee", end(1, 0x18), end(2, 0x18, willing), map[string]string{
			"lldp.ieee.802_1.subtype": "0x09 0x0a 0x0b 0x0c", "lldp.dcbx.ieee.pfc.numtcs": "8",
			"lldp.dcbx.feature.pfc.prio3": "1",
			"lldp.dcbx.feature.pfc.prio4": "1", "lldp.dcbx.feature.pfc.prio5": "0", "lldp.dcbx.iee.app.sf": "3",
			"lldp.dcbx.feature.app.proto": "0x12b7"}},
		{"cee", end(1, 0x18, mode(dcbx.ModeCEE)), end(2, 0x18), map[string]string{
			"lldp.dcbx.proto": "0x02", "lldp.dcbx.feature.pfc.prio3": "1", "lldp.dcbx.feature.pfc.prio5": "0",
			"lldp.dcbx.feature.pfc.numtcs": "0x08"}},
		{"cee that differs", end(1, 0x18, mode(dcbx.ModeCEE)), end(2, 0x38),
			map[string]string{"lldp.dcbx.proto": "0x02"}},
		{"cin", end(1, 0x18, mode(dcbx.ModeCIN)), end(2, 0x18), map[string]string{
			"lldp.dcbx.proto": "0x01", "lldp.dcbx.control.seq": "1", "lldp.dcbx.feature.pfc.prio3": "1",
			"lldp.dcbx.feature.pfc.prio4": "1",
			"lldp.dcbx.feature.pfc.prio5": "0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := exchange(tt.one, tt.two)
			fields := slices.Concat(Complaints, []string{"lldp.time_to_live"})
			for field := range tt.want {
				fields = append(fields, field)
			}
			read := Decode(t, all, fields...)
			assert.MustEqual(t, len(read), len(all), "frames read")
			found, goodbyes := map[string]bool{}, 0
			for i, l := range read {
				for _, complaint := range slices.Concat(l[Complaints[0]], l[Complaints[1]]) {
					assert.True(t, tt.name == "cin" && tooShort(complaint) && completeCIN(all[i]),
						"tshark says of frame %d: %q\n%x", i, complaint, all[i])
				}
				if slices.Equal(l["lldp.time_to_live"], []string{"0"}) {
					goodbyes++
				}
				for field, want := range tt.want {
					found[field] = found[field] || strings.Join(l[field], " ") == want
				}
			}
			for field, want := range tt.want {
				assert.True(t, found[field], "no frame has %s %q; the last one has %q", field, want,
					read[len(read)-3][field])
			}
			assert.Equal(t, goodbyes, 2, "goodbyes")
		})
	}
}
