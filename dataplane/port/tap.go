package port

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

// A TAP has a queue for each priority, so that one can wait while the others go on.
const tapQueues = 8

// Limits of what is read from a TAP at once.
const (
	tapFrames = 64 // of all queues
	tapArena  = 4 * (frame.TagOctets + MaxFrame)
	tapTurn   = 16 << 10 // octets of one queue, with room for tags, before another is looked at; the last frame may end beyond it
	// TAPBurst is the largest number of octets that Receive still hands over of a priority after SendControl has paused it: one
	// burst.
	TAPBurst = tapTurn + MaxFrame
	// tapQueueLength is how many frames wait in each queue before the kernel drops them. TCP fills it with GSO frames, at most
	// a window for each connection.
	tapQueueLength = 1 << 16
)

// TAPConfig says how the host's side of a port is set up.
type TAPConfig struct {
	Interface string // the name that it gets; nothing may have it
	Netns     string // name, path or pid:N of its network namespace; "" is the daemon's own
	TAPSettings
	// Held returns which priorities must wait after MAC Control frame b, if those in was had to wait before.
	Held func(b []byte, was uint8) uint8
}

// TAP is a Port towards the stack of the host that it runs on. The kernel keeps the frames of each priority in a queue of its own.
// There is no wire to the host, so MAC Control frames sent to it are obeyed here: a priority that they pause is not read until
// they let it go. What the host sends meanwhile waits in the kernel.
type TAP struct {
	name, netns string
	index       int
	queues      []int // one, where the queues could not be told apart
	shared      error // why there is one
	epoll       int
	handle      *netlink.Handle // in the interface's namespace
	settings    TAPSettings
	held        func(b []byte, was uint8) uint8
	drops       atomic.Uint64 // last seen
	asking      sync.Mutex    // RefreshHostDrops and Close
	closed      bool          // guarded by asking
	paused      atomic.Uint32 // priorities

	// of the receive task
	head, next, count int // oldest frame, next to hand over, frames read
	frames            [tapFrames]Frame
	vnet              [tapFrames][frame.VnetHeaderOctets]byte
	arena             []byte
	ready             [tapQueues]unix.EpollEvent
	turn              int // which of those that are ready comes first
	rule              atomic.Pointer[QueueRule]
}

var _ Port = (*TAP)(nil)

// OpenTAP makes a TAP and its interface, which goes when the TAP is closed. The addresses are set and the interface is up.
func OpenTAP(c TAPConfig) (*TAP, error) {
	t := &TAP{name: c.Interface, netns: c.Netns, epoll: -1, held: c.Held, arena: make([]byte, tapArena)}
	err := InNetns(c.Netns, func() error { return t.open(c.TAPSettings) })
	if err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("TAP %s: %w", c.Interface, err)
	}
	return t, nil
}

func (t *TAP) open(s TAPSettings) error {
	if err := t.openQueues(s.Queues); err != nil {
		return err
	}
	var err error
	if t.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	for q, fd := range t.queues {
		if err := unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(q)}); err != nil {
			return fmt.Errorf("epoll: %w", err)
		}
	}
	if t.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	link, err := t.handle.LinkByName(t.name)
	if err != nil {
		return missing(t.name, err)
	}
	t.index = link.Attrs().Index
	if err := t.handle.LinkSetTxQLen(link, tapQueueLength); err != nil {
		return fmt.Errorf("set the length of its queues: %w", err)
	}
	t.undiscipline(link)
	return t.apply(link, s)
}

// undiscipline keeps the kernel from its default queueing discipline. No frame ever waits in that, since the TUN driver drops what
// does not fit its own queue and never stops anybody, but it sets aside three bands as long as the queue for each of the 256 queues
// that a TAP may have: 400 MB, and a second to clear them. A kernel that does not let it go has what it takes as well.
func (t *TAP) undiscipline(link netlink.Link) {
	none := &netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_ROOT}, QdiscType: "noqueue"}
	_ = t.handle.QdiscReplace(none)
}

// Start does nothing: a TAP receives as soon as it is open.
func (t *TAP) Start() error { return nil }

// Shared tells why the host's frames wait in one queue, whatever their priority; nil where each priority has its own.
func (t *TAP) Shared() error { return t.shared }

