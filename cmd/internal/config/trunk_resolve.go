package config

import (
	"fmt"
	"slices"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/trunk"
)

// resolveTrunks fills in what follows from the ports' speeds, and finds contradictions.
func (c *Config) resolveTrunks() (faults []*Error) {
	c.Trunks = slices.Clone(c.Trunks)
	for i := range c.Trunks {
		t := &c.Trunks[i]
		found := c.resolveSpeeds(t)
		if len(found) == 0 {
			found = c.resolveMeters(t)
		}
		faults = append(faults, found...)
	}
	return faults
}

// checkRooms checks the high watermarks of trunks with the headrooms that they begin with. Without a speed, of which
// resolveSpeeds tells, there is nothing to check.
func (c *Config) checkRooms() (faults []*Error) {
	unlimited := func(name string) bool {
		p := c.port(name)
		return p != nil && p.Speed == 0
	}
	for i := range c.Trunks {
		if t := &c.Trunks[i]; !slices.ContainsFunc(t.ports(), unlimited) {
			faults = append(faults, c.checkRoom(t, nil)...)
		}
	}
	return faults
}

// resolveSpeeds finds out whether the trunk is metered.
func (c *Config) resolveSpeeds(t *Trunk) (faults []*Error) {
	var members int64
	for i, name := range t.ports() {
		p := c.port(name)
		if p == nil {
			continue // found by check
		}
		if p.Speed == 0 {
			faults = append(faults, c.Errorf("ports."+name+".speed",
				"none, and trunk %s compares the speeds of its ports: write one", t.Name))
		}
		if i > 0 {
			members += p.Speed
		}
	}
	if p := c.port(t.Uplink); p != nil {
		t.Metered = members > p.Speed
	}
	return faults
}

// resolveMeters fills in the profiles of the meters. Priorities without a committed rate share the rest of the uplink.
func (c *Config) resolveMeters(t *Trunk) (faults []*Error) {
	t.Profiles, t.Total = [8]trunk.MeterConfig{}, trunk.MeterConfig{}
	up := c.port(t.Uplink)
	if up == nil {
		return nil
	}
	var sum, unset int64
	for p := range t.Meters {
		if cir := t.Meters[p].CIR; cir != nil {
			sum += *cir
		} else {
			unset++
		}
	}
	key := "trunks." + t.Name + ".meters"
	switch {
	case sum > up.Speed:
		return []*Error{c.Errorf(key, "the committed rates are %s together, above the %s of uplink %s: lower them, "+
			"since the uplink could not keep to them", formatRate(sum), formatRate(up.Speed), t.Uplink)}
	case unset == 0 && sum < up.Speed:
		return []*Error{c.Errorf(key, "the committed rates of all eight priorities are %s together, below the %s of "+
			"uplink %s: raise one by %s, or leave one out, which gets the rest", formatRate(sum), formatRate(up.Speed),
			t.Uplink, formatRate(up.Speed-sum))}
	}
	if !t.Metered {
		return nil
	}
	frame := c.largestMetered(t)
	for p := range t.Meters {
		rest := int64(0)
		if unset > 0 {
			rest = (up.Speed - sum) / unset
		}
		t.Profiles[p] = t.Meters[p].profile(pick(t.Meters[p].CIR, rest), up.Speed, frame)
		if m := &t.Profiles[p]; m.PIR < m.CIR {
			faults = append(faults, c.Errorf(fmt.Sprintf("%s.%d.pir", key, p),
				"%s is below the committed rate of %s that the other priorities leave: raise it, or write cir",
				formatRate(m.PIR), formatRate(m.CIR)))
		}
	}
	t.Total = t.TotalMeter.profile(up.Speed, up.Speed, frame)
	if t.Total.PIR < t.Total.CIR {
		faults = append(faults, c.Errorf(key+".total.pir",
			"%s is below %s, the speed of uplink %s, which is the committed rate of all priorities together: raise it",
			formatRate(t.Total.PIR), formatRate(t.Total.CIR), t.Uplink))
	}
	return faults
}

// profile completes a meter. The default peak rate is the uplink's speed, and buckets hold at least one frame.
func (m *TrunkMeter) profile(cir, speed, frame int64) trunk.MeterConfig {
	p := trunk.MeterConfig{CIR: cir, PIR: pick(m.PIR, speed), CBS: pick(m.CBS, max(defaultCBS, frame))}
	p.PBS = pick(m.PBS, max(defaultPBS, p.CBS))
	return p
}

