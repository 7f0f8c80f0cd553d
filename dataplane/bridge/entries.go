package bridge

import (
	"fmt"
	"time"

	"pfcswitch/dataplane/frame"
)

// An Entry is one line of the filtering database.
type Entry struct {
	MAC    uint64
	VID    uint16
	Port   int     // where Group is empty, else -1
	Group  PortSet // of a static entry that leads to a group of ports
	Static bool
	Age    time.Duration // since the last frame of the station; 0 for a static entry
}

// AddStatic binds a station to a port and replaces what was learned about the station. It fails for a group or zero
// address, a VLAN out of range, a port that does not exist, and a database full of static entries. In one that is full
// otherwise it displaces a learned station.
func (b *Bridge) AddStatic(mac uint64, vid uint16, port int, now int64) error {
	if err := b.checkStatic(mac, vid, port); err != nil {
		return err
	}
	return b.bindStatic(mac, vid, port, now)
}

// AddStaticGroup binds a station to a group of ports, of which a frame takes one by its flow: see Pick. It fails as
// AddStatic does.
func (b *Bridge) AddStaticGroup(mac uint64, vid uint16, ports []int, now int64) error {
	var set PortSet
	for _, port := range ports {
		if err := b.checkStatic(mac, vid, port); err != nil {
			return err
		}
		set.Add(port)
	}
	if set.Empty() {
		return fmt.Errorf("bridge: static entry %012x: a group without ports (write one or more)", mac)
	}
	n, ok := b.fdb.groups.enter(&set)
	if !ok {
		return fmt.Errorf("bridge: static entry %012x: there are %d different groups of ports (write fewer)", mac,
			mostGroups)
	}
	err := b.bindStatic(mac, vid, MaxPorts+n, now)
	if err != nil {
		b.fdb.groups.leave(n)
	}
	return err
}

func (b *Bridge) checkStatic(mac uint64, vid uint16, port int) error {
	switch {
	case mac == 0 || mac > frame.Broadcast || frame.IsGroup(mac):
		return fmt.Errorf("bridge: static entry %012x: not a station's address (use a unicast MAC address; groups "+
			"are always flooded)", mac)
	case vid < minVID || vid > maxVID:
		return fmt.Errorf("bridge: static entry %012x: VLAN %d does not exist (use %d to %d)", mac, vid, minVID, maxVID)
	case uint(port) >= MaxPorts || !b.ports[port].present:
		return fmt.Errorf("bridge: static entry %012x: there is no port %d (add the port first)", mac, port)
	}
	return nil
}

func (b *Bridge) bindStatic(mac uint64, vid uint16, port int, now int64) error {
	if !b.fdb.bindStatic(fdbKey(mac, vid), port, now) {
		return fmt.Errorf("bridge: static entry %012x: the filtering database is full with %d static entries (write "+
			"fewer)", mac, b.fdb.max)
	}
	return nil
}

// RemoveStatic removes a static entry and tells whether there was one.
func (b *Bridge) RemoveStatic(mac uint64, vid uint16) bool {
	i, found := b.fdb.find(fdbKey(mac, vid))
	if !found || !b.fdb.slots[i].static {
		return false
	}
	b.fdb.remove(i)
	return true
}

// Dump appends the live entries of the next budget slots from cursor on, unordered. It returns the longer slice and
// the cursor for the next call, which is 0 after the last slot. A caller that releases the lock between calls keeps
// the data path running. An entry that moves within the table meanwhile may then be missing or come twice.
func (b *Bridge) Dump(dst []Entry, cursor, budget int, now int64) (_ []Entry, next int) {
	all := b.fdb.slots
	start := min(max(cursor, 0), len(all))
	end := start + min(max(budget, 1), len(all)-start)
	for i := start; i < end; i++ {
		if e := &all[i]; e.key != 0 && !b.fdb.dead(e, now) {
			dst = append(dst, b.fdb.export(e, now))
		}
	}
	if end == len(all) {
		end = 0
	}
	return dst, end
}

func (f *fdb) export(e *entry, now int64) Entry {
	x := Entry{MAC: e.key >> 12, VID: uint16(e.key & 0xFFF), Port: int(e.port), Static: e.static}
	if x.Port >= MaxPorts {
		x.Group, x.Port = f.groups.all[x.Port-MaxPorts].ports, -1
	}
	if !e.static {
		x.Age = time.Duration(max(now-e.seen, 0))
	}
	return x
}

// bindStatic makes the entry of key static, which leads to a port, or to MaxPorts and the number of a group. Where the
// table is full, that is at the cost of a learned station. It returns false if all others are static.
func (f *fdb) bindStatic(key uint64, port int, now int64) bool {
	i, found := f.find(key)
	switch {
	case found:
		f.uncount(&f.slots[i])
		f.unlink(i)
	case f.makeRoom(now, len(f.slots)) || f.forgetForPort(port, PortSet{}, now):
		i, _ = f.find(key) // only now: making room shifts entries
		f.used++
	default:
		return false
	}
	f.slots[i] = entry{key: key, port: uint16(port), static: true}
	f.static++
	return true
}

// unbindStatic removes the static entries that lead to a port, or to MaxPorts and the number of a group.
func (f *fdb) unbindStatic(port int) {
	for i := 0; i < len(f.slots) && f.static > 0; {
		if e := &f.slots[i]; e.static && int(e.port) == port {
			f.remove(i) // check the slot again: another entry may have shifted into it
			continue
		}
		i++
	}
}
