package port

import (
	"fmt"
	"sort"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/frame"
)

const (
	slotReserve = 4        // PACKET_RESERVE: room for the VLAN tag in front of the frame
	slotHeader  = 112      // the most that a slot holds before the frame
	blockSize   = 32 << 10 // the least, and four slots, so that little of a block is left over

	// A slot that has no room for a frame, nor for the virtio_net_hdr before it. The kernel then leaves both out, and
	// all of the frame comes through the queue behind the ring.
	longSlot = 64
)

// A ring is the receive ring of one AF_PACKET socket. The kernel hands slots over in order and gets them back in order.
type ring struct {
	fd        int
	mem       []byte
	frameSize int // longest frame that a slot holds
	slotSize  int
	perBlock  int
	slots     int
	vnet      bool
	all       bool // all frames of the class come by the queue behind the ring

	blockLen int
	head     int           // oldest slot that is not released
	next     int           // next slot to be received
	pending  int           // slots received and not released; tells a full ring from an empty one
	barrier  uint32        // counts releases
	dropped  atomic.Uint32 // frames that a Poller has found to be lost, and drops has not returned
	released uint32        // barrier at the last call of stopped

	small    []byte // copies of small frames that are received and not released, for as many as there were at once
	copies   int
	oversize oversize
}

// A frame of up to smallFrame octets is handed over as a copy with its tag in place. The slot is then only read until
// the kernel gets it back, so that its cache lines need not move between the kernel's CPU and this one. All frames of
// a burst lie side by side for the send call. The copy costs less than moving one such cache line.
const (
	smallSlot  = 256
	smallFrame = smallSlot - frame.TagOctets
)

// mapSlots sets up the receive ring of a socket that is not bound yet, with at least slots slots for frames of up to
// frameSize octets. If vnet is set, a larger frame comes through the oversize queue: each one where frameSize is 0.
func (r *ring) mapSlots(slots, frameSize int, vnet bool) error {
	r.vnet, r.frameSize, r.slotSize = vnet, frameSize, slotOctets(frameSize)
	for _, o := range []struct {
		opt, val int
		name     string
	}{
		{unix.PACKET_VERSION, unix.TPACKET_V2, "PACKET_VERSION"},
		{unix.PACKET_RESERVE, slotReserve, "PACKET_RESERVE"},
		{unix.PACKET_VNET_HDR, boolInt(vnet), "PACKET_VNET_HDR"},
		{unix.PACKET_COPY_THRESH, boolInt(vnet), "PACKET_COPY_THRESH"},
	} {
		if err := setPacketOption(r.fd, o.opt, o.val); err != nil {
			return fmt.Errorf("setsockopt %s: %w", o.name, err)
		}
	}
	block, n := blocks(slots, r.slotSize)
	r.blockLen, r.perBlock = block, block/r.slotSize
	r.slots = n * r.perBlock
	req := unix.TpacketReq{Block_size: uint32(block), Block_nr: uint32(n), Frame_size: uint32(r.slotSize),
		Frame_nr: uint32(r.slots)}
	if errno := blockingRing(r.fd, &req); errno != 0 {
		return fmt.Errorf("receive ring of %d slots of %d octets: %w", r.slots, r.slotSize, errno)
	}
	mem, err := unix.Mmap(r.fd, 0, block*n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("map receive ring of %d octets: %w", block*n, err)
	}
	r.mem = mem
	return nil
}

// SlotOctets is the size of a ring slot for frames of up to frameSize octets.
func SlotOctets(frameSize int) int { return (slotHeader + frameSize + 15) &^ 15 }

// slotOctets is SlotOctets of a ring whose slots may hold no frame (frameSize 0).
func slotOctets(frameSize int) int {
	if frameSize == 0 {
		return longSlot
	}
	return SlotOctets(frameSize)
}

// blocks returns the size of the blocks of a ring of at least slots slots, and their number.
func blocks(slots, slotSize int) (octets, n int) {
	for octets = blockSize; octets < 4*slotSize; {
		octets *= 2
	}
	perBlock := octets / slotSize
	return octets, (slots + perBlock - 1) / perBlock
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *ring) close() error {
	if r == nil || r.mem == nil {
		return nil
	}
	err := unix.Munmap(r.mem)
	r.mem = nil
	return err
}

// slot returns slot i, 0 <= i < slots. The virtio_net_hdr lies directly before the frame.
func (r *ring) slot(i int) []byte {
	block := int(uint32(i) / uint32(r.perBlock)) // a 64-bit division takes twice as long
	off := block*r.blockLen + (i-block*r.perBlock)*r.slotSize
	return r.mem[off : off+r.slotSize : off+r.slotSize]
}

// header returns the header of slot s. The kernel writes its status last.
func header(s []byte) *unix.Tpacket2Hdr { return (*unix.Tpacket2Hdr)(unsafe.Pointer(&s[0])) }

func status(s []byte) uint32 { return atomic.LoadUint32(&header(s).Status) }

// filled tells whether the kernel has handed slot i over.
func (r *ring) filled(i int) bool { return status(r.slot(i))&unix.TP_STATUS_USER != 0 }

func (r *ring) ready() bool { return r.pending < r.slots && r.filled(r.next) }

// stamp returns the receive stamp of the frame that can be taken.
func (r *ring) stamp() int64 { return stamp(r.slot(r.next)) }

func stamp(s []byte) int64 { return int64(header(s).Sec)*1e9 + int64(header(s).Nsec) }

