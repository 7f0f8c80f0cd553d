package port

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

// Slots are small so that the ring stays in the cache. A GSO or jumbo frame that does not fit is marked TP_STATUS_COPY
// by the kernel and queued whole on the same socket, in slot order (PACKET_COPY_THRESH). Such a frame is fetched into
// one of a few buffers, which belongs to its slot until the slot is released.
//
// Long frames have a ring of their own, with slots that hold nothing but the frame's arrival. A GSO frame may be of a
// kind that a virtio_net_hdr cannot express (SCTP, UFO and others, in tunnels too). A kernel that has to write such a
// header into a slot of version 2 marks the ring's head as taken for ever (tpacket_rcv up to 6.18 at least). But when a
// process fetches such a frame, the kernel only refuses that one.
const (
	oversizeBuffers = 4
	oversizeLen     = frame.TagOctets + frame.VnetHeaderOctets + MaxFrame
	// oversizeQueue is the least size of the socket's receive buffer, which is otherwise as large as the ring. It holds
	// about forty GSO frames with the kernel's book-keeping.
	oversizeQueue = 4 << 20
	oversizeTries = 64 // receive calls until the queue is in step with the ring
)

type oversize struct {
	seen    bool // an oversize frame has come since the queue was empty
	buffers [oversizeBuffers]oversizeBuffer
}

type oversizeBuffer struct {
	used bool
	slot int
	at   int // where the frame starts, behind its virtio_net_hdr
	end  int
	b    []byte

	octets int // of a frame that b is too short for; else 0
}

// readOversize hands over the frame of slot r.next from the socket's queue.
func (r *ring) readOversize(s []byte, st uint32, f *Frame) bool {
	r.oversize.seen = true
	o := r.oversize.find(r.next)
	if o == nil {
		return false
	}
	if !o.used && !r.fetch(o, s, st) {
		header(s).Status = st &^ unix.TP_STATUS_COPY // the frame is lost and must not be looked for again
		f.Truncated = true
		return true
	}
	f.Data, f.Octets = o.b[o.at:o.end], o.octets
	if f.Octets == 0 {
		f.vnet = o.b[o.at-frame.VnetHeaderOctets : o.at]
		f.Vnet, _ = frame.DecodeVnetHeader(f.vnet)
	}
	return true
}

// find returns the buffer that holds the frame of slot, or a free one, or nil.
func (o *oversize) find(slot int) (free *oversizeBuffer) {
	for i := range o.buffers {
		switch b := &o.buffers[i]; {
		case b.used && b.slot == slot:
			return b
		case !b.used:
			free = b
		}
	}
	return free
}

// fetch reads the frame of slot s from the socket's queue into o, and puts the slot's tag into it.
func (r *ring) fetch(o *oversizeBuffer, s []byte, st uint32) bool {
	if o.b == nil {
		o.b = make([]byte, oversizeLen)
	}
	b, n := o.b[frame.TagOctets:], frame.VnetHeaderOctets+int(header(s).Len)
	fetched, refused := r.receiveQueued(b, n)
	if !fetched {
		return false
	}
	o.used, o.slot, o.at, o.end = true, r.next, frame.TagOctets+frame.VnetHeaderOctets, frame.TagOctets+n
	if refused {
		clear(o.b[:o.at])
		o.end = o.at
		return true
	}
	if st&unix.TP_STATUS_VLAN_VALID != 0 {
		v, _ := frame.DecodeVnetHeader(b)
		o.at = insertTag(o.b, o.at, s, st)
		v.Shift(frame.TagOctets).Encode(o.b)
	}
	if o.octets = 0; o.end > len(o.b) {
		o.octets, o.end = o.end-o.at, len(o.b)
	}
	return true
}

// queued returns the octets of kernel memory that the frames in the socket's queue take, and the limit. It makes a
// system call, but only after an oversize frame, or while one waits in a ring that has no others.
func (r *ring) queued() (octets, limit int) {
	if !r.oversize.seen && (r.frameSize > 0 || !r.filled(r.head)) {
		return 0, 1
	}
	var info [unix.SK_MEMINFO_VARS]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(r.fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info[0])), uintptr(unsafe.Pointer(&size)), 0)
	octets = int(info[unix.SK_MEMINFO_RMEM_ALLOC])
	r.oversize.seen = errno == 0 && octets > 0
	return octets, max(1, int(info[unix.SK_MEMINFO_RCVBUF]))
}

// receiveQueued reads the oldest queued frame that has n octets with its virtio_net_hdr, as much of it as b holds. The
// kernel may have refused to hand it over. Frames of other lengths belong to slots that were given up and are dropped,
// so that no other slot gets them. receiveQueued also takes a pending error of a link that went down.
func (r *ring) receiveQueued(b []byte, n int) (fetched, refused bool) {
	for range oversizeTries {
		got, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(r.fd), uintptr(unsafe.Pointer(&b[0])),
			uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_TRUNC, 0, 0)
		switch {
		case errno == unix.EAGAIN:
			return false, false
		case errno == unix.EINVAL: // no virtio_net_hdr expresses the frame
			return true, true
		case errno == 0 && int(got) == n && n >= frame.VnetHeaderOctets+frame.HeaderOctets:
			return true, false
		}
	}
	return false, false
}

// release frees the buffer of slot, if it has one.
func (o *oversize) release(slot int) {
	for i := range o.buffers {
		if b := &o.buffers[i]; b.slot == slot {
			b.used = false
		}
	}
}
