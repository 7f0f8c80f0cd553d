package api

import (
	"math"

	"pfcswitch/dataplane"
	"pfcswitch/macctl"
)

// A moment is one snapshot of the switch for this user: counters are those since the last clear.
type moment struct {
	Header
	source   Source
	base     *baseline
	snapshot dataplane.Snapshot
	version  Version
	since    uint64 // first event that is asked for
	recent   interval
	history  *history
	cutOff   uint64 // readers of events
}

// port returns the state of a port by its name, nil where its interface is not open.
func (m *moment) port(name string) *dataplane.PortSnapshot {
	for i := range m.snapshot.Ports {
		if m.snapshot.Ports[i].Config.Name == name {
			return &m.snapshot.Ports[i]
		}
	}
	return nil
}

// portName returns the name of a port by its number, "" where it has gone.
func (m *moment) portName(index int) string {
	for i := range m.snapshot.Ports {
		if m.snapshot.Ports[i].Index == index {
			return m.snapshot.Ports[i].Config.Name
		}
	}
	return ""
}

// share returns ns as a share of the time that the counters cover.
func (m *moment) share(ns int64) float64 {
	if m.ElapsedNs <= 0 {
		return 0
	}
	return shareOf(ns, m.ElapsedNs)
}

// shareOf returns ns as a share of whole, to a millionth.
func shareOf(ns, whole int64) float64 {
	const precision = 1e6
	return math.Round(precision*min(1, float64(ns)/float64(whole))) / precision
}

// A Drop is a number of frames lost for one reason.
type Drop struct {
	Priority Priority `json:"priority"` // that they arrived with
	Reason   string   `json:"reason"`
	Frames   uint64   `json:"frames"`
	// LosslessDiscarded are those of them that are of lossless priorities, and were dropped on purpose.
	LosslessDiscarded uint64 `json:"lossless_discarded_frames"`
}

// dropsOf returns the dropped frames that arrived at a port, by priority and reason.
func dropsOf(p *dataplane.PortSnapshot) (drops []Drop) {
	for r := range dataplane.NumDropReasons {
		all := Drop{Priority: All, Reason: r.String()}
		for prio := range p.Counters.Drops {
			n, discarded := p.Counters.Drops[prio][r], p.Counters.LosslessDiscarded[prio][r]
			switch {
			case n == 0:
			case p.Config.Mode == macctl.ModePause && prio != dataplane.Unknown:
				all.Frames += n
				all.LosslessDiscarded += discarded
			default:
				drops = append(drops, Drop{Priority(prio), r.String(), n, discarded})
			}
		}
		if all.Frames > 0 {
			drops = append(drops, all)
		}
	}
	return drops
}

// each returns what of makes of each element.
func each[T, U any](list []T, of func(*T) U) []U {
	made := make([]U, len(list))
	for i := range list {
		made[i] = of(&list[i])
	}
	return made
}

// nonZero returns nil for 0 or an empty text.
func nonZero[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}
