package privilege

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"kernel.org/pub/linux/libs/security/libcap/cap"
)

// kept are the capabilities that a switch needs after its start: for sockets and settings of ports that come back or
// are new, for TAPs whose frames an eBPF program spreads over queues, for AF_XDP's locked memory, and for the
// scheduling of new workers.
var kept = []cap.Value{cap.NET_RAW, cap.NET_ADMIN, cap.BPF, cap.IPC_LOCK, cap.SYS_NICE}

// Needs are rights that only some switches need.
type Needs struct {
	Namespaces   bool // to open ports in other network namespaces
	ForeignFiles bool // to use files that belong to another user, as root may
}

// Bound gives up what no switch needs of the rights that a program may get that this process starts. Each of some 35
// capabilities interrupts every thread and waits for it, so this is for the start: a switch at work has many threads.
func Bound() error { return dropBound(append(slices.Clone(kept), cap.SYS_ADMIN, cap.DAC_OVERRIDE)) }

// dropBound leaves no other capabilities in the bounding set.
func dropBound(keep []cap.Value) error {
	if may, err := cap.GetProc().GetFlag(cap.Effective, cap.SETPCAP); err != nil || !may {
		return err
	}
	var surplus []cap.Value
	for c := range cap.MaxBits() {
		if is, err := cap.GetBound(c); err == nil && is && !slices.Contains(keep, c) {
			surplus = append(surplus, c)
		}
	}
	if err := cap.DropBound(surplus...); err != nil {
		return fmt.Errorf("bound the capabilities of this process: %w", err)
	}
	return nil
}

// Confine gives up the rights that a switch with open listeners does not need, in every thread and for good:
// capabilities other than kept, programs with more rights (no_new_privs), and system calls that a switch never makes,
// which fail with EPERM from then on.
//
// It does as much as the system allows, and the error names what it does not.
func Confine(n Needs) error {
	keep, calls := slices.Clone(kept), systemCalls
	if n.Namespaces {
		keep, calls = append(keep, cap.SYS_ADMIN), append(calls, "setns")
	}
	if n.ForeignFiles {
		keep = append(keep, cap.DAC_OVERRIDE)
	}
	return errors.Join(dropCapabilities(keep), filterCalls(calls))
}

func dropCapabilities(keep []cap.Value) error {
	have, want := cap.GetProc(), cap.NewSet()
	var left []cap.Value
	for _, c := range keep {
		if has, err := have.GetFlag(cap.Permitted, c); err == nil && has {
			left = append(left, c)
			if err := want.SetFlag(cap.Permitted, true, c); err != nil {
				return err
			}
		}
	}
	if err := want.Fill(cap.Effective, cap.Permitted); err != nil {
		return err
	}
	if err := dropBound(left); err != nil {
		return err
	}
	if err := want.SetProc(); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	return nil
}

// filterCalls lets only the named system calls pass, those of them that this machine's architecture has.
func filterCalls(names []string) error {
	machine, err := arch.GetInfo("")
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	var known []string
	for _, name := range names {
		if _, ok := machine.SyscallNames[name]; ok {
			known = append(known, name)
		}
	}
	runtime.LockOSThread() // no_new_privs is set on one thread, which then gives filter and flag to all others
	defer runtime.UnlockOSThread()
	policy := seccomp.Policy{DefaultAction: seccomp.ActionErrno,
		Syscalls: []seccomp.SyscallGroup{{Names: known, Action: seccomp.ActionAllow}}}
	err = seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: policy})
	if err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}

// systemCalls are those of the Go runtime and of a running switch: files, sockets, memory, threads, clocks. None starts
// a program, mounts, loads code into the kernel other than the eBPF of a TAP, or looks into another process.
var systemCalls = []string{
	"read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "lseek", "sendfile", "splice",
	"copy_file_range", "open", "openat", "openat2", "close", "close_range", "stat", "lstat", "fstat", "newfstatat",
	"statx", "statfs", "fstatfs", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents64", "getcwd",
	"mkdir", "mkdirat", "mknodat", "unlink", "unlinkat", "rename", "renameat", "renameat2", "chmod", "fchmod",
	"fchmodat", "ftruncate", "fallocate", "fsync", "fdatasync", "umask", "flock", "fcntl", "ioctl", "dup", "dup2",
	"dup3", "pipe", "pipe2", "eventfd2", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",

	"socket", "socketpair", "bind", "listen", "accept", "accept4", "connect", "shutdown", "getsockname", "getpeername",
	"getsockopt", "setsockopt", "sendto", "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg", "poll", "ppoll",
	"select", "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "bpf",

	"mmap", "munmap", "mremap", "mprotect", "madvise", "mincore", "mlock", "mlock2", "munlock", "brk", "membarrier",

	"clone", "clone3", "exit", "exit_group", "futex", "futex_waitv", "set_robust_list", "set_tid_address", "rseq",
	"arch_prctl", "prctl", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "sigaltstack", "kill",
	"tkill", "tgkill", "restart_syscall", "getpid", "gettid", "getppid", "getpgid", "getuid", "geteuid", "getgid",
	"getegid", "getgroups", "capget", "capset", "sched_yield", "sched_getaffinity", "sched_setaffinity",
	"sched_getparam", "sched_setparam", "sched_getscheduler", "sched_setscheduler", "sched_getattr", "sched_setattr",
	"getpriority", "setpriority", "getrlimit", "setrlimit", "prlimit64", "getrusage", "times", "uname", "sysinfo",
	"getrandom",

	"clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "timer_create",
	"timer_settime", "timer_delete", "timerfd_create", "timerfd_settime", "getitimer", "setitimer",
}
