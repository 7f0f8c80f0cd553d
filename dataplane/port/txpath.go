package port

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"unsafe"

	"github.com/cilium/ebpf"
	bpflink "github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// A TxPath tells which sockets the frames of a port leave by.
type TxPath struct {
	XDP bool   // bursts of plain frames leave by an AF_XDP socket, others by a packet socket
	Why string // if not XDP: the reason why all frames leave by the packet socket
}

// Reasons for the packet socket.
const (
	whyAsked    = "the configuration says so"
	whyCaptured = "another program captures on the interface"
	whyBusy     = "an AF_XDP socket has the interface's queue, or frames of one that was closed are still on their way"
	whyGone     = "the interface is gone"
	whyUnfit    = "the interface is not a veth with one queue and no queueing discipline"
	whyProgram  = "a TCX program looks at what the interface sends"
)

// A linkWatch is what RefreshTxPath needs to look at a port's interface and namespace.
type linkWatch struct {
	netns   NetnsID
	handle  *netlink.Handle
	sockets *os.File        // /proc/net/packet of the namespace
	own     map[uint64]bool // inodes of the port's rings
	unfit   string          // why the interface is unfit for an xdpTx, by the last look; "" if it is not
}

// openXDPTx opens the port's AF_XDP socket, which is optional, and which AllowXDP brings into use. It runs in the
// namespace of the interface.
func (p *AFPacket) openXDPTx(c Config, index int) {
	if p.noXDP = whyAsked; !c.XDP {
		return
	}
	err := p.link.open(p.rings)
	if err == nil {
		err = suitsXDP(p.link.handle, index)
	}
	if err == nil {
		p.xdpTx, err = newXDPTx(index)
	}
	if err != nil {
		p.noXDP = err.Error()
		return
	}
	why := whyAsked
	p.xdpTx.why.Store(&why)
}

func (w *linkWatch) open(rings []*ring) (err error) {
	if w.netns, err = IdentifyNetns("/proc/thread-self/ns/net"); err != nil {
		return err
	}
	if w.sockets, err = os.Open("/proc/thread-self/net/packet"); err != nil {
		return fmt.Errorf("list packet sockets: %w", err)
	}
	if w.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return fmt.Errorf("open rtnetlink socket: %w", err)
	}
	w.own = map[uint64]bool{}
	for _, ring := range rings {
		var st unix.Stat_t
		if err := unix.Fstat(ring.fd, &st); err != nil {
			return fmt.Errorf("identify socket: %w", err)
		}
		w.own[st.Ino] = true
	}
	return nil
}

func (w *linkWatch) close() error {
	if w.handle != nil {
		w.handle.Close()
	}
	if w.sockets != nil {
		return w.sockets.Close()
	}
	return nil
}

// suitsXDP returns an error if the interface has a property, checked only once, that excludes an xdpTx.
func suitsXDP(h *netlink.Handle, index int) error {
	link, err := h.LinkByIndex(index)
	if err != nil {
		return fmt.Errorf("look up interface: %w", err)
	}
	if link.Type() != "veth" || transmitQueues(link.Attrs().Name) != 1 {
		return errors.New(whyUnfit)
	}
	if q, err := bpflink.QueryPrograms(bpflink.QueryOptions{Target: index, Attach: ebpf.AttachTCXEgress}); err == nil &&
		len(q.Programs) > 0 {
		return errors.New(whyProgram)
	}
	return nil
}

// transmitQueues returns how many transmit queues an interface uses, or 0 if the driver does not tell.
func transmitQueues(name string) int {
	c := struct{ cmd, maxRx, maxTx, maxOther, maxCombined, rx, tx, other, combined uint32 }{cmd: unix.ETHTOOL_GCHANNELS}
	if ethtool(name, unsafe.Pointer(&c)) != nil {
		return 0
	}
	return int(c.tx + c.combined)
}

// AllowXDP says whether frames may leave by the AF_XDP socket from now on, and refreshes the path.
func (p *AFPacket) AllowXDP(look *PacketSockets, allow bool) {
	p.txPathMu.Lock()
	defer p.txPathMu.Unlock()
	p.allowed = allow
	p.refreshTxPath(look)
}

