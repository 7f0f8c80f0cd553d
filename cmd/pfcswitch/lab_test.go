package main

import (
	"os"
	"path/filepath"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

// A run that cannot be has status 2; status 1 would mean that the switches failed.
func TestLabRunStatus(t *testing.T) {
	for _, args := range [][]string{{"run", "no-such.yaml"}, {"run"}, {"run", "a", "b"}, {"run", "a", "--nonsense"},
		{"run", "testdata/bad.yaml"}} {
		out, status := run(t, labCommand(), args...)
		assert.True(t, status == couldNotRun, "lab %v: status %d, want %d: %s", args, status, couldNotRun, out)
	}
}

// A lab's file is checked, and drawn, without being brought up.
func TestLabFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lab.yaml")
	assert.Must(t, os.WriteFile(file, []byte("name: x\nfabric: {dumbbell: {hosts: 1}}\n"), 0o644))
	for _, tt := range []struct {
		args, want string
		status     int
	}{
		{"check " + file, file + ": OK: lab x: switches 2, hosts 2, links 3\n", 0},
		{"check ../../scripts/lab/machines.yaml", ": OK: lab machines: switches 2, hosts 4, links 5, parts 2\n", 0},
		{"graph " + file, `"left" -- "right" [label="left-right 1G", taillabel="up", headlabel="up"]`, 0},
		{"check testdata/bad.yaml", "testdata/bad.yaml:2: ports: unknown key", 1},
		{"graph testdata/bad.yaml", "testdata/bad.yaml:2: ports: unknown key", 1},
	} {
		out, status := run(t, labCommand(), strings.Fields(tt.args)...)
		assert.True(t, strings.Contains(out, tt.want) && status == tt.status,
			"lab %s: status %d, want %d: %s", tt.args, status, tt.status, out)
	}
}
