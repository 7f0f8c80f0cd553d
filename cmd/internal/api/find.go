package api

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// SocketVariable is the environment variable that names the control socket.
const SocketVariable = "PFCSWITCH_SOCKET"

// Find returns the control socket that a command talks to: flag where it is set, else $PFCSWITCH_SOCKET, else that of the
// one switch that runs here.
func Find(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if path := os.Getenv(SocketVariable); path != "" {
		return path, nil
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

// folders are where switches put their sockets by default.
func folders() []string {
	all := []string{"/run/pfcswitch"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		all = append(all, filepath.Join(dir, "pfcswitch"))
	}
	return all
}

// alive returns the sockets in the folders on which somebody listens, and those that this user may not open.
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
