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

// measures reports whether port i of a switch measures in an ordinary run: its link leads to another switch, both say
// that they measure, and the headroom of one follows that. Hosts do not answer, as those of real labs do not.
func (f *fabric) measures(s *labSwitch, i int) bool {
	p := &s.config.Ports[i]
	here := config.LabEnd{Node: s.name, Interface: p.Interface}
	for _, l := range f.topology.Links {
		for e, end := range l.Ends {
			if end != here {
				continue
			}
			other, q := f.port(l.Ends[1-e])
			return q != nil && saysSo(s.config, p) && saysSo(other.config, q) &&
				s.config.MeasuredQueues(p)|other.config.MeasuredQueues(q) != 0
		}
	}
	return false
}

// saysSo reports whether a port says that it measures: by LLDP, or in its file.
func saysSo(c *config.Config, p *config.Port) bool {
	return p.FlowControl != config.FlowOff && (c.LLDP.Agent || c.Headroom.Agree == config.AgreeAlways)
}

// measuredIntervals is for how many intervals switches measure: until a headroom that is larger than needed is lowered.
const measuredIntervals = 20

// measureLinks has the switches measure the links between them before the flows begin. What was found stays in force,
// since links do not change.
func (f *fabric) measureLinks() {
	step := int64(0)
	for i := range f.measured {
		step = max(step, int64(f.measured[i].s.config.Headroom.Interval)/lookEvery*lookEvery)
	}
	f.LookEvery = step // nothing ends meanwhile
	f.Measure(true)
	for range measuredIntervals {
		f.Advance(f.Now() + step)
		f.followHeadroom()
	}
	f.Measure(false)
	f.LookEvery = lookEvery
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
		if size != 0 && size != m.inForce && f.trunkRoom(m, size) &&
			m.s.sw.SetHeadroom(m.number, size, f.Now()) == nil {
			m.inForce = size
			m.prober.SetInForce(size)
		}
	}
}

// trunkRoom reports whether the trunks of a switch have room for the headroom that was found at one of its ports.
func (f *fabric) trunkRoom(m *measuredPort, size int64) bool {
	if len(m.s.config.Trunks) == 0 {
		return true
	}
	found := map[string]int64{m.s.config.Ports[m.number].Name: size}
	for i := range f.measured {
		if other := &f.measured[i]; other.s == m.s && other != m && other.inForce > 0 {
			found[m.s.config.Ports[other.number].Name] = other.inForce
		}
	}
	return m.s.config.TrunkRoom(found) == nil
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
