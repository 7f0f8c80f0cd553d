package api

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/dataplane/assert"
)

func TestFindAndListen(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv(SocketVariable, "")
	if got, err := Find("/x.sock"); err != nil || got != "/x.sock" {
		t.Errorf("a named socket: %q, %v", got, err)
	}
	if got, err := Find("one"); !errors.Is(err, ErrNoSwitch) || !strings.Contains(err.Error(), "./one") {
		t.Errorf("the name of no switch: %q, %v", got, err)
	}
	first := assert.Got(Listen(filepath.Join(dir, "pfcswitch", "one.sock"), false)).Must(t)
	live, _ := alive([]string{filepath.Join(dir, "pfcswitch")})
	assert.True(t, len(live) == 1 && filepath.Base(live[0]) == "one.sock", "found %v, want one.sock", live)
	got, err := Find("one")
	assert.True(t, err == nil && got == live[0], "a switch by its name: %q, %v, want %s", got, err, live[0])
	_, err = Listen(live[0], false)
	assert.Fails(t, err, "another switch", "listening twice")
	first.(interface{ SetUnlinkOnClose(bool) }).SetUnlinkOnClose(false)
	assert.Must(t, first.Close())
	live, _ = alive([]string{filepath.Join(dir, "pfcswitch")})
	assert.True(t, len(live) == 0, "a dead socket was found: %v", live)
	second, err := Listen(filepath.Join(dir, "pfcswitch", "one.sock"), false)
	assert.MustNoError(t, err, "a dead switch's socket was not replaced")
	_ = second.Close()
	t.Setenv(SocketVariable, "/env.sock")
	got, err = Find("")
	assert.True(t, err == nil && got == "/env.sock", "socket from the environment: %q, %v", got, err)
	_, err = NewClient(filepath.Join(dir, "none.sock")).Show(context.Background(), "ports")
	assert.True(t, errors.Is(err, ErrNoSwitch), "a client without a switch: %v", err)
}

// A file that is not a socket must not be removed.
func TestListenKeepsFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "precious")
	assert.Must(t, os.WriteFile(path, []byte("x"), 0o600))
	if l, err := Listen(path, false); err == nil {
		_ = l.Close()
		t.Error("listening in place of a file: no error")
	}
	b, err := os.ReadFile(path)
	assert.True(t, err == nil && string(b) == "x", "the file is gone: %v", err)
}

// The mode does not depend on the caller's umask.
func TestSocketIsTheOwners(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	path := filepath.Join(t.TempDir(), "s1.sock")
	l := assert.Got(Listen(path, false)).Must(t)
	defer func() { _ = l.Close() }()
	info, err := os.Stat(path)
	assert.True(t, err == nil && info.Mode().Perm() == 0o600, "mode %v, %v, want 0600", info.Mode().Perm(), err)
}

// Only the socket of a dead switch is removed.
func TestRemoveStale(t *testing.T) {
	dir := t.TempDir()
	living, dead, none := filepath.Join(dir, "living"), filepath.Join(dir, "dead"), filepath.Join(dir, "none")
	l := assert.Got(Listen(living, false)).Must(t)
	defer func() { _ = l.Close() }()
	gone := assert.Got(Listen(dead, false)).Must(t)
	gone.(*net.UnixListener).SetUnlinkOnClose(false)
	assert.Must(t, gone.Close())
	for path, want := range map[string]bool{living: true, dead: false, none: false} {
		alive, err := RemoveStale(path)
		_, there := os.Lstat(path)
		assert.True(t, alive == want && err == nil && (there == nil) == want,
			"%s: alive %v, %v, there: %v", path, alive, err, there)
	}
}
