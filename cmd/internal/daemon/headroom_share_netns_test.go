package daemon

import (
	"strings"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/headroom"
)

// A peer that is late does not take the pool: its port gets its share of the shared segment and no more, an event says
// so, and the resume threshold stays below what a queue can hold. When the peer has gone, the buffer is given back.
func TestLatePeerGetsItsShare(t *testing.T) {
	const keys = "preset: roce\nheadroom: {interval: 20ms}\n" + atOnce
	p := newPair(t, both(keys), [2]string{"speed: 10G, delay: 5ms", "speed: 10G"}) // b knows nothing of the delay
	cfg := p.ends[1].cfg
	calculated := cfg.Packing(&cfg.Ports[0]).Bytes(cfg.Ports[0].CalculatedHeadroom().Bytes())
	most, shared := cfg.MostHeadroom(&cfg.Ports[0]), cfg.Shared()
	eventually(t, "the share is in force", func() bool {
		h := p.found(1)
		return strings.HasPrefix(h.Bound, "headroom.share") && h.InForce == most &&
			p.snapshot(1).Config.Ingress[3].Headroom == most
	})
	if h := p.found(1); headroom.Octets(h.Needs) < 6_000_000 || most-calculated > shared/2 {
		t.Errorf("the link needs %d bits; calculated %d B, at most %d, shared %d", h.Needs, calculated, most, shared)
	}
	p.reports(1, dataplane.EventHeadroom, "headroom.share leaves")
	eventually(t, "the resume threshold is measured", func() bool { return p.found(1).Xon > 5_000_000 })
	eventually(t, "the resume threshold is what can be held", func() bool {
		xon := p.snapshot(1).Config.Ingress[3].Xon
		return xon > 100_000 && xon <= shared/2
	})
	p.halt[0]()
	eventually(t, "the buffer is given back", func() bool {
		return p.snapshot(1).Config.Ingress[3].Headroom == calculated && p.found(1).InForce == calculated
	})
	p.reports(1, dataplane.EventHeadroom, "calculated, since the link was not measured")
}
