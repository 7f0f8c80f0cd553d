package port

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// attribute is a netlink attribute (linux/netlink.h): length, type, value, and padding to four octets.
func attribute(kind uint16, value ...byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
	return append(b, make([]byte, -len(b)&3)...)
}

func word(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

// dumped is an interface as the kernel describes it in a dump of RTM_NEWLINK: an ifinfomsg, its name, the interface
// below, and its kind with the kind's data.
func dumped(t *testing.T, index, below uint32, name, kind string, data ...[]byte) netlink.Link {
	t.Helper()
	b := append(make([]byte, 4), word(index)...)
	b = append(b, make([]byte, 8)...)
	info := append(attribute(unix.IFLA_INFO_KIND, append([]byte(kind), 0)...),
		attribute(unix.IFLA_INFO_DATA, slices.Concat(data...)...)...)
	b = slices.Concat(b, attribute(unix.IFLA_IFNAME, append([]byte(name), 0)...),
		attribute(unix.IFLA_LINK, word(below)...), attribute(unix.IFLA_LINKINFO, info...))
	link, err := netlink.LinkDeserialize(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// vid and egress are the attributes of a VLAN interface in linux/if_link.h: its VLAN, and the pairs of its
// egress-qos-map, from the priority of a frame to that in the tag.
func vid(n uint16) []byte {
	return attribute(unix.IFLA_VLAN_ID, binary.NativeEndian.AppendUint16(nil, n)...)
}

func egress(pairs ...[2]uint32) []byte {
	var all []byte
	for _, p := range pairs {
		all = append(all, attribute(unix.IFLA_VLAN_QOS_MAPPING, append(word(p[0]), word(p[1])...)...)...)
	}
	return attribute(unix.IFLA_VLAN_EGRESS_QOS, all...)
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
		if got, ok := tagging(tt.link, own); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %+v, %v; want %+v, %v", tt.what, got, ok, tt.want, tt.ok)
		}
	}
}