// Receive implements Port. Every frame of a host is lossless: it could wait in its queue.
func (t *TAP) Receive(c Class, dst []Frame, maxBytes int) int {
	if c != Lossless {
		return 0
	}
	if t.head == t.count {
		t.head, t.next, t.count = 0, 0, 0
		t.fill()
	}
	n := 0
	for octets := 0; t.next < t.count && n < len(dst); n++ {
		f := &t.frames[t.next]
		if octets += len(f.Data); n > 0 && octets > maxBytes {
			break
		}
		dst[n] = *f
		dst[n].Vnet, _ = frame.DecodeVnetHeader(f.vnet)
		t.next++
	}
	return n
}

// QueueBudget implements Port.
func (t *TAP) QueueBudget() int { return tapTurn }

// fill reads from every queue that is ready and not paused, a little of each.
func (t *TAP) fill() {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(t.epoll), uintptr(unsafe.Pointer(&t.ready[0])), tapQueues, 0, 0, 0)
	if errno != 0 {
		return
	}
	free := t.arena
	t.turn++
	for i := range int(n) {
		e := &t.ready[(t.turn+i)%int(n)] // epoll tells them in the same order every time
		most := t.count + max(1, (tapFrames-t.count)/(int(n)-i))
		for octets := 0; octets < tapTurn && t.count < most && len(free) >= frame.TagOctets+MaxFrame; {
			used := t.read(int(e.Fd), free)
			if used == 0 {
				break
			}
			octets += used
			free = free[used:]
		}
	}
}

// read makes the next frame of a queue the last one of those read, in memory b, and returns how much of that it takes; 0 where
// none waits. It is a system call a frame: a TAP has no recvmmsg, and io_uring and vhost-net, which take several at once, are kept from
// most containers. TCP hands over up to 64 KiB in one.
func (t *TAP) read(queue int, b []byte) int {
	if t.waits(queue) {
		return 0
	}
	vnet := &t.vnet[t.count]
	parts := [2]unix.Iovec{
		{Base: &vnet[0], Len: uint64(len(vnet))},
		{Base: &b[frame.TagOctets], Len: MaxFrame},
	}
	n, _, errno := syscall.RawSyscall(unix.SYS_READV, uintptr(t.queues[queue]), uintptr(unsafe.Pointer(&parts[0])), uintptr(len(parts)))
	if errno != 0 || int(n) <= len(vnet) {
		return 0
	}
	used := frame.TagOctets + int(n) - len(vnet)
	// Nobody has noted when the host sent it: it counts as having come with its burst.
	f := Frame{Data: b[frame.TagOctets:used:used], Stamp: math.MaxInt64, vnet: vnet[:]}
	rule := t.rule.Load()
	if len(t.queues) == 1 {
		queue = rule.priority(f.Data)
	}
	if tci, ok := rule.tag(queue, f.Data); ok {
		v, _ := frame.DecodeVnetHeader(f.vnet)
		v = v.Shift(frame.TagOctets)
		v.Encode(f.vnet)
		f.Data = b[frame.InsertTag(b, frame.TagOctets, frame.TypeVLAN, tci):used:used]
	}
	t.frames[t.count] = f
	t.count++
	return used
}

// waits tells whether a queue must not be read.
func (t *TAP) waits(queue int) bool { return t.mask(queue)&uint8(t.paused.Load()) != 0 }

// mask returns the priorities that wait in a queue.
func (t *TAP) mask(queue int) uint8 {
	if len(t.queues) == 1 {
		return 0xff
	}
	return 1 << queue
}

// Release implements Port.
func (t *TAP) Release(_ Class, n int) { t.head += n }

// Rewind implements Port.
func (t *TAP) Rewind(Class) { t.next = t.head }

// BacklogExceeds implements Port. What waits in the kernel is no danger: the host waits with it.
func (t *TAP) BacklogExceeds(Class, int) bool { return false }

// Backlog implements Port.
func (t *TAP) Backlog(Class) Backlog { return Backlog{} }

// Slots implements Port.
func (t *TAP) Slots(Class) int { return tapFrames }

