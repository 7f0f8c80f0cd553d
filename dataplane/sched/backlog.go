package sched

import "math"

// A Backlog is what a receiver that takes frames at a rate has not taken yet. It is full from 128 KiB on, until 64 are
// left.
type Backlog struct {
	Rate  int64 // bit/s on the wire; 0: frames are taken as they come
	Full  bool
	level int64 // in billionths of a bit on the wire, at at
	at    int64 // ns
}

// The levels from which a Backlog is full, and at which no longer.
const (
	BacklogFull = (128 << 10) * perOctet
	backlogFree = BacklogFull / 2
)

// Start begins to take frames at a rate, with none that wait.
func (b *Backlog) Start(rate, now int64) { *b = Backlog{Rate: rate, at: now} }

// Add adds octets on the wire that have come.
func (b *Backlog) Add(octets, now int64) {
	if b.Rate > 0 {
		b.Update(now)
		b.level += octets * perOctet
		b.Update(now)
	}
}

// Update takes what was taken by now off the level.
func (b *Backlog) Update(now int64) {
	if b.Rate == 0 {
		return
	}
	if past := now - b.at; past > b.level/b.Rate {
		b.level = 0
	} else {
		b.level -= past * b.Rate
	}
	b.at = now
	b.Full = b.level >= BacklogFull || b.Full && b.level > backlogFree
}

// FreeAt returns when a full Backlog is so no longer, if nothing comes.
func (b *Backlog) FreeAt() int64 {
	if !b.Full {
		return math.MaxInt64
	}
	return b.at + (b.level-backlogFree)/b.Rate + 1
}
