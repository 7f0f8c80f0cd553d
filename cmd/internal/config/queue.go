package config

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
	v.read(
		field{"strict", set(&strict, toggle)},
		field{"weight", setOptional(&weight, number[int]("weight", 1, 100))},
	)
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
	v.read(
		field{"kmin", set(&e.Kmin, size(1, maxSize))},
		field{"kmax", set(&e.Kmax, size(1, maxSize))},
		field{"pmax", set(&e.Pmax, share)},
	)
	if e.Kmin > e.Kmax {
		v.fail("kmin %s is above kmax %s: marking begins at kmin and is certain from kmax on, so swap or change them",
			formatSize(e.Kmin), formatSize(e.Kmax))
	}
}
