package dataplane

import (
	"fmt"
	"math"

	"golang.org/x/net/bpf"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// Steering returns the program that tells a port's rings apart: by the lossless priorities, or, where a pause holds all
// of them, every frame to the lossless ring.
func Steering(c *PortConfig) ([]bpf.RawInstruction, error) {
	return c.Classify.Fanout(c.LosslessPriorities())
}

// SetOwner sets which worker sends on a port.
func (s *Switch) SetOwner(i, worker int) {
	if p := s.ports[i]; p != nil {
		p.owner = worker
	}
}

// PortConfig returns the configuration of port i, and whether there is such a port.
func (s *Switch) PortConfig(i int) (c PortConfig, ok bool) {
	if i >= 0 && i < MaxPorts && s.ports[i] != nil {
		return s.ports[i].cfg, true
	}
	return c, false
}

// PortNumber returns the number of the port of that name, and whether there is one.
func (s *Switch) PortNumber(name string) (i int, ok bool) {
	for p := range s.existing() {
		if p.cfg.Name == name {
			return p.index, true
		}
	}
	return 0, false
}

// SetMAC gives a port the address of its interface and returns its configuration.
func (s *Switch) SetMAC(i int, mac [6]byte, now int64) (PortConfig, error) {
	p := s.at(i, now)
	if p == nil {
		return PortConfig{}, fmt.Errorf("there is no port number %d", i)
	}
	p.cfg.MAC = mac
	s.updateOwnAddresses()
	s.captureTap.Describe(p.described())
	s.configureMACControl(p)
	return p.cfg, nil
}

// SetNeighbour sets the address of the LLDP neighbour of port i; zero: there is none.
func (s *Switch) SetNeighbour(i int, mac [6]byte) { s.bridge.SetNeighbour(i, address(mac)) }

// updateOwnAddresses collects the addresses of all ports, as far as they are known.
func (s *Switch) updateOwnAddresses() {
	clear(s.ownAddresses)
	for p := range s.existing() {
		if p.cfg.MAC != [6]byte{} {
			mac := address(p.cfg.MAC)
			if len(s.ownAddresses) == 0 {
				s.ownFirst, s.ownSame = mac, math.MaxUint64
			}
			s.ownAddresses[mac] = true
			s.ownSame &^= mac ^ s.ownFirst
		}
	}
}

// Reconfigure puts a whole configuration in force, or on error nothing. ports are by number: it adds, changes and
// removes ports. Ports keep the address that SetMAC gave them.
func (s *Switch) Reconfigure(cfg Config, ports map[int]PortConfig, statics []Static, now int64) error {
	next, err := Prepare(cfg, ports, statics)
	if err != nil {
		return err
	}
	return s.Apply(next, now)
}

// A Configuration was checked on its own. Apply may still fail where it meets what is in force: Ready tells.
type Configuration struct {
	Config
	ports   map[int]PortConfig
	statics []Static
	plan    *buffer.Plan
}

// Prepare checks a configuration and plans its buffer. It does not touch the switch, so the workers go on meanwhile.
func Prepare(cfg Config, ports map[int]PortConfig, statics []Static) (*Configuration, error) {
	if err := tryBridge(cfg, ports, statics); err != nil {
		return nil, err
	}
	if err := checkTrunks(cfg.Trunks, ports); err != nil {
		return nil, err
	}
	buffers := make(map[int]buffer.PortConfig, len(ports))
	for i, c := range ports {
		buffers[i] = bufferPort(c)
	}
	plan, err := buffer.NewPlan(cfg.Buffer, buffers)
	return &Configuration{cfg, ports, statics, plan}, err
}

// Ready reports whether the switch has room for a prepared configuration. Its errors are those of Apply.
func (s *Switch) Ready(next *Configuration) error {
	if n, most := len(next.statics), s.bridge.MaxEntries(); n > most {
		return fmt.Errorf("fdb: %d static entries, and the filtering database has room for %d (write fewer)", n, most)
	}
	return s.buffer.Ready(next.plan)
}

// Apply puts a prepared configuration in force. Every worker stands still meanwhile, so Apply must end long before a
// receive ring is full.
func (s *Switch) Apply(next *Configuration, now int64) error {
	s.setTime(now)
	if err := s.Ready(next); err != nil {
		return err
	}
	s.poolCells = int(s.buffer.MaxCharged(next.plan)) / next.Buffer.Cell
	if err := s.growMemory(len(next.ports)); err != nil {
		return err
	}
	s.buffer.Commit(next.plan)
	if err := s.bridge.SetAgeing(next.Ageing); err != nil {
		return err
	}
	s.cfg = next.Config
	for p := range s.existing() {
		if _, ok := next.ports[p.index]; !ok {
			s.RemovePort(p.index, now)
		}
	}
	for i, c := range next.ports {
		if err := s.setPort(i, c); err != nil {
			return err
		}
	}
	s.sumLossesRemoved()
	s.setTrunks(next.Trunks)
	return s.setStatics(next.statics)
}

// tryBridge tries the configuration on a bridge of its own, because changes of the real bridge cannot be undone.
func tryBridge(cfg Config, ports map[int]PortConfig, statics []Static) error {
	b, err := bridge.New(bridge.Config{MaxEntries: max(1, len(statics)), Ageing: cfg.Ageing, Identity: cfg.Identity})
	if err != nil {
		return err
	}
	for i, c := range ports {
		if _, err := b.SetPort(i, c.Bridge); err != nil {
			return fmt.Errorf("port %s: %w", c.Name, err)
		}
	}
	return addStatics(b, statics, 0)
}

func (s *Switch) setPort(i int, c PortConfig) error {
	p := s.ports[i]
	if p == nil {
		return s.newPort(i, c)
	}
	c.MAC = p.cfg.MAC
	before := p.cfg.Mode
	if err := s.configure(p, c); err != nil {
		return err
	}
	if p.modeChanged = before != c.Mode; p.modeChanged {
		s.sortRoom(p)
	}
	for q := range uint8(NumPriorities) { // a check of the headroom ends with the flow control of its priority
		if !p.lossless(q) {
			p.sender.Release(q, macctl.CauseHeadroomProbe)
		}
	}
	s.configureMACControl(p)
	return nil
}

// configureMACControl hands a port's configuration to its MAC Control sublayer.
func (s *Switch) configureMACControl(p *portState) {
	p.receiver.Configure(p.cfg.Mode, p.cfg.Obeyed(), p.cfg.Speed, p.cfg.MAC, s.now)
	p.sender.Configure(s.initiatorConfig(p.cfg), s.now)
	s.markPending(p)
}

// setStatics replaces the static entries of the filtering database.
func (s *Switch) setStatics(statics []Static) error {
	for _, old := range s.statics {
		s.bridge.RemoveStatic(old.MAC, old.VID)
	}
	s.statics = statics
	return addStatics(s.bridge, statics, s.now)
}

func addStatics(b *bridge.Bridge, statics []Static, now int64) (err error) {
	for _, e := range statics {
		if len(e.Group) > 0 {
			err = b.AddStaticGroup(e.MAC, e.VID, e.Group, now)
		} else {
			err = b.AddStatic(e.MAC, e.VID, e.Port, now)
		}
		if err != nil {
			return fmt.Errorf("fdb: %w", err)
		}
	}
	return nil
}

// Static is a static entry of the filtering database.
type Static struct {
	MAC   uint64
	VID   uint16
	Port  int   // where Group is empty
	Group []int // ports of which a frame takes one by its flow
}

// RingLosses are the kernel's counts of frames that found no room in a port's rings, or in the host's queues towards
// the port.
type RingLosses struct{ Other, Lossless, Control, Host uint64 }

// ReadLosses takes over the kernel's counts of a port. They grow until RingsReplaced.
func (s *Switch) ReadLosses(i int, l RingLosses, now int64) {
	p := s.at(i, now)
	if p == nil {
		return
	}
	p.busy(now) // once a second, so that a later call judges no more than the last second
	why := p.overflow()
	s.ringLost(p, port.Other, int(l.Other-p.losses.Other), why)
	s.ringLost(p, port.Lossless, int(l.Lossless-p.losses.Lossless), why)
	p.overran, p.waited = p.peerOverran(), p.waitedAfterXoff()
	p.count.ControlLost += l.Control - p.losses.Control
	p.count.HostDrops += l.Host - p.losses.Host
	p.losses = l
}

// overflow is why the lossless receive ring was full.
func (p *portState) overflow() string {
	const what = "the lossless receive ring overflowed: "
	if p.peerOverran() {
		return what + moreThanHeadroom
	}
	return what + "this switch did not read it for longer than ring.outage, and nothing that it has read shows that " +
		"the peer sent on after XOFF"
}

// RingStopped takes over the counts of the data rings of a class of a port while the kernel has stopped one of them.
func (s *Switch) RingStopped(i int, c port.Class, l RingLosses, now int64) {
	p := s.at(i, now)
	if p == nil {
		return
	}
	const why = "the kernel stopped a receive ring at a GSO frame that it cannot describe to a packet socket (a " +
		"fault of Linux, not of the peer), until the switch replaced its sockets"
	lost, before := l.Other, &p.losses.Other
	if c == port.Lossless {
		lost, before = l.Lossless, &p.losses.Lossless
	}
	s.ringLost(p, c, int(lost-*before), why)
	*before = lost
}

// RingsReplaced reports that port i has new rings. Their counts start at 0.
func (s *Switch) RingsReplaced(i int) {
	if p := s.ports[i]; p != nil {
		p.losses = RingLosses{}
	}
}

// RingLost counts n frames of a port that were lost on the way from the kernel, though their ring had room.
func (s *Switch) RingLost(i int, c port.Class, n int, now int64) {
	if p := s.at(i, now); p != nil {
		s.ringLost(p, c, n, "frames were lost between the kernel and the switch: it had no memory for a long frame, "+
			"or the receive rings were replaced while frames came")
	}
}

// QueueOverflowed counts n frames of a port that found no room in the queue by which all frames of their class come.
func (s *Switch) QueueOverflowed(i int, c port.Class, n int, now int64) {
	if p := s.at(i, now); p != nil {
		s.ringLost(p, c, n, p.overflow())
	}
}

// ringLost counts n frames that were lost in a ring of p. Their priority is unknown.
func (s *Switch) ringLost(p *portState, c port.Class, n int, why string) {
	if n <= 0 {
		return
	}
	p.count.Drops[Unknown][DropRing] += uint64(n)
	s.captureMissed(p.index, n)
	if c != port.Lossless || p.cfg.Mode == macctl.ModeOff {
		return
	}
	p.count.LosslessDrops[Unknown] += uint64(n)
	s.peerEvents(p, EventLosslessDrop, Unknown, why, n)
}

// address returns a MAC address as frames carry it.
func address(mac [6]byte) uint64 { return frame.Address(mac[:]) }
