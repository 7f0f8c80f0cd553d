package doctor

import (
	"fmt"
	"slices"
	"strings"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/port"
)

// host is the end of the link whose kernel stack sends and receives; nil where there is none. It is the far end of a
// port or, without a configuration, the interface itself. The wire of a host NIC has no address.
func (t *Target) host() *port.Survey {
	switch {
	case t.Config == nil && len(t.Survey.Addresses) > 0:
		return t.Survey
	case t.Survey.Peer != nil && len(t.Survey.Peer.Addresses) > 0 && t.Config != nil:
		return t.Survey.Peer
	}
	return nil
}

// hostWithoutNIC finds hosts that do not obey PAUSE and PFC.
func hostWithoutNIC(_ *Facts, t *Target) []api.Finding {
	h := t.host()
	if h == nil || t.Config != nil && t.Lossless == 0 {
		return nil
	}
	nic := fmt.Sprintf("ip addr flush dev %[1]s && pfcswitch nic --wire %[1]s", shellWord(h.Name))
	for _, a := range h.Addresses {
		nic += " --address " + shellWord(a)
	}
	return t.finding(api.SeverityWarning, "host-without-nic", h, "a plain Linux host obeys neither PAUSE nor PFC: it "+
		"sends on after XOFF, and what does not fit the headroom and the ring is lost; what it sends is untagged, so "+
		"that trust: pcp sees priority 0",
		h.Name+" has the address "+strings.Join(h.Addresses, ", ")+", so that the kernel's own stack is at this end",
		commandIn(h.Netns, nic))
}

// segmentationOffload finds hosts that send GSO frames.
func segmentationOffload(_ *Facts, t *Target) []api.Finding {
	h := t.host()
	if h == nil {
		return nil
	}
	on := offloadsOn(h, "tcp-segmentation-offload", "generic-segmentation-offload")
	if len(on) == 0 {
		return nil
	}
	return t.finding(api.SeverityNote, "super-frames", h, "TCP hands over up to 64 KiB at once: no XOFF stops it in "+
		"between, the headroom has to hold it, and it arrives faster than the port's speed (counted as overspeed)",
		strings.Join(on, ", ")+": on", interfaceCommand(h, "ethtool -K %s tso off gso off"))
}

// vlanUnmapped finds VLAN interfaces that map no priority into the tag.
func vlanUnmapped(_ *Facts, t *Target) (all []api.Finding) {
	if t.Survey.Peer == nil || t.Config == nil || t.Config.Trust != config.TrustPCP || t.Lossless == 0 {
		return nil
	}
	for _, v := range t.Survey.Peer.VLANs {
		if v.Mapped {
			continue
		}
		all = append(all, t.finding(api.SeverityWarning, "vlan-unmapped", t.Survey.Peer,
			"all that is sent through "+v.Name+" has PCP 0, so that no frame of it is in a lossless priority",
			fmt.Sprintf("%s (VLAN %d) maps no priority into its tag", v.Name, v.VID),
			commandIn(t.Survey.Peer.Netns, "ip link set dev "+shellWord(v.Name)+
				" type vlan egress-qos-map 1:1 2:2 3:3 4:4 5:5 6:6 7:7"))...)
	}
	return all
}

// vlanFiltered finds VLANs that the host uses and the port does not carry.
func vlanFiltered(f *Facts, t *Target) (all []api.Finding) {
	if t.Survey.Peer == nil || t.Config == nil || t.Config.Wire != "" {
		return nil
	}
	for _, v := range t.Survey.Peer.VLANs {
		if v.VID == t.Config.PVID || slices.Contains(t.Config.Tagged, v.VID) {
			continue
		}
		tagged := strings.ReplaceAll(fmt.Sprint(append(slices.Clone(t.Config.Tagged), v.VID)), " ", ", ")
		all = append(all, withKey("ports."+t.Port+".tagged: "+tagged, t.finding(api.SeverityError, "vlan-filtered",
			t.Survey.Peer, "every frame of that VLAN is dropped at the port (filtered)",
			fmt.Sprintf("%s uses VLAN %d; the port carries %d untagged and %v tagged", v.Name, v.VID, t.Config.PVID,
				t.Config.Tagged),
			f.applyCommand(t.Port, "    tagged: "+tagged)))...)
	}
	return all
}

// ipv6Noise finds interfaces on which IPv6 sends by itself.
func ipv6Noise(_ *Facts, t *Target) (all []api.Finding) {
	for i, s := range t.ends() {
		if len(s.IPv6) == 0 || i == 0 && t.Config != nil { // a switch makes its own ports quiet
			continue
		}
		all = append(all, t.finding(api.SeverityNote, "ipv6-noise", s, "IPv6 speaks by itself (router solicitation, "+
			"multicast listener reports): counters do not stand still, and an idle link is not idle",
			"its link-local address is "+strings.Join(s.IPv6, ", "),
			commandIn(s.Netns, "sysctl -qw net.ipv6.conf."+shellWord(strings.ReplaceAll(s.Name, ".", "/"))+
				".disable_ipv6=1"))...)
	}
	return all
}
