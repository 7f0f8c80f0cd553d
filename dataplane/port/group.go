package port

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// maxSmallSlots bounds the default size of a ring for small frames to 4 MiB, which holds 16 ms at a million frames a
// second. A deeper ring survives longer pauses of the machine, but no cache holds it when it is full, so that both its
// producer and its consumer are slower.
const maxSmallSlots = 16384

// A ringConfig is the setup of one ring of a port.
type ringConfig struct {
	slots     int
	frameSize int  // longest frame that a slot holds; 0: each frame is in the queue behind the ring
	data      bool // the ring takes GSO frames too
	queue     int  // octets of the queue behind the ring
}

func (c ringConfig) octets() int {
	octets, n := blocks(c.slots, slotOctets(c.frameSize))
	return octets * n
}

// openRings opens the rings as one fanout group, so that a frame passes one hook and one program. The sockets drop
// every frame until Start. By then the group is complete, so that no frame is seen twice or by the wrong ring.
func (p *AFPacket) openRings(c Config, index int) error {
	var err error
	configs := c.allRings()
	if p.rings, err = makeRings(configs); err != nil {
		return err
	}
	p.group = newGroup
	for i, r := range p.rings {
		if p.group, err = r.join(index, p.group, configs[i].queue); err != nil {
			return err
		}
	}
	p.control = p.rings[controlRing]
	p.share(&c, slices.Delete(slices.Clone(p.rings), controlRing, controlRing+1))
	p.queued = c.Queued
	return p.Steer(c.Fanout)
}

func (c *Config) allRings() []ringConfig {
	return slices.Insert(c.dataRings(), controlRing, ringConfig{slots: controlSlots, frameSize: controlFrame})
}

// RingOctets is the memory of the receive rings of a port.
func (c *Config) RingOctets() (octets int) {
	for _, ring := range c.allRings() {
		octets += ring.octets()
	}
	return octets
}

// QueueOctets is the memory beside it that frames take at most, up to the last one, in the queues behind the rings of
// long ones: the kernel makes twice of what is asked for.
func (c *Config) QueueOctets() (octets int) {
	for class := range NumClasses {
		ring := c.longRing(c.slots(class))
		octets += 2 * ring.queue
	}
	return octets
}

// dataRings returns the rings of both classes in the order in which they join the group: those of long frames alone
// where all come through the queues behind them.
func (c *Config) dataRings() []ringConfig {
	kinds := []func(slots int) ringConfig{c.ring, c.longRing, c.smallRing}
	if c.SmallFrame == 0 {
		kinds = kinds[:2]
	}
	if c.Queued {
		kinds = kinds[1:2]
	}
	var configs []ringConfig
	for _, ring := range kinds {
		for class := range NumClasses {
			configs = append(configs, ring(c.slots(class)))
			if c.Queued {
				configs[class].slots = c.queuedSlots(class)
			}
		}
	}
	return configs
}

func (c *Config) slots(class Class) int {
	if class == Lossless {
		return c.LosslessSlots
	}
	return c.OtherSlots
}

// queuedSlots is how many frames a ring holds through which all of a class come: twice as many as there are slots for
// full ones.
func (c *Config) queuedSlots(class Class) int { return 2 * c.slots(class) }

// QueueSuffices reports whether a queue with twice the memory of ring slots, which the kernel makes of the octets that
// longRing asks for, holds as many frames of up to frameSize octets as there are slots. For each frame the kernel
// counts its own book-keeping, and memory that is a power of two, with some 400 octets around the frame.
func QueueSuffices(frameSize int) bool {
	const around, bookkeeping = 400, 256
	return 1<<bits.Len(uint(frameSize+around-1))+bookkeeping <= 2*SlotOctets(frameSize)
}

// share gives data rings to their classes, as the newest ones. Those of before keep no buffers that they do not use.
func (p *AFPacket) share(c *Config, rings []*ring) {
	for class := range NumClasses {
		l := &p.classes[class]
		l.newest = len(l.rings)
		for _, r := range l.rings {
			r.freeBuffers()
		}
		for i := int(class); i < len(rings); i += int(NumClasses) {
			rings[i].all = c.Queued
			l.rings = append(l.rings, rings[i])
		}
		if l.holds = (Slots{}); c.Queued {
			l.holds = Slots{c.slots(class), c.queuedSlots(class) - c.slots(class), true}
		}
	}
}

// controlRing is the number of the ring of MAC Control frames. Those before it and behind it are data rings.
const (
	controlRing = int(NumClasses)
	longRings   = controlRing + 1
)

func (c *Config) ring(slots int) ringConfig {
	return ringConfig{slots: slots, frameSize: c.FrameSize, data: true, queue: oversizeQueue}
}

// longRing is the setup of a ring for long frames beside a ring of slots slots. Its queue holds as much memory.
func (c *Config) longRing(slots int) ringConfig {
	return ringConfig{slots: slots, data: true, queue: max(oversizeQueue, slots*SlotOctets(c.FrameSize))}
}

