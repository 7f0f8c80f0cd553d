package port

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"reflect"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

// A QueueRule says in which queue of a TAP, that is with which priority, a frame of the host waits.
type QueueRule struct {
	// Tags uses the priority of a frame's VLAN tag. An untagged frame has the priority of its DSCP, if it is IP and the
	// DSCP is not 0, or else of its socket (SO_PRIORITY, 1 to 7). It gets a priority tag unless that is the default.
	Tags    bool
	DSCP    *[64]byte // priority by DSCP; nil: ignore the DSCP
	Default uint8     // priority of all other frames
}

// tag returns the priority tag that frame b of a queue gets on its way.
func (r *QueueRule) tag(queue int, b []byte) (frame.TCI, bool) {
	if !r.Tags || queue == int(r.Default) || len(b) < frame.HeaderOctets ||
		binary.BigEndian.Uint16(b[12:]) == frame.TypeVLAN {
		return 0, false
	}
	return frame.TCI(uint16(queue) << 13), true
}

// priority returns the priority of frame b without what only its socket knows.
func (r *QueueRule) priority(b []byte) int {
	if h, ok := frame.Parse(b); ok && r.DSCP != nil {
		if dscp, ok := frame.DSCP(b, h.NetOffset, h.EtherType); ok && (dscp != 0 || !r.Tags) {
			return int(r.DSCP[dscp])
		}
	}
	return int(r.Default)
}

// openQueues makes the interface with a queue for each priority, or with one queue if the kernel cannot sort frames.
func (t *TAP) openQueues(r QueueRule) error {
	if other, err := netlink.LinkByName(t.name); err == nil {
		kind := other.Type()
		if kind == "tuntap" {
			kind = "TAP or TUN"
		}
		return fmt.Errorf("interface %s exists already and is a %s: delete it (%s), or give the TAP another name "+
			"with interface: NAME", t.name, kind, CommandIn(t.netns, "ip link del dev "+ShellWord(t.name)))
	}
	fd, err := openQueue(t.name, unix.IFF_TUN_EXCL)
	if err != nil {
		return err
	}
	t.queues = append(t.queues, fd)
	if t.shared = t.attachQueueRule(r); t.shared != nil {
		return t.attachQueueRule(r)
	}
	for len(t.queues) < tapQueues {
		if fd, err = openQueue(t.name, 0); err != nil {
			return err
		}
		t.queues = append(t.queues, fd)
	}
	return nil
}

const tapFlags = unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR | unix.IFF_MULTI_QUEUE

// tunFeatures returns the flags that the TUN driver knows. Tests replace it.
var tunFeatures = func(fd int) (uint32, error) { return unix.IoctlGetUint32(fd, unix.TUNGETFEATURES) }

// CheckTUN reports why this process cannot make TAPs, as far as the TUN device alone tells.
func CheckTUN() error {
	fd, err := openTUN()
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func openTUN() (fd int, err error) {
	fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, explainTun(fmt.Errorf("open /dev/net/tun: %w", err))
	}
	return fd, nil
}

// openQueue opens one queue of an interface. The first queue makes the interface.
func openQueue(name string, flags uint16) (fd int, err error) {
	if fd, err = openTUN(); err != nil {
		return -1, err
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	features, err := tunFeatures(fd)
	if err != nil || features&tapFlags != tapFlags {
		return -1, errors.New("this kernel's TUN driver has no multi-queue TAP with a virtio_net header (Linux 3.8 " +
			"has): the host NIC needs both")
	}
	r, err := unix.NewIfreq(name)
	if err != nil {
		return -1, err
	}
	r.SetUint16(tapFlags | flags)
	if err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r); err != nil {
		return -1, explainTun(fmt.Errorf("TUNSETIFF: %w", err))
	}
	return fd, offload(fd)
}

// offload lets the host leave checksums and segmentation to the switch, for UDP only if the kernel can (6.2).
func offload(fd int) error {
	if err := unix.IoctlSetPointerInt(fd, unix.TUNSETVNETHDRSZ, frame.VnetHeaderOctets); err != nil {
		return fmt.Errorf("set the length of the virtio_net header: %w", err)
	}
	const tcp = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6 | unix.TUN_F_TSO_ECN
	if unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, tcp|unix.TUN_F_USO4|unix.TUN_F_USO6) == nil {
		return nil
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, tcp); err != nil {
		return fmt.Errorf("switch on its offloads: %w", err)
	}
	return nil
}

func explainTun(err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("there is no TUN device: load it (modprobe tun), or give the container "+
			"--device=/dev/net/tun (%w)", err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("not allowed to make a TAP, which needs CAP_NET_ADMIN and to read and write /dev/net/tun: "+
			"run as root, or give the container --cap-add=NET_ADMIN --device=/dev/net/tun (%w)", err)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("an interface of this name exists already: delete it, or give the TAP another name with "+
			"interface: NAME (%w)", err)
	}
	return fmt.Errorf("make a TAP: %w", err)
}

// newProgram loads a program into the kernel. Tests replace it.
var newProgram = ebpf.NewProgram

