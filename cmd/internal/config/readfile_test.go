package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe into which nobody writes is not waited for.
func TestReadFileOfAnIdlePipe(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	for _, read := range []func() error{
		func() error { _, err := ReadFile(fifo); return err },
		func() error { _, err := LoadTopology(fifo); return err },
	} {
		go func() { done <- read() }()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), fifo+" is a pipe") {
				t.Errorf("got %v, want an error that says what it is", err)
			}
		case <-time.After(5 * time.Second):
			t.Error("it is waited for")
		}
	}
}

// The pipe of a shell's "<(...)" is a configuration like a file.
func TestReadFileOfAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	const text = "ports: {p1: {}}\n"
	go func() {
		_, _ = w.WriteString(text[:5])
		time.Sleep(20 * time.Millisecond)
		_, _ = w.WriteString(text[5:])
		_ = w.Close()
	}()
	got, err := ReadFile(fmt.Sprintf("/proc/self/fd/%d", r.Fd()))
	if err != nil || string(got) != text {
		t.Errorf("got %q, %v, want %q", got, err, text)
	}
}
