package dataplane

import (
	"maps"
	"slices"

	"pfcswitch/buffer"
)

// A removedPort is what a removed port has counted. It is replaced, never changed.
type removedPort struct {
	PortSnapshot
	buffer buffer.PortCounters
}

// keepRemovedPort keeps the counters of a port that is being removed: one of the same name goes on from them, so that
// no counter ever goes back.
func (s *Switch) keepRemovedPort(p *portState) {
	now := &removedPort{PortSnapshot: p.snapshot(s, s.now), buffer: s.buffer.Removed(p.index)}
	if old := s.removedPorts.byName[p.cfg.Name]; old != nil {
		now.buffer.Combine(&old.buffer, Add)
	}
	s.keepPort(p.cfg.Name, now)
}

// KeepMeasurements keeps what the driver has measured of a port whose sockets go: reactions, and how late its delay
// line was. inRings frames wait in the port's rings, lossless of them in lossless ones, and are lost with them. They
// have not been received, and are no fault.
func (s *Switch) KeepMeasurements(name string, reaction, late *Histogram, inRings, lossless int) {
	now := &removedPort{}
	if old := s.removedPorts.byName[name]; old != nil {
		*now = *old
	} else if i, ok := s.PortNumber(name); ok {
		now.Begun = s.ports[i].begun
	}
	now.Reaction.Combine(reaction, Add)
	now.Late.Combine(late, Add)
	now.Counters.Drops[Unknown][DropRing] += uint64(inRings)
	now.Counters.LosslessDiscarded[Unknown][DropRing] += uint64(lossless)
	s.keepPort(name, now)
	s.sumLossesRemoved()
}

// RemovedCounters are what removed ports and trunks have counted.
type RemovedCounters struct {
	ports  map[string]*removedPort
	trunks map[string]*TrunkSnapshot
}

// RemovedCounters returns what ports and trunks that come back go on counting from. A port that is here is among them
// where it, or its sockets, were gone before. The result does not change any more.
func (s *Switch) RemovedCounters() RemovedCounters {
	return RemovedCounters{maps.Clone(s.removedPorts.byName), maps.Clone(s.removedTrunks.byName)}
}

// Snapshot returns them as a snapshot, in which nothing but counters and names means anything. It needs no lock.
func (r RemovedCounters) Snapshot() *Snapshot {
	v := new(Snapshot)
	for _, name := range slices.Sorted(maps.Keys(r.ports)) {
		p := r.ports[name].PortSnapshot
		p.Config.Name = name
		v.Ports = append(v.Ports, p)
		b := buffer.PortSnapshot{Name: name}
		b.Combine(&r.ports[name].buffer, Add)
		v.Buffer.Ports = append(v.Buffer.Ports, b)
	}
	for _, name := range slices.Sorted(maps.Keys(r.trunks)) {
		v.Trunks = append(v.Trunks, *r.trunks[name])
	}
	return v
}

// A Join makes one counter of two.
type Join = func(n, old uint64) uint64

// Add is the Join that adds up.
func Add(n, old uint64) uint64 { return n + old }

