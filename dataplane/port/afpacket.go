package port

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

// Config says how a port's sockets are set up.
type Config struct {
	Interface string // name of the Linux interface
	Netns     string // name, path or pid:N of its network namespace; "" is the daemon's own

	LosslessSlots int // slots of the lossless ring, at least 1
	OtherSlots    int // slots of the other ring, at least 1
	FrameSize     int // largest frame that a slot holds; larger ones take the oversize queue
	SmallSlots    int // slots of each of the two rings for small frames; 0: the number that SmallSlots computes
	SmallFrame    int // largest frame that Fanout steers to the rings for small frames; 0: there are no such rings
	// Queued makes all data frames of a class come through the queue behind one ring, which holds as many full ones as
	// its three would, and takes little memory while none waits. Reading a frame takes longer. See Larger.
	Queued bool
	// also open an AF_XDP socket for sending where the interface suits it: see AllowXDP, RefreshTxPath
	XDP bool

	// Fanout returns the ring of a frame: Other (0), Lossless (1), MAC Control (2), for a long frame Other (3) or
	// Lossless (4), and for a small frame Other (5) or Lossless (6).
	Fanout []bpf.RawInstruction
}

// controlSlots and controlFrame size the ring for EtherType 0x8808. A peer refreshes eight priorities in one frame, so
// a handful of waiting frames means that this side has not run for long.
const (
	controlSlots = 256
	controlFrame = 128
	sendBuffer   = 4 << 20
)

// AFPacket is a Port on AF_PACKET sockets.
type AFPacket struct {
	classes   [NumClasses]classRings
	rings     []*ring              // in the order in which they joined their fanout group
	group     int                  // number of that group
	program   []bpf.RawInstruction // of that group, as Steer got it
	first     int                  // number of the first ring of those that the program chooses among
	queued    bool                 // all frames of a class come to one of those, through its queue
	control   *ring
	data      int // send socket for data frames
	controlTx int // send socket for MAC Control frames
	stamper   stamper
	losses    [NumClasses]atomic.Uint64

	filter        int // descriptor of the program that the data rings' sockets get at Start; noFilter: none
	stopped       [NumClasses]atomic.Bool
	controlLosses atomic.Uint64

	xdpTx    *xdpTx // nil: frames leave by the packet socket only
	noXDP    string // the reason why xdpTx is nil
	link     linkWatch
	txPathMu sync.Mutex // serialises AllowXDP, RefreshTxPath and Close
	allowed  bool       // AllowXDP said yes
	closed   bool
}

var _ Port = (*AFPacket)(nil)

// Open opens a port on an interface. The interface must exist and should have been checked with Inspect. Frames may
// leave by the AF_XDP socket.
func Open(c Config) (*AFPacket, error) {
	p, err := Prepare(c)
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.AllowXDP(new(PacketSockets), true)
	return p, nil
}

// Prepare opens a port that receives nothing before Start, and whose frames leave by the packet socket before AllowXDP.
// Its errors show while another port still serves the interface.
func Prepare(c Config) (*AFPacket, error) {
	p := &AFPacket{data: -1, controlTx: -1, filter: noFilter}
	err := InNetns(c.Netns, func() error { return p.open(c) })
	if err != nil {
		_ = p.Close()
		return nil, fmt.Errorf("port %s: %w", c.Interface, addRemedy(err))
	}
	return p, nil
}

// addRemedy adds the remedy to an error that a user can do something about.
func addRemedy(err error) error {
	switch {
	case errors.Is(err, errEnter):
		return err
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w (needs CAP_NET_RAW and CAP_NET_ADMIN: run as root, or give the container "+
			"--cap-add=NET_RAW --cap-add=NET_ADMIN, or try \"pfcswitch demo\", which needs neither)", err)
	case errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("%w (not enough memory for the receive rings: lower ports.NAME.ring.outage, ring.max or "+
			"ring.other)", err)
	case errors.Is(err, unix.ENOPROTOOPT):
		return fmt.Errorf("%w (this system's packet sockets cannot carry the virtio_net header of unfinished "+
			"checksums and GSO frames, or lack another option: run the switch on a Linux kernel itself, not in a "+
			"sandbox that imitates one)", err)
	}
	return err
}

func (p *AFPacket) open(c Config) error {
	index, err := interfaceIndex(c.Interface)
	if err != nil {
		return err
	}
	if err := p.openRings(c, index); err != nil {
		return err
	}
	if p.data, err = sendSocket(index, true); err != nil {
		return err
	}
	if p.controlTx, err = sendSocket(index, false); err != nil {
		return err
	}
	p.openXDPTx(c, index)
	return stampSends(p.controlTx)
}

