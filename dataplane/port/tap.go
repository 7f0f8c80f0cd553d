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

// A TAP has a queue for each priority, so that one priority can wait while the others go on.
const tapQueues = 8

// Limits of what is read from a TAP at once.
const (
	tapFrames = 64 // of all queues
	tapArena  = 4 * (frame.TagOctets + MaxFrame)
	// octets of one queue, with room for tags, before another queue is read; the last frame may exceed it
	tapQueueBudget = 16 << 10
	// TAPBurst is the largest number of octets of a priority that Receive still hands over after SendControl has paused
	// the priority: one burst.
	TAPBurst = tapQueueBudget + MaxFrame
	// tapQueueLength is how many frames wait in each queue before the kernel drops frames. TCP fills a queue with GSO
	// frames, at most a window for each connection.
	tapQueueLength = 1 << 16
)

// TAPConfig is the setup of the host's side of a port.
type TAPConfig struct {
	Interface string // the name of the new interface; no interface may have it yet
	Netns     string // name, path or pid:N of its network namespace; "" is the daemon's own
	TAPSettings
	// Held returns which priorities must wait after MAC Control frame b if the priorities in was had to wait before.
	Held func(b []byte, was uint8) uint8
}

// A TAP is a Port towards the stack of its own host. The kernel keeps the frames of each priority in a queue of their
// own. There is no wire to the host, so the TAP itself obeys the MAC Control frames sent to the host: it does not read
// a paused priority until the pause ends. Meanwhile the frames of the host wait in the kernel.
type TAP struct {
	name, netns string
	index       int
	queues      []int // one for each priority, or a single one
	shared      error // the reason why there is a single queue
	epoll       int
	handle      *netlink.Handle // in the interface's namespace
	settings    TAPSettings
	partial     bool // a change of the settings has failed half-way
	held        func(b []byte, was uint8) uint8
	drops       atomic.Uint64 // as RefreshHostDrops read them last
	dropsMu     sync.Mutex    // serialises RefreshHostDrops and Close
	closed      bool          // guarded by dropsMu
	paused      atomic.Uint32 // priorities

	// The rest belongs to the receive task.
	head, next, count int // oldest frame, next frame to hand over, number of frames read
	frames            [tapFrames]Frame
	vnet              [tapFrames][frame.VnetHeaderOctets]byte
	arena             []byte
	ready             [tapQueues]unix.EpollEvent
	turn              int // rotates the order of the ready queues
	rule              atomic.Pointer[QueueRule]
}

var _ Port = (*TAP)(nil)

// OpenTAP makes a TAP and its interface, which goes when the TAP is closed. It sets the addresses and sets the
// interface up.
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
		if err := unix.EpollCtl(t.epoll, unix.EPOLL_CTL_ADD, fd,
			&unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(q)}); err != nil {
			return fmt.Errorf("epoll: %w", err)
		}
	}
	if t.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	link, err := t.handle.LinkByName(t.name)
	if err != nil {
		return lookupError(t.name, err)
	}
	t.index = link.Attrs().Index
	if err := t.handle.LinkSetTxQLen(link, tapQueueLength); err != nil {
		return fmt.Errorf("set the length of its queues: %w", err)
	}
	t.removeQdisc(link)
	if err := t.apply(link, s); err != nil {
		return err
	}
	if err := t.handle.LinkSetUp(link); err != nil {
		return fmt.Errorf("set it up: %w", err)
	}
	return nil
}

// removeQdisc removes the kernel's default queueing discipline. No frame ever waits in it, since the TUN driver drops
// what does not fit its own queue and never stops the stack. But the discipline reserves three bands as long as the
// queue for each of a TAP's up to 256 queues: 400 MB, and a second to clear them. A kernel that refuses the removal
// has the memory.
func (t *TAP) removeQdisc(link netlink.Link) {
	none := &netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index,
		Parent: netlink.HANDLE_ROOT}, QdiscType: "noqueue"}
	_ = t.handle.QdiscReplace(none)
}

// Start does nothing: a TAP receives as soon as it is open.
func (t *TAP) Start() error { return nil }

// Shared returns the reason why the host's frames wait in one queue, or nil if each priority has its own.
func (t *TAP) Shared() error { return t.shared }

// Receive implements Port. Every frame of a host is lossless, since it can wait in its queue.
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
func (t *TAP) QueueBudget() int { return tapQueueBudget }

// fill reads a little from every queue that is ready and not paused.
func (t *TAP) fill() {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(t.epoll), uintptr(unsafe.Pointer(&t.ready[0])),
		tapQueues, 0, 0, 0)
	if errno != 0 {
		return
	}
	free := t.arena
	t.turn++
	for i := range int(n) {
		e := &t.ready[(t.turn+i)%int(n)] // epoll always returns the queues in the same order
		most := t.count + max(1, (tapFrames-t.count)/(int(n)-i))
		for octets := 0; octets < tapQueueBudget && t.count < most && len(free) >= frame.TagOctets+MaxFrame; {
			used := t.read(int(e.Fd), free)
			if used == 0 {
				break
			}
			octets += used
			free = free[used:]
		}
	}
}

