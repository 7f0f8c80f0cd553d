package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
)

// portDown finds ports that carry nothing though there is nothing wrong with the interface.
func portDown(_ *Facts, t *Target) []api.Finding {
	if t.Live == nil || t.Live.Up || t.Survey == nil && !t.isTAP() || t.Survey != nil && !t.Survey.Up {
		return nil // another rule says why
	}
	why := "show ports gives no reason"
	if t.Live.Reason != nil {
		why = *t.Live.Reason
	}
	return t.finding(api.SeverityError, "port-down", t.Survey, "the port carries nothing", why, "")
}

// controlSwallowed finds links on which no pause passes. The switch counts no loss of such a port as lossless.
func controlSwallowed(_ *Facts, t *Target) []api.Finding {
	if !t.Swallows {
		return nil
	}
	return t.finding(api.SeverityError, "control-swallowed", t.Survey, "no pause passes this link: the port is lossy, "+
		"and what it loses counts as lossy too. A NIC that keeps MAC Control frames: switch its own flow control off, "+
		"or take another", "measurement frames pass, but not as MAC Control frames (show headroom)", "")
}

// untaggedToBridge finds ports to a switch on which a VLAN leaves untagged that is tagged at another port. The frames
// lose their PCP with the tag, before the next switch has read it.
func untaggedToBridge(f *Facts, t *Target) []api.Finding {
	if f.Config == nil || t.LLDP == nil || t.Config.Wire != "" || t.Lossless == 0 ||
		f.Config.Priorities.Lossless == 0 || !bridgeBehind(t.LLDP) {
		return nil
	}
	for i := range f.Config.Ports {
		other := &f.Config.Ports[i]
		if other.Name == t.Port || other.Trust != config.TrustPCP || !slices.Contains(other.Tagged, t.Config.PVID) {
			continue
		}
		vid := t.Config.PVID
		pvid := fmt.Sprintf("    pvid: %d", freeVID(f.Config))
		tagged := "    tagged: " + strings.ReplaceAll(fmt.Sprint(append(slices.Clone(t.Config.Tagged), vid)), " ", ", ")
		key := fmt.Sprintf("ports.%s.%s, %s; and the same at the other end", t.Port, strings.TrimSpace(pvid),
			strings.TrimSpace(tagged))
		return withKey(key, t.finding(api.SeverityWarning, "priority-untagged", t.Survey, "frames of that VLAN lose "+
			"their tag here, and the PCP in it: the next switch takes lossless ones for its default priority",
			fmt.Sprintf("VLAN %d is tagged at port %s and untagged here (pvid: %d), and a switch is behind this port",
				vid, other.Name, vid), f.applyCommand(t.Port, pvid, tagged)))
	}
	return nil
}

// bridgeBehind tells whether a neighbor announces that it is a bridge.
func bridgeBehind(l *api.LLDPPort) bool {
	return slices.ContainsFunc(l.Neighbors, func(n api.LLDPNeighbor) bool {
		return slices.Contains(n.EnabledCapabilities, "bridge")
	})
}

// freeVID is a VLAN that no port uses.
func freeVID(c *config.Config) uint16 {
	for vid := uint16(1); vid < 4094; vid++ {
		used := false
		for i := range c.Ports {
			used = used || c.Ports[i].PVID == vid || slices.Contains(c.Ports[i].Tagged, vid)
		}
		if !used {
			return vid
		}
	}
	return 4094
}

func dcbxMismatch(f *Facts, t *Target) []api.Finding {
	if t.LLDP == nil || !t.LLDP.DCBX.Mismatch {
		return nil
	}
	peer := "nothing"
	for _, n := range t.LLDP.Neighbors {
		if n.PFC != nil {
			peer = fmt.Sprint(n.PFC.Priorities)
		}
	}
	willing, key := f.willingLines(), "priorities.lossless alike at both ends"
	if len(willing) > 0 {
		key = "lldp.willing: true, or " + key
	}
	return withKey(key, t.finding(api.SeverityError, "dcbx-mismatch", t.Survey,
		"a priority that only one end holds loses frames, so that it is lossless at neither",
		fmt.Sprintf("the neighbor has PFC for %s, this port keeps %v", peer, t.LLDP.DCBX.LosslessPriorities),
		f.applyCommand("", willing...)))
}

// willingLines is the line of show config that makes the switch follow its neighbors; nothing where it does so already.
func (f *Facts) willingLines() []string {
	if f.Config == nil {
		return nil
	}
	for line := range strings.Lines(string(config.Expand(f.Config))) {
		if strings.Contains(line, "willing: false") {
			return []string{strings.TrimRight(strings.Replace(line, "willing: false", "willing: true", 1), "\n")}
		}
	}
	return nil
}

func manualHeadroom(f *Facts, t *Target) []api.Finding {
	if !t.Manual {
		return nil
	}
	key := t.Remedy + ", or buffer.headroom: calculated, which keeps the value in force"
	return withKey(key, t.finding(api.SeverityWarning, "headroom-by-hand", t.Survey,
		"the headroom cannot be measured, since the peer does not do so or is further away than is believed: what "+
			"is in force is calculated from speed and cable, and knows nothing of how late the peer reacts",
		"the switch asks for it (show headroom)", f.applyCommand("", "  headroom: calculated")))
}