// packetSocket opens an AF_PACKET socket that receives nothing before it is bound (protocol 0).
func packetSocket() (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("open AF_PACKET socket: %w", err)
	}
	return fd, nil
}

// setPacketOption sets an option of a packet socket. Tests replace it.
var setPacketOption = func(fd, option, value int) error {
	return unix.SetsockoptInt(fd, unix.SOL_PACKET, option, value)
}

// sendSocket opens a socket that only sends. Bound with protocol 0 it has no receive hook and needs no address per
// frame.
func sendSocket(index int, vnet bool) (int, error) {
	fd, err := packetSocket()
	if err != nil {
		return -1, err
	}
	err = setPacketOption(fd, unix.PACKET_VNET_HDR, boolInt(vnet))
	if err == nil {
		setBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, sendBuffer)
		err = bind(fd, 0, index)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("set up send socket: %w", err)
	}
	return fd, nil
}

func bind(fd, protocol, index int) error {
	return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(uint16(protocol)), Ifindex: index})
}

func htons(v uint16) uint16 { return binary.NativeEndian.Uint16([]byte{byte(v >> 8), byte(v)}) }

// setBuffer sets the size of a socket buffer, up to the system's limit in a user namespace, beyond it elsewhere.
func setBuffer(fd, force, plain, size int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, size) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, size)
	}
}

func promiscuous(fd, index int) error {
	return unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
		&unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC})
}

var dropAll = []bpf.RawInstruction{{Op: unix.BPF_RET | unix.BPF_K}}

func attach(fd, level, opt int, program []bpf.RawInstruction) error {
	f := make([]unix.SockFilter, len(program))
	for i, in := range program {
		f[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	return unix.SetsockoptSockFprog(fd, level, opt, &unix.SockFprog{Len: uint16(len(f)), Filter: unsafe.SliceData(f)})
}

// Receive implements Port.
func (p *AFPacket) Receive(c Class, dst []Frame, maxBytes int) int {
	return p.classes[c].receive(dst, maxBytes)
}

// QueueBudget implements Port.
func (p *AFPacket) QueueBudget() int { return math.MaxInt }

// Release implements Port.
func (p *AFPacket) Release(c Class, n int) { p.classes[c].release(n) }

// Rewind implements Port.
func (p *AFPacket) Rewind(c Class) { p.classes[c].rewind() }

// BacklogExceeds implements Port.
func (p *AFPacket) BacklogExceeds(c Class, n int) bool { return p.classes[c].behind(n) }

// Backlog implements Port.
func (p *AFPacket) Backlog(c Class) Backlog { return p.classes[c].backlog() }

// Slots implements Port.
func (p *AFPacket) Slots(c Class) Slots { return p.classes[c].slots() }

// Octets implements Port.
func (p *AFPacket) Octets(c Class) (octets int) {
	for _, r := range p.classes[c].rings {
		octets += len(r.mem)
	}
	return octets
}

// Control implements Port. LLDP frames come to the control ring so that no data ring gets them. Control skips them.
func (p *AFPacket) Control() ([]byte, int64) {
	r := p.control
	for {
		s := r.slot(r.head)
		st := status(s)
		if st&unix.TP_STATUS_USER == 0 {
			return nil, 0
		}
		var f Frame
		r.next = r.head
		r.read(s, st, &f)
		if h, _ := frame.Parse(f.Data); h.EtherType != frame.TypeLLDP {
			return f.Data, f.Stamp
		}
		p.ControlDone()
	}
}

// ControlDone implements Port.
func (p *AFPacket) ControlDone() {
	p.control.pending = 1
	p.control.release(1)
}

// Send implements Port.
func (p *AFPacket) Send(b *Batch) (int, error) {
	done := 0
	if p.xdpTx != nil && p.xdpTx.prepare(b) {
		n, dropped := p.xdpTx.send(b.n)
		if dropped {
			return n, ErrDropped
		}
		done = n // the packet socket sends the rest, or returns why it cannot
	}
	for done < b.n {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDMMSG, uintptr(p.data), uintptr(unsafe.Pointer(&b.msgs[done])),
			uintptr(b.n-done), unix.MSG_DONTWAIT, 0, 0)
		if errno != 0 {
			return done, sendError(errno)
		}
		done += int(n)
	}
	return done, nil
}

func sendError(errno syscall.Errno) error {
	switch errno {
	case unix.EAGAIN, unix.EINTR, unix.ENOMEM:
		return ErrAgain
	case unix.ENOBUFS:
		return ErrDropped
	case unix.ENETDOWN, unix.ENXIO, unix.ENODEV:
		return ErrDown
	}
	return errno
}

// SendControl implements Port.
func (p *AFPacket) SendControl(b []byte) error {
	_, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(p.controlTx), uintptr(unsafe.Pointer(&b[0])),
		uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return sendError(errno)
	}
	return nil
}

