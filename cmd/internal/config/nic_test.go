package config

import (
	"strings"
	"testing"
)

func TestHostNICKeys(t *testing.T) {
	c, _, err := HostNIC(NIC{Wire: "eth1", TAP: "host0", Addresses: []string{"10.0.0.1/24", "fd00::1/64"}, Speed: "10G", MTU: 9000, Metrics: "off"})
	if err != nil {
		t.Fatal(err)
	}
	wire, host := c.port("eth1"), c.port("host0")
	if c.Name != "nic-eth1" || c.Metrics.Listen != "" || wire.Speed != 10e9 || wire.MTU != 9000 || host.MTU != 9000 || len(host.Addresses) != 2 {
		t.Errorf("%+v\nwire %+v\nhost %+v", c, wire, host)
	}
	if other, ok := c.Joined(wire); !ok || other != "host0" {
		t.Errorf("the wire is joined to %q", other)
	}
	if !c.Priorities.IsLossless(3) || host.Kind != KindTAP {
		t.Errorf("lossless %08b, %s", c.Priorities.Lossless, host.Kind)
	}
	for _, streams := range []bool{false, true} {
		c, _, err := HostNIC(NIC{Wire: "eth1", TAP: "host0", Streams: streams})
		if err != nil || c.Headroom.SendRequest != streams {
			t.Errorf("send_request %v: %v, %v", streams, c.Headroom.SendRequest, err)
		}
	}
	for text, want := range map[string]int{"": -10, "0": 0, "5": 5} {
		c, _, err := HostNIC(NIC{Wire: "eth1", TAP: "host0", Nice: text})
		if err != nil || c.Nice != want {
			t.Errorf("nice %q: %d, %v, want %d", text, c.Nice, err, want)
		}
	}
	for want, n := range map[string]NIC{
		"is no nice value":                    {Wire: "eth1", TAP: "host0", Nice: "-21"},
		"(command line):4: ports.eth1.speed:": {Wire: "eth1", TAP: "host0", Speed: "fast"},
		"is not an interface's address":       {Wire: "eth1", TAP: "host0", Addresses: []string{"10.0.0.1"}},
		"cannot name a port":                  {Wire: "eth1/2", TAP: "host0"},
	} {
		if _, _, err := HostNIC(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q in it", n, err, want)
		}
	}
}
