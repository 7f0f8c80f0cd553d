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

// An xdpTx is a second way out of a veth, an AF_XDP socket in copy mode that only sends. The kernel makes an skb of each
// descriptor and hands it to the driver, past the message header, the queueing discipline and the taps that a packet socket
// passes, which is more than a third of what sending a short frame costs. It needs no XDP program and leaves the interface as
// it is.
//
// It takes plain frames alone: there is no virtio_net_hdr. Frames of both ways are in the queue of the other end before the call
// returns, so that they stay in order where one burst goes this way and the next the other. That is not so where the other end
// gives the frames of one way to its NAPI and not those of the other, as with rx-udp-gro-forwarding or rx-gro-list.
//
// The kernel keeps the interface until frames that left this way are taken off their skbs, also when the socket is closed.
type xdpTx struct {
	fd      int
	index   int
	bound   bool
	on      atomic.Bool            // set by RefreshTxPath, read by takes
	why     atomic.Pointer[string] // why it is off
	longest atomic.Int32           // octets of a frame without a tag, as the interface's MTU allows

	area      []byte         // UMEM, a chunk for each frame of a batch
	tx, done  []byte         // the rings, as they are mapped
	descs     []unix.XDPDesc // of the transmit ring
	producer  *uint32        // of the transmit ring: written here
	consumer  *uint32        // written by the kernel
	completed *uint32        // producer of the completion ring: written by the kernel
	reaped    *uint32        // its consumer: written here
	posted    uint32         // descriptors ever posted
	voided    int            // of them, those that the kernel has still to pass over
	rest      int            // batches that take the other way before this one is tried again
}

// Sizes of the xdpTx. A chunk is the smallest that the kernel takes. The completion ring bounds how many frames may be
// with the other end before it takes them off the socket.
const (
	xdpChunk      = 2048
	xdpDescs      = 256
	xdpCompletion = 4096
	xdpFill       = 64 // nothing is received, but a ring for it is asked for
	xdpHoldoff    = 64 // batches after one that did not leave whole
)

// XDPNeeds is the first kernel with which a port sends by an AF_XDP socket.
const XDPNeeds = "Linux 6.17"

// newXDPTx opens the xdpTx of an interface. It works once RefreshTxPath has bound it.
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
	if x.area, err = unix.Mmap(-1, 0, BatchFrames*xdpChunk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE); err != nil {
		return fmt.Errorf("map frames: %w", err)
	}
	reg := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(&x.area[0]))), Len: uint64(len(x.area)), Size: xdpChunk}
	if err := x.set(unix.XDP_UMEM_REG, unsafe.Pointer(&reg), unsafe.Sizeof(reg)); err != nil {
		return fmt.Errorf("lock %d octets of memory for AF_XDP: %w (raise the limit: ulimit -l, LimitMEMLOCK=)", len(x.area), err)
	}
	for _, ring := range []struct{ opt, n int }{{unix.XDP_UMEM_FILL_RING, xdpFill}, {unix.XDP_UMEM_COMPLETION_RING, xdpCompletion}, {unix.XDP_TX_RING, xdpDescs}} {
		if err := unix.SetsockoptInt(x.fd, unix.SOL_XDP, ring.opt, ring.n); err != nil {
			return fmt.Errorf("AF_XDP ring %d: %w", ring.opt, err)
		}
	}
	// A kernel that knows this option also tells after every call how many frames left, which those before do not.
	if err := unix.SetsockoptInt(x.fd, unix.SOL_XDP, unix.XDP_MAX_TX_SKB_BUDGET, BatchFrames); err != nil {
		return fmt.Errorf("setsockopt XDP_MAX_TX_SKB_BUDGET: %w (needs %s)", err, XDPNeeds)
	}
	var o unix.XDPMmapOffsets
	size := uint32(unsafe.Sizeof(o))
	if _, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(x.fd), unix.SOL_XDP, unix.XDP_MMAP_OFFSETS, uintptr(unsafe.Pointer(&o)), uintptr(unsafe.Pointer(&size)), 0); errno != 0 {
		return fmt.Errorf("getsockopt XDP_MMAP_OFFSETS: %w", errno)
	}
	if x.tx, err = x.mapRing(unix.XDP_PGOFF_TX_RING, o.Tx.Desc+xdpDescs*uint64(unsafe.Sizeof(unix.XDPDesc{}))); err != nil {
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

func (x *xdpTx) set(opt int, value unsafe.Pointer, size uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(x.fd), unix.SOL_XDP, uintptr(opt), uintptr(value), size, 0); errno != 0 {
		return errno
	}
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

// takes tells whether a batch can go this way, and describes its frames.
func (x *xdpTx) takes(b *Batch) bool {
	if b.special || !x.on.Load() || !x.ready() {
		return false
	}
	for i := range b.n {
		at := i * xdpChunk
		n := b.copyFrame(i, x.area[at:at+xdpChunk])
		if n == 0 || n > x.limit(x.area[at:]) {
			return false
		}
		x.descs[(x.posted+uint32(i))%xdpDescs] = unix.XDPDesc{Addr: uint64(at), Len: uint32(n)}
	}
	return true
}

// limit is how long the frame at the start of b may be; the packet socket tells why a longer one cannot leave.
func (x *xdpTx) limit(b []byte) int {
	n := int(x.longest.Load())
	if binary.BigEndian.Uint16(b[12:]) == frame.TypeVLAN {
		n += frame.TagOctets
	}
	return n
}

// send hands the n frames that takes has described to the kernel and returns how many left. dropped tells that the link
// dropped the one that follows.
func (x *xdpTx) send(n int) (sent int, dropped bool) {
	begun := x.posted
	x.posted += uint32(n)
	atomic.StoreUint32(x.producer, x.posted)
	errno := x.kick()
	if errno == 0 {
		return n, false
	}
	done := max(0, int(int32(atomic.LoadUint32(x.consumer)-begun)))
	if dropped = errno == unix.EBUSY; dropped {
		done = max(1, done) // where none left before the one that was dropped, the kernel need not count it yet
		sent = done - 1
	} else {
		sent = done
	}
	x.void(n - done)
	return sent, dropped
}

// kick makes the kernel do what is posted, and takes back what it has done with.
func (x *xdpTx) kick() syscall.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(x.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	atomic.StoreUint32(x.reaped, atomic.LoadUint32(x.completed))
	return errno
}

// void makes the last n descriptors posted, of which the kernel knows already, such that it will pass them over: their frames
// leave by the packet socket, or later.
func (x *xdpTx) void(n int) {
	for i := range n {
		x.descs[(x.posted-1-uint32(i))%xdpDescs] = unix.XDPDesc{Addr: uint64(len(x.area)), Len: 1}
	}
	x.voided, x.rest = n, xdpHoldoff
}

// ready tells whether the rest is over and the kernel has passed every voided descriptor over, which it does one a call.
func (x *xdpTx) ready() bool {
	if x.rest > 0 {
		x.rest--
		return false
	}
	for ; x.voided > 0; x.voided-- {
		if x.kick() != 0 {
			return false
		}
	}
	return true
}

func (x *xdpTx) close() error {
	errs := []error{unix.Close(x.fd)}
	for _, m := range [][]byte{x.tx, x.done, x.area} {
		if m != nil {
			errs = append(errs, unix.Munmap(m))
		}
	}
	return errors.Join(errs...)
}
