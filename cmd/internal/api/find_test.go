package api

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
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
	first, err := Listen(filepath.Join(dir, "pfcswitch", "one.sock"), false)
	if err != nil {
		t.Fatal(err)
	}
	live, _ := alive([]string{filepath.Join(dir, "pfcswitch")})
	if len(live) != 1 || filepath.Base(live[0]) != "one.sock" {
		t.Errorf("found %v, want one.sock", live)
	}
	if got, err := Find("one"); err != nil || got != live[0] {
		t.Errorf("a switch by its name: %q, %v, want %s", got, err, live[0])
	}
	if _, err := Listen(live[0], false); err == nil || !strings.Contains(err.Error(), "another switch") {
		t.Errorf("listening twice: %v, want an error that names the other switch", err)
	}
	first.(interface{ SetUnlinkOnClose(bool) }).SetUnlinkOnClose(false)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if live, _ := alive([]string{filepath.Join(dir, "pfcswitch")}); len(live) != 0 {
		t.Errorf("a dead socket was found: %v", live)
	}
	second, err := Listen(filepath.Join(dir, "pfcswitch", "one.sock"), false)
	if err != nil {
		t.Fatalf("a dead switch's socket was not replaced: %v", err)
	}
	_ = second.Close()
	t.Setenv(SocketVariable, "/env.sock")
	if got, err := Find(""); err != nil || got != "/env.sock" {
		t.Errorf("socket from the environment: %q, %v", got, err)
	}
	if _, err := NewClient(filepath.Join(dir, "none.sock")).Show(context.Background(), "ports"); !errors.Is(err, ErrNoSwitch) {
		t.Errorf("a client without a switch: %v", err)
	}
}
