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

// A Way is how the frames of a port leave.
type Way struct {
	Express bool   // bursts of plain frames by an AF_XDP socket, others by a packet socket
	Why     string // why all by a packet socket
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

// A roadside is what Tend looks at: the namespace of a port, what else is on its interface.
type roadside struct {
	netns   NetnsID
	handle  *netlink.Handle
	sockets int             // the file that lists the packet sockets
	own     map[uint64]bool // inodes of the port's rings
}

// openExpress opens the port's second way out, which it can do without. It runs in the namespace of the interface.
func (p *AFPacket) openExpress(c Config, index int) {
	if p.noExpress = whyAsked; !c.Express {
		return
	}
	err := p.roadside.open(p.rings)
	if err == nil {
		err = suitsExpress(p.roadside.handle, index)
	}
	if err == nil {
		p.express, err = newExpress(index)
	}
	if err != nil {
		p.noExpress = err.Error()
		return
	}
	p.Ask(new(Look), true)
}

func (r *roadside) open(rings []*ring) (err error) {
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

func (r *roadside) close() error {
	if r.handle != nil {
		r.handle.Close()
	}
	if r.sockets >= 0 {
		return unix.Close(r.sockets)
	}
	return nil
}

// suitsExpress tells why an interface can have no express, for what is not looked at again.
func suitsExpress(h *netlink.Handle, index int) error {
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

// Ask says whether frames may leave by the AF_XDP socket from now on, and does what Tend does. Where nobody has said so they may.
func (p *AFPacket) Ask(look *Look, express bool) {
	p.tending.Lock()
	defer p.tending.Unlock()
	p.asked = express
	p.tend(look)
}

// Tend looks after the way of a port's frames, about once a second: it takes the interface's queue as soon as a socket of
// before has let go of it, and goes back to the packet socket while another program captures on the interface, which sees what the
// packet socket sends, and while there is a queueing discipline, which would let frames of the one way pass those of the other.
// It may wait for the kernel's locks, and run beside any other method.
func (p *AFPacket) Tend(look *Look) {
	p.tending.Lock()
	defer p.tending.Unlock()
	p.tend(look)
}

func (p *AFPacket) tend(look *Look) {
	if p.express == nil || p.closed {
		return
	}
	why := whyAsked
	if p.asked {
		why = p.hindrance(look)
	}
	p.express.why.Store(&why)
	p.express.on.Store(why == "")
}

// Way returns how the port's frames leave.
func (p *AFPacket) Way() Way {
	if p.express == nil {
		return Way{Why: p.noExpress}
	}
	why := *p.express.why.Load()
	return Way{Express: why == "", Why: why}
}

// hindrance returns why the express must not be taken now, "" where nothing speaks against it.
func (p *AFPacket) hindrance(look *Look) string {
	x, r := p.express, &p.roadside
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
func (x *express) bind() string {
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
