package bridge

// Trace returns what Forward would decide now, and learns and charges nothing.
func (b *Bridge) Trace(in int, dst, src uint64, vid uint16, now int64) Decision {
	if d, done := b.enter(in, dst, vid, now); done {
		return d
	}
	if dst == src && b.learns(in, src, vid, now) {
		return drop(DropSamePort)
	}
	d := b.choose(in, dst, vid, now)
	if d.Kind == Flood && !b.ports[in].storm.would(now) {
		return drop(DropStorm)
	}
	return d
}

// learns tells whether a frame from src would make the bridge look for src behind port in.
func (b *Bridge) learns(in int, src uint64, vid uint16, now int64) bool {
	if !b.learning.Has(in) || group(src) || src == 0 {
		return false
	}
	i, found := b.fdb.find(fdbKey(src, vid))
	if found {
		return !b.fdb.slots[i].static
	}
	return b.fdb.wouldFit(now)
}

// wouldFit tells whether a new station would find room: a free slot, or a dead entry within the sweep that learning it costs.
func (f *fdb) wouldFit(now int64) bool {
	if f.used < f.max {
		return true
	}
	for k := range min(fullSweep, len(f.slots)) {
		if e := &f.slots[(f.cursor+k)&f.mask]; e.key != 0 && f.dead(e, now) {
			return true
		}
	}
	return false
}

// An Entered is what the filtering database knows of a station.
type Entered struct {
	Known  bool
	Port   int
	Static bool
	AgeNs  int64 // since the station's last frame; of a learned one
}

// Lookup returns what the filtering database knows of a station now.
func (b *Bridge) Lookup(mac uint64, vid uint16, now int64) Entered {
	i, found := b.fdb.find(fdbKey(mac, vid))
	if !found || b.fdb.dead(&b.fdb.slots[i], now) {
		return Entered{}
	}
	e := &b.fdb.slots[i]
	entry := e.export(now)
	return Entered{Known: true, Port: entry.Port, Static: entry.Static, AgeNs: int64(entry.Age)}
}
