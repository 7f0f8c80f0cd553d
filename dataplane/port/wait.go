package port

import (
	"encoding/binary"
	"fmt"
	"time"

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

// Wait sleeps for at most d, for ever where d < 0.
func (w *Waiter) Wait(d time.Duration) Wakeup {
	var timeout *unix.Timespec
	if d >= 0 {
		t := unix.NsecToTimespec(int64(d))
		timeout = &t
	}
	n, err := unix.Ppoll(w.fds, timeout, nil)
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

// Wake ends a Wait of another goroutine, or its next one.
func (w *Waiter) Wake() {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], 1)
	_, _ = unix.Write(w.event, b[:])
}

// Close releases the Waiter.
func (w *Waiter) Close() error { return unix.Close(w.event) }
