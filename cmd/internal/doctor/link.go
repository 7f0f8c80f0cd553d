package doctor

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/port"
)

// ends are the interface and, where it could be looked at, its far end.
func (t *Target) ends() []*port.Survey {
	if t.Survey.Peer == nil {
		return []*port.Survey{t.Survey}
	}
	return []*port.Survey{t.Survey, t.Survey.Peer}
}

// missingNamespace finds ports whose network namespace does not exist.
func missingNamespace(_ *Facts, t *Target) []api.Finding {
	if !errors.Is(t.Absent, port.ErrNoNetns) {
		return nil
	}
	command := ""
	if dir, name := filepath.Split(port.NetnsPath(t.Netns)); filepath.Clean(dir) == port.NetnsDir {
		command = "ip netns add " + shellWord(name)
	}
	return t.finding(api.SeverityError, "missing-namespace", nil,
		"the port waits for its interface, and carries nothing", t.Absent.Error(), command)
}

func missingInterface(_ *Facts, t *Target) []api.Finding {
	if errors.Is(t.Absent, port.ErrNoNetns) || t.isTAP() {
		return nil
	}
	name := shellWord(t.Interface)
	far := shellWord(t.Interface[:min(len(t.Interface), 11)] + "-far")
	return t.finding(api.SeverityError, "missing-interface", nil, "the port waits for it, and carries nothing",
		"no interface of that name is there",
		commandIn(t.Netns, fmt.Sprintf("ip link add dev %s type veth peer name %s && ip link set dev %s up && ip "+
			"link set dev %s up", name, far, name, far)))
}

func linkDown(_ *Facts, t *Target) []api.Finding {
	if t.Survey.Up {
		return nil
	}
	for _, s := range t.ends() {
		if !s.AdminUp {
			return t.finding(api.SeverityError, "link-down", s, "the link carries nothing", s.Name+" is switched off",
				interfaceCommand(s, "ip link set dev %s up"))
		}
	}
	return t.finding(api.SeverityError, "link-down", t.Survey, "the link carries nothing",
		t.Survey.Name+" is switched on and has no carrier: cable, or the far end",
		interfaceCommand(t.Survey, "ip link set dev %s up"))
}

func hasMaster(_ *Facts, t *Target) []api.Finding {
	if t.Survey.MasterKind == "" || t.Config != nil && t.Config.Force {
		return nil
	}
	return t.finding(api.SeverityError, "master", t.Survey, "a bridge or bond of the kernel has the interface too: "+
		"it answers and forwards beside the switch, which therefore refuses it",
		fmt.Sprintf("its master is %s (%s)", t.Survey.MasterName, t.Survey.MasterKind), nomasterCommand(t.Survey))
}

// nomasterCommand is the command that takes an interface out of its bridge or bond.
func nomasterCommand(s *port.Survey) string {
	if strings.HasPrefix(s.MasterKind, "openvswitch") {
		return interfaceCommand(s, "ovs-vsctl del-port %s")
	}
	return interfaceCommand(s, "ip link set dev %s nomaster")
}

// hasAddress finds ports with an address. Without a configuration, an interface with an address is a host's.
func hasAddress(_ *Facts, t *Target) []api.Finding {
	if t.Config == nil || t.Config.Force || t.Config.Kind == config.KindTAP || len(t.Survey.Addresses) == 0 {
		return nil
	}
	return t.finding(api.SeverityError, "address", t.Survey,
		"the kernel's own stack answers on the port beside the switch, which therefore refuses it",
		"it has the address "+strings.Join(t.Survey.Addresses, ", "),
		interfaceCommand(t.Survey, "ip addr flush dev %s scope global"))
}

// bridgeBetween finds a kernel bridge at the far end. A bridge never forwards 01-80-C2-00-00-01, whatever
// group_fwd_mask is.
func bridgeBetween(_ *Facts, t *Target) []api.Finding {
	p := t.Survey.Peer
	if p == nil || p.MasterKind == "" {
		return nil
	}
	return t.finding(api.SeverityError, "bridge-between", p, "the bridge eats PAUSE, PFC and LLDP (01-80-C2-00-00-01 "+
		"and -0E; group_fwd_mask cannot pass the former): nobody behind it is ever paused, nor pauses. "+
		"Take the interface out, and join it to its counterpart, or run a pfcswitch in the bridge's place",
		fmt.Sprintf("the far end belongs to %s (%s)", p.MasterName, p.MasterKind), nomasterCommand(p))
}

func xdpAttached(_ *Facts, t *Target) []api.Finding {
	if !t.Survey.XDP {
		return nil
	}
	return t.finding(api.SeverityWarning, "xdp", t.Survey, "an XDP program sees frames before any socket does, and "+
		"may keep them", "a program is attached",
		interfaceCommand(t.Survey, "ip link set dev %s xdp off"))
}

