package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"pfcswitch/macctl"
)

// Machine holds measurements of the machine that runs the switch. Zero means not measured.
type Machine struct {
	WakeGap   time.Duration // longest time that a runnable thread did not run
	WakeDelay time.Duration // 99.9 % of wake-ups are no later than this
}

// minRefresh is the shortest time between two pause frames for one queue.
const minRefresh = 200 * time.Microsecond

// Warnings finds settings that are legal and probably not meant.
func (c *Config) Warnings() []Warning { return c.warnings(Machine{}) }

// Check returns the Warnings, the warnings that depend on the machine, a note for every written XON point, and notes
// about ports that the switch's watchdog does not watch and about frames that do not wait.
func (c *Config) Check(m Machine) []Warning {
	return slices.Concat(c.warnings(m), c.resumeNotes(), c.watchdogNotes(), c.ringHoldNotes(m))
}

func (c *Config) warnings(m Machine) []Warning {
	all := slices.Concat(c.warnLossless(), c.warnHeadroom(), c.warnHeadroomPool(), c.warnSpeeds(), c.warnOverrides(),
		c.warnWires(), c.warnFDB(), c.warnTrunks(), c.warnWaits(), c.warnMarks(), c.warnPause(m), c.warnWatchdogs(),
		c.warnMetrics())
	slices.SortStableFunc(all, func(a, b Warning) int { return a.Line - b.Line })
	return all
}

func (c *Config) warning(key, format string, args ...any) Warning {
	return Warning{Error: *c.Errorf(key, format, args...)}
}

func (c *Config) warnLossless() (all []Warning) {
	switch r := c.reserve(); {
	case len(c.Ports) == 0:
		all = append(all, c.warning("ports", "there is none: the switch forwards nothing until one is given"))
	case r.queues == 0:
		all = append(all, c.warning("priorities.lossless",
			"nothing is lossless: write preset: roce, or priorities: {lossless: [3]}"))
	}
	if c.Priorities.Lossless == 0xFF && c.UnknownLossless == Demote {
		all = append(all, c.warning("unknown_lossless",
			"there is no lossy priority to demote to: frames to unknown stations are dropped"))
	}
	if c.Buffer.Xoff != nil && c.Buffer.Policy != PolicyStatic {
		all = append(all, c.warning("buffer.xoff",
			"has no effect with policy: %s, which finds the threshold from alpha", c.Buffer.Policy))
	}
	return all
}

// warnHeadroom finds headrooms in the file that hold less than the calculated one, once for each key.
func (c *Config) warnHeadroom() (all []Warning) {
	warned := map[string]bool{}
	for p := range c.ports() {
		for _, priority := range p.losslessPriorities(c) {
			own, key := p.Priorities[priority].Headroom, "buffer.headroom"
			if own != nil {
				key = "ports." + p.Name + ".priorities." + p.priorityKey(priority) + ".headroom"
			}
			packing, size, needs := c.Packing(p), p.Queues[priority].Headroom, p.CalculatedHeadroom().Bytes()
			holds := packing.Octets(size)
			if pick(own, c.Buffer.Headroom).Mode != HeadroomFixed || p.isTAP() || holds >= needs || warned[key] {
				continue
			}
			warned[key] = true
			all = append(all, c.warning(key, "%s of the buffer hold %d octets on the wire where %s of them come in "+
				"frames of 64 octets, and by calculation %d may come at port %s: write at least %s, or calculated",
				formatSize(size), holds, formatShare(packing.Small), needs, p.Name, formatSize(packing.Bytes(needs))))
		}
	}
	return all
}

// warnHeadroomPool says when an over-subscribed headroom pool has no room.
func (c *Config) warnHeadroomPool() (all []Warning) {
	r, h := c.reserve(), c.Buffer.HeadroomPool
	if c.Buffer.Policy == PolicyDSH {
		return c.warnDynamicHeadroom(r)
	}
	if size := formatSize(r.headroom); h.Size > 0 && c.Buffer.WholeCells(h.Size) < r.headroom {
		all = append(all, c.warning("buffer.headroom_pool.size",
			"%s does not hold the largest headroom of a queue: the pool gets %s", formatSize(h.Size), size))
	}
	if r.headroom == r.need.Sum {
		return all
	}
	fate := "frames wait in the receive rings, and are lost where those overflow"
	if !c.Buffer.RingHold {
		fate = "lossless frames are dropped (lossless-headroom-pool)"
	}
	return append(all, c.warning("buffer.headroom_pool", "the pool holds %s, and the headrooms of %d queues are %s "+
		"together: where queues whose headrooms are more than the pool hold their peers at once, %s",
		formatSize(r.headroom), r.queues, formatSize(r.need.Sum), fate))
}

