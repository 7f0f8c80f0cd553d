package bridge

import (
	"fmt"
	"time"
)

// fullSweep is how many slots a new station looks at to find a dead entry when the database is full. It bounds what a
// sender of random addresses can cost per frame.
const fullSweep = 32

// SetAgeing changes the ageing time, of entries already learned too. 0 means DefaultAgeing.
func (b *Bridge) SetAgeing(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("bridge: ageing time %v is negative (use 0 for %v)", d, DefaultAgeing)
	}
	if d == 0 {
		d = DefaultAgeing
	}
	b.fdb.ageing = int64(d)
	return nil
}

// Age removes the dead entries among the next budget slots of the table and returns how many that were. Forwarding
// does not depend on it, since an aged entry is never used: it gives back the room and brings Counters.Entries up to
// date, for which one pass in a few seconds is often enough. The table has at most 2⅔ slots per entry of MaxEntries;
// one costs about 5 ns. A budget of MaxInt looks at every slot once.
func (b *Bridge) Age(now int64, budget int) int { return b.fdb.sweep(now, budget) }

// Flush forgets everything learned on port. Its cost does not depend on the number of entries.
func (b *Bridge) Flush(port int) { b.fdb.flush(port) }

// dead tells whether an entry is aged or flushed.
func (f *fdb) dead(e *entry, now int64) bool {
	return !e.static && (e.generation != f.generation[e.port] || now-e.seen >= f.ageing)
}

// room tells whether one more entry fits, after looking for dead ones in the next budget slots if need be.
func (f *fdb) room(now int64, budget int) bool {
	return f.used < f.max || f.sweep(now, budget) > 0
}

// sweep looks at the next budget slots, at most at all of them. After a removal it looks at the same slot again,
// because another entry may have shifted into it.
func (f *fdb) sweep(now int64, budget int) (removed int) {
	for budget = min(budget, len(f.slots)); budget > 0 && f.used > f.static; {
		if e := &f.slots[f.cursor]; e.key != 0 && f.dead(e, now) {
			f.remove(f.cursor)
			removed++
			continue
		}
		f.cursor = (f.cursor + 1) & f.mask
		budget--
	}
	return removed
}

func (f *fdb) flush(port int) {
	f.generation[port]++
	f.stale += f.learned[port]
	f.learned[port] = 0
}
