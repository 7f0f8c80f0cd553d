package port

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

// pieces are the parts of frame i, the first of which begins with its virtio_net_hdr.
func (b *Batch) pieces(i int) []unix.Iovec {
	return unsafe.Slice(b.msgs[i].hdr.Iov, b.msgs[i].hdr.Iovlen)
}

// Length returns the octets of frame i, without its virtio_net_hdr.
func (b *Batch) Length(i int) int {
	n := -frame.VnetHeaderOctets
	for _, v := range b.pieces(i) {
		n += int(v.Len)
	}
	return n
}

// Peek copies the first octets of frame i, without its virtio_net_hdr, to dst, and returns how many. What Part was given for
// it has to be valid.
func (b *Batch) Peek(i int, dst []byte) (n int) {
	skip := frame.VnetHeaderOctets
	for _, v := range b.pieces(i) {
		n += copy(dst[n:], unsafe.Slice(v.Base, v.Len)[skip:])
		skip = 0
	}
	return n
}
