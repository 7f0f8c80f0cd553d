package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Listen opens the control socket at path with mode 0600. A socket file without a listener is replaced; a running
// switch is an error. With auto, if the folder cannot be made or written, the socket goes to $XDG_RUNTIME_DIR/pfcswitch
// instead.
func Listen(path string, auto bool) (net.Listener, error) {
	l, err := listen(path)
	if err == nil || !auto || !errors.Is(err, os.ErrPermission) && !errors.Is(err, unix.EROFS) {
		return l, err
	}
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		return nil, fmt.Errorf("%w (set XDG_RUNTIME_DIR, or write api.socket)", err)
	}
	return listen(filepath.Join(dir, "pfcswitch", filepath.Base(path)))
}

func listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	if alive, err := RemoveStale(path); err != nil {
		return nil, err
	} else if alive {
		return nil, fmt.Errorf("control socket %s: another switch listens there: stop it, or give this one another name", path)
	}
	config := net.ListenConfig{Control: ownerOnly}
	l, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	return l, nil
}

// RemoveStale removes the socket at path if it has no listener; alive tells that it has one.
func RemoveStale(path string) (alive bool, err error) {
	c, err := net.Dial("unix", path)
	switch {
	case err == nil:
		return true, c.Close()
	case errors.Is(err, unix.EAGAIN): // so many wait for an answer that nobody else may
		return true, nil
	case errors.Is(err, unix.ECONNREFUSED):
		return false, removeStale(path)
	}
	return false, nil // it is not there, or whoever needs it is told why it is of no use
}

// removeStale removes the socket of a dead switch. A file of another kind stays.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("control socket %s: a file of this name exists and is not a socket: remove it, or write another api.socket", path)
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		return fmt.Errorf("control socket %s: remove what a dead switch left: %w", path, err)
	}
	return nil
}

// ownerOnly sets the mode of a socket before the socket gets its name, so that other users never have access. A umask
// would affect every file that the process makes at that moment.
func ownerOnly(_, _ string, c syscall.RawConn) error {
	var failed error
	if err := c.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), 0o600) }); err != nil {
		return err
	}
	return failed
}
