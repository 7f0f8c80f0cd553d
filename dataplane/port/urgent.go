package port

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// shortSlice is the shortest time slice that the kernel knows, in ns.
const shortSlice = 100_000

// Urgent asks the kernel to run the calling thread as soon as it wakes up, before threads that use up their time
// slices. The thread has to sleep nearly all the time. Where the process may have real-time threads, the thread becomes
// one of the lowest priority; elsewhere its time slice becomes the shortest, which Linux heeds since 6.12. The caller
// has locked its goroutine to the thread, for ever.
func Urgent() error {
	realTime := unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if unix.SchedSetAttr(0, &realTime, 0) == nil {
		return nil
	}
	a, err := unix.SchedGetAttr(0, 0)
	if err == nil {
		a.Runtime = shortSlice
		err = unix.SchedSetAttr(0, a, 0)
	}
	if err != nil {
		return fmt.Errorf("sched_setattr: %w", err)
	}
	return nil
}
