package api

import (
	"context"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// PID returns the process that listens on the socket, as this process sees it.
func (c *Client) PID(ctx context.Context) (int, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", c.socket)
	if err != nil {
		return 0, c.noSwitch(err)
	}
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, fmt.Errorf("ask who listens on %s: %w", c.socket, failed)
	}
	return int(cred.Pid), nil
}