// attachQueueRule makes the kernel sort the host's frames by a rule.
func (t *TAP) attachQueueRule(r QueueRule) error {
	if reflect.DeepEqual(t.rule.Load(), &r) {
		return nil
	}
	if t.shared != nil {
		t.rule.Store(&r)
		return nil
	}
	program, err := newProgram(&ebpf.ProgramSpec{Name: "pfcswitch_queue", Type: ebpf.SocketFilter,
		Instructions: r.program(), License: "Apache-2.0"})
	if err != nil {
		return fmt.Errorf("load the program that sorts frames by priority (needs CAP_BPF): %w", err)
	}
	defer func() { _ = program.Close() }() // the interface keeps the program
	if err := unix.IoctlSetPointerInt(t.queues[0], unix.TUNSETSTEERINGEBPF, program.FD()); err != nil {
		return fmt.Errorf("attach the program that sorts frames by priority: %w", err)
	}
	t.rule.Store(&r)
	return nil
}

// Fields of struct __sk_buff.
const (
	skbVLANPresent = 20
	skbVLANTCI     = 24
	skbPriority    = 32
)

// program returns the program that picks the queue of a frame. R6 holds the context, as loads from the packet require.
// Their offsets count from the destination MAC. A load beyond the packet ends the program with queue 0.
func (r *QueueRule) program() asm.Instructions {
	p := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	if r.Tags {
		p = append(p,
			asm.LoadMem(asm.R2, asm.R6, skbVLANPresent, asm.Word),
			asm.JEq.Imm(asm.R2, 0, "inline"),
			asm.LoadMem(asm.R0, asm.R6, skbVLANTCI, asm.Word),
			asm.Ja.Label("pcp"),
			asm.LoadAbs(12, asm.Half).WithSymbol("inline"),
			asm.JNE.Imm(asm.R0, int32(frame.TypeVLAN), "untagged"),
			asm.LoadAbs(14, asm.Half),
			asm.RSh.Imm(asm.R0, 13).WithSymbol("pcp"),
			asm.And.Imm(asm.R0, 7),
			asm.Return(),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("untagged"),
		)
	}
	if r.DSCP != nil {
		p = append(p, r.byDSCP()...)
	}
	if r.Tags {
		p = append(p,
			asm.LoadMem(asm.R0, asm.R6, skbPriority, asm.Word),
			asm.JEq.Imm(asm.R0, 0, "default"),
			asm.JGT.Imm(asm.R0, 7, "default"),
			asm.Return(),
		)
	}
	return append(p, asm.Mov.Imm(asm.R0, int32(r.Default)).WithSymbol("default"), asm.Return())
}

// byDSCP finds the IP header behind up to one tag and looks its DSCP up. It falls through if the DSCP says nothing. The
// table of 64 times four bits lies in four words.
func (r *QueueRule) byDSCP() asm.Instructions {
	p := asm.Instructions{
		asm.LoadAbs(12, asm.Half),
		asm.Mov.Imm(asm.R7, frame.HeaderOctets),
		asm.JNE.Imm(asm.R0, int32(frame.TypeVLAN), "type"),
		asm.LoadAbs(12+frame.TagOctets, asm.Half),
		asm.Mov.Imm(asm.R7, frame.HeaderOctets+frame.TagOctets),
		asm.JEq.Imm(asm.R0, unix.ETH_P_IP, "ipv4").WithSymbol("type"),
		asm.JNE.Imm(asm.R0, unix.ETH_P_IPV6, "other"),
		asm.LoadInd(asm.R0, asm.R7, 0, asm.Half),
		asm.RSh.Imm(asm.R0, 6),
		asm.Ja.Label("dscp"),
		asm.LoadInd(asm.R0, asm.R7, 1, asm.Byte).WithSymbol("ipv4"),
		asm.RSh.Imm(asm.R0, 2),
		asm.And.Imm(asm.R0, 0x3f).WithSymbol("dscp"),
	}
	if r.Tags {
		p = append(p, asm.JEq.Imm(asm.R0, 0, "other"))
	}
	p = append(p, asm.Mov.Reg(asm.R1, asm.R0), asm.And.Imm(asm.R1, 15), asm.LSh.Imm(asm.R1, 2), asm.RSh.Imm(asm.R0, 4))
	for word := range 4 {
		next := fmt.Sprintf("word%d", word+1)
		var bits uint64
		for i := range 16 {
			bits |= uint64(r.DSCP[word*16+i]&7) << (4 * i)
		}
		p = append(p,
			asm.JNE.Imm(asm.R0, int32(word), next).WithSymbol(fmt.Sprintf("word%d", word)),
			asm.LoadImm(asm.R0, int64(bits), asm.DWord),
			asm.RSh.Reg(asm.R0, asm.R1),
			asm.And.Imm(asm.R0, 7),
			asm.Return(),
		)
	}
	return append(p, asm.Mov.Imm(asm.R0, 0).WithSymbol("word4"), asm.Mov.Imm(asm.R0, 0).WithSymbol("other"))
}
