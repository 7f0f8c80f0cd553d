package buffer

import (
	"cmp"
	"errors"
	"maps"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// configure changes something while frames are held.
func (x *machine) configure(t *rapid.T) {
	port := drawPort.Draw(t, "port")
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		x.setPort(t, port, drawPortConfig.Draw(t, "config"))
	case 1:
		x.replace(t, port)
	case 2:
		x.setQueue(t, port)
	case 3:
		x.apply(t)
	}
}

func (x *machine) setPort(t *rapid.T, port int, pc PortConfig) {
	before := state(x.m)
	ports := maps.Clone(x.ports)
	ports[port] = pc
	x.settle(t, before, x.config, ports, x.m.SetPort(port, pc))
}

// replace removes a port, and adds one of its number that wants nothing. Shared headroom may have lent to the removed
// one's frames, or a pool that follows the headrooms still holds them, so that this has to wait until some have left.
func (x *machine) replace(t *rapid.T, port int) {
	x.m.RemovePort(port)
	for {
		before := state(x.m)
		err := x.m.SetPort(port, PortConfig{})
		if err == nil {
			break
		}
		wantUnchanged(t, x.m, before)
		assert.MustBeTrue(t, errors.Is(err, ErrBusy) && len(x.lossless) != 0 &&
			(x.config.Headroom != (HeadroomSharing{}) || x.config.Beside != 0),
			"port %d with nothing cannot come back: %v", port, err)
		f := x.lossless[0]
		x.lossless = x.lossless[1:]
		x.m.Release(f.port, f.prio, f.n)
	}
	x.ports = maps.Clone(x.ports)
	x.ports[port] = PortConfig{}
}

func (x *machine) setQueue(t *rapid.T, port int) {
	prio, q := rapid.SampledFrom([]uint8{0, 3, 3, 4, 7}).Draw(t, "prio"), drawQueue.Draw(t, "config")
	pc := x.ports[port]
	pc.Queues[prio&pc.queueMask()] = q
	x.setPort(t, port, pc)
}

func (x *machine) apply(t *rapid.T) {
	before := state(x.m)
	c := drawConfig.Draw(t, "config")
	c.Cell = x.config.Cell
	ports := maps.Clone(x.ports)
	for port := range ports {
		if rapid.Bool().Draw(t, "keep") {
			continue
		}
		ports[port] = drawPortConfig.Draw(t, "port")
	}
	x.settle(t, before, c, ports, x.m.Apply(c, ports))
}

// settle judges the outcome of a change: it is in force, or nothing has changed and the reason is true.
func (x *machine) settle(t *rapid.T, before Snapshot, c Config, ports map[int]PortConfig, err error) {
	t.Helper()
	switch fits := refFits(c, ports); {
	case err == nil && fits:
		x.config, x.ports = c, ports
		return
	case errors.Is(err, ErrConfig) && !fits:
	case errors.Is(err, ErrBusy) && fits && refBusy(before, c, ports):
	default:
		t.Fatalf("configuration fits: %v, error: %v\n%+v\n%+v", fits, err, c, ports)
	}
	wantUnchanged(t, x.m, before)
}

// refFits adds up the segments and asks whether each queue takes its MTU.
func refFits(c Config, ports map[int]PortConfig) bool {
	r := refRules{cell: int64(c.Cell)}
	_, r.static = c.Threshold.(StaticThreshold)
	most := c.Lossless.Size / r.cell * r.cell
	need, private, headrooms, largest, insured := int64(0), int64(0), int64(0), int64(0), int64(0)
	var queues []QueueConfig
	var mtus []int64
	for _, pc := range ports {
		insurance := int64(0)
		for k, q := range pc.Queues {
			if pc.isIngress(uint8(k)) {
				insurance = max(insurance, r.bytes(int(q.Headroom)))
			}
		}
		insured += insurance
		for k, q := range pc.Queues {
			if !(pc.Mode == macctl.ModePFC && pc.Lossless&(1<<k) != 0 || pc.Mode == macctl.ModePause && k == 0) {
				continue
			}
			q.Alpha = cmp.Or(q.Alpha, c.Lossless.Alpha)
			q.Private, q.Headroom = r.bytes(int(q.Private)), r.bytes(int(q.Headroom))
			private += q.Private
			headrooms += q.Headroom
			largest = max(largest, q.Headroom)
			if c.Headroom.Dynamic {
				q.Headroom = insurance
				r.port = []QueueConfig{}
			}
			need += 2 * r.bytes(pc.MTU)
			queues, mtus = append(queues, q), append(mtus, r.bytes(pc.MTU))
		}
	}
	size := refSize(c, private+headrooms)
	r.segment = size - private - refPool(c, headrooms, largest, insured)
	if c.Beside > 0 { // what headroom lends goes with the ports that have it
		r.segment = r.bytes(int(c.Beside))
	}
	if r.segment < need || size > most {
		return false
	}
	for i, q := range queues {
		if r.q = q; r.port != nil {
			r.port = []QueueConfig{q}
		}
		if v, _ := r.admitEmpty(mtus[i]); v == DropOversize {
			return false
		}
	}
	return true
}

// refSize is the size of the lossless pool for queues with so much private segments and headroom in all.
func refSize(c Config, reserved int64) int64 {
	if c.Beside > 0 {
		return reserved + refRules{cell: int64(c.Cell)}.bytes(int(c.Beside))
	}
	return c.Lossless.Size / int64(c.Cell) * int64(c.Cell)
}

// refPool is the size of the headroom segment for queues with so much headroom in all, and so much at most, and ports
// with so much insurance.
func refPool(c Config, sum, largest, insured int64) int64 {
	size := sum
	switch h := c.Headroom; {
	case h.Dynamic:
		return insured
	case h.Size != 0:
		size = h.Size
	case h.Ratio != 0:
		size = int64(float64(sum) / h.Ratio)
	}
	cells := size / int64(c.Cell)
	if size%int64(c.Cell) != 0 {
		cells++
	}
	switch size = cells * int64(c.Cell); {
	case size > sum:
		return sum
	case size < largest:
		return largest
	}
	return size
}

// refBusy reports whether there can be a reason to wait: a headroom that is above its new size, or a shared segment
// that would be too small if nothing moved to private segments, or a headroom pool that is above its new size.
func refBusy(before Snapshot, c Config, ports map[int]PortConfig) bool {
	cell := int64(c.Cell)
	bytes := refRules{cell: cell}.bytes
	private, held, inHeadroom := int64(0), int64(0), int64(0)
	headrooms, largest, insured := int64(0), int64(0), int64(0)
	for _, p := range before.Ports {
		pc, insurance := ports[p.Port], int64(0)
		for k, q := range p.Ingress {
			held += q.Used.Shared.Now + q.Used.Private.Now + q.Used.Headroom.Now
			inHeadroom += q.Used.Headroom.Now
			if pc.isIngress(uint8(k)) {
				headroom := bytes(int(pc.Queues[k].Headroom))
				private += bytes(int(pc.Queues[k].Private))
				headrooms += headroom
				largest = max(largest, headroom)
				insurance = max(insurance, headroom)
				if q.Used.Headroom.Now > bytes(int(pc.Queues[k].Headroom)) {
					return true
				}
			}
		}
		insured += insurance
	}
	pool := refPool(c, headrooms, largest, insured)
	segment := refSize(c, private+headrooms) - private
	return held > segment-pool || inHeadroom > pool || c.Headroom.Dynamic && inHeadroom > 0
}
