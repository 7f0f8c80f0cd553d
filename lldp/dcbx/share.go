package dcbx

import "slices"

// A Queue says how the queue of a priority is served.
type Queue struct {
	Strict bool // before all queues with a weight
	Weight int  // relative to the other weighted queues, at least 1
}

// Queues are those of a port by priority.
type Queues [8]Queue

// percents returns the share of each weighted queue in percent, together 100. The percents that rounding leaves go to
// the largest remainders.
func (q Queues) percents() (shares [8]uint8) {
	sum := 0
	for _, queue := range q {
		if !queue.Strict {
			sum += max(1, queue.Weight)
		}
	}
	left, order := 100, []int{}
	for p, queue := range q {
		if queue.Strict {
			continue
		}
		shares[p] = uint8(100 * max(1, queue.Weight) / sum)
		left -= int(shares[p])
		order = append(order, p)
	}
	slices.SortStableFunc(order,
		func(a, b int) int { return 100*max(1, q[b].Weight)%sum - 100*max(1, q[a].Weight)%sum })
	for _, p := range order[:min(left, len(order))] {
		shares[p]++
	}
	return shares
}

// ets returns the queues as an ETS TLV: traffic class n is priority n.
func (q Queues) ets(willing bool) ETS {
	e := ETS{Willing: willing, Bandwidth: q.percents()}
	for p, queue := range q {
		e.Class[p] = uint8(p)
		e.Selection[p] = SelectETS
		if queue.Strict {
			e.Selection[p] = SelectStrict
		}
	}
	return e
}

// weightScale is divisible by every number of priorities up to eight.
const weightScale = 840

// share returns the queue of each priority of a class with a percentage.
func share(percent uint8, priorities int) Queue {
	return Queue{Weight: max(1, int(percent)*weightScale/max(1, priorities))}
}

// Queues returns the queues by priority that an ETS TLV asks for. Priorities of one class share its percentage evenly.
// The result is false where the TLV contradicts itself: a class above 7, or percentages that do not add up to 100.
func (e *ETS) Queues() (q Queues, ok bool) {
	var members [8]int
	sum, weighted := 0, false
	for _, tc := range e.Class {
		if tc > 7 {
			return q, false
		}
		members[tc]++
	}
	for tc, selection := range e.Selection {
		if selection == SelectETS {
			sum += int(e.Bandwidth[tc])
			weighted = true
		}
	}
	if weighted && sum != 100 {
		return q, false
	}
	for p, tc := range e.Class {
		q[p] = Queue{Strict: true}
		if e.Selection[tc] == SelectETS {
			q[p] = share(e.Bandwidth[tc], members[tc])
		}
	}
	return q, true
}