// warnDynamicHeadroom finds a switch on which dsh saves nothing, and queues whose threshold is below their headroom
// even while the buffer is empty: each of their frames beyond private holds the peer.
func (c *Config) warnDynamicHeadroom(r reservation) (all []Warning) {
	if r.headroom > 0 && r.headroom == r.need.Sum {
		all = append(all, c.warning("buffer.policy", "dsh reserves as much as dt, and holds peers earlier, because no "+
			"port has two lossless priorities: write dt"))
	}
	shared := float64(c.Buffer.Lossless.Size - r.private - r.headroom)
	for p := range c.ports() {
		for priority, q := range p.Queues {
			if q.Lossless && q.Alpha*shared <= float64(q.Headroom) {
				all = append(all, c.warning("buffer.policy", "dsh holds the peer of port %s with every frame of "+
					"priority %s beyond its private segment: alpha, %v, times the shared segment, %s, is no more "+
					"than the headroom, %s: enlarge buffer.lossless.size or alpha", p.Name, p.priorityKey(priority),
					q.Alpha, formatSize(int64(shared)), formatSize(q.Headroom)))
			}
		}
	}
	return all
}

func (c *Config) warnSpeeds() (all []Warning) {
	var with, without string
	for _, p := range c.Ports {
		if p.isTAP() {
			continue
		}
		if p.Speed > 0 {
			with = p.Name
			continue
		}
		without = p.Name
		if !p.BurstAuto {
			all = append(all, c.warning("ports."+p.Name+".burst",
				"has no effect with speed: none, which has no shaper"))
		}
	}
	if with != "" && without != "" {
		all = append(all, c.warning("ports."+without+".speed",
			"none here and a speed at port %s: one port with a speed makes all ports cut GSO frames, so TCP "+
				"through this port is slower", with))
	}
	return all
}

func (c *Config) warnOverrides() (all []Warning) {
	for _, p := range c.Ports {
		for priority, own := range p.Priorities {
			key := "ports." + p.Name + ".priorities." + p.priorityKey(priority)
			switch {
			case own.empty():
			case p.FlowControl == FlowOff:
				all = append(all, c.warning(key, "has no effect with flow_control: off"))
			case !p.Queues[priority].Lossless:
				all = append(all, c.warning(key, "has no effect, because priority %d is not lossless", priority))
			case own.Xoff != nil && c.Buffer.Policy != PolicyStatic:
				all = append(all, c.warning(key+".xoff",
					"has no effect with policy: %s, which finds the threshold from alpha", c.Buffer.Policy))
			}
		}
	}
	return all
}

func (c *Config) warnFDB() (all []Warning) {
	for i := range c.FDB {
		entry, key := &c.FDB[i], fmt.Sprintf("fdb[%d]", i)
		var first *Port
		for at, name := range entry.behind(key) {
			p := c.port(name)
			first = cmp.Or(first, p)
			if first.MTU != p.MTU {
				all = append(all, c.warning(at, "port %s has an MTU of %d, and %s one of %d: a long frame is dropped "+
					"where its flow takes the lower one: write the same for all", name, p.MTU, first.Name, first.MTU))
			}
			if entry.VLAN == p.PVID || slices.Contains(p.Tagged, entry.VLAN) {
				continue
			}
			effect := "frames to this address are dropped"
			if len(entry.Ports) > 1 {
				effect = "no frame to this address leaves by it"
			}
			all = append(all, c.warning(key+".vlan", "port %s is not a member of VLAN %d: %s", name, entry.VLAN,
				effect))
		}
	}
	return all
}

// warnPause compares the pause time with the wake-up delays of the machine. XOFF is refreshed at the earlier of half
// the pause time and its end minus four wake-up delays.
func (c *Config) warnPause(m Machine) (all []Warning) {
	if c.Pause.Remaining {
		return nil
	}
	for p := range c.ports() {
		if len(p.losslessPriorities(c)) == 0 || p.isTAP() {
			continue
		}
		key, remedy := "pause.quanta", "raise quanta, lower the speed, or give the switch a processor"
		if c.Pause.Quanta == math.MaxUint16 {
			key, remedy = "ports."+p.Name+".speed", "lower the speed, or give the switch a processor"
		}
		pause := p.pauseTime(c.Pause.Quanta)
		refresh := min(pause/2, pause-4*m.WakeDelay)
		switch {
		case pause/2 < m.WakeGap:
			all = append(all, c.warning(key,
				"port %s: half of the pause time, %s, is below the %s for which this machine may not run the switch, "+
					"so the peer may resume too early: %s", p.Name, (pause/2).Round(time.Microsecond), m.WakeGap,
				remedy))
		case refresh <= 0:
			all = append(all, c.warning(key,
				"port %s: the pause time, %s, is no longer than the four wake-ups of up to %s that a repeated XOFF "+
					"may take, so the peer may resume too early: %s", p.Name, pause.Round(time.Microsecond),
				m.WakeDelay, remedy))
		case refresh < minRefresh:
			all = append(all, c.warning(key,
				"port %s: XOFF would have to be repeated after %s, and %s is the least: %s",
				p.Name, refresh.Round(time.Microsecond), minRefresh, remedy))
		}
	}
	return all
}

