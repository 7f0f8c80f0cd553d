package api

import (
	"fmt"
	"strings"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// An explainer describes a traced frame in sentences, one for each station.
type explainer struct {
	f     *dataplane.TraceResult
	steps []ExplainedStep
}

func (n *explainer) add(station, key, format string, args ...any) {
	n.steps = append(n.steps, ExplainedStep{Number: len(n.steps) + 1, Station: station, Key: nonZero(key),
		Text: fmt.Sprintf(format, args...)})
}

func (n *explainer) portKey(key string) string { return "ports." + n.f.Config.Name + "." + key }

func (n *explainer) explain() {
	f := n.f
	if n.arrival(); !f.Up || f.Priority == dataplane.Unknown {
		return
	}
	n.classification()
	switch {
	case f.Trap != dataplane.NotTrapped:
		n.add("switch", "", "%s", trapTexts[f.Trap])
		return
	case f.Faulty:
		n.oversize()
		return
	case f.Trunk != "":
		n.trunk()
	default:
		if n.vlan(); !f.Member {
			return
		}
		n.forwarding()
	}
	n.admission()
	for i := range f.Copies {
		n.egress(&f.Copies[i])
	}
}

func (n *explainer) arrival() {
	f := n.f
	h := &f.Header
	switch {
	case !f.Up:
		n.add("port", "", "%s is down: a frame that comes now is dropped (port-down)", f.Config.Name)
		return
	case f.Priority == dataplane.Unknown:
		n.add("frame", "", "%d octets are no Ethernet frame: too short for a header, or for the rest of a tag; "+
			"dropped (malformed)", f.Octets)
		return
	case f.Pieces > 1:
		n.add("port", "ports.*.speed", "a GSO frame: some port has a speed, so it is cut into %d frames; of these "+
			"the first is explained, of %d octets", f.Pieces, f.Octets)
	}
	tag, dscp := "untagged", ""
	switch {
	case h.Tagged && h.TCI.VID() == 0:
		tag = fmt.Sprintf("priority-tagged, PCP %d", h.TCI.PCP())
	case h.Tagged:
		tag = fmt.Sprintf("tagged with VLAN %d, PCP %d", h.TCI.VID(), h.TCI.PCP())
	}
	if f.DSCP >= 0 {
		dscp = fmt.Sprintf(", DSCP %d", f.DSCP)
	}
	n.add("frame", "", "%s → %s, EtherType 0x%04x, %s%s, %d octets without FCS", macAddress(h.Src), macAddress(h.Dst),
		h.EtherType, tag, dscp, f.Octets)
}

func (n *explainer) classification() {
	f := n.f
	c := &f.Config.Classify
	kind := "lossy"
	switch {
	case f.Lossless && f.Config.Mode == macctl.ModePause:
		kind = "lossless, as all are under flow_control: pause"
	case f.Lossless:
		kind = "lossless"
	case f.Config.Mode == macctl.ModeOff:
		kind = "lossy: flow control is off here"
	}
	key, how := n.portKey("default_priority"), "trust port: the default priority"
	switch {
	case c.Trust == classify.TrustPCP && f.Header.Tagged:
		key, how = n.portKey("trust"), "trust pcp: the tag says priority"
	case c.Trust == classify.TrustPCP:
		how = "trust pcp, but there is no tag: the default priority"
	case c.Trust == classify.TrustDSCP && f.DSCP >= 0:
		key, how = fmt.Sprintf("priorities.dscp.%d", f.DSCP), fmt.Sprintf("trust dscp: DSCP %d is priority", f.DSCP)
	case c.Trust == classify.TrustDSCP:
		how = "trust dscp, but this is no IP packet: the default priority"
	}
	n.add("classify", key, "%s %d, which is %s", how, f.Priority, kind)
}

var trapTexts = map[dataplane.Trap]string{
	dataplane.TrapMACControl: "MAC Control (PAUSE, PFC, measurement): it is obeyed, answered or ignored here, and " +
		"never forwarded",
	dataplane.TrapLLDP: "LLDP: it is for this port's agent, and never forwarded",
	dataplane.TrapStream: "a frame of the stream with which the peer fills the link for a check of the " +
		"headroom: it is counted, and never forwarded",
	dataplane.TrapMeasurement: "a measurement frame for this port: it is answered or counted, and never forwarded",
	dataplane.TrapLoopProbe: "a loop probe of this very switch: there is a loop, and flooding on a port of it is " +
		"switched off",
	dataplane.TrapOfAnotherLink: "a measurement frame that is not for this port: such frames stay on their link, and " +
		"it is dropped (filtered)",
	dataplane.TrapOwnSource: "its source is the address of a port of this switch: a host pretends to be the switch, " +
		"or there is a loop, and it is dropped (filtered)",
}

func (n *explainer) oversize() {
	if n.f.Reason == dataplane.DropMalformed {
		n.add("port", "", "a GSO frame that cannot be cut: dropped (malformed)")
		return
	}
	n.add("port", n.portKey("mtu"),
		"%d octets are more than the %d that the port carries (a tag comes on top): dropped (oversize)", n.f.Octets,
		n.f.Config.MaxFrame)
}

func (n *explainer) trunk() {
	if n.f.Decision.Kind == bridge.Drop {
		n.add("trunk", "trunks."+n.f.Trunk, "a port of trunk %s: %s", n.f.Trunk, n.dropped())
		return
	}
	n.add("trunk", "trunks."+n.f.Trunk,
		"a port of trunk %s: the frame passes unchanged to %s; meter and RED, where there are some, judge it when "+
			"its turn comes, and are not foreseen", n.f.Trunk, n.f.Copies[0].Name)
}

func (n *explainer) vlan() {
	f := n.f
	vid := f.Header.TCI.VID()
	from := fmt.Sprintf("the tag says VLAN %d", vid)
	key := n.portKey("tagged")
	if !f.Header.Tagged || vid == 0 {
		from, key = fmt.Sprintf("no VLAN in the frame: that of the port, %d", f.VLAN), n.portKey("pvid")
	}
	switch {
	case f.Config.Bridge.Wired:
		n.add("vlan", "ports", "the port is joined to one other: VLANs do not matter")
	case f.Reason == dataplane.DropFrameType && f.Dropped:
		n.add("vlan", n.portKey("admit"), "%s, and %s accepts no such frames: %s", from, f.Config.Name, n.dropped())
	case f.Member:
		n.add("vlan", key, "%s, of which %s is a member", from, f.Config.Name)
	default:
		n.add("vlan", n.portKey("tagged"), "%s, of which %s is no member (pvid %d): dropped (filtered)", from,
			f.Config.Name, f.Config.Bridge.PVID)
	}
}

func (n *explainer) dropped() string { return "dropped (" + n.f.Reason.String() + ")" }

func (n *explainer) forwarding() {
	f := n.f
	d := &f.Decision
	known := ""
	if f.Station.Known {
		known = fmt.Sprintf("the destination was learned behind %s %s ago", f.Known,
			time.Duration(f.Station.AgeNs).Round(time.Millisecond))
		if f.Station.Static {
			known = "a static entry has the destination behind " + f.Known
		}
	}
	switch {
	case len(f.Ways) > 0:
		n.add("bridge", "fdb", "%s: a frame takes one by its flow, and this one %s, of %d that it could leave by",
			known, f.Copies[0].Name, len(f.Ways))
	case d.Kind == bridge.Unicast && known != "":
		n.add("bridge", "fdb", "%s", known)
	case d.Kind == bridge.Unicast:
		n.add("bridge", "ports", "the frame goes to %s, to which the port is joined", f.Copies[0].Name)
	case d.Kind == bridge.Flood:
		n.flooding()
	case bridge.Reserved(f.Header.Dst):
		n.drop("", "the destination is one of those that no bridge forwards (802.1Q table 8-1)")
	case f.Reason == dataplane.DropSamePort:
		n.drop("fdb", "the destination is behind the port that the frame came by")
	case f.Reason == dataplane.DropSourceGuard:
		n.drop("ports.*.secure", "the source belongs to a secure port, or is not one that a secure port accepts")
	case f.Reason == dataplane.DropStorm:
		n.drop(n.portKey("storm"), "the frame would have to be flooded, and the port has used up what it may flood")
	case f.Reason == dataplane.DropPortDown:
		n.drop("", "every port that it should leave by is down (%s)", known)
	case known != "":
		n.drop(n.portKey("tagged"), "%s, which is no member of VLAN %d, or flooding is shut by loop detection", known,
			f.VLAN)
	default:
		n.drop("ports.*.flood", "the frame would have to be flooded, and no other port of VLAN %d floods", f.VLAN)
	}
}

// drop adds why the bridge drops the frame.
func (n *explainer) drop(key, format string, args ...any) {
	n.add("bridge", key, format+": %s", append(args, n.dropped())...)
}

func (n *explainer) flooding() {
	f := n.f
	switch {
	case f.Dropped && f.Reason == dataplane.DropUnknownLossless:
		n.drop("unknown_lossless", "%s: it would be flooded, which deadlocks in a lossless priority", f.Decision.Cause)
	case f.Demoted:
		n.add("bridge", "unknown_lossless",
			"%s: it is flooded to %s, through the lossy pool and queue %d, since flooding in a lossless priority "+
				"deadlocks; its bytes stay as they are", f.Decision.Cause, portNames(f.Copies), f.Copies[0].Queue)
	default:
		n.add("bridge", "fdb", "%s: it is flooded to %s", f.Decision.Cause, portNames(f.Copies))
	}
}

func portNames(copies []dataplane.Copy) string {
	return strings.Join(each(copies, func(c *dataplane.Copy) string { return c.Name }), ", ")
}

func (n *explainer) queueName() (name, key string) {
	if n.f.Config.Mode == macctl.ModePause {
		return "the ingress queue of all priorities", n.portKey("priorities.all")
	}
	return fmt.Sprintf("ingress queue %d", n.f.Priority), n.portKey(fmt.Sprintf("priorities.%d", n.f.Priority))
}

func (n *explainer) admission() {
	p := n.f.Ingress
	if p == nil {
		return
	}
	name, key := n.queueName()
	q := &p.Queue
	if n.f.InRing {
		n.add("ring", "buffer.ring_hold",
			"a frame of %s of %s waits for room: what comes now waits behind it", name, n.f.Config.Name)
	}
	n.add("buffer", key, "%s of %s: private %s of %s, shared %s of %s (threshold; %s of the shared segment are "+
		"free), headroom %s of %s; the frame takes %s", name, n.f.Config.Name, count(q.Used.Private.Now),
		count(q.Config.Private), count(q.Used.Shared.Now), count(q.Threshold), count(p.Free),
		count(q.Used.Headroom.Now), count(q.Config.Headroom), count(p.Size))
	switch p.Verdict {
	case buffer.Accept:
		n.add("buffer", "buffer.lossless.alpha", "admitted: %s private, %s shared; no XOFF for it", count(p.Private),
			count(p.Shared))
	case buffer.AcceptHeadroom:
		into := "headroom, " + count(p.Headroom)
		if p.Headroom == 0 {
			into = "shared segment (policy dsh)"
		}
		n.add("buffer", "buffer.headroom", "beyond the threshold: admitted into the %s; %s", into, n.xoff())
	case buffer.Wait:
		n.add("buffer", "buffer.ring_hold",
			"no room, in the headroom either: the frame waits in the receive ring, and is not lost; %s", n.xoff())
	case buffer.DropOversize:
		n.add("buffer", "buffer.lossless.size", "larger than the queue can ever hold: dropped (oversize)")
	case buffer.DropHeadroomPool:
		n.add("buffer", "buffer.headroom_pool", "no room: other queues fill the headroom pool, and ring_hold is off: "+
			"dropped (lossless-headroom-pool), a LOSSLESS frame is lost; %s", n.xoff())
	default:
		n.add("buffer", "buffer.ring_hold",
			"no room, in the headroom either, and ring_hold is off: dropped (lossless-headroom), a LOSSLESS frame is "+
				"lost; %s", n.xoff())
	}
}

func (n *explainer) xoff() string {
	if n.f.Ingress.TurnsOff {
		return "the queue turns OFF, and the peer is told XOFF"
	}
	return "the queue is OFF already, and the peer was told XOFF"
}

func (n *explainer) egress(c *dataplane.Copy) {
	name := c.Name
	if c.Lossy != nil {
		n.lossy(c)
	}
	if c.Dropped || n.f.Dropped || n.f.Waits {
		if c.Dropped && c.Reason == dataplane.DropOversize {
			n.add("egress", "ports."+name+".mtu", "%s carries %d octets (a tag comes on top): dropped (oversize)", name,
				c.MaxFrame)
		}
		return
	}
	served := "strict priority"
	if !c.Served.Strict {
		served = fmt.Sprintf("weight %d", c.Served.Weight)
	}
	n.add("egress", fmt.Sprintf("queues.%d", c.Queue), "queue %d of %s (%s): %d frames with %s B wait before it",
		c.Queue, name, served, c.AheadFrames, count(c.AheadOctets))
	if c.MarkShare > 0 {
		n.marking(c)
	}
	switch {
	case c.Discards:
		n.add("watchdog", "watchdog.action",
			"a deadlock was found: the watchdog discards what queue %d of %s holds, this frame too", c.Queue, name)
	case c.PausedNs > 0:
		n.add("pause", "ports."+name+".flow_control",
			"the peer of %s holds queue %d, for %s yet if it says nothing else: the frame waits", name, c.Queue,
			duration(c.PausedNs))
	}
	n.leaving(c)
}

func (n *explainer) lossy(c *dataplane.Copy) {
	p := c.Lossy
	n.add("buffer", "buffer.lossy.alpha",
		"lossy queue %d of %s: %s of %s (threshold; %s of the pool are free), the frame takes %s: %s", c.Queue, c.Name,
		count(p.Queue.Used.Now), count(p.Queue.Threshold), count(p.Free), count(p.Size),
		either(p.Accepted, "admitted", "dropped (lossy-threshold)"))
}

func (n *explainer) marking(c *dataplane.Copy) {
	key := fmt.Sprintf("ecn.%d", c.Queue)
	if !n.f.Marks {
		n.add("ecn", key, "the queue is long enough to mark, but the sender of this frame does not know ECN, or the "+
			"frame came marked: it passes as it is")
		return
	}
	n.add("ecn", key, "the queue holds %s B: %s %% of such frames are marked CE", count(c.AheadOctets),
		percent(c.MarkShare))
}

func (n *explainer) leaving(c *dataplane.Copy) {
	name := c.Name
	tag := "untagged"
	key := "ports." + name + ".pvid"
	switch {
	case c.Tagged && c.Tag.VID() == 0:
		tag, key = fmt.Sprintf("with its priority tag, PCP %d", c.Tag.PCP()), "ports."+name+".priority_tags"
	case c.Tagged:
		tag, key = fmt.Sprintf("tagged with VLAN %d, PCP %d", c.Tag.VID(), c.Tag.PCP()), "ports."+name+".tagged"
	}
	speed := "as fast as the kernel takes it (speed: none)"
	if c.Speed > 0 {
		ns := int64(float64(c.PortOctets+int64(frame.WireOctets(c.Octets))) * 8e9 / float64(c.Speed))
		speed = fmt.Sprintf("at %s bit/s: all that waits at the port, and it, take %s", Rate(c.Speed), duration(ns))
	}
	n.add("send", key, "leaves %s %s, %d octets, %s", name, tag, c.Octets, speed)
	if n.f.Header.Tagged && n.f.Header.TCI.PCP() != 0 && !c.Tagged {
		n.add("send", "ports."+name+".tagged",
			"its PCP %d is lost with the tag: a next hop that trusts PCP takes it for its default priority",
			n.f.Header.TCI.PCP())
	}
}