func (c *Config) smallRing(slots int) ringConfig {
	return ringConfig{slots: c.Small(slots), frameSize: c.SmallFrame, data: true, queue: oversizeQueue}
}

// makeRings opens the sockets on this thread, in whose network namespace they then are. It maps the rings in parallel,
// since the kernel delays each mapping but not all of them one after the other.
func makeRings(configs []ringConfig) (rings []*ring, err error) {
	for range configs {
		fd, err := packetSocket()
		if err != nil {
			return rings, err
		}
		rings = append(rings, &ring{fd: fd})
		if err := attach(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, dropAll); err != nil {
			return rings, fmt.Errorf("attach filter: %w", err)
		}
	}
	return rings, cmp.Or(inParallel(len(configs), func(i int) error { // the first error is enough
		return rings[i].mapSlots(configs[i].slots, configs[i].frameSize, configs[i].data)
	})...)
}

// Small returns the number of slots of the ring for small frames beside a ring of slots slots.
func (c *Config) Small(slots int) int {
	if c.SmallSlots > 0 {
		return c.SmallSlots
	}
	return SmallSlots(slots, c.FrameSize, c.SmallFrame)
}

// SmallSlots returns the default number of slots of a ring for frames of up to smallFrame octets. The ring stands
// beside a ring of slots slots for frames of up to frameSize octets. It has at least as many slots, and up to
// maxSmallSlots as many as the same memory holds.
func SmallSlots(slots, frameSize, smallFrame int) int {
	return max(slots, min(maxSmallSlots, slots*SlotOctets(frameSize)/SlotOctets(smallFrame)))
}

// UseFilter makes the data rings of a prepared port get only the frames that an eBPF program (its descriptor) lets
// through, from Start on.
func (p *AFPacket) UseFilter(program int) { p.filter = program }

// Filter is UseFilter for a port that has started: the program sees the frames that come from now on.
func (p *AFPacket) Filter(program int) error {
	p.filter = program
	for _, r := range p.rings {
		if r != p.control {
			if err := r.open(program); err != nil {
				return err
			}
		}
	}
	return nil
}

// Start makes the rings of a prepared port receive.
func (p *AFPacket) Start() error {
	for _, r := range p.rings {
		filter := p.filter
		if r == p.control {
			filter = noFilter
		}
		if err := r.open(filter); err != nil {
			return err
		}
	}
	return nil
}

// noFilter stands for the descriptor of a program where there is none.
const noFilter = -1

// open lets a ring's socket receive the frames that an eBPF program lets through, or every frame.
func (r *ring) open(filter int) error {
	if filter == noFilter {
		if err := unix.SetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0); err != nil {
			return fmt.Errorf("detach filter: %w", err)
		}
		return nil
	}
	if err := unix.SetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_ATTACH_BPF, filter); err != nil {
		return fmt.Errorf("attach filter: %w", err)
	}
	return nil
}

// newGroup asks join for a new group. The kernel numbers groups from 0.
const newGroup = -1

// join binds a ring's socket, with room for queue octets behind the ring, as the next member of a fanout group and
// returns the group.
func (r *ring) join(index, group, queue int) (int, error) {
	setBuffer(r.fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, queue)
	if group == newGroup { // one member's is enough; each takes the kernel's lock of all links, at the end too
		if err := promiscuous(r.fd, index); err != nil {
			return group, fmt.Errorf("promiscuous mode: %w", err)
		}
	}
	if err := bind(r.fd, unix.ETH_P_ALL, index); err != nil {
		return group, fmt.Errorf("bind: %w", err)
	}
	flags := unix.PACKET_FANOUT_CBPF | unix.PACKET_FANOUT_FLAG_IGNORE_OUTGOING
	if group == newGroup {
		group, flags = 0, flags|unix.PACKET_FANOUT_FLAG_UNIQUEID
	}
	err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_FANOUT, group|flags<<16)
	if err == nil {
		group, err = unix.GetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_FANOUT)
	}
	if err != nil {
		return group, fmt.Errorf("join fanout group: %w", err)
	}
	return group & 0xffff, nil
}

// Steer implements Port. The kernel takes about 10 ms to replace a program, so only another program is set.
func (p *AFPacket) Steer(program []bpf.RawInstruction) error {
	if p.program != nil && slices.Equal(program, p.program) {
		return nil
	}
	return p.steer(program, p.first, p.queued)
}

// steer makes a program choose among the rings from number first on, of which each class has but one where all of its
// frames come through a queue.
func (p *AFPacket) steer(program []bpf.RawInstruction, first int, queue bool) error {
	inForce := program
	if queue {
		inForce = queued(inForce)
	}
	if first > 0 {
		inForce = numbered(inForce, first)
	}
	if err := attach(p.rings[0].fd, unix.SOL_PACKET, unix.PACKET_FANOUT_DATA, inForce); err != nil {
		return fmt.Errorf("attach fanout program: %w", err)
	}
	p.program, p.first, p.queued = program, first, queue
	return nil
}