// Combine joins each counter of v with the one of old, and leaves what is no counter.
func (v *PortSnapshot) Combine(old *PortSnapshot, join Join) {
	v.Counters.combine(&old.Counters, join)
	joinEach(v.Received.PFCFrames[:], old.Received.PFCFrames[:], join)
	v.Received.PauseFrames = join(v.Received.PauseFrames, old.Received.PauseFrames)
	joinEach(v.Received.Ignored[:], old.Received.Ignored[:], join)
	sent, oldSent := &v.ControlSent, &old.ControlSent
	joinEach(sent.PFCFrames[:], oldSent.PFCFrames[:], join)
	sent.PauseFrames = join(sent.PauseFrames, oldSent.PauseFrames)
	joinEach(sent.XoffSent[:], oldSent.XoffSent[:], join)
	joinEach(sent.XonSent[:], oldSent.XonSent[:], join)
	sent.PauseXoffSent = join(sent.PauseXoffSent, oldSent.PauseXoffSent)
	sent.PauseXonSent = join(sent.PauseXonSent, oldSent.PauseXonSent)
	joinEach(v.PausedNs[:], old.PausedNs[:], join)
	joinEach(v.HeldNs[:], old.HeldNs[:], join)
	joinOne(&v.PausedAllNs, old.PausedAllNs, join)
	joinOne(&v.HeldAllNs, old.HeldAllNs, join)
	v.Pauses.Combine(&old.Pauses, join)
	v.Holds.Combine(&old.Holds, join)
	v.Reaction.Combine(&old.Reaction, join)
	v.Late.Combine(&old.Late, join)
	for q := range v.HeadroomUse {
		u, o := &v.HeadroomUse[q], &old.HeadroomUse[q]
		u.Xoffs = join(u.Xoffs, o.Xoffs)
		u.Waited = join(u.Waited, o.Waited)
		u.WaitedBehindEarlier = join(u.WaitedBehindEarlier, o.WaitedBehindEarlier)
		u.WaitedEarly = join(u.WaitedEarly, o.WaitedEarly)
		u.WaitedForPool = join(u.WaitedForPool, o.WaitedForPool)
		u.LateXoffs = join(u.LateXoffs, o.LateXoffs)
		u.RingTotal = join(u.RingTotal, o.RingTotal)
		u.Exceeded = join(u.Exceeded, o.Exceeded)
	}
}

// keepMaxima makes the maxima of v go on from those of old. Combine leaves them, since it subtracts too.
func (v *PortSnapshot) keepMaxima(old *PortSnapshot) {
	c, o := &v.Counters, &old.Counters
	c.RingFramesMax = max(c.RingFramesMax, o.RingFramesMax)
	for q := range c.QueueBytesMax {
		c.QueueBytesMax[q] = max(c.QueueBytesMax[q], o.QueueBytesMax[q])
	}
	for q := range v.HeadroomUse {
		u, o := &v.HeadroomUse[q], &old.HeadroomUse[q]
		u.Peak, u.Paced = max(u.Peak, o.Peak), max(u.Paced, o.Paced)
		u.Ring, u.LateNs = max(u.Ring, o.Ring), max(u.LateNs, o.LateNs)
		if t, o := &u.LeastLeft, o.LeastLeft; o.Used > 0 && (t.Used == 0 || o.Room-o.Used < t.Room-t.Used) {
			*t = o
		}
	}
}

func joinOne(n *int64, old int64, join Join) { *n = int64(join(uint64(*n), uint64(old))) }

func joinEach[T int64 | uint64](n, old []T, join Join) {
	for i := range n {
		n[i] = T(join(uint64(n[i]), uint64(old[i])))
	}
}

func (c *Counters) combine(old *Counters, join Join) {
	c.ReceivedFrames = join(c.ReceivedFrames, old.ReceivedFrames)
	c.ReceivedBytes = join(c.ReceivedBytes, old.ReceivedBytes)
	c.SentFrames = join(c.SentFrames, old.SentFrames)
	c.SentBytes = join(c.SentBytes, old.SentBytes)
	c.Copies = join(c.Copies, old.Copies)
	c.LoopProbesSent = join(c.LoopProbesSent, old.LoopProbesSent)
	c.Streamed = join(c.Streamed, old.Streamed)
	c.StreamReceived = join(c.StreamReceived, old.StreamReceived)
	joinEach(c.LoopProbesReceived[:], old.LoopProbesReceived[:], join)
	c.ControlLost = join(c.ControlLost, old.ControlLost)
	c.HostDrops = join(c.HostDrops, old.HostDrops)
	c.AssistXoffs = join(c.AssistXoffs, old.AssistXoffs)
	c.Overspeed = join(c.Overspeed, old.Overspeed)
	for prio := range c.Drops {
		joinEach(c.Drops[prio][:], old.Drops[prio][:], join)
	}
	joinEach(c.LosslessDrops[:], old.LosslessDrops[:], join)
	for prio := range c.LosslessDiscarded {
		joinEach(c.LosslessDiscarded[prio][:], old.LosslessDiscarded[prio][:], join)
	}
	joinEach(c.Marked[:], old.Marked[:], join)
	joinEach(c.QueueSent[:], old.QueueSent[:], join)
	joinEach(c.QueueDiscarded[:], old.QueueDiscarded[:], join)
	joinEach(c.Forwarded[:], old.Forwarded[:], join)
	c.RingHoldNs = join(c.RingHoldNs, old.RingHoldNs)
	c.RingHoldBytes = join(c.RingHoldBytes, old.RingHoldBytes)
}

