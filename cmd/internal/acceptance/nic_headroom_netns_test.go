package acceptance

import (
	"slices"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
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
	ends := []struct {
		d              Switch
		port, neighbor string
	}{{r.Switch, "p1", "nic-eth0"}, {nic, "eth0", "test"}}
	for _, end := range ends {
		eventually(t, end.port+": measured, told and set", func() bool {
			h := HeadroomOf(end.d, end.port)
			return h.Agreed && h.Measured != nil && h.ResultAcked && h.PeerFound > 0 &&
				h.InForce >= headroom.Octets(h.Target) && h.Neighbour == end.neighbor
		})
		h := HeadroomOf(end.d, end.port)
		assert.True(t, h.Counters.Asked != 0 && h.Counters.Answered != 0 && h.Counters.Replies != 0 &&
			h.Counters.Results != 0 && h.ControlPasses && !h.ManualRequired, "%s: %+v", end.port, h.Counters)
		assert.Equal(t, nicPort(t, end.d, end.port).Config.Lossless, 1<<3, "%s: lossless", end.port)
	}
	for i, end := range ends {
		result, err := end.d.Source().CheckHeadroom(t.Context(), api.HeadroomCheckRequest{Port: end.port, Xoffs: 20})
		must(t, err)
		assert.MustBeTrue(t, len(result.Samples) == 20 && result.Unstopped <= 0 && result.MeasuredBytes != nil,
			"%s:\n%s", end.port, result.Text())
		// A peer that gets no CPU obeys late. It says how late, and no more comes than that explains.
		peer := ends[1-i]
		late := headroom.Octets(headroom.BitsIn(1e9, HeadroomOf(peer.d, peer.port).Reactions.Max))
		most, measured := slices.Max(result.Samples), *result.MeasuredBytes
		assert.True(t, most <= measured+late && (result.Fits || most > measured),
			"%s: more came than was measured, and %d B for what the peer says of its reactions:\n%s", end.port, late,
			result.Text())
	}
	_, err = nic.Source().CheckHeadroom(t.Context(), api.HeadroomCheckRequest{Port: "nic0", Xoffs: 1})
	assert.True(t, err != nil, "the port towards the host was checked")
	r.NoLosslessDrops()
}
