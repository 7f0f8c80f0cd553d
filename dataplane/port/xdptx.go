package port

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

// An xdpTx is a second path out of a veth: an AF_XDP socket in copy mode that only sends. The kernel makes an skb of
// each descriptor and hands the skb to the driver. A packet socket also passes a message header, the queueing
// discipline and the taps, which is more than a third of the cost of sending a short frame. An xdpTx needs no XDP
// program and leaves the interface as it is.
//
// It carries only plain frames, since there is no virtio_net_hdr. Frames of both paths are in the peer's queue when
// the send call returns, so that the order is kept when a burst takes one path and the next burst the other. The
// exception is a peer that gives the frames of one path to its NAPI and not those of the other, as with
// rx-udp-gro-forwarding or rx-gro-list.
//
// The kernel keeps the interface until it has freed every skb that was sent this way, also after the socket is closed.
type xdpTx struct {
	fd      int
	index   int
	bound   bool
	on      atomic.Bool            // set by RefreshTxPath, read by prepare
	why     atomic.Pointer[string] // the reason why the socket is not used; "" if it is
	longest atomic.Int32           // octets of a frame without a tag that the interface's MTU allows

	umem      []byte         // a chunk for each frame of a batch
	tx, done  []byte         // the transmit and the completion ring, as mapped
	descs     []unix.XDPDesc // of the transmit ring
	producer  *uint32        // of the transmit ring: written by this side
	consumer  *uint32        // of the transmit ring: written by the kernel
	completed *uint32        // producer of the completion ring: written by the kernel
	reaped    *uint32        // consumer of the completion ring: written by this side
	posted    uint32         // descriptors ever posted
	cancelled int            // posted descriptors that the kernel has yet to skip
	holdoff   int            // batches that take the packet socket before this socket is tried again
}

// Sizes of an xdpTx. The chunk is the smallest that the kernel takes. The completion ring bounds the number of frames
// that the peer may hold before it frees their skbs.
const (
	xdpChunk      = 2048
	xdpDescs      = 256
	xdpCompletion = 4096
	xdpFill       = 64 // nothing is received, but the kernel wants a fill ring
	xdpHoldoff    = 64 // batches that take the packet socket after a batch that did not leave whole
)

// XDPNeeds is the first kernel with which a port sends by an AF_XDP socket.
const XDPNeeds = "Linux 6.17"

// newXDPTx opens the AF_XDP socket of an interface. RefreshTxPath binds it.
func newXDPTx(index int) (*xdpTx, error) {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open AF_XDP socket: %w", err)
	}
	x := &xdpTx{fd: fd, index: index}
	if err := x.mapRings(); err != nil {
		return nil, errors.Join(err, x.close())
	}
	setBuffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, sendBuffer)
	return x, nil
}

func (x *xdpTx) mapRings() error {
	var err error
	if x.umem, err = unix.Mmap(-1, 0, BatchFrames*xdpChunk, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE); err != nil {
		return fmt.Errorf("map frames: %w", err)
	}
	reg := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(&x.umem[0]))), Len: uint64(len(x.umem)), Size: xdpChunk}
	if _, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(x.fd), unix.SOL_XDP, unix.XDP_UMEM_REG,
		uintptr(unsafe.Pointer(&reg)), unsafe.Sizeof(reg), 0); errno != 0 {
		return fmt.Errorf("lock %d octets of memory for AF_XDP: %w (raise the limit: ulimit -l, LimitMEMLOCK=)",
			len(x.umem), errno)
	}
	for _, ring := range []struct{ opt, n int }{{unix.XDP_UMEM_FILL_RING, xdpFill},
		{unix.XDP_UMEM_COMPLETION_RING, xdpCompletion}, {unix.XDP_TX_RING, xdpDescs}} {
		if err := unix.SetsockoptInt(x.fd, unix.SOL_XDP, ring.opt, ring.n); err != nil {
			return fmt.Errorf("AF_XDP ring %d: %w", ring.opt, err)
		}
	}
	// A kernel that knows this option also reports after every call how many frames left. Older kernels do not.
	if err := unix.SetsockoptInt(x.fd, unix.SOL_XDP, unix.XDP_MAX_TX_SKB_BUDGET, BatchFrames); err != nil {
		return fmt.Errorf("setsockopt XDP_MAX_TX_SKB_BUDGET: %w (needs %s)", err, XDPNeeds)
	}
	var o unix.XDPMmapOffsets
	size := uint32(unsafe.Sizeof(o))
	if _, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(x.fd), unix.SOL_XDP, unix.XDP_MMAP_OFFSETS,
		uintptr(unsafe.Pointer(&o)), uintptr(unsafe.Pointer(&size)), 0); errno != 0 {
		return fmt.Errorf("getsockopt XDP_MMAP_OFFSETS: %w", errno)
	}
	if x.tx, err = x.mapRing(unix.XDP_PGOFF_TX_RING,
		o.Tx.Desc+xdpDescs*uint64(unsafe.Sizeof(unix.XDPDesc{}))); err != nil {
		return err
	}
	if x.done, err = x.mapRing(unix.XDP_UMEM_PGOFF_COMPLETION_RING, o.Cr.Desc+xdpCompletion*8); err != nil {
		return err
	}
	x.producer, x.consumer = shared(x.tx, o.Tx.Producer), shared(x.tx, o.Tx.Consumer)
	x.completed, x.reaped = shared(x.done, o.Cr.Producer), shared(x.done, o.Cr.Consumer)
	x.descs = unsafe.Slice((*unix.XDPDesc)(unsafe.Pointer(&x.tx[o.Tx.Desc])), xdpDescs)
	return nil
}