// SendStamped implements Port.
func (p *AFPacket) SendStamped(b []byte) (int64, error) { return p.stamper.send(p.controlTx, b) }

// Descriptors implements Port.
func (p *AFPacket) Descriptors(fds []int32, what Work) []int32 {
	for c := range p.classes {
		if what&(1<<c) == 0 {
			continue
		}
		for _, r := range p.classes[c].rings {
			fds = append(fds, int32(r.fd))
		}
	}
	if what&WorkControl != 0 {
		fds = append(fds, int32(p.control.fd))
	}
	return fds
}

// Empty reports that no frame is in the data rings, nor received and not released.
func (p *AFPacket) Empty() bool {
	for _, r := range p.rings {
		if r != p.control && (r.pending > 0 || r.filled(r.head)) {
			return false
		}
	}
	return true
}

// Delivered reports that the far end has received all that Send has handed to the kernel. It costs a system call.
func (p *AFPacket) Delivered() bool {
	if p.xdpTx != nil && p.xdpTx.on.Load() { // nobody tells when its frames have arrived
		return false
	}
	waiting, err := unix.IoctlGetInt(p.data, unix.SIOCOUTQ)
	return err == nil && waiting == 0
}

// Bound tells whether the port is still on its interface. An interface that is deleted or moves to another namespace
// leaves dead sockets behind. They stay dead when the interface comes back with the same index.
func (p *AFPacket) Bound() bool {
	address, err := unix.Getsockname(p.data)
	link, ok := address.(*unix.SockaddrLinklayer)
	return err == nil && ok && link.Ifindex > 0
}

// Losses implements Port. Only one goroutine may call it, since it remembers what was released.
func (p *AFPacket) Losses(c Class) uint64 {
	for _, r := range p.classes[c].rings {
		drops := r.drops()
		p.losses[c].Add(uint64(drops))
		if r.stopped(drops) {
			p.stopped[c].Store(true)
		}
	}
	return p.losses[c].Load()
}

// Stopped reports whether Losses has found that the kernel has stopped a ring of the class: no later frame comes by it.
func (p *AFPacket) Stopped(c Class) bool { return p.stopped[c].Load() }

// ControlLosses implements Port.
func (p *AFPacket) ControlLosses() uint64 { return p.controlLosses.Add(uint64(p.control.drops())) }

// Drops appends the data rings, for a Poller.
func (p *AFPacket) Drops(to []Drops) []Drops {
	for c := range p.classes {
		for _, r := range p.classes[c].rings {
			to = append(to, Drops{fd: int32(r.fd), seen: &r.dropped})
		}
	}
	return to
}

// drops returns how many frames the ring has lost since the last call, as far as the kernel tells.
func (r *ring) drops() uint32 {
	now := []Drops{{fd: int32(r.fd), seen: &r.dropped}}
	readDrops(now)
	hand(now)
	return r.dropped.Swap(0)
}

// ClearError implements Port.
func (p *AFPacket) ClearError() {
	for _, r := range p.rings {
		_, _ = unix.GetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	}
}

// Close implements Port. The kernel takes some 20 ms to close sockets, whether one or many in parallel.
func (p *AFPacket) Close() error {
	p.txPathMu.Lock()
	defer p.txPathMu.Unlock()
	p.closed = true
	closing := []func() error{p.link.close}
	for _, r := range p.rings {
		closing = append(closing, func() error { return errors.Join(r.close(), unix.Close(r.fd)) })
	}
	for _, fd := range []int{p.data, p.controlTx} {
		if fd >= 0 {
			closing = append(closing, func() error { return unix.Close(fd) })
		}
	}
	if p.xdpTx != nil {
		closing = append(closing, p.xdpTx.close)
	}
	return errors.Join(inParallel(len(closing), func(i int) error { return closing[i]() })...)
}

// inParallel calls f for 0 to n−1, each in a goroutine of its own, and returns their errors.
func inParallel(n int, f func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			OnOwnThread(func() { errs[i] = f(i) })
		})
	}
	all.Wait()
	return errs
}
