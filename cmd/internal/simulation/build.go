package simulation

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/daemon"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/sim"
	"pfcswitch/deadlock"
	"pfcswitch/macctl"
)

// A fabric is the fabric of a topology, with the names that it has there.
type fabric struct {
	*sim.Fabric
	topology *config.Topology
	seed     uint64
	real     bool // for real links: it is only looked at
	lldp     bool // switches negotiate first
	switches []*labSwitch
	hosts    map[string]int     // nodes, by name
	speeds   map[string]int64   // of their links, bit/s
	ends     map[string]sim.End // of links: one of the two
	flows    []labFlow          // in the order of sim's
	slowest  int64              // speed of the slowest link, bit/s
	measured []measuredPort
	half     []halfEnd
	looked   dataplane.Snapshot // of Options.Look
	touched  int64              // octets of memory, when checkMemory asked the machine last
}

type labSwitch struct {
	name    string
	node    int
	config  *config.Config // resolved
	sw      *dataplane.Switch
	numbers map[string]int   // of ports, by interface
	told    []deadlock.Event // by its watchdog

	speakers []*speaker // of its ports, by number; nil: it speaks no LLDP
}

// A labFlow is one pair of hosts of an entry under traffic.
type labFlow struct {
	*config.LabTraffic
	from, to string
	size     int64 // payload octets that it has to send; 0: until its entry ends
	lossless bool  // at each switch of its way
}

// build makes the fabric of a topology. Its errors have file, line and key.
func build(t *config.Topology, o Options) (*fabric, error) {
	if len(t.Traffic) == 0 {
		return nil, t.Errorf("traffic", "there is none, and so nothing to see: write who sends to whom, such as "+
			"traffic: {f1: {from: h1, to: h2, duration: 100ms}}")
	}
	f := &fabric{topology: t, seed: o.Seed, real: o.real, lldp: o.LLDP, hosts: map[string]int{},
		speeds: map[string]int64{}, ends: map[string]sim.End{}}
	if err := f.resolve(); err != nil {
		return nil, err
	}
	if f.lldp {
		f.negotiate()
	}
	stall := int64(o.Stall)
	if stall == 0 { // a pause that nobody renews has ended by then
		stall = max(leastStall, 2*macctl.QuantaDuration(0xFFFF, f.slowest))
	}
	var err error
	if f.Fabric, err = sim.New(sim.Config{Seed: o.Seed, Stall: stall, LookEvery: lookEvery, Workers: o.Workers,
		Together: o.Together}); err != nil {
		return nil, err
	}
	for _, add := range []func() error{func() error { return f.addSwitches(o) }, func() error { return f.addHosts(o) },
		f.connect, func() error { return f.checkFlows(o) }, f.addFlows, f.addFaults, f.learn} {
		if err := add(); err != nil {
			return nil, errors.Join(err, f.close())
		}
	}
	return f, nil
}

const (
	spareStations = 256 // addresses of switches, in loop probes

	leastStall = 10_000_000 // ns
	lookEvery  = 100_000    // ns between two looks whether a run has ended
)

// close frees the switches.
func (f *fabric) close() error {
	var errs []error
	for _, s := range f.switches {
		if s.sw != nil {
			errs = append(errs, s.sw.Close())
		}
	}
	return errors.Join(errs...)
}

// resolve completes the configurations of the switches, each by itself, and refuses what virtual time does not have.
func (f *fabric) resolve() error {
	for _, l := range f.topology.Switches {
		c, err := l.Config.Resolve(nil)
		if err != nil {
			return f.topology.InSwitch(l.Name, err)
		}
		s := &labSwitch{name: l.Name, config: c, numbers: map[string]int{}}
		for i := range c.Ports {
			p := &c.Ports[i]
			if err := f.checkPort(c, p); err != nil {
				return f.topology.InSwitch(l.Name, err)
			}
			s.numbers[p.Interface] = i
			if f.slowest == 0 || p.Speed < f.slowest {
				f.slowest = p.Speed
			}
		}
		f.switches = append(f.switches, s)
	}
	return nil
}

// checkPort refuses a port without a speed, and one that cannot be one in virtual time.
func (f *fabric) checkPort(c *config.Config, p *config.Port) error {
	key := "ports." + p.Name
	switch {
	case f.real && p.Kind == config.KindTAP:
		return nil
	case p.Kind == config.KindTAP:
		return c.Errorf(key+".kind", "tap: virtual time has no host's stack: remove the port, or run the lab for real "+
			"(pfcswitch lab up)")
	case p.Speed == 0:
		return c.Errorf(key+".speed", "none: a link with traffic needs a speed: write one, such as 10G")
	}
	return nil
}

