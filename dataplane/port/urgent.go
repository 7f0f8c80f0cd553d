package port

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shortSlice is the shortest time slice that the kernel knows, in ns.
const shortSlice = 100_000

// Name gives the calling thread a name, of which the kernel keeps 15 bytes, for ps -L and top -H.
func Name(name string) {
	b := append([]byte(name), 0)
	_, _, _ = syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_NAME, uintptr(unsafe.Pointer(&b[0])), 0)
}

// Brief asks the kernel to run the calling thread soon after it wakes up, before threads that use up their time slices:
// its own becomes the shortest, which Linux heeds since 6.12, and it stays on one CPU; -1: on any. The thread has to
// sleep nearly all the time. The caller has locked its goroutine to the thread, for ever.
func Brief(cpu int) {
	if a, err := unix.SchedGetAttr(0, 0); err == nil {
		a.Runtime = shortSlice
		_ = unix.SchedSetAttr(0, a, 0)
	}
	if cpu >= 0 {
		setCPUs(cpu)
	}
}

// RealTime makes a thread that is Brief a real-time thread of the lowest priority, which runs as soon as it wakes up,
// on any of some CPUs. It reports whether the process may have one.
func RealTime(cpus []int) bool {
	a := unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if unix.SchedSetAttr(0, &a, 0) != nil {
		return false
	}
	setCPUs(cpus...)
	return true
}

// setCPUs lets the calling thread run on some CPUs, known ones, alone.
func setCPUs(cpus ...int) {
	var set unix.CPUSet
	for _, cpu := range cpus {
		if cpu < 0 {
			return
		}
		set.Set(cpu)
	}
	_ = unix.SchedSetaffinity(0, &set)
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
