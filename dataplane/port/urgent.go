package port

import "golang.org/x/sys/unix"

// shortSlice is the shortest time slice that the kernel knows, in ns.
const shortSlice = 100_000

// Urgent asks the kernel to run the calling thread as soon as it wakes up, before threads that use up their time
// slices. The thread has to sleep nearly all the time. Where the process may have real-time threads, the thread becomes
// one of the lowest priority, which Urgent reports. Elsewhere its time slice becomes the shortest, which Linux heeds
// since 6.12, and it stays on one CPU; -1: on any. The caller has locked its goroutine to the thread, for ever.
func Urgent(cpu int) (realTime bool) {
	a := unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if unix.SchedSetAttr(0, &a, 0) == nil {
		return true
	}
	if a, err := unix.SchedGetAttr(0, 0); err == nil {
		a.Runtime = shortSlice
		_ = unix.SchedSetAttr(0, a, 0)
	}
	if cpu >= 0 {
		var one unix.CPUSet
		one.Set(cpu)
		_ = unix.SchedSetaffinity(0, &one)
	}
	return false
}

// CPUs returns the numbers of the CPUs that the calling thread may use, at least one; -1 where they are unknown.
func CPUs() (cpus []int) {
	var may unix.CPUSet
	if unix.SchedGetaffinity(0, &may) != nil {
		return []int{-1}
	}
	for i := 0; len(cpus) < may.Count(); i++ {
		if may.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus
}
