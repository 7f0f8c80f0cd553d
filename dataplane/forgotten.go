package dataplane

import "slices"

// maxRetired is how many names of ports that are gone are remembered, and of trunks. What comes back after that begins at 0.
const maxRetired = 1024

// maxRetiredMembers is how many members that it had before are remembered of a trunk.
const maxRetiredMembers = 128

// forgotten is what is known of ports that are gone beside their counters.
type forgotten struct {
	ports, trunks []string // names that are remembered, the oldest first
	lost          uint64   // lossless drops of ports that are remembered no longer
	lostGone      uint64   // and of all that are gone
}

// keepNewest makes name the youngest of names. Where they are too many it takes out the oldest that is not in use, and returns it.
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

// keepNewestPort makes a port the youngest of those that are remembered. Of one that is too much, only the lossless frames that it
// has lost are kept.
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