func (p *Port) pauseTime(quanta uint16) time.Duration {
	return time.Duration(macctl.QuantaDuration(quanta, p.Speed))
}

// ringHoldNotes say what a headroom is not for, where frames without room do not wait.
func (c *Config) ringHoldNotes(m Machine) []Warning {
	if c.Buffer.RingHold || c.reserve().queues == 0 {
		return nil
	}
	gap := ""
	if m.WakeGap > 0 {
		gap = fmt.Sprintf(", just now for up to %v", m.WakeGap)
	}
	w := c.warning("buffer.ring_hold", "off: whatever the headroom, lossless frames are lost that come while this "+
		"machine does not run the switch%s: the rings do not keep them (event lossless-drop)", gap)
	w.Note = true
	return []Warning{w}
}

// resumeNotes say where a held queue resumes, for buffer and for every priority of a port that writes xon.
func (c *Config) resumeNotes() (all []Warning) {
	note := func(key string, xon, offset *int64) {
		text := "a held queue resumes at xon, %s, and never above its threshold: xon_offset does not apply, because " +
			"it is not written beside xon"
		values := []any{formatSize(*xon)}
		if offset != nil {
			text = "a held queue resumes at xon, %s, or xon_offset, %s, below its threshold, whichever is higher, " +
				"and never above its threshold: without xon_offset, xon alone counts"
			values = append(values, formatSize(*offset))
		}
		w := c.warning(key+".xon", text, values...)
		w.Note = true
		all = append(all, w)
	}
	b := &c.Buffer
	if b.Xon != nil && c.reserve().queues > 0 {
		note("buffer", b.Xon, b.XonOffset)
	}
	for _, p := range c.Ports {
		for priority := range p.Priorities {
			own := &p.Priorities[priority]
			xon := own.Xon
			if xon == nil && own.XonOffset != nil {
				xon = b.Xon
			}
			if xon != nil && p.Queues[priority].Lossless {
				note("ports."+p.Name+".priorities."+p.priorityKey(priority), xon, own.XonOffset)
			}
		}
	}
	return all
}

// warnTrunks finds settings without effect.
func (c *Config) warnTrunks() (all []Warning) {
	for i := range c.Trunks {
		t := &c.Trunks[i]
		key := "trunks." + t.Name
		all = append(all, c.warnTrunkLengths(t)...)
		all = append(all, c.warnLowMarks(t)...)
		meters, red := t.TotalMeter != TrunkMeter{}, t.TotalRED != nil
		for p := range t.Meters {
			meters = meters || t.Meters[p] != TrunkMeter{}
			red = red || t.RED[p] != nil
		}
		for _, k := range []struct {
			name  string
			given bool
		}{{"meters", meters}, {"red", red}} {
			if k.given && !t.Metered {
				all = append(all, c.warning(key+"."+k.name,
					"has no effect, because the members together are no faster than the uplink"))
			}
		}
	}
	return all
}

// warnTrunkLengths finds ports with a smaller MTU than other ports of the trunk.
func (c *Config) warnTrunkLengths(t *Trunk) (all []Warning) {
	longest := 0
	for _, name := range t.ports() {
		if p := c.port(name); p != nil {
			longest = max(longest, p.MTU)
		}
	}
	for _, name := range t.ports() {
		if p := c.port(name); p != nil && p.MTU < longest {
			all = append(all, c.warning("ports."+name+".mtu",
				"%d, below the %d of another port of trunk %s: longer frames never leave by this port, so that they "+
					"are dropped, or go by other members, out of order: write one mtu for all of them", p.MTU,
				longest, t.Name))
		}
	}
	return all
}

// warnLowMarks finds low watermarks that a single paused member can keep exceeded. Frames go to the member with the
// shortest queue, so all members hold about the same when the uplink is held.
func (c *Config) warnLowMarks(t *Trunk) (all []Warning) {
	n := int64(len(t.Members))
	warn := func(key string, m *Mark) {
		if m != nil && n > 1 && m.Low <= m.High/n {
			all = append(all, c.warning("trunks."+t.Name+".watermarks."+key+".low",
				"%s is not above what each of %d members holds at the high mark: one member that its peer pauses "+
					"keeps the uplink held while the others are empty: write more than %s", formatSize(m.Low), n,
				formatSize(m.High/n)))
		}
	}
	warn("uplink", t.Watermarks.Uplink)
	for p, m := range t.Watermarks.UplinkPriority {
		warn(fmt.Sprintf("uplink_priority.%d", p), m)
	}
	return all
}