// Control implements Port: a host's stack sends no MAC Control frames.
func (t *TAP) Control() ([]byte, int64) { return nil, 0 }

// ControlDone implements Port.
func (t *TAP) ControlDone() {}

// Send implements Port.
func (t *TAP) Send(b *Batch) (int, error) {
	for i := range b.n {
		m := &b.msgs[i].hdr
		_, _, errno := syscall.RawSyscall(unix.SYS_WRITEV, uintptr(t.queues[0]), uintptr(unsafe.Pointer(m.Iov)), uintptr(m.Iovlen))
		if errno != 0 {
			return i, tapError(errno)
		}
	}
	return b.n, nil
}

func tapError(errno syscall.Errno) error {
	switch errno {
	case unix.EIO, unix.EBADFD:
		return ErrDown
	case unix.ENOBUFS:
		return ErrAgain
	}
	return sendError(errno)
}

// SendStamped implements Port. A host has no use for measurement frames.
func (t *TAP) SendStamped([]byte) (int64, error) { return 0, nil }

// SendControl implements Port: what the host must not send now stays in its queues.
func (t *TAP) SendControl(b []byte) error {
	if h, _ := frame.Parse(b); h.EtherType != frame.TypeMACControl {
		return nil // a host knows nothing of the switch's other frames
	}
	return t.pause(t.held(b, uint8(t.paused.Load())))
}

// ClearPause lets the host send all priorities. The switch tells anew what it must not: nobody else would end a pause of which the switch
// thinks that the peer has forgotten it.
func (t *TAP) ClearPause() error { return t.pause(0) }

func (t *TAP) pause(is uint8) error {
	was := uint8(t.paused.Swap(uint32(is)))
	for q, fd := range t.queues {
		m := t.mask(q)
		if (was&m != 0) == (is&m != 0) {
			continue
		}
		e := unix.EpollEvent{Fd: int32(q)}
		if is&m == 0 {
			e.Events = unix.EPOLLIN
		}
		if err := unix.EpollCtl(t.epoll, unix.EPOLL_CTL_MOD, fd, &e); err != nil {
			return err
		}
	}
	return nil
}

// Steer implements Port. The queues follow from the QueueRule, and all of them are lossless.
func (t *TAP) Steer([]bpf.RawInstruction) error { return nil }

// Descriptors implements Port.
func (t *TAP) Descriptors(fds []int32, what Work) []int32 {
	if what&WorkLossless != 0 {
		fds = append(fds, int32(t.epoll))
	}
	return fds
}

// Losses implements Port. What the host loses before a frame is read is not the switch's: see HostDrops.
func (t *TAP) Losses(Class) uint64 { return 0 }

// ControlLosses implements Port.
func (t *TAP) ControlLosses() uint64 { return 0 }

// HostDrops returns the frames that the kernel had dropped because a queue towards the switch was full, when RefreshHostDrops asked last.
func (t *TAP) HostDrops() uint64 { return t.drops.Load() }

// RefreshHostDrops asks the kernel for HostDrops. Where other interfaces come and go, the answer may take half a second.
func (t *TAP) RefreshHostDrops() {
	t.asking.Lock()
	defer t.asking.Unlock()
	if t.closed {
		return
	}
	if link, err := t.handle.LinkByIndex(t.index); err == nil && link.Attrs().Statistics != nil {
		t.drops.Store(link.Attrs().Statistics.TxDropped)
	}
}

// Bound tells whether the interface still exists.
func (t *TAP) Bound() bool {
	r, err := unix.NewIfreq(t.name)
	return err == nil && unix.IoctlIfreq(t.queues[0], unix.TUNGETIFF, r) == nil
}

// ClearError implements Port.
func (t *TAP) ClearError() {}

// Close implements Port. The interface is gone with it.
func (t *TAP) Close() error {
	t.asking.Lock()
	defer t.asking.Unlock()
	t.closed = true
	var errs []error
	if t.handle != nil {
		t.handle.Close()
	}
	if t.epoll >= 0 {
		errs = append(errs, unix.Close(t.epoll))
	}
	for _, fd := range t.queues {
		errs = append(errs, unix.Close(fd))
	}
	return errors.Join(errs...)
}
