package web

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A fairListener accepts connections whose deadlines end only what the client delays. A process that gets no CPU may
// come to a request after the deadline for reading it, though the request has been there all the time.
type fairListener struct{ net.Listener }

// Accept implements net.Listener.
func (l fairListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if s, ok := c.(syscall.Conn); ok && err == nil {
		if raw, err := s.SyscallConn(); err == nil {
			return fairConn{c, raw}, nil
		}
	}
	return c, err
}

// A fairConn believes in the end of a deadline only where the kernel has nothing of the client, or no room for it.
type fairConn struct {
	net.Conn
	raw syscall.RawConn
}

// Read implements net.Conn.
func (c fairConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) || len(b) == 0 {
		return n, err
	}
	switch n, tried := c.try(unix.POLLIN, unix.Read, b); {
	case errors.Is(tried, unix.EAGAIN):
		return 0, err
	case tried == nil && n == 0:
		return 0, io.EOF
	default:
		return max(0, n), tried
	}
}

// Write implements net.Conn.
func (c fairConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	for n < len(b) {
		switch more, tried := c.try(unix.POLLOUT, unix.Write, b[n:]); {
		case errors.Is(tried, unix.EAGAIN):
			return n, err
		case tried != nil:
			return n, tried
		default:
			n += more
		}
	}
	return n, nil
}

// try makes a system call, whatever the deadline, where it does not have to wait.
func (c fairConn) try(ready int16, call func(fd int, b []byte) (int, error), b []byte) (n int, err error) {
	failed := c.raw.Control(func(fd uintptr) {
		count, polled := 0, error(unix.EINTR)
		for errors.Is(polled, unix.EINTR) {
			count, polled = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: ready}}, 0)
		}
		if err = polled; err == nil && count == 0 {
			err = unix.EAGAIN
		} else if err == nil {
			n, err = call(int(fd), b)
		}
	})
	return n, errors.Join(failed, err)
}
