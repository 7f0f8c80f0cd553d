package acceptance

import (
	"slices"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/headroom"
)

// A host NIC, as the command nic makes it, plays both roles of a measurement: it asks and answers, sets what it finds,
// and tells it; before that it has agreed over LLDP which priorities are lossless, and that both measure. Each end can
// check its headroom by experiment, too.
func TestHostNICMeasures(t *testing.T) {
	r := Start(t, 1, Setup{Keys: "preset: roce\nheadroom: {interval: 100ms, send_request: on}\nlldp: {change_hold: 0s}",
		Each: "speed: 1G"})
	c, _, err := config.HostNIC(config.NIC{Wire: "eth0", TAP: "nic0", Addresses: []string{HostIP(1).String() + "/24"},
		Speed: "1G", Socket: r.Dir + "/nic.sock", Metrics: "off", Streams: true})
	must(t, err)
	for i := range c.Ports {
		c.Ports[i].Netns = r.Host(1).Path()
	}
	nic, _ := Run(t, c)
	eventually(t, "the host NIC is up", func() bool { return nicUp(nic) })
	for _, end := range []struct {
		d              Switch
		port, neighbor string
	}{{r.Switch, "p1", "nic-eth0"}, {nic, "eth0", "test"}} {
		eventually(t, end.port+": measured, told and set", func() bool {
			h := HeadroomOf(end.d, end.port)
			return h.Agreed && h.Measured != nil && h.ResultAcked && h.PeerFound > 0 &&
				h.InForce >= headroom.Octets(h.Target) && h.Neighbour == end.neighbor
		})
		h := HeadroomOf(end.d, end.port)
		if h.Counters.Asked == 0 || h.Counters.Answered == 0 || h.Counters.Replies == 0 || h.Counters.Results == 0 ||
			!h.ControlPasses || h.ManualRequired {
			t.Errorf("%s: %+v", end.port, h.Counters)
		}
		if got := nicPort(t, end.d, end.port).Config.Lossless; got != 1<<3 {
			t.Errorf("%s: lossless are %08b", end.port, got)
		}
	}
	for port, d := range map[string]Switch{"eth0": nic, "p1": r.Switch} {
		result, err := d.Source().CheckHeadroom(t.Context(), api.HeadroomCheckRequest{Port: port, Xoffs: 20})
		must(t, err)
		if result.Xoffs != 20 || !result.Fits || slices.Max(result.Samples) > *result.MeasuredBytes {
			t.Errorf("%s: it does not fit:\n%s", port, result.Text())
		}
	}
	if _, err := nic.Source().CheckHeadroom(t.Context(), api.HeadroomCheckRequest{Port: "nic0",
		Xoffs: 1}); err == nil {
		t.Error("the port towards the host was checked")
	}
	r.NoLosslessDrops()
}
