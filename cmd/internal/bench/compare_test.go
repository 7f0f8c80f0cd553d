package bench

import (
	"os"
	"strings"
	"testing"
)

// The configuration of the comparisons says what rings its senders' ports have, and nothing of them is left without.
func TestRingsOfBenchYAML(t *testing.T) {
	text, err := os.ReadFile("../../../scripts/bench.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ring := senderRing.FindSubmatch(text)
	if ring == nil || string(ring[1]) == "{}" {
		t.Fatalf("no ring of p1 in %s", text)
	}
	if left := ringKey.ReplaceAll(text, nil); senderRing.Match(left) ||
		len(ringKey.FindAll(text, -1)) != comparedHosts {
		t.Errorf("without rings:\n%s", left)
	}
}

func TestHasTSO(t *testing.T) {
	for log, want := range map[string]string{
		"2026|dpdk|INFO|x\n2026|userspace_tso|INFO|Userspace TCP Segmentation Offloading support enabled\n": "",
		"2026|WARN|Userspace TCP Segmentation Offloading can not be enabled " +
			"since OVS is built without DPDK support.\n": "without DPDK",
		"nothing": "does not speak of it",
	} {
		err := hasTSO(log)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", log, err, want)
		}
	}
}
