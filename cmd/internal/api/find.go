package api

import (
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
	live := alive(folders())
	switch len(live) {
	case 0:
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

// alive returns the sockets in the folders on which somebody listens.
func alive(folders []string) (live []string) {
	for _, dir := range folders {
		paths, err := filepath.Glob(filepath.Join(dir, "*.sock"))
		if err != nil {
			continue
		}
		for _, path := range paths {
			if c, err := net.Dial("unix", path); err == nil {
				_ = c.Close()
				live = append(live, path)
			}
		}
	}
	return live
}