// receive makes f the next frame, which must be ready. It returns false if there is no buffer for an oversize frame.
func (r *ring) receive(f *Frame) bool {
	if r.pending == 0 {
		r.copies = 0
	}
	if s := r.slot(r.next); !r.read(s, status(s), f) {
		return false
	}
	r.pending++
	r.next = r.after(r.next)
	return true
}

func (r *ring) after(i int) int {
	if i++; i == r.slots {
		return 0
	}
	return i
}

// read turns a filled slot into a Frame. It returns false where an oversize buffer is needed and none is free.
func (r *ring) read(s []byte, st uint32, f *Frame) bool {
	h := header(s)
	mac, snap := int(h.Mac), int(h.Snaplen)
	*f = Frame{Stamp: stamp(s)}
	if st&unix.TP_STATUS_COPY != 0 {
		return r.readOversize(s, st, f)
	}
	if f.Truncated = h.Snaplen < h.Len; f.Truncated && r.vnet {
		f.Overflow = r.all
		return true
	}
	if r.vnet {
		f.vnet = s[mac-frame.VnetHeaderOctets : mac]
		f.Vnet, _ = frame.DecodeVnetHeader(f.vnet)
	}
	if r.vnet && snap <= smallFrame && r.copies < maxPending {
		r.copy(s[mac:mac+snap], s, st, f)
		return true
	}
	if st&unix.TP_STATUS_VLAN_VALID != 0 {
		mac, snap = r.putTag(s, st, mac, snap, f)
	}
	f.Data = s[mac : mac+snap : mac+snap]
	return true
}

// copy makes f a copy of frame b of slot s. Writing to the copy does not change the slot.
func (r *ring) copy(b, s []byte, st uint32, f *Frame) {
	if r.copies*smallSlot == len(r.small) { // frames that are not released yet keep the memory of before
		r.small = make([]byte, max(fewPending*smallSlot, 2*len(r.small)))
	}
	to := r.small[r.copies*smallSlot : (r.copies+1)*smallSlot : (r.copies+1)*smallSlot]
	r.copies++
	at, end := frame.TagOctets, frame.TagOctets+copy(to[frame.TagOctets:], b)
	if st&unix.TP_STATUS_VLAN_VALID != 0 {
		at, f.Vnet = insertTag(to, at, s, st), f.Vnet.Shift(frame.TagOctets)
	}
	f.vnet, f.Data = nil, to[at:end:end]
}

// putTag moves the VLAN tag from the slot's metadata back into the frame. It then rewrites the slot as if the tag had
// always been in the frame, so that the slot can be read again.
func (r *ring) putTag(s []byte, st uint32, mac, snap int, f *Frame) (int, int) {
	h := header(s)
	mac, snap = insertTag(s, mac, s, st), snap+frame.TagOctets
	if r.vnet {
		f.vnet, f.Vnet = s[mac-frame.VnetHeaderOctets:mac], f.Vnet.Shift(frame.TagOctets)
		f.Vnet.Encode(f.vnet)
	}
	h.Mac, h.Snaplen, h.Len = uint16(mac), uint32(snap), h.Len+frame.TagOctets
	h.Status = st &^ (unix.TP_STATUS_VLAN_VALID | unix.TP_STATUS_VLAN_TPID_VALID)
	return mac, snap
}

// insertTag puts the tag of slot s into the frame at b[at:] and returns where the frame then starts.
func insertTag(b []byte, at int, s []byte, st uint32) int {
	h, tpid := header(s), uint16(unix.ETH_P_8021Q)
	if st&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		tpid = h.Vlan_tpid
	}
	return frame.InsertTag(b, at, tpid, frame.TCI(h.Vlan_tci))
}

// release gives the n oldest received slots back to the kernel. One barrier separates all reads of the slots from all
// status stores, so that the stores need no barrier of their own.
func (r *ring) release(n int) {
	atomic.AddUint32(&r.barrier, 1)
	for ; n > 0; n-- {
		r.oversize.release(r.head)
		header(r.slot(r.head)).Status = unix.TP_STATUS_KERNEL
		r.pending--
		r.head = r.after(r.head)
	}
}

// freeBuffers frees the memory for frames of a ring to which hardly any come any more, once it is empty. A late frame
// gets its own.
func (r *ring) freeBuffers() {
	if !r.filled(r.head) {
		r.small, r.copies, r.oversize.buffers = nil, 0, [oversizeBuffers]oversizeBuffer{}
	}
}

func (r *ring) rewind() { r.next, r.pending, r.copies = r.head, 0, 0 }

// behind tells whether more than n slots, counted from the oldest, are filled.
func (r *ring) behind(n int) bool { return n < r.slots && r.filled((r.head+n)%r.slots) }

// stopped reports whether the kernel has stopped the ring. drops is what it has dropped since the last call. Nothing
// that was released since and half of the slots free mean that there was room at every drop. Then the kernel has met a
// GSO frame that no virtio_net_hdr expresses, shorter than a slot, and takes the ring's head for a slot in use.
func (r *ring) stopped(drops uint32) bool {
	before := r.released
	r.released = atomic.LoadUint32(&r.barrier)
	if drops == 0 || r.released != before {
		return false
	}
	free := 0
	for i := range r.slots {
		if !r.filled(i) {
			free++
		}
	}
	return free > r.slots/2 && atomic.LoadUint32(&r.barrier) == before // else a worker may have freed them meanwhile
}

// backlog counts the filled slots. They are contiguous from the oldest, so that a binary search finds the end.
func (r *ring) backlog() int { return sort.Search(r.slots, func(n int) bool { return !r.behind(n) }) }