func severalNeighbors(_ *Facts, t *Target) []api.Finding {
	if t.LLDP == nil || len(t.LLDP.Neighbors) < 2 {
		return nil
	}
	var names []string
	for _, n := range t.LLDP.Neighbors {
		names = append(names, n.ChassisID+" "+n.PortID)
	}
	return t.finding(api.SeverityWarning, "several-neighbors", t.Survey, "more than one speaks LLDP on this link (a "+
		"hub, a bridge that forwards it, or lldpd or lldpad beside a switch): DCBX follows none of them",
		strings.Join(names, "; "), "")
}

func overspeed(f *Facts, t *Target) []api.Finding {
	if t.Live == nil || t.Live.OverspeedFrames == 0 {
		return nil
	}
	return withKey("ports."+t.Port+".speed", t.finding(api.SeverityWarning, "overspeed", t.Survey,
		"the peer sends faster than this port's speed: the headroom, which counts in it, is too small, and pauses "+
			"are too short. Give both ends the same speed; a plain host has none (see host-without-nic)",
		fmt.Sprintf("%d frames came faster", t.Live.OverspeedFrames)+f.recheckHint(), ""))
}

// lateness is how often frames found no room since XOFF left late, and how late the latest one was: a maximum, which no
// clear of the counters ends. Others found none since more came after XOFF than the headroom holds, or since other
// queues had filled the headroom pool.
type lateness struct {
	frames, others, pool uint64
	by                   time.Duration
}

func latenessOf(h *api.HeadroomPort) (l lateness) {
	for _, q := range h.Queues {
		l.frames, l.others, l.pool = l.frames+q.Early+q.Crowded, l.others+q.RingFrames, l.pool+q.Pool
		l.by = max(l.by, time.Duration(q.LateNs))
	}
	return l
}

// xoffLate finds ports whose frames wait, or are lost, because of this machine and not of the headroom.
func xoffLate(f *Facts, t *Target) []api.Finding {
	if t.Late.frames == 0 {
		return nil
	}
	return t.finding(api.SeverityWarning, "xoff-late", t.Survey, "this machine did not run the switch in time, or "+
		"its kernel refused XOFF, so that frames came before XOFF left: buffer.ring_hold keeps them where it is on, "+
		"and no headroom is for them. Give the switch a CPU of its own",
		fmt.Sprintf("%d frames found no room; the longest that a frame lay in the ring is %v since the start",
			t.Late.frames, t.Late.by)+
			f.recheckHint(), "")
}

// losslessLostEffect is what a loss means, of whichever port.
const losslessLostEffect = "frames that must not be lost were: see show events for the reason. Where the receive " +
	"ring overflowed, they say whether the peer sent on after XOFF, or ports.*.ring.outage is too short for this " +
	"machine"

func losslessLost(f *Facts, t *Target) []api.Finding {
	if t.Live == nil || t.Live.LosslessDrops == 0 {
		return nil
	}
	seen := fmt.Sprintf("%d lossless frames", t.Live.LosslessDrops)
	if f.Config != nil && !f.Config.Buffer.RingHold {
		seen += fmt.Sprintf("; no room (ring_hold: off) for %d that this machine read late (xoff-late), for %d since "+
			"more came after XOFF than the headroom holds, and for %d since other queues filled buffer.headroom_pool",
			t.Late.frames, t.Late.others, t.Late.pool)
	}
	return t.finding(api.SeverityError, "lossless-lost", t.Survey, losslessLostEffect, seen+f.recheckHint(), "")
}

// losslessDiscardedEffect is what a discarded frame means, of whichever port.
const losslessDiscardedEffect = "frames of lossless priorities do not arrive, since the switch drops them on " +
	"purpose: explain and capture say which (watchdog: show watchdog). Change what sends them, or the key that " +
	"drops them"

func losslessDiscarded(f *Facts, t *Target) []api.Finding {
	if t.Live == nil || t.Live.LosslessDiscarded == 0 {
		return nil
	}
	return t.finding(api.SeverityWarning, "lossless-discarded", t.Survey, losslessDiscardedEffect,
		"frames: "+api.DiscardedText(t.Live.LosslessDiscardedBy)+f.recheckHint(), "")
}

// lostByRemoved finds what no port of now has lost or discarded, but the switch has.
func (f *Facts) lostByRemoved() (all []api.Finding) {
	var lost, discarded uint64
	for i := range f.Targets {
		if live := f.Targets[i].Live; live != nil {
			lost += live.LosslessDrops
			discarded += live.LosslessDiscarded
		}
	}
	if f.LosslessDrops > lost {
		all = append(all, api.Finding{Trap: "lossless-lost", Severity: api.SeverityError, Effect: losslessLostEffect,
			Seen: fmt.Sprintf("%d lossless frames of ports that were removed", f.LosslessDrops-lost) + f.recheckHint()})
	}
	if f.LosslessDiscarded > discarded {
		all = append(all, api.Finding{Trap: "lossless-discarded", Severity: api.SeverityWarning,
			Effect: losslessDiscardedEffect, Seen: fmt.Sprintf("%d frames of ports that were removed",
				f.LosslessDiscarded-discarded) + f.recheckHint()})
	}
	return all
}

// recheckHint says how to see whether a counter still grows. It repairs nothing, so it is no Command.
func (f *Facts) recheckHint() string {
	return "; to see whether it goes on, begin to count anew: pfcswitch clear counters -s " + shellWord(f.Socket)
}
