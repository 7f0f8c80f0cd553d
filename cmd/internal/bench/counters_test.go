package bench

import (
	"math"
	"os"
	"strings"
	"testing"
)

const netDev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
  eth0: 6000000  100000    0    0    0     0          0         0     1234      12    0    0    0     0       0          0
 eth01:1 2 0 0 0 0 0 0 3 4
`

func TestParseNetDev(t *testing.T) {
	for name, want := range map[string]counters{"eth0": {100000, 6000000, 12}, "lo": {}, "eth01": {2, 1, 4}} {
		if got, err := parseNetDev(netDev, name); got != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
	for _, text := range []string{netDev, "", "eth9:", "eth9: 1", "eth9: x y"} {
		if _, err := parseNetDev(text, "eth9"); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestParseStat(t *testing.T) {
	// user nice system idle iowait irq softirq steal guest guest_nice
	got, err := parseStat("cpu  100 10 200 5000 600 30 40 20 7 8\ncpu0 1 2 3\n")
	if err != nil || math.Abs(got.busy-3.80) > 1e-9 || got.stolen != 0.20 {
		t.Errorf("%+v s, %v, want 3.8 and 0.2", got, err)
	}
	for _, text := range []string{"", "cpu 1 2", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x"} {
		if _, err := parseStat(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestParseRollup(t *testing.T) {
	got, err := parseRollup("5581 [rollup]\nRss:   2048 kB\nPss:    512 kB\nPss_Anon: 1 kB\n")
	if err != nil || got.rss != 2<<20 || got.pss != 512<<10 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "Rss: 1 kB\n", "Rss: x kB\nPss: 1 kB\n"} {
		if _, err := parseRollup(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// The kernel's own files are such.
func TestKernelFiles(t *testing.T) {
	b, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := parseRollup(string(b)); err != nil || m.rss < 1<<20 || m.pss > m.rss {
		t.Errorf("%+v, %v", m, err)
	}
	if busy, err := machineBusy(); err != nil || busy <= 0 {
		t.Errorf("%v, %v", busy, err)
	}
	b, err = os.ReadFile("/proc/self/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseNetDev(string(b), "lo"); err != nil {
		t.Error(err)
	}
}

func TestStale(t *testing.T) {
	const gone = "4194305" // above the largest process number that Linux gives (2²²)
	for name, want := range map[string]bool{
		"pfcbench-" + gone + "-bridge": true, "pfcbench-" + gone + "-bridge-h1": true, "pfcbench-1-bridge": false, "pfcbench-77-x": true,
		"pfcbench-x-y": false, "pfcsw-" + gone + "-demo-h1": false, "pfcbench-": false, "pfcbench-0-x": false, "pfcbench--1-x": false,
	} {
		if got := stale(name, 77); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestOutcome(t *testing.T) {
	o := outcome{offered: 4e6, delivered: 2e6, elapsed: 2, cpu: 3}
	// 3 s of CPU for 2 million frames are 1.5 µs each; for 2 million frames of 500 octets, 1 GB, 3 s a GB.
	if o.perFrame() != 1.5 || o.perGB(500) != 3 {
		t.Errorf("%v µs, %v s", o.perFrame(), o.perGB(500))
	}
}

func TestHasTSO(t *testing.T) {
	for log, want := range map[string]string{
		"2026|dpdk|INFO|x\n2026|userspace_tso|INFO|Userspace TCP Segmentation Offloading support enabled\n":             "",
		"2026|WARN|Userspace TCP Segmentation Offloading can not be enabled since OVS is built without DPDK support.\n": "without DPDK",
		"nothing": "does not speak of it",
	} {
		err := hasTSO(log)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", log, err, want)
		}
	}
}
