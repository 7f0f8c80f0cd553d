package bridge

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash"
	"math/bits"
	"math/rand/v2"
	"time"
)

// fdb is the filtering database (802.1Q 8.8): an open-addressing table with linear probing, at most three quarters
// full. Deletion shifts entries back, so that there are no tombstones. All memory is reserved at the start, since
// growing the table would stop the data path for milliseconds. A Go map is slower: see BenchmarkLookup.
type fdb struct {
	slots []entry // a power of two
	mask  int
	seed  uint64 // secret, so that nobody can choose addresses that collide
	mult  uint64 // secret and odd

	ageing int64 // nanoseconds

	max     int // most slots in use
	used    int // slots in use
	static  int // of these, static
	stale   int // of these, learned in a former generation of their port
	moves   uint64
	holds   uint64
	refused uint64 // moves
	full    uint64
	forgot  uint64
	notice  Notice // not yet taken

	moveLimit uint8    // moveLimit, without effect in some tests
	up        *PortSet // the bridge's
	sticky    PortSet  // ports whose learned stations stay as long as the link is up

	cursor int // slot that the sweep looks at next

	// A learned entry belongs to the generation of its port in which it was learned. Flushing a port starts the port's
	// next generation. The cost does not depend on the size of the table.
	generation [MaxPorts]uint32
	learned    [MaxPorts]int // entries of the port's present generation
	stations   [MaxPorts]stations
	neighbours [MaxPorts]uint64 // address of the LLDP neighbour; 0: none

	groups groups
}

// entry is one slot; key 0 marks it empty.
type entry struct {
	key          uint64
	seen         int64 // when the last frame came from the station
	generation   uint32
	older, newer uint32 // neighbours in the port's list, see stations
	moves        moves
	port         uint16 // or MaxPorts and the number of a group
	heard        bool   // a frame came from the station since it got its place in the list
	static       bool
}

// fdbKey joins 48 bits of MAC and 12 bits of VID. It is never 0, because a VID is never 0.
func fdbKey(mac uint64, vid uint16) uint64 { return mac<<12 | uint64(vid) }

// A Slot of the table holds no pointer.
type Slot = entry

// Slots is the length of a table for a number of entries; 0: DefaultMaxEntries.
func Slots(entries int) int {
	entries = cmp.Or(entries, DefaultMaxEntries)
	return 1 << bits.Len(uint(entries+entries/3))
}

// init reserves a table for the given number of entries, where there is none yet.
func (f *fdb) init(entries int) {
	size := Slots(entries)
	if f.slots == nil {
		f.slots = make([]entry, size)
	}
	f.mask, f.max = size-1, entries
	f.seed, f.mult = rand.Uint64(), rand.Uint64()|1
	f.moveLimit, f.up = moveLimit, new(PortSet)
}

// keyWith replaces the random numbers of an empty table by those that follow from a secret: in virtual time nothing
// depends on anything but the seed.
func (f *fdb) keyWith(secret hash.Hash) {
	secret.Write([]byte("filtering database"))
	sum := secret.Sum(nil)
	secret.Reset()
	f.seed, f.mult = binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:])|1
}

// home is the slot at which the search for key begins. One multiplication is not enough: with some seeds, consecutive
// keys then lie in a part of the table, and a search takes thousands of slots.
func (f *fdb) home(key uint64) int {
	hi, lo := bits.Mul64(key^f.seed, f.mult)
	hi, lo = bits.Mul64(hi^lo, f.mult)
	return int(hi^lo) & f.mask
}

// find returns the slot of key, or the empty slot where it belongs.
func (f *fdb) find(key uint64) (slot int, found bool) {
	for i := f.home(key); ; i = (i + 1) & f.mask {
		switch f.slots[i].key {
		case key:
			return i, true
		case 0:
			return i, false
		}
	}
}

// learn notes that the station of key was seen on port, and reports whether its entry said so before.
func (f *fdb) learn(key uint64, port int, now int64) (known bool) {
	i, found := f.find(key)
	if !found {
		f.enter(key, port, now)
		return false
	}
	e := &f.slots[i]
	switch {
	case e.static:
		return f.leads(e, port)
	case int(e.port) == port && e.generation == f.generation[port]:
		e.seen, e.heard = now, true
		return true
	case f.dead(e, now):
		e.moves = newMoves(port, now)
		f.move(key, port, now)
	default:
		f.moveLive(e, port, now)
	}
	return false
}