// RefreshTxPath chooses the transmit path of a port, about once a second. It binds the AF_XDP socket as soon as an
// earlier socket has released the interface's queue. It returns to the packet socket while another program captures on
// the interface, since a capture sees only what the packet socket sends. It also does so while there is a queueing
// discipline, in which frames of one path could overtake those of the other. RefreshTxPath may wait for the kernel's
// locks. It may run beside any other method.
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
	if p.allowed {
		why = p.xdpObstacle(look)
	}
	p.xdpTx.why.Store(&why)
	p.xdpTx.on.Store(why == "")
}

// TxPath returns the current transmit path.
func (p *AFPacket) TxPath() TxPath {
	if p.xdpTx == nil {
		return TxPath{Why: p.noXDP}
	}
	why := *p.xdpTx.why.Load()
	return TxPath{XDP: why == "", Why: why}
}

// xdpObstacle returns the reason why the xdpTx must not be used now, or "".
func (p *AFPacket) xdpObstacle(look *PacketSockets) string {
	x, w := p.xdpTx, &p.link
	if !look.Idle {
		w.unfit = x.linkObstacle(w.handle)
	}
	if w.unfit != "" {
		return w.unfit
	}
	if why := x.bind(); why != "" {
		return why
	}
	for _, t := range look.taps(w) {
		if (t.index == 0 || t.index == x.index) && !w.own[t.inode] {
			return whyCaptured
		}
	}
	return ""
}

// linkObstacle returns the reason why the interface is unfit for the xdpTx now, or "", and reads its MTU.
func (x *xdpTx) linkObstacle(h *netlink.Handle) string {
	link, err := h.LinkByIndex(x.index)
	if err != nil {
		return whyGone
	}
	x.longest.Store(int32(link.Attrs().MTU) + 14)
	qdiscs, err := h.QdiscList(link)
	if err != nil {
		return "list queueing disciplines: " + err.Error()
	}
	for _, q := range qdiscs {
		if q.Type() != "noqueue" {
			return whyUnfit
		}
	}
	return ""
}

// bind binds the interface's queue, which only one socket can have, and returns why that failed, or "".
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

// PacketSockets lists the packet sockets that see what interfaces send. Ports of one namespace share one reading.
type PacketSockets struct {
	// Idle keeps RefreshTxPath from asking for what takes the kernel's lock of all interfaces, for which other programs
	// may have to wait: what was found before stays.
	Idle bool

	found map[NetnsID]*tapList
	table []byte // as the kernel writes it
}

// A tapList holds the taps of a namespace.
type tapList struct {
	read bool // since Again
	all  []tap
}

// Again makes the next ports read anew, into the memory of before.
func (l *PacketSockets) Again() {
	for netns, f := range l.found {
		if !f.read {
			delete(l.found, netns) // no port is there any more
		}
		f.read = false
	}
}

// A tap is a packet socket for all protocols, on one interface or, with index 0, on all.
type tap struct {
	index int
	inode uint64
}

// taps returns the taps in the namespace of w.
func (l *PacketSockets) taps(w *linkWatch) []tap {
	f := l.found[w.netns]
	if f == nil {
		f = &tapList{}
		if l.found == nil {
			l.found = map[NetnsID]*tapList{}
		}
		l.found[w.netns] = f
	}
	if f.read {
		return f.all
	}
	f.read, f.all = true, f.all[:0]
	if l.readTable(w.sockets) != nil {
		f.all = append(f.all, tap{}) // no port owns it, so that the caller assumes a capture
	}
	for line := range bytes.Lines(l.table) {
		if t, ok := parseTap(line); ok {
			f.all = append(f.all, t)
		}
	}
	return f.all
}

// readTable reads the kernel's list.
func (l *PacketSockets) readTable(list io.ReaderAt) error {
	for l.table = l.table[:0]; ; {
		l.table = slices.Grow(l.table, 4096)
		n, err := list.ReadAt(l.table[len(l.table):cap(l.table)], int64(len(l.table)))
		l.table = l.table[:len(l.table)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// parseTap reads a line of the kernel's list:
//
//	sk RefCnt Type Proto Iface R Rmem User Inode
func parseTap(line []byte) (t tap, ok bool) {
	var f [9][]byte
	n := 0
	for field := range bytes.FieldsSeq(line) {
		if n == len(f) {
			break
		}
		f[n] = field
		n++
	}
	if n < len(f) || string(f[3]) != "0003" { // ETH_P_ALL
		return t, false
	}
	index, err := strconv.Atoi(string(f[4]))
	if err != nil {
		return t, false
	}
	inode, err := strconv.ParseUint(string(f[8]), 10, 64)
	return tap{index: index, inode: inode}, err == nil
}
