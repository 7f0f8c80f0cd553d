package bench

import (
	"fmt"
	"time"
)

// A trial offers rate frames/s and returns how many frames/s were really offered (a sender stays behind what it is
// asked for at a high rate) and whether every frame arrived, as fast as it was sent. Trials that confirm a result are
// longer.
type trial func(rate float64, confirms bool) (offered float64, lossFree bool, err error)

// A search looks for the highest rate without loss (RFC 2544 section 26.1).
type search struct {
	precision float64 // share of the rate at which it ends
	confirm   int     // trials without loss, one after the other, that confirm the result
}

// The search goes down by firstDrop, then by twice as much each time up to half, until a trial loses nothing, and then
// halves what lies between. It gives up below leastRate frames/s. A rate that is not confirmed is lowered by
// confirmStep; after each stepFailures failures the step is squared.
const (
	firstDrop    = 0.1
	leastRate    = 1000
	confirmStep  = 0.97
	stepFailures = 4
)

// run searches from frames/s down. It returns the lowest rate that was offered in the trials that confirm a result, 0
// where there is none.
func (s search) run(from float64, try trial) (float64, error) {
	low, high, rate, drop := 0.0, from, from, firstDrop
	for {
		_, lossFree, err := try(rate, false)
		if err != nil {
			return 0, err
		}
		if lossFree {
			low = rate
		} else {
			high = rate
		}
		switch {
		case high-low <= s.precision*high || high < leastRate:
			return s.confirmed(low, try)
		case low == 0:
			rate = high * (1 - drop)
			drop = min(2*drop, 0.5)
		default:
			rate = (low + high) / 2
		}
	}
}

func (s search) confirmed(rate float64, try trial) (float64, error) {
	lowest, good, bad, step := rate, 0, 0, confirmStep
	for good < s.confirm && rate >= leastRate {
		offered, lossFree, err := try(rate, true)
		switch {
		case err != nil:
			return 0, err
		case lossFree:
			good++
			lowest = min(lowest, offered)
		default:
			good, rate = 0, rate*step
			lowest = rate
			if bad++; bad%stepFailures == 0 {
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
	all, err := b.compare()
	if err != nil {
		return err
	}
	return b.inTurn(all, b.opt.search, 1, b.searchOne)
}

func (b *bench) searchOne(n *network, round int, l load) error {
	l.time = b.opt.trial
	best, err := b.measure(l)
	if err != nil {
		return err
	}
	s := search{precision: b.opt.precision, confirm: b.opt.confirm}
	asked := 0.0
	rate, err := s.run(1.05*best.rate, func(rate float64, confirms bool) (float64, bool, error) {
		asked = rate
		l.rate, l.time = rate, b.opt.trial
		if !confirms {
			l.time = b.opt.searchTrial()
		}
		o, err := b.measure(l)
		offered := float64(o.offered) / max(o.elapsed, l.time.Seconds())
		return offered, o.lossFree(allowedBacklog * offered * b.opt.trial.Seconds()), err
	})
	if err != nil {
		return err
	}
	values := []value{{frameRate, rate}, {ofDelivered, rate / best.rate}}
	if rate > 0 { // else no trial tells who was the limit
		values = append(values, value{ofAsked, rate / asked})
	}
	conditions := fmt.Sprintf("octets=%d priority=%d trial=%gs", l.octets, l.priority, b.opt.trial.Seconds())
	b.record("loss-free", conditions, n.name, round, values...)
	return nil
}

// A trial that only searches is as many times shorter than one that confirms, but not below a second.
const searchShare = 3

// searchTrial is the length of a trial that only searches.
func (o *options) searchTrial() time.Duration {
	return min(o.trial, max(o.trial/searchShare, time.Second))
}

// allowedBacklog is what may have been sent and not have arrived when the senders end, as a share of what a trial that
// confirms offers. A ring that only fills loses nothing for a while: the rate that arrives has to be at least 0.99 of
// the rate that is offered in the same time.
const allowedBacklog = 0.01

// lossFree tells whether every frame arrived, and no other that would hide a lost one, and the switch kept up: it was
// behind by at most so many frames.
func (o *outcome) lossFree(behind float64) bool {
	return o.rate > 0 && o.delivered == o.offered && o.behind <= behind
}
