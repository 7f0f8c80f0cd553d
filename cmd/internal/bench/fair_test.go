package bench

import (
	"os"
	"testing"
)

// The configuration of the comparisons says what rings its senders' ports have, and nothing of them is left without.
func TestRingsOfBenchYAML(t *testing.T) {
	text, err := os.ReadFile("../../../scripts/bench.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ring := ringOfSender.FindSubmatch(text)
	if ring == nil || string(ring[1]) == "{}" {
		t.Fatalf("no ring of p1 in %s", text)
	}
	if left := rings.ReplaceAll(text, nil); ringOfSender.Match(left) || len(rings.FindAll(text, -1)) != comparedHosts {
		t.Errorf("without rings:\n%s", left)
	}
}

func TestProgramName(t *testing.T) {
	for name, argv := range map[string][]string{"ip": {"ip", "netns"}, "ovs-vswitchd": {"nice", "-n", "-10", "/usr/sbin/ovs-vswitchd", "x"}, "nice": {"nice"}} {
		if got := programName(argv); got != name {
			t.Errorf("%q: %s, want %s", argv, got, name)
		}
	}
}
