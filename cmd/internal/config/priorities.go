package config

import (
	"strconv"
)

// Priorities configures how a frame gets its priority, and which priorities are lossless.
type Priorities struct {
	Trust    Trust     // of ports that say nothing else
	Default  uint8     // likewise: the priority of a frame that carries none
	Lossless uint8     // bit n: priority n
	DSCP     [64]uint8 // priority by DSCP
}

// Trust is the source of a frame's priority.
type Trust string

// The values of trust.
const (
	TrustPCP  Trust = "pcp"  // the VLAN tag
	TrustDSCP Trust = "dscp" // the IP header
	TrustPort Trust = "port" // the port's default priority, whatever the frame says
)

var (
	priorityNumber = number[uint8]("priority", 0, 7)
	trust          = oneOf(TrustPCP, TrustDSCP, TrustPort)
)

// defaultPriorities has no lossless priority; a DSCP has the priority of its class selector.
func defaultPriorities() Priorities {
	p := Priorities{Trust: TrustPCP}
	for dscp := range p.DSCP {
		p.DSCP[dscp] = uint8(dscp >> 3)
	}
	return p
}

func (p *Priorities) fields() []field {
	return []field{
		key("trust", &p.Trust, trust),
		key("default", &p.Default, priorityNumber),
		{"lossless", p.readLossless, single(p.writeLossless)},
		{"dscp", p.readDSCP, late(p.writeDSCP)},
	}
}

func (p *Priorities) readLossless(v value) {
	p.Lossless = 0
	for _, item := range v.items() {
		var priority uint8
		set(&priority, priorityNumber)(item)
		p.Lossless |= 1 << priority
	}
}

func (p *Priorities) writeLossless() string {
	var all []string
	for priority := range 8 {
		if p.IsLossless(priority) {
			all = append(all, strconv.Itoa(priority))
		}
	}
	return "[" + list(all) + "]"
}

func (p *Priorities) readDSCP(v value) {
	v.indexed("DSCP", 63, func(dscp int, v value) { set(&p.DSCP[dscp], priorityNumber)(v) })
}

func (p *Priorities) writeDSCP() writer {
	var all []field
	for dscp := range p.DSCP {
		all = append(all, key(strconv.Itoa(dscp), &p.DSCP[dscp], priorityNumber))
	}
	return nested{eightOfLine, all}
}

func eightOfLine(fields []field) string {
	text := "{"
	for i, f := range fields {
		separator := " "
		if i%8 == 0 {
			separator = "\n    "
		}
		text += separator + f.name + ": " + f.text() + ","
	}
	return text + "\n  }"
}

// IsLossless reports whether a priority (0 to 7) is lossless.
func (p Priorities) IsLossless(priority int) bool { return p.Lossless>>priority&1 == 1 }

// Queue configures an egress queue. Strict queues are served first, the highest number first. The other queues share
// the rest by weight (ETS, by deficit round robin).
type Queue struct {
	Strict bool
	Weight int // 1 to 100; 0 for a strict queue
}

// ECN configures the marking of an egress queue: never up to Kmin, with a probability that rises to Pmax at Kmax,
// always above Kmax. A lossless queue is only marked, never dropped from.
type ECN struct {
	Enabled    bool
	Kmin, Kmax int64   // bytes
	Pmax       float64 // above 0, up to 1
}

// defaultECN belongs to the preset, and completes entries that give only some of the keys.
var defaultECN = ECN{Enabled: true, Kmin: 64 << 10, Kmax: 256 << 10, Pmax: 0.1}

func (c *Config) readQueues(v value) {
	v.indexed("priority", 7, func(i int, v value) { c.Queues[i].read(v) })
}

func (q *Queue) read(v value) {
	var strict bool
	var weight *int
	v.read(key("strict", &strict, toggle), optional("weight", &weight, number[int]("weight", 1, 100)))
	switch {
	case strict && weight != nil:
		v.fail("a queue is strict or has a weight: remove one of the two")
	case strict:
		*q = Queue{Strict: true}
	case weight != nil:
		*q = Queue{Weight: *weight}
	default:
		*q = Queue{Weight: 1}
	}
}

func (c *Config) writeQueues() writer { return nested{lines("  "), byPriority(&c.Queues, writeQueue)} }

func writeQueue(q *Queue) writer {
	if q.Strict {
		return nested{flow, []field{{"strict", nil, literal("true")}}}
	}
	return nested{flow, []field{{"weight", nil, literal(strconv.Itoa(q.Weight))}}}
}

func (c *Config) readECN(v value) {
	v.indexed("priority", 7, func(i int, v value) { c.ECN[i].read(v) })
}

func (e *ECN) read(v value) {
	if v.is("off") {
		*e = ECN{}
		return
	}
	if !e.Enabled {
		*e = defaultECN
	}
	v.read(e.fields()...)
	if e.Kmin > e.Kmax {
		v.fail("kmin %s is above kmax %s: marking begins at kmin and is certain from kmax on, so swap or change them",
			formatSize(e.Kmin), formatSize(e.Kmax))
	}
}

func (e *ECN) fields() []field {
	return []field{
		key("kmin", &e.Kmin, size(1, maxSize)),
		key("kmax", &e.Kmax, size(1, maxSize)),
		key("pmax", &e.Pmax, share),
	}
}

func (c *Config) writeECN() writer { return nested{lines("  "), byPriority(&c.ECN, writeECN)} }

func writeECN(e *ECN) writer {
	if !e.Enabled {
		return literal("off")
	}
	return nested{flow, e.fields()}
}

// readPreset sets defaults that later keys may override.
func (c *Config) readPreset(v value) {
	var name string
	set(&name, oneOf("roce"))(v)
	if name == "roce" {
		c.presetRoCE()
	}
}

// presetRoCE is common RoCEv2 practice: priority 3 is lossless with ECN, congestion notifications are strict on 6, and
// the rest is best effort with half of the bandwidth.
func (c *Config) presetRoCE() {
	c.Priorities.Trust = TrustPCP
	c.Priorities.Lossless = 1 << 3
	c.Priorities.DSCP[26] = 3
	c.Priorities.DSCP[48] = 6
	c.Queues[0] = Queue{Weight: 50}
	c.Queues[3] = Queue{Weight: 50}
	c.Queues[6] = Queue{Strict: true}
	c.ECN[3] = defaultECN
}