// mtuEnds compares both ends with the port's configured MTU, or with the larger of the two.
func mtuEnds(_ *Facts, t *Target) (all []api.Finding) {
	if t.Config == nil && t.Survey.Peer == nil {
		return nil
	}
	var want int
	var why string
	if t.Config != nil {
		want, why = t.Config.MTU, fmt.Sprintf("the port's mtu is %d", t.Config.MTU)
	} else {
		want = max(t.Survey.MTU, t.Survey.Peer.MTU)
		why = fmt.Sprintf("the ends have %d and %d", t.Survey.MTU, t.Survey.Peer.MTU)
	}
	for i, s := range t.ends() {
		effect := ""
		switch {
		case s.MTU < want:
			effect = "frames longer than this end takes are dropped without a word"
		case s.MTU > want && i == 1:
			effect = "its host sends frames that are longer than the port carries: they are dropped (oversize)"
		default:
			continue
		}
		all = append(all, t.finding(api.SeverityError, "mtu", s, effect, fmt.Sprintf("its MTU is %d; %s", s.MTU, why),
			interfaceCommand(s, "ip link set dev %s mtu %d", want))...)
	}
	return all
}

// hardwarePause finds NICs that obey PAUSE themselves. A switch turns that off when it starts.
func hardwarePause(_ *Facts, t *Target) []api.Finding {
	p := t.Survey.Pause
	if p == nil || !p.Receive && !p.Transmit || t.Config != nil && t.Live == nil {
		return nil
	}
	return t.finding(api.SeverityWarning, "hardware-pause", t.Survey, "the NIC obeys and swallows PAUSE itself: the "+
		"switch never sees it, and PFC frames of the peer may go the same way",
		fmt.Sprintf("autoneg %v, rx %v, tx %v", p.Autoneg, p.Receive, p.Transmit),
		interfaceCommand(t.Survey, "ethtool -A %s autoneg off rx off tx off"))
}

// receiveOffload finds receive aggregation (GRO, LRO) at the port.
func receiveOffload(_ *Facts, t *Target) (all []api.Finding) {
	for _, o := range []struct{ name, short string }{{"generic-receive-offload", "gro"},
		{"large-receive-offload", "lro"}} {
		if t.Survey.Offloads[o.name] {
			all = append(all, t.finding(api.SeverityWarning, o.short, t.Survey, "the kernel waits for more frames of "+
				"a flow and hands them over as one: they come late and all at once, so that stamps, latency and the "+
				"measured headroom are wrong",
				o.name+": on", interfaceCommand(t.Survey, "ethtool -K %s "+o.short+" off"))...)
		}
	}
	return all
}

// receiveReordering finds veth ends whose NAPI receives the frames of a packet socket but not those of an AF_XDP
// socket. A veth has a NAPI when it has GRO or an XDP program.
func receiveReordering(_ *Facts, t *Target) (all []api.Finding) {
	for i, s := range t.ends() {
		on := offloadsOn(s, "rx-gro-list", "rx-udp-gro-forwarding")
		if s.Kind != "veth" || len(on) == 0 || !s.XDP && !s.Offloads["generic-receive-offload"] ||
			i == 1 && t.packetSocketOnly() {
			continue
		}
		finding := t.finding(api.SeverityWarning, "gro-order", s, "what a switch at the other end sends by its "+
			"AF_XDP socket (send: auto) and what it sends by its packet socket pass each other here: GSO frames "+
			"and short frames of a flow get out of order",
			strings.Join(on, ", ")+": on", interfaceCommand(s, "ethtool -K %s "+strings.Join(on, " off ")+" off"))
		if i == 1 && t.Config != nil {
			finding[0].Key = optional("ports." + t.Port + ".send: packet")
		}
		all = append(all, finding...)
	}
	return all
}

func offloadsOn(s *port.Survey, names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !s.Offloads[name] })
}

// packetSocketOnly tells whether all frames of the port leave by its packet socket.
func (t *Target) packetSocketOnly() bool {
	return t.Config != nil && t.Config.Send == config.SendPacket ||
		t.Live != nil && t.Live.Send != nil && t.Live.Send.By == "packet"
}

// packetSteering finds RPS at the port.
func packetSteering(_ *Facts, t *Target) []api.Finding {
	if len(t.Survey.Steered) == 0 {
		return nil
	}
	mount := "mount -t sysfs sysfs /sys && for q in /sys/class/net/" + shellWord(t.Survey.Name) +
		"/queues/rx-*; do echo 0 >$q/rps_cpus; done"
	return t.finding(api.SeverityWarning, "rps", t.Survey, "frames are handed to other CPUs, each with a queue of "+
		"its own that may overflow (net.core.netdev_max_backlog) before any ring: PAUSE and PFC come late, and out "+
		"of order with data",
		"RPS is on for "+strings.Join(t.Survey.Steered, ", "),
		commandIn(t.Survey.Netns, "unshare --mount sh -c "+shellWord(mount)))
}

// defaultQdiscs are the root queueing disciplines that the kernel gives a link.
var defaultQdiscs = []string{"", "noqueue", "mq", "pfifo_fast", "fq_codel", "fq"}

// queueingDiscipline finds a queueing discipline that somebody has added to an end of the link. A virtual link has none
// by default.
func queueingDiscipline(_ *Facts, t *Target) (all []api.Finding) {
	for _, s := range t.ends() {
		if slices.Contains(defaultQdiscs, s.Qdisc) && (s.Kind != "veth" || s.Qdisc == "" || s.Qdisc == "noqueue") {
			continue
		}
		all = append(all, t.finding(api.SeverityWarning, "qdisc", s, "a queueing discipline delays or drops frames "+
			"where no counter of the switch sees it, and no pause holds it",
			"the root queueing discipline is "+s.Qdisc, interfaceCommand(s, "tc qdisc del dev %s root"))...)
	}
	return all
}
