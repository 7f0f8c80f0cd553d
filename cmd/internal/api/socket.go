package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/lab"
)

// SocketVariable is the environment variable that names the control socket.
const SocketVariable = "PFCSWITCH_SOCKET"

// Find returns the control socket for a command: flag if set, else $PFCSWITCH_SOCKET, else the socket of the one
// running switch. Both name the socket by its path, or the switch by its name, which has no slash.
func Find(flag string) (string, error) {
	if text := cmp.Or(flag, os.Getenv(SocketVariable)); text != "" {
		return named(text)
	}
	live, locked := alive(folders())
	switch len(live) {
	case 0:
		if len(locked) > 0 {
			return "", fmt.Errorf("this user may not open the socket of the switch that runs here (%s): use the user "+
				"that started it, or sudo", locked[0])
		}
		return "", fmt.Errorf("%w (looked in %s): start one with \"pfcswitch run\", or name its socket with -s",
			ErrNoSwitch, strings.Join(folders(), ", "))
	case 1:
		return live[0], nil
	}
	return "", fmt.Errorf("several switches run here: name one with -s:\n  %s", strings.Join(live, "\n  "))
}

// Running returns the control sockets of the switches that run here and that this user may open.
func Running() []string {
	live, _ := alive(folders())
	return live
}

// named returns the socket that text stands for.
func named(text string) (string, error) {
	if strings.Contains(text, "/") {
		return text, nil
	}
	for _, dir := range folders() {
		path := filepath.Join(dir, text+".sock")
		// a socket that this user may not see fails when it is opened
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w by the name %s (looked for %s.sock in %s): a socket in this folder is ./%s", ErrNoSwitch,
		text, text, strings.Join(folders(), ", "), text)
}

// RunningNames returns the names of the switches that run here and that this user may open.
func RunningNames() []string {
	live := Running()
	names := make([]string, 0, len(live))
	for _, path := range live {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".sock"))
	}
	return names
}

// folders are where switches put their sockets by default.
func folders() []string {
	all := []string{"/run/pfcswitch", lab.Folder}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		all = append(all, filepath.Join(dir, "pfcswitch"))
	}
	return all
}

// alive returns the sockets in the folders that have a listener, and those that this user may not open.
func alive(folders []string) (live, locked []string) {
	for _, dir := range folders {
		paths, err := filepath.Glob(filepath.Join(dir, "*.sock"))
		if err != nil {
			continue
		}
		for _, path := range paths {
			c, err := net.Dial("unix", path)
			switch {
			case err == nil:
				_ = c.Close()
				live = append(live, path)
			case errors.Is(err, os.ErrPermission):
				locked = append(locked, path)
			}
		}
	}
	return live, locked
}

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
	if alive, err := awaitDying(path); err != nil {
		return nil, err
	} else if alive {
		return nil, fmt.Errorf("control socket %s: another switch listens there: stop it, "+
			"or give this one another name", path)
	}
	config := net.ListenConfig{Control: ownerOnly}
	l, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	return l, nil
}

// dyingPatience is how long a start waits for a killed switch that still has the socket: the kernel closes it after the
// rings of the ports, which takes up to a second. The start looks every dyingPoll.
var dyingPatience = 2 * time.Second

const dyingPoll = 20 * time.Millisecond

// awaitDying is RemoveStale, after the end of a listener that was killed.
func awaitDying(path string) (alive bool, err error) {
	for deadline := time.Now().Add(dyingPatience); ; time.Sleep(dyingPoll) {
		if alive, err = RemoveStale(path); !alive || err != nil {
			return alive, err
		}
		pid, err := NewClient(path).PID(context.Background())
		switch {
		case errors.Is(err, unix.ECONNREFUSED): // it has just ended
		case err != nil || !dying(pid):
			return true, nil
		case time.Now().After(deadline):
			return true, fmt.Errorf("control socket %s: process %d, which listens there, was killed, and the kernel "+
				"has not ended it within %v: try again (/proc/%[2]d/task/*/stack says what it waits for)", path, pid,
				dyingPatience)
		}
	}
}

// dying tells whether a process is about to end: its first thread has ended or is ending, or has SIGKILL before it.
func dying(pid int) bool {
	if pid == 0 {
		return false // it cannot be seen from here
	}
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return true // it has just ended
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from the state on
	if err != nil || len(fields) < 7 {
		return false
	}
	const exiting = 4 // PF_EXITING, among the flags
	flags, _ := strconv.ParseUint(fields[6], 10, 64)
	return strings.Contains("ZX", fields[0]) || flags&exiting != 0 || killed(pid)
}

func killed(pid int) bool {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if name, mask, _ := strings.Cut(line, ":"); name == "SigPnd" || name == "ShdPnd" {
			pending, _ := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			if pending>>(unix.SIGKILL-1)&1 != 0 {
				return true
			}
		}
	}
	return false
}

// RemoveStale removes the socket at path if it has no listener; alive tells that it has one.
func RemoveStale(path string) (alive bool, err error) {
	c, err := net.Dial("unix", path)
	switch {
	case err == nil:
		return true, c.Close()
	case errors.Is(err, unix.EAGAIN): // its queue of connections is full
		return true, nil
	case errors.Is(err, unix.ECONNREFUSED):
		return false, removeStale(path)
	}
	return false, nil // it does not exist, or its use fails with the reason
}

// removeStale removes the socket of a dead switch. A file of another kind stays.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("control socket %s: a file of this name exists and is not a socket: remove it, or write "+
			"another api.socket", path)
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
