package port_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/port"
)

// What is no network namespace says so at once, whatever it is, and names no capability that would not help.
func TestNoNetns(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, dir, "/dev/null", "/etc/passwd", "/proc/self/ns/mnt"} {
		calls := map[string]func() error{
			"Inspect": func() error { _, err := port.Inspect(path, "lo"); return err },
			"Watch":   func() error { return port.Watch(path, nil, nil, nil) },
		}
		for name, call := range calls {
			done := make(chan error, 1)
			go func() { done <- call() }()
			select {
			case err := <-done:
				if err == nil || !strings.Contains(err.Error(), path+": is no network namespace: write") || strings.Contains(err.Error(), "CAP_") {
					t.Errorf("%s of %s: %v", name, path, err)
				}
			case <-time.After(5 * time.Second):
				t.Errorf("%s of %s hangs", name, path)
			}
		}
	}
}
