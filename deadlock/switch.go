package deadlock

// Queues of a port: 0 to 7 are its priorities, All is the whole of an 802.3x PAUSE port.
const (
	All       = 8
	NumQueues = 9
)

// A QueueState is what a switch knows of an egress queue at one moment. Counters never go back while Session is the same.
type QueueState struct {
	Held      int    // frames that wait
	Sent      uint64 // frames that left, in all
	Dropped   uint64 // frames that were discarded by order of the watchdog, in all
	PausedNs  int64  // ns for which the peer paused the queue, in all and up to this moment
	PausedNow bool   // it does now
	// Requested is Pausing, or that a pause would run now if it were not ignored.
	Requested bool
	Xoffs     uint64 // XOFFs that came, obeyed or not, in all
	Session   uint32 // changes when the link goes down
}

// stuck tells whether the queue holds frames that it must not send.
func (r *QueueState) stuck() bool { return r.Held > 0 && r.PausedNow }

// An Order is what a switch does with a queue.
type Order uint8

// The orders.
const (
	Obey    Order = iota // XOFF is obeyed, as ever
	Ignore               // XOFF is counted and not obeyed; a pause that runs ends
	Discard              // the same, and what the queue holds and gets is dropped
)

// A Switch is what a Watchdog sees and orders. Its methods are called from within those of the Watchdog only. A link that
// goes down ends every order.
type Switch interface {
	// Read fills r with the state of a queue at time now; that of a queue that does not exist is zero.
	Read(port int, queue uint8, now int64, r *QueueState)
	// NotifyStuck asks for a Notice once the queue holds frames and is paused; with on false, for none.
	NotifyStuck(port int, queue uint8, on bool)
	// Order puts an order in force.
	Order(port int, queue uint8, o Order, now int64)
}