// until returns up to when an entry that is alive stays so without another frame, at most the ageing time from now.
func (f *fdb) until(e *entry, now int64) int64 {
	if e.static || f.sticky.Has(int(e.port)) {
		return now + f.ageing
	}
	return e.seen + f.ageing
}

// enter makes a learned entry, if there is room.
func (f *fdb) enter(key uint64, port int, now int64) {
	if !f.makePortRoom(port, now) || !f.makeRoom(now, fullSweep) && !f.forgetForPort(port, f.sticky, now) {
		f.full++
		return
	}
	i, _ := f.find(key) // only now: making room shifts entries
	f.slots[i] = entry{key: key, seen: now, generation: f.generation[port], port: uint16(port),
		moves: newMoves(port, now)}
	f.used++
	f.learned[port]++
	f.append(i)
}

// move gives a learned entry to port, if there is room.
func (f *fdb) move(key uint64, port int, now int64) {
	if !f.makePortRoom(port, now) {
		f.full++
		return
	}
	i, found := f.find(key) // only now: making room shifts entries
	if !found {
		f.enter(key, port, now)
		return
	}
	e := &f.slots[i]
	f.uncount(e)
	f.unlink(i)
	e.port, e.generation, e.seen = uint16(port), f.generation[port], now
	f.learned[port]++
	f.append(i)
}

// lookup returns the port behind which the station of key is, or MaxPorts and the number of a group.
func (f *fdb) lookup(key uint64, now int64) (port int, ok bool) {
	i, found := f.find(key)
	if !found || f.dead(&f.slots[i], now) {
		return 0, false
	}
	return int(f.slots[i].port), true
}

// remove empties slot i and closes the gap: an entry behind it moves back unless that would put the entry before its
// home.
func (f *fdb) remove(i int) {
	f.uncount(&f.slots[i])
	f.unlink(i)
	f.used--
	for j := (i + 1) & f.mask; f.slots[j].key != 0; j = (j + 1) & f.mask {
		if (j-f.home(f.slots[j].key))&f.mask >= (j-i)&f.mask {
			f.slots[i] = f.slots[j]
			f.relink(i)
			i = j
		}
	}
	f.slots[i] = entry{}
}

// uncount subtracts an entry from the counter that includes it.
func (f *fdb) uncount(e *entry) {
	switch {
	case e.static:
		if f.static--; int(e.port) >= MaxPorts {
			f.groups.leave(int(e.port) - MaxPorts)
		}
	case e.generation == f.generation[e.port]:
		f.learned[e.port]--
	default:
		f.stale--
	}
}

// fullSweep is how many slots a new station may search for a dead entry when the database is full. It bounds the cost
// per frame of a sender of random addresses.
const fullSweep = 32

// SetAgeing changes the ageing time, also of entries already learned. 0 means DefaultAgeing.
func (b *Bridge) SetAgeing(d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("bridge: ageing time %v is negative (use 0 for %v)", d, DefaultAgeing)
	}
	d = cmp.Or(d, DefaultAgeing)
	b.fdb.ageing = int64(d)
	return nil
}

// Age removes the dead entries among the next budget slots of the table and returns their number. Forwarding does not
// depend on Age, since it never uses a dead entry. Age frees room and updates Counters.Entries; one pass in a few
// seconds is often enough. The table has at most 2⅔ slots for each of MaxEntries, and a slot costs about 5 ns. A
// budget of MaxInt covers every slot once.
func (b *Bridge) Age(now int64, budget int) int { return b.fdb.sweep(now, budget) }

// Flush forgets everything learned on port. The cost does not depend on the number of entries.
func (b *Bridge) Flush(port int) { b.fdb.flush(port) }

// dead tells whether an entry is aged or flushed.
func (f *fdb) dead(e *entry, now int64) bool {
	return !e.static && (e.generation != f.generation[e.port] || now-e.seen >= f.ageing && !f.sticky.Has(int(e.port)))
}

// makeRoom tells whether one more entry fits. If the table is full, it looks for dead entries in the next budget slots.
func (f *fdb) makeRoom(now int64, budget int) bool { return f.used < f.max || f.sweep(now, budget) > 0 }

// sweep looks at the next budget slots, at most once at each. After a removal it looks at the same slot again, because
// another entry may have shifted into that slot.
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