// read appends the next frame of a queue to t.frames, in memory b, and returns how much of b it takes, or 0 if no frame
// waits. It makes a system call for each frame: a TAP has no recvmmsg, and most containers may not use io_uring or
// vhost-net, which take several frames at once. TCP hands over up to 64 KiB in one frame.
func (t *TAP) read(queue int, b []byte) int {
	if t.queuePaused(queue) {
		return 0
	}
	vnet := &t.vnet[t.count]
	parts := [2]unix.Iovec{{Base: &vnet[0], Len: uint64(len(vnet))}, {Base: &b[frame.TagOctets], Len: MaxFrame}}
	n, _, errno := syscall.RawSyscall(unix.SYS_READV, uintptr(t.queues[queue]), uintptr(unsafe.Pointer(&parts[0])),
		uintptr(len(parts)))
	if errno != 0 || int(n) <= len(vnet) {
		return 0
	}
	used := frame.TagOctets + int(n) - len(vnet)
	// There is no stamp of when the host sent the frame: it counts as having arrived with its burst.
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

// queuePaused tells whether a queue must not be read.
func (t *TAP) queuePaused(queue int) bool { return t.priorities(queue)&uint8(t.paused.Load()) != 0 }

// priorities returns the priorities that wait in a queue.
func (t *TAP) priorities(queue int) uint8 {
	if len(t.queues) == 1 {
		return 0xff
	}
	return 1 << queue
}

// Release implements Port.
func (t *TAP) Release(_ Class, n int) { t.head += n }

// Rewind implements Port.
func (t *TAP) Rewind(Class) { t.next = t.head }

// BacklogExceeds implements Port. Frames that wait in the kernel cannot be lost: the host waits with them.
func (t *TAP) BacklogExceeds(Class, int) bool { return false }

// Backlog implements Port. It counts the frames that were read: they go with the TAP.
func (t *TAP) Backlog(c Class) (b Backlog) {
	if c != Lossless {
		return b
	}
	for _, f := range t.frames[t.head:t.count] {
		b.Frames++
		b.Octets += len(f.Data)
	}
	return b
}

// Slots implements Port.
func (t *TAP) Slots(Class) Slots { return Slots{Full: tapFrames} }

// Octets implements Port.
func (t *TAP) Octets(Class) int { return tapFrames * MaxFrame }

// Control implements Port. A host's stack sends no MAC Control frames.
func (t *TAP) Control() ([]byte, int64) { return nil, 0 }

// ControlDone implements Port.
func (t *TAP) ControlDone() {}

// Send implements Port.
func (t *TAP) Send(b *Batch) (int, error) {
	for i := range b.n {
		m := &b.msgs[i].hdr
		_, _, errno := syscall.RawSyscall(unix.SYS_WRITEV, uintptr(t.queues[0]), uintptr(unsafe.Pointer(m.Iov)),
			uintptr(m.Iovlen))
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

// SendControl implements Port. It obeys the pause: priorities that the host must not send stay in their queues.
func (t *TAP) SendControl(b []byte) error {
	if h, _ := frame.Parse(b); h.EtherType != frame.TypeMACControl {
		return nil // the host does not understand the switch's other frames
	}
	return t.pause(t.held(b, uint8(t.paused.Load())))
}

// ClearPause lets the host send all priorities. The switch calls it when it considers the peer's pauses forgotten,
// since no other call would end them, and then pauses anew what must wait.
func (t *TAP) ClearPause() error { return t.pause(0) }

func (t *TAP) pause(is uint8) error {
	was := uint8(t.paused.Swap(uint32(is)))
	for q, fd := range t.queues {
		m := t.priorities(q)
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

// Losses implements Port. Frames that the host loses before they are read are not the switch's losses: see HostDrops.
func (t *TAP) Losses(Class) uint64 { return 0 }

// ControlLosses implements Port.
func (t *TAP) ControlLosses() uint64 { return 0 }

// HostDrops returns the frames that the kernel had dropped because a queue towards the switch was full, as of the last
// RefreshHostDrops.
func (t *TAP) HostDrops() uint64 { return t.drops.Load() }

// RefreshHostDrops reads HostDrops from the kernel. The answer may take half a second while other interfaces come and
// go.
func (t *TAP) RefreshHostDrops() {
	t.dropsMu.Lock()
	defer t.dropsMu.Unlock()
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

// Close implements Port. The interface goes with it.
func (t *TAP) Close() error {
	t.dropsMu.Lock()
	defer t.dropsMu.Unlock()
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
