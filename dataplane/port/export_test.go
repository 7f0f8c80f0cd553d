package port

import (
	"bytes"
	"errors"
	"io"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// SwitchARP is switchARP.
var SwitchARP = switchARP

// ExplainTun is explainTun.
var ExplainTun = explainTun

// replace gives a variable of this package another value. restore ends that.
func replace[T any](variable *T, value T) (restore func()) {
	before := *variable
	*variable = value
	return func() { *variable = before }
}

// ReplaceNICFlowControl replaces disableNICFlowControl. restore ends that.
func ReplaceNICFlowControl(f func(name string) error) (restore func()) {
	return replace(&disableNICFlowControl, f)
}

// WithoutBPF makes the kernel refuse programs. restore ends that.
func WithoutBPF() (restore func()) {
	return replace(&newProgram, func(*ebpf.ProgramSpec) (*ebpf.Program, error) {
		return nil, errors.New("operation not permitted")
	})
}

// WithTUN gives the TUN driver other flags. restore ends that.
func WithTUN(features uint32, err error) (restore func()) {
	return replace(&tunFeatures, func(int) (uint32, error) { return features, err })
}

// WithoutPacketOption makes the kernel refuse an option of packet sockets. restore ends that.
func WithoutPacketOption(option int, err error) (restore func()) {
	before := setPacketOption
	return replace(&setPacketOption, func(fd, o, value int) error {
		if o == option && value != 0 {
			return err
		}
		return before(fd, o, value)
	})
}

// SentByXDP returns how many frames were given to the AF_XDP socket.
func SentByXDP(p *AFPacket) uint32 {
	if p.xdpTx == nil {
		return 0
	}
	return p.xdpTx.posted
}

// CancelledXDP returns how many frames of the AF_XDP socket the kernel skipped, by its own count.
func CancelledXDP(p *AFPacket) (int, error) {
	var st unix.XDPStatistics
	size := uint32(unsafe.Sizeof(st))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(p.xdpTx.fd), unix.SOL_XDP, unix.XDP_STATISTICS,
		uintptr(unsafe.Pointer(&st)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0, errno
	}
	return int(st.Tx_invalid_descs), nil
}

// ShrinkXDPBuffer makes the send buffer of the AF_XDP socket hold no more than that many octets.
func ShrinkXDPBuffer(p *AFPacket, octets int) {
	setBuffer(p.xdpTx.fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, octets)
}

// SlowDrops makes the looks of a sleep take about d, and returns how long one took.
func SlowDrops(w *Poller, d time.Duration) time.Duration {
	look := func(n int) time.Duration {
		drops := make([]Drops, n)
		for i := range drops {
			drops[i].fd = int32(w.event) // no socket
		}
		w.WatchDrops(drops)
		from := time.Now()
		readDrops(w.drops)
		return time.Since(from)
	}
	const some = 100_000
	return look(some * int(d/max(1, look(some))+1))
}

// ReadTaps reads a list of packet sockets as the kernel writes it, and returns the inodes of those that see all frames.
func ReadTaps(l *PacketSockets, list io.ReaderAt) (inodes []uint64) {
	if l.readTable(list) != nil {
		return nil
	}
	for line := range bytes.Lines(l.table) {
		if t, ok := parseTap(line); ok {
			inodes = append(inodes, t.inode)
		}
	}
	return inodes
}

// RingMemory is the memory of all rings, in octets.
func (p *AFPacket) RingMemory() (octets int) {
	for _, r := range p.rings {
		octets += len(r.mem)
	}
	return octets
}

// FrameMemory is the memory for frames beside the slots of the data rings of a class, in octets.
func (p *AFPacket) FrameMemory(c Class) (octets int) {
	for _, r := range p.classes[c].rings {
		octets += len(r.small)
		for _, b := range r.oversize.buffers {
			octets += len(b.b)
		}
	}
	return octets
}

// InNewest reports whether the oldest frame of a class lies in one of the newest rings.
func InNewest(p *AFPacket, class Class) bool {
	l := &p.classes[class]
	first, _ := l.oldest()
	return first >= l.newest
}
