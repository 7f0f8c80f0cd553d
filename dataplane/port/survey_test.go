package port

import (
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
)

// dumped is an interface as the kernel describes it in a dump of RTM_NEWLINK: an ifinfomsg, its name, the interface
// below, and its kind with the kind's data.
func dumped(t *testing.T, index int32, below uint32, name, kind string, data ...*nl.RtAttr) netlink.Link {
	t.Helper()
	info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
	info.AddRtAttr(unix.IFLA_INFO_KIND, nl.ZeroTerminated(kind))
	kindData := info.AddRtAttr(unix.IFLA_INFO_DATA, nil)
	for _, d := range data {
		kindData.AddChild(d)
	}
	return assert.Got(netlink.LinkDeserialize(nil, slices.Concat(
		(&nl.IfInfomsg{IfInfomsg: unix.IfInfomsg{Index: index}}).Serialize(),
		nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)).Serialize(),
		nl.NewRtAttr(unix.IFLA_LINK, nl.Uint32Attr(below)).Serialize(), info.Serialize()))).Must(t)
}

// vid and egress are the attributes of a VLAN interface in linux/if_link.h: its VLAN, and the pairs of its
// egress-qos-map, from the priority of a frame to that in the tag.
func vid(n uint16) *nl.RtAttr { return nl.NewRtAttr(unix.IFLA_VLAN_ID, nl.Uint16Attr(n)) }

func egress(pairs ...[2]uint32) *nl.RtAttr {
	all := nl.NewRtAttr(unix.IFLA_VLAN_EGRESS_QOS, nil)
	for _, p := range pairs {
		all.AddRtAttr(unix.IFLA_VLAN_QOS_MAPPING, append(nl.Uint32Attr(p[0]), nl.Uint32Attr(p[1])...))
	}
	return all
}

// tagging finds the VLAN interfaces on top of an interface, with their VLAN and whether they set a priority. The test
// makes the kernel's messages itself, since not every kernel has VLAN interfaces.
func TestVLANInterfacesOfTheKernel(t *testing.T) {
	const own = 7
	for _, tt := range []struct {
		what string
		link netlink.Link
		want VLANLink
		ok   bool
	}{
		{"without a map", dumped(t, 9, own, "eth0.10", "vlan", vid(10)), VLANLink{Name: "eth0.10", VID: 10}, true},
		{"with an empty one", dumped(t, 9, own, "v", "vlan", vid(4094), egress()),
			VLANLink{Name: "v", VID: 4094}, true},
		{"that maps to 0", dumped(t, 9, own, "v", "vlan", vid(1), egress([2]uint32{3, 0})),
			VLANLink{Name: "v", VID: 1}, true},
		{"that maps one", dumped(t, 9, own, "v", "vlan", vid(20), egress([2]uint32{0, 0}, [2]uint32{3, 3})),
			VLANLink{Name: "v", VID: 20, Mapped: true}, true},
		{"of another interface", dumped(t, 9, own+1, "v", "vlan", vid(10)), VLANLink{}, false},
		{"no VLAN", dumped(t, 9, own, "m", "macvlan"), VLANLink{}, false},
	} {
		got, ok := tagging(tt.link, own)
		assert.True(t, got == tt.want && ok == tt.ok, "%s: %+v, %v; want %+v, %v", tt.what, got, ok, tt.want, tt.ok)
	}
}
