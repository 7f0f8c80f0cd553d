package buffer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ErrBusy is wrapped by the error about a configuration that fits, but not yet: a headroom to be lowered still holds
// more than its new size, or the shared segment is still too full for its new size. Nothing has changed; the caller
// tries again after departures.
var ErrBusy = errors.New("not yet, try again when the buffer has drained")

// A BusyError wraps ErrBusy and says what has to leave.
type BusyError struct {
	Excess int64 // bytes that have to leave
	// Ports are those whose frames have to leave, by number: the fewest that make room, so those that hold the most.
	Ports   []int
	reasons []string
}

// Error says which segment holds too much.
func (e *BusyError) Error() string { return strings.Join(e.reasons, "; ") + ": " + ErrBusy.Error() }

// Unwrap makes it an ErrBusy.
func (e *BusyError) Unwrap() error { return ErrBusy }

// add notes that frames of a port, or of several, hold some bytes too many.
func (e *BusyError) add(excess int64, reason string, ports ...int) {
	e.Excess += excess
	e.reasons = append(e.reasons, reason)
	for _, port := range ports {
		if !slices.Contains(e.Ports, port) {
			e.Ports = append(e.Ports, port)
		}
	}
}

// Apply puts a configuration of the whole buffer in force: all of it, or on error nothing. Ports that are not in it
// are removed. Errors wrap ErrConfig (it will never fit) or ErrBusy (not yet). The cell cannot change.
func (m *Manager) Apply(c Config, ports map[int]PortConfig) error {
	next, err := NewPlan(c, ports)
	if err != nil {
		return err
	}
	if err := m.Ready(next); err != nil {
		return err
	}
	m.Commit(next)
	return nil
}

// SetPort adds a port or changes one. Its errors are those of Apply.
func (m *Manager) SetPort(port int, c PortConfig) error {
	ports := maps.Clone(m.configs)
	ports[port] = c
	return m.Apply(m.config, ports)
}

// RemovePort takes a port away at once, with its counters; Removed returns those. Frames that are still charged to the
// port stay in the shared segment until their Release. Its queues that are OFF turn ON.
func (m *Manager) RemovePort(port int) {
	if _, there := m.configs[port]; !there {
		return
	}
	ports := maps.Clone(m.configs)
	delete(ports, port)
	// Nothing can fail: the pool keeps its size, so the port frees at least as many bytes as its frames move to the
	// shared segment. A headroom pool may free fewer: headroomLeft lends the rest.
	next := newPlan(m.config, ports)
	next.setLossless(m.lossless.size)
	m.Commit(next)
}

// Ready reports whether the shared segment and each headroom have room for what they would hold under the plan. Its
// errors are those of Apply; ErrBusy is wrapped by a BusyError.
func (m *Manager) Ready(next *Plan) error {
	if next.cell != m.cell {
		return configError("cell cannot change from %d B to %d B while frames are charged in it: restart",
			m.cell, next.cell)
	}
	var busy BusyError
	var used, inHeadroom int64
	var from leaving
	shared, headroom := make([]int64, len(m.ports)), make([]int64, len(m.ports))
	for _, p := range m.ports {
		if p == nil {
			continue
		}
		pc := next.planned[p.number]
		var inPort int64
		for k, held := range p.redistribute(&pc) {
			from.add(p, &p.ingress[k], &pc)
			inPort += held.headroom
			if excess := held.headroom - pc.Queues[k].Headroom; excess > 0 && !next.config.Headroom.Dynamic {
				busy.add(excess, fmt.Sprintf("buffer: %s: headroom holds %d B, to be lowered to %d B",
					pc.queueLabel(p.number, uint8(k)), held.headroom, pc.Queues[k].Headroom), p.number)
			}
			fits := min(held.headroom, pc.Queues[k].Headroom)
			headroom[p.number] += fits
			inHeadroom += fits
			shared[p.number] += held.shared
			used += held.shared
		}
		if excess := m.tooMuchInsured(p, &pc, inPort); next.config.Headroom.Dynamic && excess > 0 {
			busy.add(excess, fmt.Sprintf("buffer: %s: headroom holds %d B, of which the port's insurance can "+
				"take over %d B", pc.label(p.number), inPort, inPort-excess), p.number)
		}
	}
	excess := used - next.limit.shared
	var lent int64 // by a headroom pool, since RemovePort
	if next.config.Headroom.pooled() {
		lent = max(0, min(excess, -m.lossless.free()))
	}
	if excess > lent {
		busy.add(excess, fmt.Sprintf("buffer: lossless pool: the shared segment would go from %d B to %d B, "+
			"of which %d B are in use%s", m.lossless.limit.shared, next.limit.shared, used, from.text()),
			largest(shared, excess)...)
	}
	if excess := inHeadroom + lent - next.limit.headroom; excess > 0 {
		busy.add(excess, fmt.Sprintf("buffer: lossless pool: the headroom would go from %d B to %d B, "+
			"of which %d B are in use", m.lossless.limit.headroom, next.limit.headroom, inHeadroom+lent),
			largest(headroom, excess)...)
	}
	if busy.Excess > 0 {
		return &busy
	}
	return nil
}

// leaving are the bytes that queues bring into the shared segment which are no longer lossless: those of their private
// segments and headrooms.
type leaving struct {
	bytes  int64
	queues []string
}

// add notes what a queue brings where it goes.
func (l *leaving) add(p *port, q *queue, next *PortConfig) {
	used := q.used.bytes()
	if n := used.private + used.headroom; n > 0 && !p.keepsQueue(q, next) {
		l.bytes += n
		l.queues = append(l.queues, p.config.queueLabel(p.number, q.id.Queue))
	}
}

