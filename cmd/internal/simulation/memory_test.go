package simulation

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

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
		{"incast: h1", 1 << 20, true}, {"incast: h1", memoryReserve, false}, {"permutation: on", 1 << 20, false},
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
				strings.Contains(err.Error(), "1 MiB of memory are left: write smaller ones"), "%v", err)
		}
	}
}

// What switches and flows take for certain is compared with what is left before they take it.
func TestTooLargeIsRefused(t *testing.T) {
	const fabric = "name: lab\nfabric: {fat-tree: {k: 16}, links: {speed: 100G}}\n"
	var hosts []string
	for i := range 200 {
		hosts = append(hosts, fmt.Sprintf("h%d", i+1))
	}
	for _, tt := range []struct {
		traffic string
		left    int64
		refused string
	}{
		{"{permutation: on, duration: 1us}", 32 << 20, "lab.yaml:2: switches: their 5120 ports take "},
		{"{from: [HOSTS], to: [HOSTS], duration: 1us}", 512 << 20,
			"lab.yaml:3: traffic.f: the flows of all traffic take "},
		{"{from: [HOSTS], to: [HOSTS], size: 1MB}", 512 << 20, ""},
		{"{poisson: hadoop, load: 90%, duration: 400ms}", 32 << 30, "lab.yaml:3: traffic.f: more than 1048576 flows"},
	} {
		lab, err := config.ParseTopology("lab.yaml", []byte(fabric+"traffic: {f: "+
			strings.ReplaceAll(tt.traffic, "HOSTS", strings.Join(hosts, ", "))+"}\n"), os.ReadFile)
		assert.Must(t, err)
		o := standard
		o.left = func() int64 { return tt.left }
		f, err := build(lab, o)
		if tt.refused == "" {
			assert.Must(t, err)
			assert.Must(t, f.close())
			continue
		}
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), tt.refused), "%s, %d MiB: %v", tt.traffic,
			tt.left>>20, err)
	}
}

// A run whose frames could take more than there is is warned of, and runs; none is where the hosts send too little.
func TestWarnsOfMemory(t *testing.T) {
	for _, duration := range []time.Duration{20 * time.Microsecond, time.Millisecond} {
		o, told := standard, ""
		o.Warn = func(text string) { told += text }
		o.left = func() int64 { return memoryReserve + 1<<20 }
		lab, err := config.ParseTopology("lab.yaml", fmt.Appendf(nil, "name: lab\nfabric: {leaf-spine: {leaves: 1, "+
			"spines: 1, hosts: 8}, links: {speed: 100G}, switches: {preset: roce}}\n"+
			"traffic: {f: {permutation: on, octets: 1500, duration: %v}}\n", duration), os.ReadFile)
		assert.Must(t, err)
		assert.Got(RunTopology(t.Context(), lab, o)).Must(t)
		assert.True(t, strings.HasPrefix(told, "frames that wait may take up to ") == (duration == time.Millisecond),
			"%v: %q", duration, told)
	}
}

// What is left is the least of the machine and of the control groups of both versions, up to their root.
func TestMemoryLeft(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	root := fstest.MapFS{"proc/meminfo": file("MemTotal: 9000 kB\nMemAvailable:    8000 kB\n")}
	want := func(octets int64, what string) {
		t.Helper()
		n := memoryLeft(root)
		assert.True(t, n == octets, "%s: %d octets are left, want %d", what, n, octets)
	}
	want(8000<<10, "no group")
	root["proc/self/cgroup"] = file("4:memory:/a\n0::/b/c\n")
	root["sys/fs/cgroup/b/c/memory.max"], root["sys/fs/cgroup/b/c/memory.current"] = file("max\n"), file("100\n")
	want(8000<<10, "a group without a limit")
	root["sys/fs/cgroup/b/memory.max"], root["sys/fs/cgroup/b/memory.current"] = file("700000\n"), file("200000\n")
	want(500000, "the limit of an ancestor")
	root["sys/fs/cgroup/b/memory.stat"] = file("anon 50000\ninactive_file 100000\n")
	want(600000, "files that it can give back")
	root["sys/fs/cgroup/memory/a/memory.limit_in_bytes"] = file("400000\n")
	root["sys/fs/cgroup/memory/a/memory.usage_in_bytes"] = file("100000\n")
	root["sys/fs/cgroup/memory/a/memory.stat"] = file("inactive_file 5\ntotal_inactive_file 50000\n")
	want(350000, "version 1")
	root["sys/fs/cgroup/memory/memory.limit_in_bytes"] = file("300000\n") // as a container sees its own
	root["sys/fs/cgroup/memory/memory.usage_in_bytes"] = file("300001\n")
	want(0, "used up")
}
