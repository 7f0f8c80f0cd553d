package bridge

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
	"time"
)

const (
	// DefaultMaxEntries is the size of the filtering database when Config leaves it open.
	DefaultMaxEntries = 131072

	// DefaultAgeing is the ageing time that 802.1Q recommends (8.8.3).
	DefaultAgeing = 300 * time.Second

	// entriesLimit bounds what a configuration may ask for: 4 Mi entries take 320 MiB.
	entriesLimit = 1 << 22
)

// Config is what a bridge needs beside its ports. The zero value is usable without loop detection (see Identity).
type Config struct {
	// MaxEntries bounds the filtering database, static entries included. 0 means DefaultMaxEntries.
	// Memory for all of them is reserved at once, so that learning never allocates.
	MaxEntries int

	// Table is that memory, all zero: Slots(MaxEntries) long. nil: New takes it from the Go heap.
	Table []Slot

	// Ageing is how long a learned entry lives without a frame from its station. 0 means DefaultAgeing.
	Ageing time.Duration

	// Salt is what tells the choices of this bridge among the ports of a group from those of others on the way.
	Salt uint64

	// Identity is drawn at random by each run of the switch and tells its own loop probes from those of others, and
	// from forged ones. A bridge needs it once a port has Loop set. It is the seed of the filtering database, too.
	Identity Identity
}

// A Bridge is the forwarding process of one switch. It is not safe for concurrent use.
type Bridge struct {
	// Forward looks at five sets and at the member set of the frame's VLAN.
	up       PortSet   // ports whose link is up
	learning PortSet   // ports that learn
	flooding PortSet   // ports that flooded frames may leave by: flood is on and no loop has shut it
	secure   PortSet   // ports with a source guard
	shut     PortSet   // ports shut for flooding, both ways, because of a loop
	sets     []PortSet // the first is that of VLANs without a port
	until    int64     // Until
	fdb      fdb
	ports    [MaxPorts]port
	vlans    [vidCount]uint16 // the member set of each VLAN, by its number among sets

	identity  Identity
	hmac      hash.Hash // keyed with the identity's secret
	scratch   []byte    // for authenticator
	holdoff   int64     // Holdoff, shorter in a test
	floods    uint64    // flooded frames, but for loop probes of other switches
	backedOff bool      // the loop probes of a port are rare
	resumed   bool      // TakeResumed
	floodTo   PortSet   // Decision.Ports of a Flood
	pickFrom  PortSet   // Decision.Ports of Pick
	salt      uint64    // Config.Salt
}

// New returns a bridge without ports. The error tells which setting is out of range.
func New(c Config) (*Bridge, error) {
	if c.MaxEntries < 0 || c.MaxEntries > entriesLimit {
		return nil, fmt.Errorf("bridge: %d filtering database entries (use 1 to %d, or 0 for %d)", c.MaxEntries,
			entriesLimit, DefaultMaxEntries)
	}
	b := &Bridge{identity: c.Identity, sets: make([]PortSet, 1), hmac: hmac.New(sha256.New, c.Identity.Secret[:]),
		holdoff: int64(Holdoff), salt: c.Salt}
	b.fdb.slots = c.Table
	b.fdb.init(cmp.Or(c.MaxEntries, DefaultMaxEntries))
	b.fdb.up = &b.up
	if c.Identity != (Identity{}) {
		b.fdb.keyWith(b.hmac)
	}
	if err := b.SetAgeing(c.Ageing); err != nil {
		return nil, err
	}
	return b, nil
}

// Counters describe the filtering database.
type Counters struct {
	Entries int    // entries held, static ones included; an aged one counts until the sweep has met it
	Static  int    // entries that the configuration made
	Moves   uint64 // learned entries that changed their port: a station moved, or there is a loop
	Holds   uint64 // of stations that moved too often
	Refused uint64 // moves that a hold refused
	Full    uint64 // frames whose source was not learned because there was no room
	Forgot  uint64 // learned entries that made room for others, of a port at its limit or in a full database
}

// Changes counts how often an entry that was alive has moved to another port or has made room for another one.
func (b *Bridge) Changes() uint64 { return b.fdb.moves + b.fdb.forgot }

// MaxEntries bounds the filtering database, static entries included.
func (b *Bridge) MaxEntries() int { return b.fdb.max }

// Counters returns the state of the filtering database. The others never go back.
func (b *Bridge) Counters() Counters {
	f := &b.fdb
	return Counters{Entries: f.used - f.stale, Static: f.static, Moves: f.moves, Holds: f.holds, Refused: f.refused,
		Full: f.full, Forgot: f.forgot}
}
