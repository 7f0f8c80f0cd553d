package port

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A Survey is what the kernel says of an interface and its surroundings.
type Survey struct {
	Link
	Netns      string // as InNetns takes it; "" is the process's own
	AdminUp    bool
	MasterName string
	MasterKind string          // "bridge", "openvswitch", "bond", …; "" where there is no master
	Offloads   map[string]bool // by ethtool's names; those that the driver knows
	Qdisc      string          // kind of the root queueing discipline
	IPv6       []string        // its link-local addresses
	XDP        bool            // a program takes frames before any socket sees them
	Pause      *HardwarePause  // nil where the driver has none
	Steered    []string        // receive queues that hand frames to other CPUs (RPS)
	VLANs      []VLANLink      // interfaces on top of it that add tags

	// Peer is the other end of a veth. It is nil without one, and if the peer's namespace has no name and no process
	// that this process may look at.
	Peer *Survey
}

// HardwarePause is the 802.3x flow control that a NIC does by itself.
type HardwarePause struct{ Autoneg, Receive, Transmit bool }

// A VLANLink is an interface that adds a tag to what is sent through it.
type VLANLink struct {
	Name    string
	VID     uint16
	Mapped  bool // it sets a priority other than 0 in the tag of some frames
	Address bool // it has an address
}

// SurveyOne describes an interface of namespace ns and the peer of a veth.
func SurveyOne(ns, name string) (*Survey, error) {
	var s *Survey
	var link netlink.Link
	err := InNetns(ns, func() (err error) {
		if link, err = netlink.LinkByName(name); err != nil {
			return lookupError(name, err)
		}
		s, err = surveyHere(ns, link)
		return err
	})
	if err != nil || link.Type() != "veth" {
		return s, err
	}
	s.Peer, err = findPeer(s, link.Attrs())
	return s, err
}

// surveyHere describes an interface of the thread's namespace, which is ns.
func surveyHere(ns string, link netlink.Link) (*Survey, error) {
	l, err := describe(link)
	if err != nil {
		return nil, err
	}
	a := link.Attrs()
	s := &Survey{Link: l, Netns: ns, AdminUp: a.RawFlags&unix.IFF_UP != 0, XDP: a.Xdp != nil && a.Xdp.Attached,
		Offloads: readOffloads(a.Name), Pause: readPause(a.Name), Steered: readSteering(a.Name)}
	if a.MasterIndex != 0 {
		s.MasterName, s.MasterKind = "?", "master"
		if m, err := netlink.LinkByIndex(a.MasterIndex); err == nil {
			s.MasterName, s.MasterKind = m.Attrs().Name, m.Type()
		}
	}
	if err := s.readQdisc(link); err != nil {
		return nil, err
	}
	for _, addr := range l.linkLocal {
		s.IPv6 = append(s.IPv6, addr.IPNet.String())
	}
	return s, s.readVLANs(a.Index)
}

func (s *Survey) readQdisc(link netlink.Link) error {
	qdiscs, err := retryDump(func() ([]netlink.Qdisc, error) { return netlink.QdiscList(link) })
	if err != nil {
		return fmt.Errorf("list queueing disciplines of %s: %w", s.Name, err)
	}
	for _, q := range qdiscs {
		if q.Attrs().Parent == netlink.HANDLE_ROOT {
			s.Qdisc = q.Type()
		}
	}
	return nil
}

func (s *Survey) readVLANs(index int) error {
	links, err := retryDump(netlink.LinkList)
	if err != nil {
		return fmt.Errorf("list interfaces: %w", err)
	}
	for _, link := range links {
		v, ok := tagging(link, index)
		if !ok {
			continue
		}
		above, err := describe(link)
		if err != nil {
			return err
		}
		v.Address = len(above.Addresses) > 0
		s.VLANs = append(s.VLANs, v)
	}
	return nil
}

// tagging describes an interface that adds tags on top of the interface index, without its address. ok is false for any
// other interface.
func tagging(link netlink.Link, index int) (v VLANLink, ok bool) {
	l, ok := link.(*netlink.Vlan)
	if !ok || l.ParentIndex != index {
		return v, false
	}
	v = VLANLink{Name: l.Name, VID: uint16(l.VlanId)}
	for _, to := range l.EgressQosMap {
		v.Mapped = v.Mapped || to != 0
	}
	return v, true
}

// features are the kernel's features that change what a frame on the link looks like, each with the name of the offload
// that ethtool makes of it. An offload is on if one of its features is.
var features = map[string]string{
	"tx-checksum-ipv4": "tx-checksumming", "tx-checksum-ipv6": "tx-checksumming",
	"tx-checksum-ip-generic": "tx-checksumming",
	"tx-tcp-segmentation":    "tcp-segmentation-offload", "tx-tcp-ecn-segmentation": "tcp-segmentation-offload",
	"tx-tcp-mangleid-segmentation": "tcp-segmentation-offload", "tx-tcp6-segmentation": "tcp-segmentation-offload",
	"tx-generic-segmentation": "generic-segmentation-offload", "rx-gro": "generic-receive-offload",
	"rx-lro": "large-receive-offload", "rx-gro-list": "rx-gro-list", "rx-udp-gro-forwarding": "rx-udp-gro-forwarding",
}

