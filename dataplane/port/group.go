package port

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// enoughSlots bounds the rings for small frames of which no number is given to 4 MiB, 16 ms at a million frames a second. A deeper
// one that is full is in no cache, and both who fills it and who empties it are slower for it; it carries longer pauses of the
// machine.
const enoughSlots = 16384

// openRings opens the rings as one fanout group, so that a frame passes one hook and one program. Their sockets drop
// everything until Start, when the group stands: no frame is seen twice or by the wrong ring.
func (p *AFPacket) openRings(c Config, index int) error {
	group := newGroup
	var err error
	join := func(slots, frameSize int, data bool) *ring {
		var r *ring
		if err == nil {
			r, group, err = openRing(index, group, slots, frameSize, data)
			p.rings = append(p.rings, r)
		}
		return r
	}
	other, lossless := join(c.OtherSlots, c.FrameSize, true), join(c.LosslessSlots, c.FrameSize, true)
	p.control = join(controlSlots, controlFrame, false)
	p.refused = join(0, 0, false)
	p.lanes[Other].rings, p.lanes[Lossless].rings = []*ring{other}, []*ring{lossless}
	if c.SmallFrame > 0 {
		for class, slots := range []int{c.OtherSlots, c.LosslessSlots} {
			l := &p.lanes[class]
			l.rings = append(l.rings, join(c.Small(slots), c.SmallFrame, true))
		}
	}
	if err != nil {
		return err
	}
	return p.Steer(c.Fanout)
}

// Small is how many slots the ring for small frames has beside one of slots slots.
func (c *Config) Small(slots int) int {
	if c.SmallSlots > 0 {
		return c.SmallSlots
	}
	return SmallSlots(slots, c.FrameSize, c.SmallFrame)
}

// SmallSlots is how many slots a ring for frames of up to smallFrame octets has, beside one of slots slots for frames of up to
// frameSize octets: as many, or as much memory, up to enoughSlots.
func SmallSlots(slots, frameSize, smallFrame int) int {
	return max(slots, min(enoughSlots, slots*SlotOctets(frameSize)/SlotOctets(smallFrame)))
}

// Start makes the rings of a prepared port receive.
func (p *AFPacket) Start() error {
	for _, r := range p.rings {
		if err := unix.SetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0); err != nil {
			return fmt.Errorf("detach filter: %w", err)
		}
	}
	return nil
}

// openRing opens a ring as the next member of a fanout group, and returns the ring, also on error, and the group.
func openRing(index, group, slots, frameSize int, data bool) (*ring, int, error) {
	fd, err := packetSocket()
	if err != nil {
		return nil, group, err
	}
	r := &ring{fd: fd}
	if err := attach(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, dropAll); err != nil {
		return r, group, fmt.Errorf("attach filter: %w", err)
	}
	if slots > 0 {
		if err := r.mapSlots(slots, frameSize, data); err != nil {
			return r, group, err
		}
	}
	queue := 0
	if data {
		queue = max(oversizeQueue, r.slots*r.slotSize)
	}
	setBuffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, queue)
	if err := promiscuous(fd, index); err != nil {
		return r, group, fmt.Errorf("promiscuous mode: %w", err)
	}
	if err := bind(fd, unix.ETH_P_ALL, index); err != nil {
		return r, group, fmt.Errorf("bind: %w", err)
	}
	group, err = joinFanout(fd, group)
	if err != nil {
		return r, group, fmt.Errorf("join fanout group: %w", err)
	}
	return r, group, nil
}

// Steer implements Port.
func (p *AFPacket) Steer(program []bpf.RawInstruction) error {
	if err := attach(p.rings[0].fd, unix.SOL_PACKET, unix.PACKET_FANOUT_DATA, program); err != nil {
		return fmt.Errorf("attach fanout program: %w", err)
	}
	return nil
}

// newGroup asks joinFanout for a group of which no socket is a member. The kernel numbers groups from 0.
const newGroup = -1

// joinFanout makes fd a member of the group, or of a new one, and returns the group.
func joinFanout(fd, group int) (int, error) {
	flags := unix.PACKET_FANOUT_CBPF | unix.PACKET_FANOUT_FLAG_IGNORE_OUTGOING
	if group == newGroup {
		group, flags = 0, flags|unix.PACKET_FANOUT_FLAG_UNIQUEID
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT, group|flags<<16); err != nil {
		return 0, err
	}
	v, err := unix.GetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT)
	return v & 0xffff, err
}