// Combine joins what h and old have recorded. Where join leaves the count, it leaves everything.
func (h *Histogram) Combine(old *Histogram, join Join) {
	count := h.Count
	if h.Count = join(count, old.Count); h.Count == count {
		return
	}
	h.Zero = join(h.Zero, old.Zero)
	joinOne(&h.Sum, old.Sum, join)
	joinEach(h.Buckets[:], old.Buckets[:], join)
}

// maxRemoved is how many names of ports that are gone are remembered, and of trunks. What comes back after that
// begins at 0.
const maxRemoved = 1024

// maxRemovedMembers is how many former members of a trunk are remembered.
const maxRemovedMembers = 128

// An archive keeps what was counted under names, the newest maxRemoved of them.
type archive[T any] struct {
	byName map[string]*T
	names  []string // the oldest first
}

// keep puts v under a name, which is the newest then. It returns what is forgotten for that, nil where nothing is: what
// stands under the oldest name that is not in use.
func (a *archive[T]) keep(name string, v *T, inUse func(string) bool) (forgotten *T) {
	a.byName[name] = v
	if i := slices.Index(a.names, name); i >= 0 {
		a.names = slices.Delete(a.names, i, i+1)
	}
	a.names = append(a.names, name)
	oldest := slices.IndexFunc(a.names, func(n string) bool { return n != name && !inUse(n) })
	if len(a.names) <= maxRemoved || oldest < 0 {
		return nil
	}
	n := a.names[oldest]
	forgotten = a.byName[n]
	a.names = slices.Delete(a.names, oldest, oldest+1)
	delete(a.byName, n)
	return forgotten
}

// keepPort puts a port into the archive. Of a port that is forgotten, only the sums of its losses are kept.
func (s *Switch) keepPort(name string, v *removedPort) {
	if forgotten := s.removedPorts.keep(name, v, s.hasPort); forgotten != nil {
		s.lossesEvicted.add(forgotten.losses())
	}
}

func (s *Switch) hasPort(name string) bool {
	_, ok := s.PortNumber(name)
	return ok
}

func (s *Switch) hasTrunk(name string) bool {
	return slices.ContainsFunc(s.trunks, func(t *trunkState) bool { return t.cfg.Name == name })
}

// losses are sums of Counters.LosslessDrops and of Counters.LosslessDiscarded.
type losses struct{ lost, discarded uint64 }

func (l *losses) add(o losses) {
	l.lost += o.lost
	l.discarded += o.discarded
}

func (v *PortSnapshot) losses() (sum losses) {
	for prio, n := range v.Counters.LosslessDrops {
		sum.lost += n
		for _, n := range v.Counters.LosslessDiscarded[prio] {
			sum.discarded += n
		}
	}
	return sum
}

// sumLossesRemoved adds up the losses of ports that are gone. The sum changes only where a port comes or goes.
func (s *Switch) sumLossesRemoved() {
	s.lossesRemoved = s.lossesEvicted
	here := map[string]bool{}
	for p := range s.existing() {
		here[p.cfg.Name] = true
	}
	for name, old := range s.removedPorts.byName {
		if !here[name] {
			s.lossesRemoved.add(old.losses())
		}
	}
}
