package daemon

import (
	"fmt"
	"strings"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/runner"
	"pfcswitch/headroom"
)

// A peer that is late does not take the pool: its port gets its share and no more, an event says so, and the resume
// threshold stays below what a queue can hold. When the peer has gone, the buffer is given back. A pool whose size is
// written shares less meanwhile; an automatic one grows, and shares as much as before.
func TestLatePeerGetsItsShare(t *testing.T) {
	for name, pool := range map[string]string{"automatic": "", "written": "buffer: {lossless: {size: 16MiB}}\n"} {
		t.Run(name, func(t *testing.T) { latePeer(t, pool) })
	}
}

func latePeer(t *testing.T, pool string) {
	const keys = "preset: roce\nheadroom: {interval: 20ms}\n" + atOnce
	ports := [2]string{"speed: 10G, delay: 5ms", "speed: 10G"} // b knows nothing of the delay
	p := newPair(t, [2]string{keys, keys + pool}, ports)
	cfg := p.ends[1].cfg
	calculated := cfg.Packing(&cfg.Ports[0]).Bytes(cfg.Ports[0].CalculatedHeadroom().Bytes())
	most, shared, size := cfg.MostHeadroom(&cfg.Ports[0]), cfg.Shared(), cfg.Buffer.Lossless.Size
	eventually(t, "the share is in force", func() bool {
		h := p.found(1)
		return strings.HasPrefix(h.Bound, "headroom.share") && h.InForce == most &&
			p.snapshot(1).Config.Ingress[3].Headroom == most
	})
	bound := shared / 2
	if pool == "" {
		bound = 4 << 20
	}
	if h := p.found(1); headroom.Octets(h.Needs) < 6_000_000 || most-calculated > bound {
		t.Errorf("the link needs %d bits; calculated %d B, at most %d, shared %d", h.Needs, calculated, most, shared)
	}
	if pool == "" {
		size += most - calculated
	} else {
		shared -= most - calculated
	}
	poolIs(t, p, size, shared)
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
	poolIs(t, p, cfg.Buffer.Lossless.Size, cfg.Shared())
}

// A configuration that lets measured headrooms have less, leaves a port as much as it lets it have.
func TestSmallerShareLeavesItsPart(t *testing.T) {
	for name, pool := range map[string]string{"automatic": "", "written": "buffer: {lossless: {size: 16MiB}}\n"} {
		t.Run(name, func(t *testing.T) {
			const keys = "preset: roce\nheadroom: {interval: 20ms}\n" + atOnce
			// b knows nothing of the delay
			p := newPair(t, [2]string{keys, keys + pool}, [2]string{"speed: 10G, delay: 5ms", "speed: 10G"})
			most := func() int64 {
				d := p.ends[1]
				d.mu.Lock()
				defer d.mu.Unlock()
				return d.cfg.MostHeadroom(&d.cfg.Ports[0])
			}
			inForce := func() int64 { return p.snapshot(1).Config.Ingress[3].Headroom }
			before := most()
			eventually(t, "the share is in force", func() bool { return inForce() == before })
			p.apply(1, strings.Replace(keys, "20ms", "20ms, share: 10%", 1)+pool)
			assert.MustBeTrue(t, most() < before, "at most %d B, and %d before", most(), before)
			for range 20 {
				assert.MustEqual(t, inForce(), most(), "what is in force")
				p.ends[1].followHeadroom(t.Context(), runner.Now())
			}
			p.reports(1, dataplane.EventHeadroom,
				fmt.Sprintf("headroom %d B, was %d B: headroom.share", most(), before))
		})
	}
}

// poolIs expects the lossless pool of b to have so many bytes, of which all queues share some.
func poolIs(t *testing.T, p *pair, size, shared int64) {
	t.Helper()
	var s dataplane.Snapshot
	p.ends[1].runner.Snapshot(&s)
	if l := s.Buffer.Lossless; l.Size != size || l.SharedSize != shared {
		t.Errorf("the pool has %d B, of which %d are shared, want %d and %d", l.Size, l.SharedSize, size, shared)
	}
}
