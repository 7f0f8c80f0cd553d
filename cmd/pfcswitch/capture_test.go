package main

import (
	"os"
	"path/filepath"
	"testing"

	"pfcswitch/dataplane/assert"
)

// A capture that fails to start neither changes an existing file nor creates one.
func TestCaptureThatDoesNotBegin(t *testing.T) {
	dir := t.TempDir()
	before := filepath.Join(dir, "before.pcapng")
	assert.Must(t, os.WriteFile(before, []byte("precious"), 0o600))
	for _, file := range []string{before, filepath.Join(dir, "new.pcapng")} {
		assert.Contains(t, fail(t, captureCommand(), "-s", filepath.Join(dir, "none.sock"), "-w", file), "none.sock",
			"%s", file)
	}
	b, err := os.ReadFile(before)
	assert.True(t, err == nil && string(b) == "precious", "the file of before: %q, %v", b, err)
	files, err := os.ReadDir(dir)
	assert.True(t, err == nil && len(files) == 1, "%d files, %v, want 1", len(files), err)
}

// The first write replaces an existing file.
func TestLateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "before.pcapng")
	assert.Must(t, os.WriteFile(path, []byte("much longer"), 0o600))
	l := &lazyFile{path: path}
	for _, text := range []string{"sho", "rt"} {
		n, err := l.Write([]byte(text))
		assert.MustBeTrue(t, n == len(text) && err == nil, "%d octets, %v", n, err)
	}
	assert.Must(t, l.Close())
	if b, err := os.ReadFile(path); err != nil || string(b) != "short" {
		t.Errorf("it holds %q, %v", b, err)
	}
	_, err := (&lazyFile{path: "/no/such/folder/x"}).Write([]byte("x"))
	assert.Fails(t, err, "/no/such/folder/x", "a file that cannot be made")
}
