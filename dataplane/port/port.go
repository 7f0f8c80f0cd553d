// Package port is the edge of the switch: a Port moves bursts of Ethernet frames between the data plane and a Linux
// interface, without blocking and without allocating.
//
//	port.go        Port, the interface that the data plane is written against, and the Frame that it hands over
//	afpacket.go    AFPacket: the implementation on AF_PACKET sockets
//	group.go       its receive rings, as one fanout group
//	enlarge.go     larger rings, which join that group
//	classrings.go  the rings of a class, read in the order of arrival
//	ring.go        one TPACKET_V2 receive ring
//	oversize.go    frames that are larger than a ring slot
//	batch.go       Batch: the frames of one send call
//	txpath.go      which sockets the frames of a port leave by, and what may change that
//	xdptx.go       sending by an AF_XDP socket, the faster path out of a veth
//	stamp.go       transmit stamps
//	lldp.go        the socket for LLDP frames
//	wait.go        Poller: polling the sockets of many ports
//	tap.go         TAP: the implementation towards the stack of the host
//	tapqueue.go    its queues, one for each priority
//	tapsettings.go its MTU, addresses and queue rule, and their change
//	hoststack.go   keeps the frames of a TAP's wire from the stack of the host
//	second.go      interfaces that are ports of another switch
//	link.go        what the kernel says of an interface; link-local addresses; interfaces that appear and vanish
//	pause.go       switches off the hardware PAUSE and PFC of a physical NIC
//	survey.go      everything about an interface that matters to a person who looks for a fault
//	netns.go       work inside another network namespace
//	urgent.go      threads that run as soon as they wake up
//	machine.go     what limits the machine: runnable threads, backlog drops, exactness of clocks
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

// Class tells the two kinds of data rings of a port apart. PFC cannot hold lossy traffic back, so lossy traffic must
// not be able to overflow the ring of the lossless frames.
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

// A Frame is one received frame. Data is valid until the frame is released.
type Frame struct {
	// from the destination MAC, VLAN tag in its place, without FCS; empty where the kernel cannot say how much of its
	// checksum and segmentation is still to do
	Data      []byte
	Vnet      frame.VnetHeader // checksum and segmentation state; zero for an ordinary frame
	Stamp     int64            // receive time, ns of CLOCK_REALTIME
	Truncated bool             // there was no room for the frame: there is no Data, or of a MAC Control frame the start
	Overflow  bool             // Truncated, because the queue by which all frames of the class come was full
	Octets    int              // of a frame longer than MaxFrame, which Data is only the start of; else 0

	vnet []byte // the octets that Vnet was read from, if any
}

// Finish records that checksum and segmentation are done. Vnet stays zero when the frame is received again after
// Rewind.
func (f *Frame) Finish() {
	f.Vnet = frame.VnetHeader{}
	clear(f.vnet)
}

// Slots are how many frames the rings of a class hold: frames of any length that fits a slot (Full), and small ones,
// which have slots beside them (Small; 0 where the port has no such ring). Queued says that all come by a queue.
type Slots struct {
	Full, Small int
	Queued      bool
}

// A Backlog is what waits in the rings of a class.
type Backlog struct {
	Frames int
	Octets int // an upper bound: the slot size for each frame, and the kernel memory of frames larger than a slot
	// of the fullest ring, 0 to 1: its share of filled slots, or of the memory for frames larger than a slot
	Fill float64
}

// Work is a set of kinds of work that a task may wait for.
type Work uint8

// The kinds of work.
const (
	WorkOther    Work = 1 << Other    // frames in the other ring
	WorkLossless Work = 1 << Lossless // frames in the lossless ring
	WorkControl  Work = 1 << iota     // MAC Control frames
)

// Send errors that the caller handles one by one. After any other error the first frame of the batch can never be sent:
// it is too long for the interface, or the kernel refuses its segmentation type.
var (
	// ErrAgain is returned when the kernel cannot take the frame now. The caller sends the same frame again later.
	ErrAgain = errors.New("port: send queue full")
	// ErrDropped is returned when the kernel took the frame and the link dropped it: the peer's receive queue is full,
	// the frame exceeds the peer's MTU, or a queueing discipline refuses it. The caller retries a limited number of
	// times.
	ErrDropped = errors.New("port: the link dropped the frame")
	// ErrDown is returned when the interface is down or gone.
	ErrDown = errors.New("port: interface is down")
)

// A Port sends and receives bursts of frames. No method blocks, allocates or reads a clock. Receive, Release and Rewind
// belong to the receive task of the port; Control, Send, SendControl and SendStamped belong to its transmit task.
type Port interface {
	// Receive fills dst with the next frames, at most maxBytes octets but at least one frame, and returns their number.
	// Frames stay in their rings until Release. At most 256 frames are received and not released.
	Receive(c Class, dst []Frame, maxBytes int) int
	// QueueBudget returns the number of octets after which Receive leaves a queue, whatever maxBytes says. The last
	// frame may exceed it. A full budget means that more may wait. math.MaxInt: maxBytes alone decides.
	QueueBudget() int
	// Release gives the n oldest received frames back to the kernel.
	Release(c Class, n int)
	// Rewind makes Receive start again at the oldest frame that is not released.
	Rewind(c Class)
	// BacklogExceeds tells whether more than n frames, or more than a quarter of its slots, wait in one ring of the
	// class. It is also true after a frame that was too large for a slot: only Backlog counts those. It costs one load
	// a ring.
	BacklogExceeds(c Class, n int) bool
	// Backlog returns what waits in the rings of the class.
	Backlog(c Class) Backlog
	// Slots returns how many frames the rings of the class hold, and Octets the memory of these rings.
	Slots(c Class) Slots
	Octets(c Class) int

	// Control returns the oldest waiting MAC Control frame (EtherType 0x8808) and its receive stamp in ns of
	// CLOCK_REALTIME, or nil. It costs one load. ControlDone releases the frame.
	Control() (b []byte, stamp int64)
	ControlDone()

	// Send hands the frames of b to the kernel in order and returns how many the kernel took. If n < b.Len(), the error
	// concerns frame n.
	Send(b *Batch) (n int, err error)
	// SendControl sends one MAC Control frame on a socket of its own, ahead of what Send has queued. Another goroutine
	// than that of the transmit task may call it too.
	SendControl(b []byte) error
	// SendStamped is SendControl with the time at which the frame left (ns of CLOCK_REALTIME). The stamp is 0 if the
	// kernel does not report it at once.
	SendStamped(b []byte) (stamp int64, err error)

	// Steer replaces the classic BPF program that picks the data ring of a frame, which takes some 10 ms where it is
	// another one. One call at a time.
	Steer(program []bpf.RawInstruction) error
	// Descriptors appends the file descriptors that become readable for the kinds of work in what.
	Descriptors(fds []int32, what Work) []int32
	// Losses returns the frames lost so far because a data ring was full. Frames that no ring can take count as losses
	// of the ring Other. ControlLosses returns the same for MAC Control frames.
	Losses(c Class) uint64
	ControlLosses() uint64
	// ClearError takes the pending error of sockets whose interface went down, so that polling them works again.
	ClearError()
	// Close releases sockets and rings. No other method may run then or later.
	Close() error
}
