package main

import (
	"fmt"
	"time"
)

// A trial offers rate frames/s and returns how many frames/s were really offered (a sender stays behind what it is asked
// for at a high rate) and whether every frame arrived.
type trial func(rate float64) (offered float64, whole bool, err error)

// A search looks for the highest rate without loss (RFC 2544 section 26.1).
type search struct {
	precision float64 // share of the rate at which it ends
	confirm   int     // trials without loss, one after the other, that confirm the result
}

// The search gives up below least frames/s. A rate that is not confirmed is lowered by step; where that has not helped often
// times, step is squared.
const (
	least = 1000
	step  = 0.97
	often = 4
)

// run searches from frames/s down. It returns the lowest rate that was offered in the trials that confirm it, 0 where there is none.
func (s search) run(from float64, try trial) (float64, error) {
	low, high, rate := 0.0, from, from
	for {
		_, whole, err := try(rate)
		if err != nil {
			return 0, err
		}
		if whole {
			low = rate
		} else {
			high = rate
		}
		if high-low <= s.precision*high || high < least {
			break
		}
		rate = (low + high) / 2
	}
	return s.confirmed(low, try)
}

func (s search) confirmed(rate float64, try trial) (float64, error) {
	lowest, good, bad, step := rate, 0, 0, step
	for good < s.confirm && rate >= least {
		offered, whole, err := try(rate)
		switch {
		case err != nil:
			return 0, err
		case whole:
			good++
			lowest = min(lowest, offered)
		default:
			good, rate = 0, rate*step
			lowest = rate
			if bad++; bad%often == 0 {
				step *= step
			}
		}
	}
	if good < s.confirm {
		return 0, nil
	}
	return lowest, nil
}

// lossFree searches from a little above the rate that the switch delivers in the same round.
func (b *bench) lossFree() error {
	if b.opt.search == 0 {
		b.note("loss-free rate: left out by --search 0")
		return nil
	}
	return b.compare(func(all []*network) error {
		for round := range b.opt.search {
			for _, octets := range b.opt.octets {
				for _, priority := range b.opt.priorities {
					for _, n := range inTurn(all, round) {
						if err := b.searchOne(n, round, octets, priority); err != nil {
							return fmt.Errorf("%s: %w", n.name, err)
						}
					}
				}
			}
		}
		return nil
	})
}

func (b *bench) searchOne(n *network, round, octets, priority int) error {
	l := load{through: n, flows: n.straight(1), octets: octets, priority: priority, time: b.opt.trial}
	best, err := b.measure(l)
	if err != nil {
		return err
	}
	s := search{precision: b.opt.precision, confirm: b.opt.confirm}
	rate, err := s.run(1.05*best.rate, func(rate float64) (float64, bool, error) {
		l.rate = rate
		o, err := b.measure(l)
		return float64(o.offered) / max(o.elapsed, l.time.Seconds()), o.delivered >= o.offered, err
	})
	if err != nil {
		return err
	}
	b.record("loss-free", fmt.Sprintf("octets=%d priority=%d trial=%s", octets, priority, short(b.opt.trial)), n.name, round,
		value{frameRate, rate}, value{ofDelivered, rate / best.rate})
	return nil
}

func short(d time.Duration) string { return fmt.Sprintf("%gs", d.Seconds()) }
