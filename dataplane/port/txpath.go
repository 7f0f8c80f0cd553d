package port

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	bpflink "github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A TxPath is how the frames of a port leave.
type TxPath struct {
	XDP bool   // bursts of plain frames by an AF_XDP socket, others by a packet socket
	Why string // why all by a packet socket
}

// Why frames leave by the packet socket.
const (
	whyAsked    = "the configuration says so"
	whyCaptured = "another program captures on the interface"
	whyBusy     = "an AF_XDP socket has the interface's queue, or frames of one that was closed are still on their way"
	whyGone     = "the interface is gone"
	whyUnfit    = "the interface is not a veth with one queue and no queueing discipline"
	whyProgram  = "a TCX program looks at what the interface sends"
)

// A linkWatch is what RefreshTxPath looks at: the namespace of a port, what else is on its interface.
type linkWatch struct {
	netns   NetnsID
	handle  *netlink.Handle
	sockets int             // the file that lists the packet sockets
	own     map[uint64]bool // inodes of the port's rings
}

// openXDPTx opens the port's second way out, which it can do without. It runs in the namespace of the interface.
func (p *AFPacket) openXDPTx(c Config, index int) {
	if p.noXDP = whyAsked; !c.XDP {
		return
	}
	err := p.linkWatch.open(p.rings)
	if err == nil {
		err = suitsXDP(p.linkWatch.handle, index)
	}
	if err == nil {
		p.xdpTx, err = newXDPTx(index)
	}
	if err != nil {
		p.noXDP = err.Error()
		return
	}
	p.AllowXDP(new(PacketSockets), true)
}

func (r *linkWatch) open(rings []*ring) (err error) {
	if r.netns, err = IdentifyNetns("/proc/thread-self/ns/net"); err != nil {
		return err
	}
	if r.sockets, err = unix.Open("/proc/thread-self/net/packet", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("list packet sockets: %w", err)
	}
	if r.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return fmt.Errorf("open rtnetlink socket: %w", err)
	}
	r.own = map[uint64]bool{}
	for _, ring := range rings {
		var st unix.Stat_t
		if err := unix.Fstat(ring.fd, &st); err != nil {
			return fmt.Errorf("identify socket: %w", err)
		}
		r.own[st.Ino] = true
	}
	return nil
}

func (r *linkWatch) close() error {
	if r.handle != nil {
		r.handle.Close()
	}
	if r.sockets >= 0 {
		return unix.Close(r.sockets)
	}
	return nil
}

// suitsXDP tells why an interface can have no xdpTx, for what is not looked at again.
func suitsXDP(h *netlink.Handle, index int) error {
	link, err := h.LinkByIndex(index)
	if err != nil {
		return fmt.Errorf("look up interface: %w", err)
	}
	if link.Type() != "veth" || transmitQueues(link.Attrs().Name) != 1 {
		return errors.New(whyUnfit)
	}
	if q, err := bpflink.QueryPrograms(bpflink.QueryOptions{Target: index, Attach: ebpf.AttachTCXEgress}); err == nil && len(q.Programs) > 0 {
		return errors.New(whyProgram)
	}
	return nil
}

// transmitQueues returns how many transmit queues an interface has in use, 0 where the driver does not tell.
func transmitQueues(name string) int {
	c := struct{ cmd, maxRx, maxTx, maxOther, maxCombined, rx, tx, other, combined uint32 }{cmd: unix.ETHTOOL_GCHANNELS}
	if ethtool(name, unsafe.Pointer(&c)) != nil {
		return 0
	}
	return int(c.tx + c.combined)
}

// AllowXDP says whether frames may leave by the AF_XDP socket from now on, and does what RefreshTxPath does. Where nobody has said so they may.
func (p *AFPacket) AllowXDP(look *PacketSockets, xdpTx bool) {
	p.txPathMu.Lock()
	defer p.txPathMu.Unlock()
	p.asked = xdpTx
	p.refreshTxPath(look)
}

// RefreshTxPath looks after the way of a port's frames, about once a second: it takes the interface's queue as soon as a socket of
// before has let go of it, and goes back to the packet socket while another program captures on the interface, which sees what the
// packet socket sends, and while there is a queueing discipline, which would let frames of the one way pass those of the other.
// It may wait for the kernel's locks, and run beside any other method.
func (p *AFPacket) RefreshTxPath(look *PacketSockets) {
	p.txPathMu.Lock()
	defer p.txPathMu.Unlock()
	p.refreshTxPath(look)
}

func (p *AFPacket) refreshTxPath(look *PacketSockets) {
	if p.xdpTx == nil || p.closed {
		return
	}
	why := whyAsked
	if p.asked {
		why = p.xdpObstacle(look)
	}
	p.xdpTx.why.Store(&why)
	p.xdpTx.on.Store(why == "")
}

// TxPath returns how the port's frames leave.
func (p *AFPacket) TxPath() TxPath {
	if p.xdpTx == nil {
		return TxPath{Why: p.noXDP}
	}
	why := *p.xdpTx.why.Load()
	return TxPath{XDP: why == "", Why: why}
}

// xdpObstacle returns why the xdpTx must not be taken now, "" where nothing speaks against it.
func (p *AFPacket) xdpObstacle(look *PacketSockets) string {
	x, r := p.xdpTx, &p.linkWatch
	link, err := r.handle.LinkByIndex(x.index)
	if err != nil {
		return whyGone
	}
	x.longest.Store(int32(link.Attrs().MTU) + 14)
	qdiscs, err := r.handle.QdiscList(link)
	if err != nil {
		return "list queueing disciplines: " + err.Error()
	}
	for _, q := range qdiscs {
		if q.Type() != "noqueue" {
			return whyUnfit
		}
	}
	if why := x.bind(); why != "" {
		return why
	}
	for _, t := range look.taps(r) {
		if (t.index == 0 || t.index == x.index) && !r.own[t.inode] {
			return whyCaptured
		}
	}
	return ""
}

// bind takes the interface's queue, which one socket alone can have, and returns why it did not.
func (x *xdpTx) bind() string {
	if x.bound {
		return ""
	}
	err := unix.Bind(x.fd, &unix.SockaddrXDP{Flags: unix.XDP_COPY, Ifindex: uint32(x.index)})
	switch {
	case errors.Is(err, unix.EBUSY):
		return whyBusy
	case err != nil:
		return "bind AF_XDP socket: " + err.Error()
	}
	x.bound = true
	return ""
}