// addSwitches makes the switches. The delays of their ports are those of the links.
func (f *fabric) addSwitches(o Options) error {
	before := f.heap()
	for n, s := range f.switches {
		random := rand.New(rand.NewPCG(f.seed, uint64(n)+1))
		var identity bridge.Identity
		for _, b := range [][]byte{identity.Public[:], identity.Secret[:]} {
			for i := 0; i+8 <= len(b); i += 8 {
				binary.LittleEndian.PutUint64(b[i:], random.Uint64())
			}
		}
		var err error
		s.sw, err = daemon.NewCore(s.config, identity, f.stations(s), func(i int, p *dataplane.PortConfig) {
			p.Delay, p.MAC = 0, portMAC(n, i)
			if session := uint16(random.Uint32()); o.Measure || !f.real && f.measures(s, i) {
				f.measure(s, i, p, session)
			}
		})
		if err != nil {
			return f.noMemory(s, err)
		}
		for i := range s.config.Ports {
			p := &s.config.Ports[i]
			if err := s.sw.SetRoom(i, int(p.LosslessSlots()*p.Ring.SlotBytes())); err != nil {
				return f.noMemory(s, err)
			}
		}
		if s.node, err = f.AddSwitch(s.name, s.sw, len(s.config.Ports)); err != nil {
			return err
		}
		if err := f.watch(s, o.Watchdog != nil); err != nil {
			return err
		}
		if n == 0 {
			if err := f.checkSwitches(f.heap()-before, o); err != nil {
				return err
			}
		}
	}
	f.Measure(o.Measure) // others do when the switches have learned
	return nil
}

// noMemory says what to do where a switch does not fit: its pools, or the waiting rooms of its ports.
func (f *fabric) noMemory(s *labSwitch, err error) error {
	return f.topology.Errorf("switches", "switch %s: %v: write smaller buffers and rings (buffer: {lossless: …, "+
		"lossy: …}, ports: {…: {ring: {max: …}}}), or fewer switches", s.name, err)
}

// stations is the most that the filtering database of a switch has to hold. A database for more would be slower: its
// entries lie far from each other.
func (f *fabric) stations(s *labSwitch) int {
	vlans := map[uint16]bool{} // those of untagged and priority-tagged frames, which alone are sent
	for i := range s.config.Ports {
		vlans[s.config.Ports[i].PVID] = true
	}
	const stale = 2 // an entry may stay where a port was shut or went down
	return len(s.config.FDB) + stale*len(vlans)*len(f.topology.Hosts) + spareStations
}

// addHosts makes the hosts that a link leads to.
func (f *fabric) addHosts(o Options) error {
	owners := map[uint64]string{}
	for i, h := range f.topology.Hosts {
		mac := frame.Address(f.topology.Address(i))
		if other := owners[mac]; other != "" {
			return f.topology.Errorf("hosts."+h.Name+".mac", "%s has the same address: write another", other)
		}
		owners[mac] = h.Name
		if s, p := f.portOf(h.Name); p != nil {
			mode := p.FlowControl.Mode()
			c := sim.HostConfig{Name: h.Name, MAC: mac, Mode: mode, Lossless: mode.Lossless(s.config.LosslessOf(p)),
				Response: max(-1, int64(o.Response)), Late: f.late(i, p, o)}
			if o.Measure {
				c.Prober, c.Measurement = hostProber(s.config, p), s.config.Headroom.Format()
			}
			f.hosts[h.Name] = f.AddHost(c)
			f.speeds[h.Name] = p.Speed
		}
	}
	return nil
}

// portOf returns the port of a switch that a host is linked to, nil where there is none.
func (f *fabric) portOf(host string) (*labSwitch, *config.Port) {
	for i := range f.topology.Links {
		for e, end := range f.topology.Links[i].Ends {
			if end == (config.LabEnd{Node: host, Interface: "eth0"}) {
				return f.port(f.topology.Links[i].Ends[1-e])
			}
		}
	}
	return nil, nil
}

// port returns the port at an end of a link, nil where that is a host.
func (f *fabric) port(e config.LabEnd) (*labSwitch, *config.Port) {
	for _, s := range f.switches {
		if i, ok := s.numbers[e.Interface]; ok && s.name == e.Node {
			return s, &s.config.Ports[i]
		}
	}
	return nil, nil
}

