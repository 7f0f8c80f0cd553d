package dataplane

import (
	"maps"
	"slices"

	"pfcswitch/buffer"
	"pfcswitch/macctl"
)

// A retiredPort is what a port that is gone has counted. It is replaced, never changed.
type retiredPort struct {
	PortSnapshot
	buffer buffer.PortCounters
}

// retire keeps the counters of a port that is being removed: one of the same name goes on from them, so that no counter
// ever goes back.
func (s *Switch) retire(p *portState) {
	now := &retiredPort{PortSnapshot: p.snapshot(s, s.now), buffer: s.buffer.Removed(p.index)}
	if old := s.retired[p.cfg.Name]; old != nil {
		now.buffer.Add(&old.buffer)
	}
	s.retired[p.cfg.Name] = now
}

// Retire keeps what the driver of a port has measured whose sockets go: reactions, how late its delay line was, and
// inRings frames that wait in its rings, which are lost with them. They have not been received, and are no fault.
func (s *Switch) Retire(name string, reaction, late *Histogram, inRings int) {
	now := &retiredPort{}
	if old := s.retired[name]; old != nil {
		*now = *old
	}
	now.Reaction.Add(reaction)
	now.Late.Add(late)
	now.Counters.Drops[Unknown][DropRing] += uint64(inRings)
	s.retired[name] = now
	s.keepNewestPort(name)
}

// A Retired is what ports and trunks that are gone have counted.
type Retired struct {
	ports  map[string]*retiredPort
	trunks map[string]*TrunkSnapshot
}

// Retired returns the counters from which ports and trunks go on that come under the names of some that are gone.
// Ports that are here are among them where they, or their sockets, were gone before. They do not change any more.
func (s *Switch) Retired() Retired {
	return Retired{maps.Clone(s.retired), maps.Clone(s.retiredTrunks)}
}

// Snapshot returns them as a snapshot, in which nothing but counters and names means anything. It needs no lock.
func (r Retired) Snapshot() *Snapshot {
	v := new(Snapshot)
	for _, name := range slices.Sorted(maps.Keys(r.ports)) {
		p := r.ports[name].PortSnapshot
		p.Config.Name = name
		v.Ports = append(v.Ports, p)
		b := buffer.PortSnapshot{Name: name}
		b.Add(&r.ports[name].buffer)
		v.Buffer.Ports = append(v.Buffer.Ports, b)
	}
	for _, name := range slices.Sorted(maps.Keys(r.trunks)) {
		v.Trunks = append(v.Trunks, *r.trunks[name])
	}
	return v
}

// add adds the counters of old, and leaves what is no counter.
func (v *PortSnapshot) add(old *PortSnapshot) {
	v.Counters.add(&old.Counters)
	addReceived(&v.Received, &old.Received)
	addTold(&v.ControlSent, &old.ControlSent)
	addEach(v.PausedNs[:], old.PausedNs[:])
	addEach(v.HeldNs[:], old.HeldNs[:])
	v.PausedAllNs += old.PausedAllNs
	v.HeldAllNs += old.HeldAllNs
	v.Pauses.Add(&old.Pauses)
	v.Holds.Add(&old.Holds)
	v.Reaction.Add(&old.Reaction)
	v.Late.Add(&old.Late)
	for q := range v.Use {
		v.Use[q].Xoffs += old.Use[q].Xoffs
		v.Use[q].Waited += old.Use[q].Waited
		v.Use[q].Crowded += old.Use[q].Crowded
		v.Use[q].Exceeded += old.Use[q].Exceeded
	}
}

func addEach[T int64 | uint64](n, old []T) {
	for i := range n {
		n[i] += old[i]
	}
}

func (c *Counters) add(old *Counters) {
	c.ReceivedFrames += old.ReceivedFrames
	c.ReceivedBytes += old.ReceivedBytes
	c.SentFrames += old.SentFrames
	c.SentBytes += old.SentBytes
	c.Copies += old.Copies
	c.ProbesSent += old.ProbesSent
	c.Streamed += old.Streamed
	c.StreamReceived += old.StreamReceived
	c.ProbesReceived += old.ProbesReceived
	c.ControlLost += old.ControlLost
	c.HostDrops += old.HostDrops
	c.Overspeed += old.Overspeed
	for prio := range c.Drops {
		addEach(c.Drops[prio][:], old.Drops[prio][:])
	}
	addEach(c.LosslessDrops[:], old.LosslessDrops[:])
	addEach(c.Marked[:], old.Marked[:])
	addEach(c.QueueSent[:], old.QueueSent[:])
	addEach(c.QueueDiscarded[:], old.QueueDiscarded[:])
	c.RingHoldNs += old.RingHoldNs
	c.RingHoldBytes += old.RingHoldBytes
}

