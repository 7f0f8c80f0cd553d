package port

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

// BatchFrames is the largest number of frames that one send call takes.
const BatchFrames = 64

// maxParts bounds the scatter list of a batch. The kernel takes 1024 parts a frame (UIO_MAXIOV); a batch whose list is
// full is sent as it is.
const maxParts = 4096

// mmsghdr is struct mmsghdr of recvmmsg(2) and sendmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [4]byte
}

// wholeOctets is up to which length a frame is copied behind its header: the kernel takes a message of one part by a shorter way,
// which saves more than the copy costs.
const wholeOctets = 256

// A Batch is a list of frames for one send call. Each frame is a virtio_net_hdr and one or more parts, so that a frame
// may lie in a ring slot or in a chain of buffer cells and a VLAN tag may be put in or left out without moving octets.
// It is used again and again and never allocates after NewBatch.
type Batch struct {
	n     int
	parts int
	begun int // parts before the frame that is not complete

	special bool // the kernel has to do a checksum or segmentation of one
	msgs    [BatchFrames]mmsghdr
	head    [BatchFrames][frame.VnetHeaderOctets + wholeOctets]byte
	tags    [BatchFrames][frame.TagOctets]byte
	iov     [maxParts]unix.Iovec
}

// NewBatch returns an empty batch. It must not be copied.
func NewBatch() *Batch { return new(Batch) }

// Reset empties the batch.
func (b *Batch) Reset() { b.n, b.parts, b.special = 0, 0, false }

// Len returns the number of complete frames.
func (b *Batch) Len() int { return b.n }

// Full tells whether a frame of up to need parts can not be added any more.
func (b *Batch) Full(need int) bool { return b.n == BatchFrames || b.parts+need+1 > maxParts }

// Begin starts a frame with segmentation and checksum state v. Part and End complete it.
func (b *Batch) Begin(v *frame.VnetHeader) {
	v.Encode(b.head[b.n][:])
	b.special = b.special || v.Flags&frame.VnetNeedsCsum != 0 || v.GSOType != frame.GSONone
	b.msgs[b.n].hdr.Iov = &b.iov[b.parts]
	b.begun = b.parts
	b.push(&b.head[b.n][0], frame.VnetHeaderOctets)
}

// Part appends octets to the frame that Begin started. p must stay valid and unchanged until the batch was sent.
func (b *Batch) Part(p []byte) {
	if len(p) > 0 {
		b.push(&p[0], len(p))
	}
}

// Tag appends an 802.1Q tag.
func (b *Batch) Tag(tci uint16) {
	t := &b.tags[b.n]
	binary.BigEndian.PutUint16(t[:], frame.TypeVLAN)
	binary.BigEndian.PutUint16(t[2:], tci)
	b.push(&t[0], frame.TagOctets)
}

// End completes the frame.
func (b *Batch) End() {
	b.join()
	b.msgs[b.n].hdr.Iovlen = uint64(b.parts - b.begun)
	b.n++
}

// join makes a short frame one part.
func (b *Batch) join() {
	head := &b.head[b.n]
	end := frame.VnetHeaderOctets
	for _, v := range b.iov[b.begun+1 : b.parts] {
		if v.Len > uint64(len(head)-end) {
			return
		}
		end += copy(head[end:], unsafe.Slice(v.Base, v.Len))
	}
	b.iov[b.begun].Len = uint64(end)
	b.parts = b.begun + 1
}

// copyFrame copies frame i, without its virtio_net_hdr, to dst and returns its length, 0 where dst is too short.
func (b *Batch) copyFrame(i int, dst []byte) (n int) {
	skip := frame.VnetHeaderOctets
	for _, v := range b.pieces(i) {
		p := unsafe.Slice(v.Base, v.Len)[skip:]
		if n+len(p) > len(dst) {
			return 0
		}
		n += copy(dst[n:], p)
		skip = 0
	}
	return n
}

// Frame appends the octets of frame i, without its virtio_net_hdr, to dst.
func (b *Batch) Frame(i int, dst []byte) []byte {
	skip := frame.VnetHeaderOctets
	for _, v := range b.pieces(i) {
		dst = append(dst, unsafe.Slice(v.Base, v.Len)[skip:]...)
		skip = 0
	}
	return dst
}

// Vnet returns the segmentation and checksum state of frame i.
func (b *Batch) Vnet(i int) frame.VnetHeader {
	v, _ := frame.DecodeVnetHeader(b.head[i][:])
	return v
}

func (b *Batch) push(p *byte, n int) {
	b.iov[b.parts] = unix.Iovec{Base: p, Len: uint64(n)}
	b.parts++
}
