package traffic

import (
	"fmt"
	"time"
)

// A Blocking is a sink that hangs for a while, once or again and again: it holds its peer meanwhile.
type Blocking struct {
	At    time.Time
	For   time.Duration // 0: never
	Every time.Duration // from one beginning to the next; 0: once
	Times int           // in all, with Every
}

func (b *Blocking) check() error {
	switch {
	case b.For < 0:
		return fmt.Errorf("the peer is held for %v: 0 (never) or more", b.For)
	case b.Every < 0 || b.Every > 0 && b.For >= b.Every:
		return fmt.Errorf("the peer is held for %v every %v: the first has to be the shorter one", b.For, b.Every)
	case (b.Times > 0) != (b.Every > 0) || b.Times < 0:
		return fmt.Errorf("the peer is held %d times, one every %v: both, or neither, have to be above 0", b.Times, b.Every)
	}
	return nil
}

// on tells whether the peer is to be held at a moment.
func (b *Blocking) on(at time.Time) bool {
	since := at.Sub(b.At)
	if b.Every > 0 && since >= 0 && since/b.Every < time.Duration(b.Times) {
		since %= b.Every
	}
	return since >= 0 && since < b.For
}