// checkRoom finds high watermarks without room above them. The lossless pool has to hold the watermark, the headroom of
// the held ports, and what it reserves for other queues. found holds measured headrooms: see TrunkRoom.
func (c *Config) checkRoom(t *Trunk, found map[string]int64) (faults []*Error) {
	check := func(key string, m *Mark, priority int, held []string) {
		if m == nil {
			return
		}
		var room int64
		for _, name := range held {
			if p := c.port(name); p != nil {
				room += c.queueHeadroom(p, priority, found)
			}
		}
		size, others := c.poolWith(found), c.reservedBeside(held, priority, found)
		if m.High+room > size-others {
			faults = append(faults, c.Errorf("trunks."+t.Name+".watermarks."+key+".high",
				"%s leaves too little of the lossless pool's %s above it for the headroom of what it holds, %s, "+
					"beside what is reserved for other queues, %s: lower it to %s, or enlarge buffer.lossless.size",
				formatSize(m.High),
				formatSize(size), formatSize(room), formatSize(others),
				formatSize(max(0, (size-others-room)/1024*1024))))
		}
	}
	w := &t.Watermarks
	for _, member := range t.Members {
		if check("member", w.Member, 0, []string{member}); faults != nil {
			break // once is enough for all of them
		}
	}
	check("uplink", w.Uplink, 0, []string{t.Uplink})
	for p := range w.Priority {
		check(fmt.Sprintf("priority.%d", p), w.Priority[p], p, t.Members)
		check(fmt.Sprintf("uplink_priority.%d", p), w.UplinkPriority[p], p, []string{t.Uplink})
	}
	return faults
}

// trunkDepth is what trunks let wait in each pool, in bytes: up to the highest watermark; and up to where RED drops
// all, or what the total's meter passes at once, whose bucket may go from its PBS to as much below zero.
func (c *Config) trunkDepth() (lossless, lossy int64) {
	for i := range c.Trunks {
		t := &c.Trunks[i]
		w := &t.Watermarks
		for _, m := range slices.Concat([]*Mark{w.Member, w.Uplink}, w.Priority[:], w.UplinkPriority[:]) {
			if m != nil {
				lossless = max(lossless, m.High)
			}
		}
		lossy = max(lossy, 2*t.Total.PBS)
		for _, red := range append(t.RED[:], t.TotalRED) {
			if red != nil {
				lossy = max(lossy, red.High)
			}
		}
	}
	return lossless, lossy
}

// poolWith is the size of the lossless pool with measured headrooms, which an automatic one follows.
func (c *Config) poolWith(found map[string]int64) int64 {
	size := c.Buffer.Lossless.Size
	if !c.Buffer.Lossless.Auto {
		return size
	}
	for p := range c.ports() {
		for q := range p.Queues {
			size += c.queueHeadroom(p, q, found) - p.Queues[q].Headroom
		}
	}
	return size
}

// reservedBeside is what the lossless pool reserves for all queues except one priority of the held ports, in octets.
func (c *Config) reservedBeside(held []string, priority int, found map[string]int64) int64 {
	var private, headroom int64
	var need buffer.HeadroomNeed
	for p := range c.ports() {
		var headrooms [buffer.Priorities]int64
		for q := range p.Queues {
			headrooms[q] = c.queueHeadroom(p, q, found)
			if p.Queues[q].Lossless && (q != priority || !slices.Contains(held, p.Name)) {
				private += p.Queues[q].Private
				headroom += headrooms[q]
			}
		}
		need.Add(headrooms)
	}
	return private + min(headroom, c.Buffer.Sharing().Segment(need, c.Buffer.Cell))
}

// TrunkRoom checks the high watermarks of all trunks with measured headrooms, in whole cells by port name. A
// headroom from the file stays. The error names watermarks that are too high. The configuration must be resolved.
func (c *Config) TrunkRoom(found map[string]int64) error {
	var faults []*Error
	for i := range c.Trunks {
		faults = append(faults, c.checkRoom(&c.Trunks[i], found)...)
	}
	if faults == nil {
		return nil
	}
	return newErrors(faults)
}

// queueHeadroom is the headroom of an ingress queue, in bytes of the buffer.
func (c *Config) queueHeadroom(p *Port, priority int, found map[string]int64) int64 {
	q := &p.Queues[priority]
	size, ok := found[p.Name]
	if !ok || !q.Lossless || pick(p.Priorities[priority].Headroom, c.Buffer.Headroom).Mode != HeadroomAuto {
		return q.Headroom
	}
	return size
}
