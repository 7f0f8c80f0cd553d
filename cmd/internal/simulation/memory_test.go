package simulation

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/assert"
)

// Where the system has no room for a switch, the error has file, line and key, and what to do.
func TestNoMemory(t *testing.T) {
	statm, err := os.ReadFile("/proc/self/statm")
	assert.Must(t, err)
	var pages uint64
	assert.Got(fmt.Sscan(string(statm), &pages)).Must(t)
	var was unix.Rlimit
	assert.Must(t, unix.Getrlimit(unix.RLIMIT_AS, &was))
	limit := unix.Rlimit{Cur: pages*uint64(os.Getpagesize()) + 1<<30, Max: was.Max}
	assert.Must(t, unix.Setrlimit(unix.RLIMIT_AS, &limit))
	_, err = simulate(t, "name: lab\nswitches: {s1: {preset: roce, buffer: {lossless: {size: 2GiB}}}}\n"+
		"hosts: {h1: {}, h2: {}}\nlinks: {l1: {ends: [h1, \"s1:p1\"]}, l2: {ends: [h2, \"s1:p2\"]}}\n"+
		"traffic: {f: {from: h1, to: h2, duration: 1ms}}\n", standard)
	assert.Must(t, unix.Setrlimit(unix.RLIMIT_AS, &was))
	assert.True(t, err != nil && strings.HasPrefix(err.Error(), "lab.yaml:2: switches: switch s1: ") &&
		strings.Contains(err.Error(), "write smaller buffers and rings"), "%v", err)
}

// A run ends when its frames take more memory than there is, and not before: a machine with little memory runs a
// fabric whose pools are large where they stay empty.
func TestRunEndsWithoutMemory(t *testing.T) {
	for _, tt := range []struct {
		traffic string
		left    int64
		refused bool
	}{
		{"incast: h1", 0, true}, {"incast: h1", memoryReserve, false}, {"permutation: on", 0, false},
	} {
		lab, err := config.ParseTopology("lab.yaml", fmt.Appendf(nil, "name: lab\nfabric: {leaf-spine: {leaves: 1, "+
			"spines: 1, hosts: 32}, links: {speed: 100G}, switches: {preset: roce, buffer: {lossless: {size: 3GiB}}}"+
			"}\ntraffic: {f: {%s, octets: 64, duration: 160us}}\n", tt.traffic), os.ReadFile)
		assert.Must(t, err)
		o := standard
		o.left = func() int64 { return tt.left }
		_, err = RunTopology(t.Context(), lab, o)
		assert.True(t, (err != nil) == tt.refused, "%s, %d octets left: %v", tt.traffic, tt.left, err)
		if err != nil {
			assert.True(t, strings.HasPrefix(err.Error(), "lab.yaml:2: switches: after ") &&
				strings.Contains(err.Error(), "this machine has 0 MiB left: write smaller ones"), "%v", err)
		}
	}
}
