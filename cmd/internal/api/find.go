package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// SocketVariable is the environment variable that names the control socket.
const SocketVariable = "PFCSWITCH_SOCKET"

// Find returns the control socket for a command: flag if set, else $PFCSWITCH_SOCKET, else the socket of the one
// running switch. Both name the socket by its path, or the switch by its name, which has no slash.
func Find(flag string) (string, error) {
	if flag != "" {
		return named(flag)
	}
	if text := os.Getenv(SocketVariable); text != "" {
		return named(text)
	}
	live, locked := alive(folders())
	switch len(live) {
	case 0:
		if len(locked) > 0 {
			return "", fmt.Errorf("this user may not open the socket of the switch that runs here (%s): use the user that started it, or sudo", locked[0])
		}
		return "", fmt.Errorf("%w (looked in %s): start one with \"pfcswitch run\", or name its socket with -s", ErrNoSwitch, strings.Join(folders(), ", "))
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
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) { // one that may not be seen is told of when it is opened
			return path, nil
		}
	}
	return "", fmt.Errorf("%w by the name %s (looked for %s.sock in %s): a socket in this folder is ./%s", ErrNoSwitch, text, text,
		strings.Join(folders(), ", "), text)
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
	all := []string{"/run/pfcswitch"}
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
