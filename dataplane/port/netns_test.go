package port

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
)

// A path that is no network namespace gives an error at once that names no capability.
func TestNoNetns(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	assert.Must(t, unix.Mkfifo(fifo, 0o600))
	for _, path := range []string{fifo, dir, "/dev/null", "/etc/passwd", "/proc/self/ns/mnt"} {
		calls := map[string]func() error{
			"Inspect": func() error { _, err := Inspect(path, "lo"); return err },
			"Watch":   func() error { return Watch(path, nil, nil, nil) },
		}
		for name, call := range calls {
			done := make(chan error, 1)
			go func() { done <- call() }()
			select {
			case err := <-done:
				assert.True(t, err != nil && strings.Contains(err.Error(), path+": is no network namespace: write") &&
					!strings.Contains(err.Error(), "CAP_"), "%s of %s: %v", name, path, err)
			case <-time.After(5 * time.Second):
				t.Errorf("%s of %s hangs", name, path)
			}
		}
	}
}

// The shell takes any quoted text for one word.
func TestCommandIn(t *testing.T) {
	for _, text := range []string{"eth0", "a b", "it's", "$(id)", "", "a;b", "/run/netns/x-1"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+ShellWord(text)).Output()
		assert.True(t, err == nil && string(out) == text, "%q became %q, %v", text, out, err)
	}
	for netns, want := range map[string]string{"": "x", "h": "nsenter --net=/run/netns/h x",
		"pid:7": "nsenter --net=/proc/7/ns/net x", "/a/b": "nsenter --net=/a/b x"} {
		assert.Equal(t, CommandIn(netns, "x"), want, "in %q", netns)
	}
	got, want := CommandIn("h", "a && b"), "nsenter --net=/run/netns/h sh -c 'a && b'"
	assert.True(t, got == want, "%s, want %s", got, want)
}