// text says whose frames these are, and that they have to leave first.
func (l *leaving) text() string {
	if l.bytes == 0 {
		return ""
	}
	return fmt.Sprintf(" then: %d B of private segment and headroom go to it where a queue ends (%s), "+
		"and leave when their receivers take them", l.bytes, strings.Join(l.queues, ", "))
}

// tooMuchInsured returns how many of the bytes that a port keeps in its headroom its insurance cannot take over. An
// insurance takes over nothing where a queue is new in it: the queue is ON, and what its peer still sends has no room.
func (m *Manager) tooMuchInsured(p *port, next *PortConfig, bytes int64) int64 {
	if !m.dynamic || next.ingress()&^p.config.ingress() != 0 {
		return bytes
	}
	return bytes - next.insurance()
}

// largest returns the fewest ports that hold at least so many bytes together.
func largest(held []int64, bytes int64) (ports []int) {
	for bytes > 0 {
		most := 0
		for i := range held {
			if held[i] > held[most] {
				most = i
			}
		}
		ports, bytes, held[most] = append(ports, most), bytes-held[most], 0
	}
	return ports
}

// redistribute returns what each ingress queue of p holds under another configuration. The same bytes stay charged to
// the same priorities, so that a later Release finds them; only their segments change:
//   - a queue that stays keeps its headroom, and fills its private segment from the shared one, or the reverse;
//   - the bytes of a queue that goes become shared: at most φ + η move, and B_s grows by φ + η, except in a pool that
//     follows the headrooms: there the change may have to wait until some have left;
//   - a change to or from ModePause joins all queues into one, or parts them by priority.
func (p *port) redistribute(next *PortConfig) [Priorities]segmentBytes {
	var moved [Priorities]segmentBytes
	queueMask := next.queueMask()
	for prio, n := range p.charged {
		moved[uint8(prio)&queueMask].shared += n
	}
	for k := range moved {
		to := &moved[k]
		if q := &p.ingress[k]; p.keepsQueue(q, next) {
			to.headroom = q.used.headroom.now
			to.shared -= to.headroom
		}
		to.private = min(next.Queues[k].Private, to.shared)
		to.shared -= to.private
	}
	return moved
}

// keepsQueue reports whether q is the same queue under another configuration of its port.
func (p *port) keepsQueue(q *queue, next *PortConfig) bool {
	return q.lossless && next.isIngress(q.id.Queue) && next.queueMask() == p.queueMask
}

// MaxCharged returns how many bytes may be charged at once under a plan and all that SetPort may make of it. A lossy
// pool that shrinks keeps its bytes.
func (m *Manager) MaxCharged(next *Plan) int64 { return next.most + max(next.lossy, m.lossy.used.now) }

// Commit puts a plan in force for which Ready has just returned nil. The caller must not use the plan again.
func (m *Manager) Commit(next *Plan) {
	m.config, m.configs = next.config, next.ports
	m.ringHold, m.threshold = next.config.RingHold, next.threshold
	m.policy, m.dynamic = next.config.policy(), next.config.Headroom.Dynamic
	m.lossless.size, m.lossless.limit = next.lossless, next.limit
	m.lossy.size = next.lossy
	for number := range next.planned {
		m.addPort(number)
	}
	var used segmentBytes
	for _, p := range m.ports {
		if p == nil {
			continue
		}
		pc, present := next.planned[p.number]
		m.configure(p, pc, present)
		var inPort segmentBytes
		for k := range p.ingress {
			inPort = inPort.plus(1, p.ingress[k].used.bytes())
		}
		if used = used.plus(1, inPort); m.dynamic {
			p.used.set(inPort)
		} else {
			p.used = segments{}
		}
	}
	m.lossless.used.set(used)
	m.off = slices.Grow(m.off, next.queues) // so that no XOFF allocates
	m.restartActive()
	m.Resume()
}

// addPort makes room for a port number.
func (m *Manager) addPort(number int) {
	if number >= len(m.ports) {
		m.ports = append(m.ports, make([]*port, number+1-len(m.ports))...)
	}
	if m.ports[number] != nil {
		return
	}
	p := &port{number: number, queueMask: Priorities - 1}
	for k := range p.ingress {
		p.ingress[k].id, p.ingress[k].port = QueueID{Port: number, Queue: uint8(k)}, p
	}
	m.ports[number] = p
}

// configure changes one port. A queue that goes turns ON, since nothing would free its peer later.
func (m *Manager) configure(p *port, next PortConfig, present bool) {
	moved := p.redistribute(&next)
	for k := range p.ingress {
		q := &p.ingress[k]
		if !p.keepsQueue(q, &next) {
			q.waiting = 0
			if q.off {
				m.turnOn(q)
			}
		}
		q.lossless = next.isIngress(q.id.Queue)
		q.config = next.Queues[k]
		q.used.set(moved[k])
		p.egress[k].alpha = next.LossyAlpha[k]
	}
	if p.present && !present {
		p.restart()
	}
	p.config, p.queueMask, p.present = next, next.queueMask(), present
}

// restart clears the counters and watermarks of a port that goes. A later port of the same number begins at 0.
func (p *port) restart() {
	p.eachGauge((*gauge).restart)
	p.removedCounters = new(PortCounters)
	for k := range p.ingress {
		p.removedCounters.Ingress[k], p.ingress[k].count = p.ingress[k].count, Counters{}
		p.removedCounters.Egress[k], p.egress[k].count = p.egress[k].count, LossyCounters{}
	}
}
