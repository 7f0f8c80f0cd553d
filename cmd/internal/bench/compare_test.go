package bench

import (
	"os"
	"pfcswitch/dataplane/assert"
	"strings"
	"testing"
)

// Without their rings, the ports of the comparisons have the default ones.
func TestRingsOfBenchYAML(t *testing.T) {
	text := assert.Got(os.ReadFile("../../../scripts/bench.yaml")).Must(t)
	left := ringKey.ReplaceAllString(string(text), "")
	assert.True(t, !strings.Contains(left, "ring:") && strings.Count(left, "tagged: [10]}") == comparedHosts,
		"without rings:\n%s", left)
}

func TestHasTSO(t *testing.T) {
	for log, want := range map[string]string{
		"2026|dpdk|INFO|x\n2026|userspace_tso|INFO|Userspace TCP Segmentation Offloading support enabled\n": "",
		"2026|WARN|Userspace TCP Segmentation Offloading can not be enabled " +
			"since OVS is built without DPDK support.\n": "without DPDK",
		"nothing": "no line about it",
	} {
		err := hasTSO(log)
		assert.True(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)),
			"%q: %v, want %q", log, err, want)
	}
}
