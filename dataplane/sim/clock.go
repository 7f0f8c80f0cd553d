package sim

// Shards run side by side in windows of time. A window is no longer than the way of the fastest frame from one shard to
// another, so what a shard sends in it comes after it (conservative synchronization: Chandy and Misra, 1979; windows:
// Lubachevsky, 1989). Between two windows frames are handed over, and events of the whole fabric happen.

// A clock is the windows.
type clock struct {
	lookahead  int64  // ns, the longest window
	end        int64  // of the window
	open       bool   // not all of its events have happened
	happened   uint64 // events of the last one
	sideBySide uint64 // from how many of them on the next one is worth several goroutines; tests change it
}

// handOver tells shards by which wires others have sent frames to them.
func (f *Fabric) handOver() {
	for _, from := range f.shards {
		for _, p := range from.posted {
			to := f.shards[p.to]
			to.arriving = append(to.arriving, p.wire)
		}
		from.posted = from.posted[:0]
	}
}

// advance lets time pass until a time of the fabric, or until the run ends, or for about so many events at most.
func (f *Fabric) advance(until int64, events uint64) (done bool) {
	last := f.count().happened
	for f.ending == Running {
		switch {
		case f.clock.open:
			f.runWindow(events - (f.count().happened - last))
		case !f.openWindow(until):
			f.now = until
			return true
		}
		if f.count().happened-last >= events {
			for _, s := range f.shards {
				f.now = max(f.now, s.now)
			}
			return false
		}
	}
	return true
}

// openWindow opens the next window, or lets an event of the whole fabric happen if that comes first. It reports whether
// there is anything to happen by then.
func (f *Fabric) openWindow(until int64) bool {
	first, whole := int64(never), f.events.first()
	for _, s := range f.shards {
		first = min(first, s.events.first(), s.soonest)
	}
	switch {
	case min(first, whole) > until:
		return false
	case whole <= first:
		f.happen(whole)
		return true
	}
	c := &f.clock
	if c.end = whole; until < whole {
		c.end = until + 1
	}
	if c.lookahead < c.end-first {
		c.end = first + c.lookahead
	}
	c.open = true
	f.handOver()
	f.side = 1 - f.side
	for _, s := range f.shards {
		s.soonest = never
	}
	return true
}

// happen lets the first event of the whole fabric happen.
func (f *Fabric) happen(at int64) {
	f.now = at
	f.handOver()
	for _, s := range f.shards {
		f.on(s).takeIn(f.side)
	}
	f.workers[0].happened++
	switch e, _ := f.events.next(at + 1); e.kind() {
	case look:
		f.look()
	case change:
		f.change(int(e.wire()))
	}
}

// runWindow lets the events of the window happen, at each shard so many of them at most.
func (f *Fabric) runWindow(events uint64) {
	c := &f.clock
	before := f.count().happened
	if len(f.shards) > 1 && f.Together != nil && c.happened >= c.sideBySide {
		f.Together(len(f.shards), func(worker, shard int) { f.runShard(worker, shard, events) })
	} else {
		for i := range f.shards {
			f.runShard(0, i, events)
		}
	}
	c.open, c.happened = false, f.count().happened-before
	for _, s := range f.shards {
		c.open = c.open || s.events.first() < c.end
	}
}

func (f *Fabric) runShard(worker, shard int, events uint64) {
	s := f.shards[shard]
	s.worker = f.workers[worker]
	s.takeIn(1 - f.side)
	s.run(f.clock.end, events)
}
