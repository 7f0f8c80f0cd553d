package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

// The exit status tells a run that passed, one that failed, and none.
func TestSimStatus(t *testing.T) {
	for args, want := range map[string]int{
		"../../scripts/lab/leaf-spine.yaml":        0,
		"../../scripts/lab/leaf-spine.yaml -j":     0,
		"../../scripts/lab/leaf-spine.yaml --lldp": 0,
		"../../scripts/lab/ring.yaml --stall 20ms": 1,
		"paper":                     0,
		"paper none":                couldNotRun,
		"paper dt dsh":              couldNotRun,
		"paper measured --links -1": couldNotRun,
		"paper dt --links 5":        couldNotRun,
		"no-such.yaml":              couldNotRun,
		"":                          couldNotRun,
		"a b":                       couldNotRun,
		"../../scripts/lab/ring.yaml --stall -1s":     couldNotRun,
		"../../scripts/lab/ring.yaml --seed x":        couldNotRun,
		"../../scripts/lab/ring.yaml --response -1s":  couldNotRun,
		"testdata/bad.yaml":                           couldNotRun,
		"../../scripts/lab/incast.yaml --response 1s": 1,
	} {
		out, status := run(t, simCommand(), strings.Fields(args)...)
		assert.True(t, status == want, "sim %s: status %d, want %d: %s", args, status, want, out)
	}
}

// A picture and captures are written where they are wanted. Where nothing ran, no picture is left.
func TestSimFiles(t *testing.T) {
	dir := t.TempDir()
	svg, pcap := filepath.Join(dir, "a.svg"), filepath.Join(dir, "frames")
	out, status := run(t, simCommand(), "../../scripts/lab/leaf-spine.yaml", "--svg", svg, "--pcap", pcap)
	assert.MustBeTrue(t, status == 0, "status %d: %s", status, out)
	for _, name := range []string{svg, filepath.Join(pcap, "leaf1.pcapng"), filepath.Join(pcap, "spine2.pcapng")} {
		is, err := os.Stat(name)
		assert.True(t, err == nil && is.Size() != 0, "%s: %v", name, err)
	}
	none := filepath.Join(dir, "none.svg")
	for _, args := range [][]string{{"no-such.yaml", "--svg", none}, {"../../scripts/lab/ring.yaml", "--svg", dir},
		{"../../scripts/lab/ring.yaml", "--pcap", svg}} {
		out, status := run(t, simCommand(), args...)
		assert.True(t, status == couldNotRun, "%v: status %d: %s", args, status, out)
	}
	_, err := os.Stat(none)
	assert.True(t, os.IsNotExist(err), "a picture of nothing is left: %v", err)
}

// An unknown flag has the status of what could not run.
func TestSimUsage(t *testing.T) {
	c := simCommand()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetOut(io.Discard)
	c.SetArgs([]string{"--nonsense"})
	var e exit
	err := c.Execute()
	assert.True(t, errors.As(err, &e) && e.status == couldNotRun, "%v, want exit status %d", err, couldNotRun)
}
