package port

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Waiter lets one goroutine sleep until a socket of its ports is readable, until a deadline, or until another
// goroutine wakes it.
type Waiter struct {
	event int
	fds   []unix.PollFd
}

// NewWaiter returns a Waiter without ports.
func NewWaiter() (*Waiter, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	w := &Waiter{event: fd}
	w.Watch(nil)
	return w, nil
}

// Watch replaces the descriptors that Wait listens to.
func (w *Waiter) Watch(fds []int32) {
	w.fds = append(w.fds[:0], unix.PollFd{Fd: int32(w.event), Events: unix.POLLIN})
	for _, fd := range fds {
		w.fds = append(w.fds, unix.PollFd{Fd: fd, Events: unix.POLLIN})
	}
}

// Wakeup says why Wait returned.
type Wakeup uint8

// The reasons.
const (
	Ready   Wakeup = iota // a socket is readable, or Wake was called, or a signal came
	Expired               // the time is over
	Failed                // a socket has a pending error: its interface went down
)

// briefly is how long a sleep is none of the Go runtime's business. Its monitor thread takes a sleeper's processor away and looks again
// 20 µs later; a goroutine that keeps its thread it meets in every sleep, since to Go that runs in one time slice for ever. Thousands of
// looks a second are a tenth of a CPU of a VM whose timers cost 20 µs. Of long sleeps it knows, so that it sleeps, too.
const briefly = time.Millisecond

// Wait sleeps for at most d, for ever where d < 0. A signal ends it early.
func (w *Waiter) Wait(d time.Duration) Wakeup {
	n, err := w.doze(d)
	if n == 0 && err == nil && (d < 0 || d > briefly) {
		n, err = w.sleep(d)
	}
	if err != nil {
		return Ready
	}
	if n == 0 {
		return Expired
	}
	if w.fds[0].Revents != 0 {
		var b [8]byte
		_, _ = unix.Read(w.event, b[:])
	}
	for _, f := range w.fds[1:] {
		if f.Revents&(unix.POLLERR|unix.POLLNVAL) != 0 {
			return Failed
		}
	}
	return Ready
}

// doze is the first part of a sleep, unknown to the runtime: it holds up a collection of garbage until the runtime's signal ends it.
func (w *Waiter) doze(d time.Duration) (int, error) {
	if d < 0 || d > briefly {
		d = briefly
	}
	t := unix.NsecToTimespec(int64(d))
	n, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&w.fds[0])), uintptr(len(w.fds)), uintptr(unsafe.Pointer(&t)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// sleep is the rest of a sleep of d.
func (w *Waiter) sleep(d time.Duration) (int, error) {
	if d < 0 {
		return unix.Ppoll(w.fds, nil, nil)
	}
	t := unix.NsecToTimespec(int64(d - briefly))
	return unix.Ppoll(w.fds, &t, nil)
}

// Wake ends a Wait of another goroutine, or its next one.
func (w *Waiter) Wake() {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], 1)
	_, _ = unix.Write(w.event, b[:])
}

// Close releases the Waiter.
func (w *Waiter) Close() error { return unix.Close(w.event) }
