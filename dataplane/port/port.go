// Package port is the edge of the switch: a Port moves bursts of Ethernet frames between the data plane and a Linux
// interface, without blocking and without allocating.
//
//	port.go      Port, the interface that the data plane is written against, and the Frame it hands over
//	batch.go     Batch, the frames of one send call, and how sendmmsg takes them
//	peek.go      looking into a batch
//	afpacket.go  the implementation on AF_PACKET sockets: data rings, a MAC Control ring, send sockets
//	xdptx.go   the faster way out of a veth, an AF_XDP socket
//	txpath.go      when a port takes it
//	packetsockets.go      who captures on interfaces
//	group.go     its receive rings as one fanout group
//	classrings.go      the data rings of a class as one: frames in the order in which they came
//	ring.go      one TPACKET_V2 receive ring
//	oversize.go  frames larger than a ring slot
//	lldp.go      the socket for LLDP frames
//	stamp.go     when a frame left
//	wait.go      sleeping on the sockets of many ports
//	threads.go   how many threads of the machine want a CPU
//	link.go      what the kernel says of an interface, and how it is made quiet
//	tap.go       the implementation on a TAP, towards the stack of the host
//	tapqueue.go  the queues of a TAP
//	tapsettings.go  MTU, addresses and queues of a TAP, and their change
//	hoststack.go      a TAP's wire, kept from the stack of the host
//	pause.go     hardware PAUSE and PFC of a physical NIC, switched off
//	watch.go     interfaces that appear, vanish and flap
//	survey.go    what the kernel says of an interface and of what is around it
//	features.go  offloads that have names only
//	steering.go  receive queues whose frames go to other CPUs
//	netns.go     work inside another network namespace
//	command.go   commands for people, that run in one
//
// Package porttest beside it holds an in-memory pair.
package port

import (
	"errors"

	"golang.org/x/net/bpf"

	"pfcswitch/dataplane/frame"
)

// MaxFrame is the longest frame that a port carries, octets without FCS: a GSO frame of 64 KiB with its header.
const MaxFrame = 65550

// Class tells the two kinds of data rings of a port apart: lossy traffic cannot be held by PFC, so it must not be able to
// overflow a ring that lossless frames wait in.
type Class uint8

// The classes. The numbers are those of the classify.Fanout program, which adds to them for small frames.
const (
	Other    Class = iota // frames of lossy priorities
	Lossless              // frames of lossless priorities; every frame of an 802.3x PAUSE port
	NumClasses
)

// String returns the name of the ring as metrics and tables print it.
func (c Class) String() string {
	if c == Lossless {
		return "lossless"
	}
	return "other"
}

// A Frame is one received frame. Data is valid until the slot is released.
type Frame struct {
	Data      []byte           // from the destination MAC, VLAN tag in its place, without FCS
	Vnet      frame.VnetHeader // checksum and segmentation state; zero for an ordinary frame
	Stamp     int64            // receive time, ns of CLOCK_REALTIME
	Truncated bool             // set where Data is shorter than what arrived: no room for the whole frame

	vnet []byte // the octets that Vnet was read from, where there are any
}

// Finish says that checksum and segmentation are done: Vnet is zero, also when the frame is received again after Rewind.
func (f *Frame) Finish() {
	f.Vnet = frame.VnetHeader{}
	clear(f.vnet)
}

// A Backlog is what waits in the rings of a class.
type Backlog struct {
	Frames int
	Octets int     // at most: each frame as long as a slot of its ring takes, and the memory of those too large for one
	Fill   float64 // share of the slots of the fullest ring, or of the memory for frames too large for one, 0 to 1
}

// Work is a set of kinds of work that a task may wait for.
type Work uint8

// The kinds of work.
const (
	WorkOther    Work = 1 << Other    // frames in the other ring
	WorkLossless Work = 1 << Lossless // frames in the lossless ring
	WorkControl  Work = 1 << iota     // MAC Control frames
)

// Send failures that the caller handles one by one. Any other error means that the first frame of the batch can
// never be sent (too long for the interface, refused segmentation type).
var (
	// ErrAgain is returned when the kernel could not take the frame now: the same frame is to be sent again later.
	ErrAgain = errors.New("port: send queue full")
	// ErrDropped is returned when the kernel took the frame and the link dropped it: the peer's receive queue is full,
	// or the frame is longer than the peer's MTU, or a queueing discipline refuses it. It is to be sent again, but not
	// for ever.
	ErrDropped = errors.New("port: the link dropped the frame")
	// ErrDown is returned when the interface is down or gone.
	ErrDown = errors.New("port: interface is down")
)

// A Port sends and receives bursts of frames. No method blocks, allocates or reads a clock. Receive, Release and Rewind
// belong to the receive task of the port, Control, Send, SendControl and SendStamped to its transmit task.
type Port interface {
	// Receive fills dst with the frames that follow those already received, at most maxBytes octets (at least one
	// frame), and returns their number. They stay in their rings until Release, up to 256 at a time.
	Receive(c Class, dst []Frame, maxBytes int) int
	// QueueBudget returns after how many octets of a queue, at most, Receive leaves it, whatever maxBytes says; the last frame may end
	// beyond them. Where Receive hands over as many, more may wait. It is math.MaxInt where maxBytes alone decides.
	QueueBudget() int
	// Release gives the n oldest received frames back to the kernel.
	Release(c Class, n int)
	// Rewind makes Receive begin again at the oldest frame that was not released.
	Rewind(c Class)
	// BacklogExceeds tells whether more than n frames, or more than half of what it holds, wait in one ring of the class, or one has
	// been too large for its slot, so that only Backlog knows. It costs a load for each ring.
	BacklogExceeds(c Class, n int) bool
	// Backlog returns what waits in the rings of the class.
	Backlog(c Class) Backlog
	// Slots returns how many frames they hold.
	Slots(c Class) int

	// Control returns the oldest waiting MAC Control frame (EtherType 0x8808) and its receive stamp (ns of
	// CLOCK_REALTIME), nil where none waits. It costs one load. ControlDone releases it.
	Control() (b []byte, stamp int64)
	ControlDone()

	// Send hands the frames of b to the kernel in order and returns how many it took. n < b.Len() comes with an
	// error that concerns frame n.
	Send(b *Batch) (n int, err error)
	// SendControl sends one MAC Control frame on a socket of its own, ahead of what Send is queueing.
	SendControl(b []byte) error
	// SendStamped is SendControl, and returns when the frame left (ns of CLOCK_REALTIME) where the kernel tells at
	// once, else 0.
	SendStamped(b []byte) (stamp int64, err error)

	// Steer replaces the classic BPF program that picks the data ring of a frame.
	Steer(program []bpf.RawInstruction) error
	// Descriptors appends the file descriptors that become readable when there is work of the kinds in what.
	Descriptors(fds []int32, what Work) []int32
	// Losses returns the frames lost so far in a data ring because it was full; those that no ring can take are among
	// the ring Other's. ControlLosses is the same for MAC Control frames.
	Losses(c Class) uint64
	ControlLosses() uint64
	// ClearError takes the pending error of sockets whose interface went down, so that waiting on them works again.
	ClearError()
	// Close releases sockets and rings. No other method may run then or later.
	Close() error
}
