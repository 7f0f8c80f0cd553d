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

// Buffers are refused that the machine cannot have, with what measured headrooms may add, where flows last long enough
// to fill them.
func TestBuffersCountHeadroomsThatGrow(t *testing.T) {
	for _, tt := range []struct {
		least, lasts string // of 600 queues
		refused      bool
	}{{"1GiB", "3600s", true}, {"4KiB", "3600s", false}, {"1GiB", "10ms", false}} {
		lab, err := config.ParseTopology("lab.yaml", fmt.Appendf(nil, "name: lab\nfabric: {ring: {switches: 200, "+
			"hosts: 1}, links: {speed: 1M}, switches: {preset: roce, buffer: {cell: 4KiB}, headroom: {min: %s, "+
			"small_packets: 0%%}}}\ntraffic: {f: {from: h1, to: h100, duration: %s}}\n", tt.least, tt.lasts),
			os.ReadFile)
		assert.Must(t, err)
		f, err := build(lab, standard)
		if err == nil {
			assert.Must(t, f.close())
		}
		says := err == nil || strings.Contains(err.Error(), "their buffers take ")
		assert.True(t, (err != nil) == tt.refused && says, "headrooms of %s, for %s: %v", tt.least, tt.lasts, err)
	}
}