func addReceived(c, old *macctl.ReceiverCounters) {
	addEach(c.PFCFrames[:], old.PFCFrames[:])
	c.PauseFrames += old.PauseFrames
	addEach(c.Ignored[:], old.Ignored[:])
}

func addTold(c, old *macctl.InitiatorCounters) {
	addEach(c.PFCFrames[:], old.PFCFrames[:])
	c.PauseFrames += old.PauseFrames
	addEach(c.XoffSent[:], old.XoffSent[:])
	addEach(c.XonSent[:], old.XonSent[:])
	c.PauseXoffSent += old.PauseXoffSent
	c.PauseXonSent += old.PauseXonSent
}

// Add adds what another one has recorded.
func (h *Histogram) Add(old *Histogram) {
	h.Count += old.Count
	h.Zero += old.Zero
	h.Sum += old.Sum
	addEach(h.Buckets[:], old.Buckets[:])
}

// maxRetired is how many names of ports that are gone are remembered, and of trunks. What comes back after that
// begins at 0.
const maxRetired = 1024

// maxRetiredMembers is how many members that it had before are remembered of a trunk.
const maxRetiredMembers = 128

// forgotten is what is known of ports that are gone beside their counters.
type forgotten struct {
	ports, trunks []string // names that are remembered, the oldest first
	lost          uint64   // lossless drops of ports that are remembered no longer
	lostGone      uint64   // and of all that are gone
}

// keepNewest makes name the youngest of names. Where they are too many it takes out the oldest that is not in use,
// and returns it.
func keepNewest(names []string, name string, inUse func(string) bool) (rest []string, oldest string) {
	if i := slices.Index(names, name); i >= 0 {
		names = slices.Delete(names, i, i+1)
	}
	names = append(names, name)
	if len(names) <= maxRetired {
		return names, ""
	}
	for i, n := range names {
		if n != name && !inUse(n) {
			return slices.Delete(names, i, i+1), n
		}
	}
	return names, ""
}

// keepNewestPort makes a port the youngest of those that are remembered. Of one that is too much, only the lossless
// frames that it has lost are kept.
func (s *Switch) keepNewestPort(name string) {
	var oldest string
	if s.gone.ports, oldest = keepNewest(s.gone.ports, name, s.hasPort); oldest != "" {
		s.gone.lost += s.retired[oldest].lost()
		delete(s.retired, oldest)
	}
}

func (s *Switch) hasPort(name string) bool {
	return slices.ContainsFunc(s.ports[:], func(p *portState) bool { return p != nil && p.cfg.Name == name })
}

// lost is how many lossless frames a port has lost.
func (v *PortSnapshot) lost() (sum uint64) {
	for _, n := range v.Counters.LosslessDrops {
		sum += n
	}
	return sum
}

// sumLosslessDropsGone adds up the lossless drops of ports that are gone, which change only where a port comes or goes.
func (s *Switch) sumLosslessDropsGone() {
	s.gone.lostGone = s.gone.lost
	here := make(map[string]bool, len(s.ports))
	for _, p := range s.ports {
		if p != nil {
			here[p.cfg.Name] = true
		}
	}
	for name, old := range s.retired {
		if !here[name] {
			s.gone.lostGone += old.lost()
		}
	}
}

// keepNewestTrunk makes a trunk the youngest of those that are remembered, and forgets one that is too much.
func (s *Switch) keepNewestTrunk(name string) {
	var oldest string
	if s.gone.trunks, oldest = keepNewest(s.gone.trunks, name, s.hasTrunk); oldest != "" {
		delete(s.retiredTrunks, oldest)
	}
}

func (s *Switch) hasTrunk(name string) bool {
	return slices.ContainsFunc(s.trunks, func(t *trunkState) bool { return t.cfg.Name == name })
}
