package api

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Listen opens the control socket at path, for its owner alone (mode 0600). A socket file that nobody listens on any
// more is replaced; a switch that still runs is an error. With auto, where the folder cannot be made or written, the
// socket goes to $XDG_RUNTIME_DIR/pfcswitch instead.
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
	if c, err := net.Dial("unix", path); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("control socket %s: another switch listens there: stop it, or give this one another name", path)
	} else if errors.Is(err, unix.ECONNREFUSED) {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("control socket %s: remove what a dead switch left: %w", path, err)
		}
	}
	old := unix.Umask(0o177)
	l, err := net.Listen("unix", path)
	unix.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	return l, nil
}
