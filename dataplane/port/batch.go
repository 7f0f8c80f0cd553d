package port

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

// BatchFrames is the largest number of frames that one send call takes.
const BatchFrames = 64

// maxParts bounds the scatter list of a batch. The kernel takes 1024 parts a frame (UIO_MAXIOV). A batch whose list is
// full is sent as it is.
const maxParts = 4096

// mmsghdr is struct mmsghdr of recvmmsg(2) and sendmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [4]byte
}

// copyLimit is the length up to which a frame is copied behind its header. The kernel has a faster path for a message
// of one part, which saves more than the copy costs.
const copyLimit = 256

// A Batch is a list of frames for one send call. Each frame is a virtio_net_hdr and one or more parts. So a frame may
// lie in a ring slot or in a chain of buffer cells, and a VLAN tag may be inserted or left out without moving octets.
// A Batch is reused and never allocates after NewBatch.
type Batch struct {
	n     int
	parts int
	first int // the first part of the frame that is not complete

	needsOffload bool // the kernel has to complete a checksum or to segment a frame
	msgs         [BatchFrames]mmsghdr
	head         [BatchFrames][frame.VnetHeaderOctets + copyLimit]byte
	tags         [BatchFrames][frame.TagOctets]byte
	iov          [maxParts]unix.Iovec
}

// NewBatch returns an empty batch. It must not be copied.
func NewBatch() *Batch { return new(Batch) }

// Reset empties the batch.
func (b *Batch) Reset() { b.n, b.parts, b.needsOffload = 0, 0, false }

// Len returns the number of complete frames.
func (b *Batch) Len() int { return b.n }

// Full tells whether a frame of up to need parts does not fit any more.
func (b *Batch) Full(need int) bool { return b.n == BatchFrames || b.parts+need+1 > maxParts }

// Begin starts a frame with segmentation and checksum state v. Part and End complete it.
func (b *Batch) Begin(v *frame.VnetHeader) {
	v.Encode(b.head[b.n][:])
	b.needsOffload = b.needsOffload || v.Flags&frame.VnetNeedsCsum != 0 || v.GSOType != frame.GSONone
	b.msgs[b.n].hdr.Iov = &b.iov[b.parts]
	b.first = b.parts
	b.addPart(&b.head[b.n][0], frame.VnetHeaderOctets)
}

// Part appends octets to the frame that Begin started. p must stay valid and unchanged until the batch is sent.
func (b *Batch) Part(p []byte) {
	if len(p) > 0 {
		b.addPart(&p[0], len(p))
	}
}

// Tag appends an 802.1Q tag.
func (b *Batch) Tag(tci uint16) {
	t := &b.tags[b.n]
	binary.BigEndian.PutUint16(t[:], frame.TypeVLAN)
	binary.BigEndian.PutUint16(t[2:], tci)
	b.addPart(&t[0], frame.TagOctets)
}

// End completes the frame.
func (b *Batch) End() {
	b.mergeParts()
	b.msgs[b.n].hdr.Iovlen = uint64(b.parts - b.first)
	b.n++
}

// mergeParts copies a short frame behind its header, so that it is one part.
func (b *Batch) mergeParts() {
	head := &b.head[b.n]
	end := frame.VnetHeaderOctets
	for _, v := range b.iov[b.first+1 : b.parts] {
		if v.Len > uint64(len(head)-end) {
			return
		}
		end += copy(head[end:], unsafe.Slice(v.Base, v.Len))
	}
	b.iov[b.first].Len = uint64(end)
	b.parts = b.first + 1
}

// Frame appends the octets of frame i, without its virtio_net_hdr, to dst.
func (b *Batch) Frame(i int, dst []byte) []byte {
	from, n := len(dst), b.Length(i)
	dst = slices.Grow(dst, n)[:from+n]
	b.Peek(i, dst[from:])
	return dst
}

// Vnet returns the segmentation and checksum state of frame i.
func (b *Batch) Vnet(i int) frame.VnetHeader {
	v, _ := frame.DecodeVnetHeader(b.head[i][:])
	return v
}

func (b *Batch) addPart(p *byte, n int) {
	b.iov[b.parts] = unix.Iovec{Base: p, Len: uint64(n)}
	b.parts++
}

// messageParts returns the parts of frame i, the first of which begins with its virtio_net_hdr.
func (b *Batch) messageParts(i int) []unix.Iovec {
	return unsafe.Slice(b.msgs[i].hdr.Iov, b.msgs[i].hdr.Iovlen)
}

// Length returns the octets of frame i, without its virtio_net_hdr.
func (b *Batch) Length(i int) int {
	n := -frame.VnetHeaderOctets
	for _, v := range b.messageParts(i) {
		n += int(v.Len)
	}
	return n
}

// Peek copies the first octets of frame i, without its virtio_net_hdr, to dst, and returns how many. The parts of the
// frame must still be valid.
func (b *Batch) Peek(i int, dst []byte) (n int) {
	skip := frame.VnetHeaderOctets
	for _, v := range b.messageParts(i) {
		n += copy(dst[n:], unsafe.Slice(v.Base, v.Len)[skip:])
		skip = 0
	}
	return n
}
