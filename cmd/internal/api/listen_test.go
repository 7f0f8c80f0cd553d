package api

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A file that is not a socket is somebody's: it must not be removed.
func TestListenKeepsFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Listen(path, false); err == nil {
		_ = l.Close()
		t.Error("listening in place of a file: no error")
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "x" {
		t.Errorf("the file is gone: %v", err)
	}
}

// The mode does not depend on the caller's umask.
func TestSocketIsTheOwners(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	path := filepath.Join(t.TempDir(), "s1.sock")
	l, err := Listen(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode().Perm(), err)
	}
}

// Only the socket of a switch that is dead goes.
func TestRemoveStale(t *testing.T) {
	dir := t.TempDir()
	living, dead, none := filepath.Join(dir, "living"), filepath.Join(dir, "dead"), filepath.Join(dir, "none")
	l, err := Listen(living, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	gone, err := Listen(dead, false)
	if err != nil {
		t.Fatal(err)
	}
	gone.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{living: true, dead: false, none: false} {
		alive, err := RemoveStale(path)
		_, there := os.Lstat(path)
		if alive != want || err != nil || (there == nil) != want {
			t.Errorf("%s: alive %v, %v, there: %v", path, alive, err, there)
		}
	}
}