// Of linux/ethtool.h: the set of names of features (ETH_SS_FEATURES), and the octets of a name in it (ETH_GSTRING_LEN).
const (
	featureNames = 4
	featureName  = 32
)

// readOffloads returns the offloads of an interface that its kernel knows.
func readOffloads(name string) map[string]bool {
	info := struct {
		cmd, _ uint32
		sets   uint64
		count  uint32
	}{cmd: unix.ETHTOOL_GSSET_INFO, sets: 1 << featureNames}
	if ethtool(name, unsafe.Pointer(&info)) != nil || info.count == 0 {
		return nil
	}
	count, words := info.count, (info.count+31)/32
	names := make([]uint32, 3+count*featureName/4) // struct ethtool_gstrings
	names[0], names[1], names[2] = unix.ETHTOOL_GSTRINGS, featureNames, count
	// struct ethtool_gfeatures: of each word what is available, requested, active, and never changes
	blocks := make([]uint32, 2+4*words)
	blocks[0], blocks[1] = unix.ETHTOOL_GFEATURES, words
	if ethtool(name, unsafe.Pointer(&names[0])) != nil || ethtool(name, unsafe.Pointer(&blocks[0])) != nil {
		return nil
	}
	text := unsafe.Slice((*byte)(unsafe.Pointer(&names[3])), count*featureName)
	on := map[string]bool{}
	for i := range count {
		feature := unix.ByteSliceToString(text[i*featureName : (i+1)*featureName])
		if offload, ok := features[feature]; ok {
			on[offload] = on[offload] || blocks[2+4*(i/32)+2]>>(i%32)&1 != 0
		}
	}
	return on
}

func readPause(name string) *HardwarePause {
	param := pauseParam{cmd: unix.ETHTOOL_GPAUSEPARAM}
	if ethtool(name, unsafe.Pointer(&param)) != nil {
		return nil
	}
	return &HardwarePause{Autoneg: param.autoneg != 0, Receive: param.rx != 0, Transmit: param.tx != 0}
}

// findPeer looks for the peer of a veth in its own namespace, in named namespaces, and in those of processes.
func findPeer(s *Survey, a *netlink.LinkAttrs) (*Survey, error) {
	namespaces := []string{s.Netns}
	if a.NetNsID >= 0 {
		namespaces = allNamespaces()
	}
	for _, ns := range namespaces {
		peer, err := peerIn(s, ns, a)
		if peer != nil || err != nil {
			return peer, err
		}
	}
	return nil, nil
}

// peerIn returns the interface that a names as its peer, if ns is the namespace that a means.
func peerIn(s *Survey, ns string, a *netlink.LinkAttrs) (peer *Survey, err error) {
	if a.NetNsID >= 0 && !s.knowsAs(ns, a.NetNsID) {
		return nil, nil
	}
	err = InNetns(ns, func() error {
		link, err := netlink.LinkByIndex(a.ParentIndex)
		if err != nil || link.Type() != "veth" {
			return nil // the interface has just gone
		}
		peer, err = surveyHere(ns, link)
		return err
	})
	if errors.Is(err, errEnter) || errors.Is(err, errNotNetns) || errors.Is(err, ErrNoNetns) ||
		errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		return nil, nil // the namespace cannot be looked at
	}
	return peer, err
}

// knowsAs tells whether the namespace of s knows namespace ns by the number id.
func (s *Survey) knowsAs(ns string, id int) bool {
	h, err := openNetns(ns)
	if err != nil {
		return false
	}
	defer func() { _ = h.Close() }()
	found := -1
	err = InNetns(s.Netns, func() error {
		found, err = netlink.GetNetNsIdByFd(int(h))
		return err
	})
	return err == nil && found == id
}

// allNamespaces returns the namespaces that have a name or a process, each once.
func allNamespaces() []string {
	seen := map[NetnsID]bool{}
	var all []string
	add := func(ns string) {
		if id, err := IdentifyNetns(ns); err == nil && !seen[id] {
			seen[id] = true
			all = append(all, ns)
		}
	}
	add("")
	names, _ := filepath.Glob(NetnsDir + "/*")
	for _, name := range names {
		add(name)
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		add("pid:" + filepath.Base(p))
	}
	return all
}

// readSteering returns the names of an interface's receive queues whose frames the kernel hands to other CPUs (RPS).
// /sys shows the interfaces of the namespace in which it was mounted, so readSteering mounts a view of the thread's
// namespace. It returns nothing if it may not.
func readSteering(name string) []string {
	fs, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fs) }()
	if unix.FsconfigCreate(fs) != nil {
		return nil
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC,
		unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(mount) }()
	folder := filepath.Join("class/net", name, "queues")
	fd, err := unix.Openat(mount, folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	dir := os.NewFile(uintptr(fd), folder)
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	slices.Sort(names)
	return slices.DeleteFunc(names, func(queue string) bool {
		return !strings.HasPrefix(queue, "rx-") || !steered(fd, queue)
	})
}

// steered tells whether a queue's mask of CPUs is not empty.
func steered(folder int, queue string) bool {
	fd, err := unix.Openat(folder, filepath.Join(queue, "rps_cpus"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	var b [1024]byte
	n, err := unix.Read(fd, b[:])
	return err == nil && strings.Trim(string(b[:n]), "0,\n") != ""
}
