package demo

import (
	"context"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/lab/labtest"
)

func TestRetransSegs(t *testing.T) {
	for text, want := range map[string]uint64{
		"Ip: A\nIp: 1\nTcp: RtoMin OutSegs RetransSegs InErrs\nTcp: 200 17 42 0\n": 42,
		"Tcp: RetransSegs\nTcp: 0\n": 0,
	} {
		if got, err := readRetransSegs(strings.NewReader(text)); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "Tcp: OutSegs\nTcp: 1\n", "Tcp: A RetransSegs\nTcp: 1\n"} {
		if got, err := readRetransSegs(strings.NewReader(text)); err == nil {
			t.Errorf("%q: %d and no error", text, got)
		}
	}
}

// Without iperf3 the demo sends by itself, and shows the same.
func TestHostsWithoutIperf3(t *testing.T) {
	labtest.Require(t)
	t.Setenv("PATH", t.TempDir())
	r, err := Hosts(context.Background(), Options{Seconds: 1, Speed: 100_000_000})
	must(t, err)
	for _, c := range r.Checks {
		if !c.Pass && c.Kind == Hard {
			t.Errorf("phase %s: %s: want %s, got %s", c.Phase, c.Name, c.Want, c.Got)
		}
	}
	if len(r.Transfers) != 2*senders || r.Transfers[0].Program != "own" {
		t.Errorf("transfers: %+v", r.Transfers)
	}
}
