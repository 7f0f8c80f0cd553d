package buffer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A Plan is a configuration of the whole buffer with its sums: sizes in whole cells, every default filled in.
type Plan struct {
	config Config             // as given
	ports  map[int]PortConfig // as given
	cell   int64

	threshold       Threshold // where a queue turns OFF
	lossless, lossy int64     // pool sizes
	most            int64     // of the lossless pool, whatever the headrooms become
	planned         map[int]PortConfig
	limit           segmentBytes // Σφ, B_s (the shared segment), and the headroom segment
	queues          int          // lossless ingress queues
	needed          int64        // what they need the shared segment to be
}

// NewPlan returns the plan of a configuration of the whole buffer, ports by number. The error names each fault with its
// numbers and the remedy, and wraps ErrConfig.
func NewPlan(c Config, ports map[int]PortConfig) (*Plan, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	policy := c.policy()
	var faults []error
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		pc := ports[port]
		faults = append(faults, pc.validate(port, policy))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	next := newPlan(c, ports)
	return next, next.check()
}

func (c *Config) policy() Threshold {
	if c.Threshold == nil {
		return DynamicThreshold{}
	}
	return c.Threshold
}

// newPlan returns the plan of a configuration whose numbers are in range.
func newPlan(c Config, ports map[int]PortConfig) *Plan {
	cell := int64(c.Cell)
	pl := &Plan{
		config: c, ports: make(map[int]PortConfig, len(ports)), cell: cell,
		threshold: c.policy(), most: c.Lossless.Size / cell * cell, lossy: c.Lossy.Size / cell * cell,
		planned: make(map[int]PortConfig, len(ports)),
	}
	if c.Headroom.Dynamic {
		pl.threshold = dynamicThreshold{pl.threshold}
	}
	maps.Copy(pl.ports, ports)
	var need HeadroomNeed
	for port, pc := range ports {
		var headrooms [Priorities]int64
		for k := range uint8(Priorities) {
			pc.LossyAlpha[k] = cmp.Or(pc.LossyAlpha[k], c.Lossy.Alpha)
			if !pc.isIngress(k) {
				pc.Queues[k] = QueueConfig{}
				continue
			}
			q := &pc.Queues[k]
			q.Private, q.Headroom = wholeCells(q.Private, cell), wholeCells(q.Headroom, cell)
			q.Alpha = cmp.Or(q.Alpha, c.Lossless.Alpha)
			pl.limit.private += q.Private
			headrooms[k] = q.Headroom
			pl.queues++
			pl.needed += 2 * wholeCells(int64(pc.MTU), cell)
		}
		if c.Headroom.Dynamic {
			for k := range pc.Queues {
				if pc.isIngress(uint8(k)) {
					pc.Queues[k].Headroom = slices.Max(headrooms[:])
				}
			}
		}
		pl.planned[port] = pc
		need.Add(headrooms)
	}
	pl.limit.headroom = c.Headroom.Segment(need, cell)
	size := pl.most
	if c.Beside > 0 {
		size = pl.limit.private + need.Sum + wholeCells(c.Beside, cell)
	}
	pl.setLossless(size)
	return pl
}

// setLossless sets the size of the lossless pool. What is neither private nor headroom is shared.
func (pl *Plan) setLossless(size int64) {
	pl.lossless = size
	pl.limit.shared = size - pl.limit.private - pl.limit.headroom
}

// check refuses a plan whose lossless pool is too large or leaves too little to share, or in which some queue could
// never take a frame.
func (pl *Plan) check() error {
	if pl.lossless > pl.most {
		return configError("the lossless pool would have %d B: private %d B, headroom %d B and what is beside them, "+
			"and %d B are the most: lower headroom or private (largest: %s)",
			pl.lossless, pl.limit.private, pl.limit.headroom, pl.most, pl.largestReservation())
	}
	shared := pl.limit.shared
	if pl.config.Beside > 0 { // where headroom is shared there is more, but ports that leave take it with them
		if shared = wholeCells(pl.config.Beside, pl.cell); shared < pl.needed {
			return configError("%d B beside private and headroom, needs 2 MTU for each of %d lossless queues = %d B",
				shared, pl.queues, pl.needed)
		}
	}
	if shared < pl.needed {
		return configError("lossless pool %d B - private %d B - headroom %d B leaves a shared segment of %d B, "+
			"needs 2 MTU for each of %d lossless queues = %d B: "+
			"enlarge buffer.lossless.size to %d B, or lower headroom or private (largest: %s)",
			pl.lossless, pl.limit.private, pl.limit.headroom, shared, pl.queues, pl.needed,
			pl.lossless+pl.needed-shared, pl.largestReservation())
	}
	var faults []error
	for _, port := range slices.Sorted(maps.Keys(pl.planned)) {
		pc := pl.planned[port]
		mtu := wholeCells(int64(pc.MTU), pl.cell)
		for k := range uint8(Priorities) {
			if !pc.isIngress(k) {
				continue
			}
			q := pc.Queues[k]
			if most := largestFrame(pl.threshold, QueueID{port, k}, q, shared); most < mtu {
				faults = append(faults, configError("%s: a frame of the MTU takes %d B and would never fit: "+
					"headroom is %d B, private %d B and threshold at most %d B: raise headroom, alpha or xoff",
					pc.queueLabel(port, k), mtu, q.Headroom, q.Private, most-q.Private))
			}
		}
	}
	return errors.Join(faults...)
}

// largestReservation describes the queue with the most private and headroom bytes. Of equals it takes the first.
func (pl *Plan) largestReservation() string {
	var text string
	most := int64(-1)
	for _, port := range slices.Sorted(maps.Keys(pl.planned)) {
		pc := pl.planned[port]
		for k := range uint8(Priorities) {
			if q := pc.Queues[k]; pc.isIngress(k) && q.Private+q.Headroom > most {
				most = q.Private + q.Headroom
				text = fmt.Sprintf("%s, headroom %d B, private %d B", pc.queueLabel(port, k), q.Headroom, q.Private)
			}
		}
	}
	return text
}

// wholeCells returns n bytes rounded up to whole cells, 0 for a negative n.
func wholeCells(n, cell int64) int64 {
	if n <= 0 {
		return 0
	}
	return (n + cell - 1) / cell * cell
}

// Charge returns the bytes that a frame of n octets without FCS occupies: n rounded up to whole cells. Headroom is
// counted in these bytes too: in cells of 256 B a stream of 60-octet frames occupies more than four times its size.
func (m *Manager) Charge(n int) int64 { return wholeCells(int64(n), m.cell) }