func (x *xdpTx) mapRing(offset int64, size uint64) ([]byte, error) {
	b, err := unix.Mmap(x.fd, offset, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map AF_XDP ring: %w", err)
	}
	return b, nil
}

func shared(b []byte, offset uint64) *uint32 { return (*uint32)(unsafe.Pointer(&b[offset])) }

// prepare copies the frames of a batch into the UMEM and describes them. It returns false if the batch needs the packet
// socket.
func (x *xdpTx) prepare(b *Batch) bool {
	if b.needsOffload || !x.on.Load() || !x.ready() {
		return false
	}
	for i := range b.n {
		at, n := i*xdpChunk, b.Length(i)
		if n > xdpChunk || b.Peek(i, x.umem[at:at+xdpChunk]) == 0 || n > x.limit(x.umem[at:]) {
			return false
		}
		x.descs[(x.posted+uint32(i))%xdpDescs] = unix.XDPDesc{Addr: uint64(at), Len: uint32(n)}
	}
	return true
}

// limit returns how long the frame at the start of b may be. For a longer frame the packet socket returns the error.
func (x *xdpTx) limit(b []byte) int {
	n := int(x.longest.Load())
	if binary.BigEndian.Uint16(b[12:]) == frame.TypeVLAN {
		n += frame.TagOctets
	}
	return n
}

// send hands the n prepared frames to the kernel and returns how many left. dropped means that the link dropped the
// next one.
func (x *xdpTx) send(n int) (sent int, dropped bool) {
	begun := x.posted
	x.posted += uint32(n)
	atomic.StoreUint32(x.producer, x.posted)
	errno := x.kick()
	if errno == 0 {
		return n, false
	}
	done := max(0, int(int32(atomic.LoadUint32(x.consumer)-begun)))
	sent = done
	if dropped = errno == unix.EBUSY; dropped {
		done = max(1, done) // the kernel may not have counted the dropped frame yet if no frame left before it
		sent = done - 1
	}
	x.cancel(n - done)
	return sent, dropped
}

// kick makes the kernel send what is posted, and takes back the completed chunks.
func (x *xdpTx) kick() syscall.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(x.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	atomic.StoreUint32(x.reaped, atomic.LoadUint32(x.completed))
	return errno
}

// cancel makes the last n posted descriptors invalid, so that the kernel skips them. Their frames leave by the packet
// socket, or later.
func (x *xdpTx) cancel(n int) {
	for i := range n {
		x.descs[(x.posted-1-uint32(i))%xdpDescs] = unix.XDPDesc{Addr: uint64(len(x.umem)), Len: 1}
	}
	x.cancelled, x.holdoff = n, xdpHoldoff
}

// ready tells whether the hold-off is over and the kernel has skipped every cancelled descriptor, one in each call.
func (x *xdpTx) ready() bool {
	if x.holdoff > 0 {
		x.holdoff--
		return false
	}
	for ; x.cancelled > 0; x.cancelled-- {
		if x.kick() != 0 {
			return false
		}
	}
	return true
}

func (x *xdpTx) close() error {
	errs := []error{unix.Close(x.fd)}
	for _, m := range [][]byte{x.tx, x.done, x.umem} {
		if m != nil {
			errs = append(errs, unix.Munmap(m))
		}
	}
	return errors.Join(errs...)
}