// connect makes the links. A host sends at the speed and with the delay of the port that it is linked to.
func (f *fabric) connect() error {
links:
	for i := range f.topology.Links {
		l := &f.topology.Links[i]
		key := "links." + l.Name + ".ends"
		var ends [2]sim.End
		var ports [2]*config.Port
		for e, end := range l.Ends {
			s, p := f.port(end)
			node, host := f.hosts[end.Node]
			switch {
			case s != nil:
				ends[e], ports[e] = sim.End{Node: s.node, Port: s.numbers[end.Interface]}, p
			case f.real && (!host || end.Interface != "eth0"):
				continue links // hosts have it to themselves
			case !host || end.Interface != "eth0":
				return f.topology.Errorf(key, "%s:%s: a host in virtual time has one link, from its eth0 to a switch: "+
					"remove this one, or run the lab for real (pfcswitch lab up)", end.Node, end.Interface)
			default:
				ends[e] = sim.End{Node: node}
			}
		}
		var speeds, delays [2]int64
		for e := range ports {
			p := ports[e]
			if p == nil {
				p = ports[1-e]
			}
			speeds[e], delays[e] = p.Speed, int64(p.Delay)
		}
		if err := f.Connect(ends, speeds, delays); err != nil {
			return f.topology.Errorf(key, "%v: correct it", err)
		}
		f.ends[l.Name] = ends[0]
		if l.HalfDuplex != "" {
			if err := f.halve(l, ends, ports); err != nil {
				return err
			}
		}
	}
	return nil
}

// addFlows makes a flow of each pair of hosts, and those of random sizes.
func (f *fabric) addFlows() error {
	for i := range f.topology.Traffic {
		t := &f.topology.Traffic[i]
		if t.DCQCN && !slices.ContainsFunc(f.switches, func(s *labSwitch) bool {
			return s.config.ECN[t.Priority].Enabled
		}) {
			return f.topology.Errorf("traffic."+t.Name+".cc", "no switch marks frames of priority %d, so nothing "+
				"would slow the senders down: write preset: roce for the switches, or ecn: {%[1]d: on}", t.Priority)
		}
		for _, pair := range t.Pairs() {
			if err := f.addFlow(t, pair[0], pair[1], int64(t.Start), t.Size); err != nil {
				return err
			}
		}
		if t.Poisson != "" {
			if err := f.addPoisson(i, t); err != nil {
				return err
			}
		}
	}
	if len(f.flows) == 0 {
		return f.topology.Errorf("traffic", "no flow begins: write a longer duration, or a larger load")
	}
	return nil
}

// addFaults makes what goes wrong.
func (f *fabric) addFaults() error {
	for i := range f.topology.Faults {
		t := &f.topology.Faults[i]
		c := sim.FaultConfig{Kind: sim.Flap, At: f.ends[t.Flap], Rate: t.Rate, Start: int64(t.Start),
			Stop: int64(t.Start + t.Duration), Every: int64(t.Every)}
		if t.Duration == 0 {
			c.Stop = math.MaxInt64
		}
		switch {
		case t.Storm != "":
			c.Kind, c.At = sim.Storm, sim.End{Node: f.hosts[t.Storm]}
		case t.Slow != "":
			c.Kind, c.At = sim.Slow, sim.End{Node: f.hosts[t.Slow]}
		}
		if err := f.AddFault(c); err != nil {
			return f.topology.Errorf("faults."+t.Name, "%v: correct it", err)
		}
	}
	return nil
}

// learn has the switches learn where the hosts are, and finds flows without a way.
func (f *fabric) learn() error {
	if err := f.Learn(); errors.Is(err, sim.ErrLoop) {
		return f.topology.Errorf("links", "%v: write flood: off for the ports that close it, and static entries (fdb) "+
			"as routes, as in scripts/lab/ring.yaml", err)
	} else if err != nil {
		return err
	}
	for i := range f.flows {
		fl := &f.flows[i]
		var fault *sim.Fault
		if fl.lossless, fault = f.Path(i); fault != nil {
			return f.topology.Errorf("traffic."+fl.Name, "no frame would come from %s to %s: %s %s: correct the "+
				"links, or the fdb of the switches", fl.from, fl.to, fault.Switch, fault.Reason)
		}
		if fl.Window > 0 && !fl.lossless {
			return f.topology.Errorf("traffic."+fl.Name+".window", "frames of priority %d may be lost, and no sender "+
				"sends them again: write a lossless priority, or remove the window", fl.Priority)
		}
	}
	return nil
}
