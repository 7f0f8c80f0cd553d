package port

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Timer is one of the kernel's, which the Go runtime polls like a socket. Where one of the runtime's own timers is
// due and nothing runs, a thread of the runtime sleeps on, for up to a thousandth of its sleep. Meanwhile the monitor
// thread looks every 0.1 ms for who runs the timer: a hundred wake-ups after ten seconds.
type Timer struct {
	file *os.File
	fd   int
}

// NewTimer returns a Timer that is not set.
func NewTimer() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd: %w", err)
	}
	return &Timer{os.NewFile(uintptr(fd), "timerfd"), fd}, nil
}

// Set makes Wait return after d, once, and not when was set before. The Timer is not closed.
func (t *Timer) Set(d time.Duration) error {
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(1, d)))} // 0 would be never
	return unix.TimerfdSettime(t.fd, 0, &at, nil)
}

// Wait waits until the time is over, and fails once the Timer is closed.
func (t *Timer) Wait() error {
	c, err := t.file.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	err = c.Read(func(fd uintptr) bool {
		var times [8]byte
		// raw: a usual system call wakes the monitor thread
		_, _, errno = syscall.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&times[0])), unsafe.Sizeof(times))
		return errno != unix.EAGAIN
	})
	if errno != 0 {
		err = errors.Join(err, errno)
	}
	return err
}

// Close ends Wait.
func (t *Timer) Close() error { return t.file.Close() }
