package simulation

import (
	"math/rand/v2"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
	"pfcswitch/dataplane"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// A measuredPort is a port whose headroom follows what its Probe finds.
type measuredPort struct {
	s       *labSwitch
	number  int
	packing headroom.Packing
	prober  *daemon.Prober
	inForce int64 // bytes of the buffer; 0: what is calculated
}

// measure has port i of a switch measure the headroom of its link, as package daemon does.
func (f *fabric) measure(s *labSwitch, i int, pc *dataplane.PortConfig, session uint16) {
	p := &s.config.Ports[i]
	if p.FlowControl == config.FlowOff {
		return
	}
	m := measuredPort{s: s, number: i, packing: s.config.Packing(p), prober: agreed(s.config, p, session, nil)}
	pc.Prober, pc.Follow = m.prober, s.config.MeasuredQueues(p)
	f.measured = append(f.measured, m)
}

// hostProber returns the Prober of a host at a port. It has no shaper, and so no burst.
func hostProber(c *config.Config, p *config.Port) dataplane.HeadroomProber {
	prober := agreed(c, p, 0, func(s *headroom.Settings) { s.Inputs.Burst = 0 })
	prober.SetUp(true, 1)
	return prober
}

// agreed returns a Prober of one end of the link of a port. Its peer measures too.
func agreed(c *config.Config, p *config.Port, session uint16, change func(*headroom.Settings)) *daemon.Prober {
	s := daemon.ProbeSettings(c, p, 0)
	s.Session = session
	if change != nil {
		change(&s)
	}
	prober := daemon.NewProber(s, func() {})
	prober.SetAgreed(true, true, "", 1)
	return prober
}

// followHeadroom puts in force what was found. What does not fit is tried again by the next call.
func (f *fabric) followHeadroom() {
	for i := range f.measured {
		m := &f.measured[i]
		size := m.packing.Bytes(m.prober.Target())
		if size != 0 && size != m.inForce && m.s.sw.SetHeadroom(m.number, size, f.Now()) == nil {
			m.inForce = size
			m.prober.SetInForce(size)
		}
	}
}

// late returns by how much host i, which is linked to port p, is late each time; nil: never. A host that is software
// looks for pauses before each send call, so it sends no longer than one lasts, however late it looks.
func (f *fabric) late(i int, p *config.Port, o Options) func() int64 {
	if o.Noise == 0 {
		return nil
	}
	random := rand.New(rand.NewPCG(f.seed, 2<<32+uint64(i)))
	latest := int64(o.Latest)
	if latest == 0 {
		latest = headroom.SendLimit(p.Speed, p.MaxFrame()) * 8 * 1e9 / p.Speed
	}
	response := int64(o.Response)
	if response < 0 {
		response = macctl.ResponseLimitBits(p.Speed) * 1e9 / p.Speed
	}
	return func() int64 {
		return max(0, min(times(exponential(random.Uint64()), uint64(o.Noise)), latest-response))
	}
}
