package demo

import (
	"context"
	"fmt"
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

// Without iperf3 the demo sends by itself, and shows the same. What it writes as phases end and behind them is the
// report; what it records is on its page.
func TestHostsWithoutIperf3(t *testing.T) {
	labtest.Require(t)
	t.Setenv("PATH", t.TempDir())
	var results, text, page strings.Builder
	var lines []string
	r, err := Hosts(context.Background(), Options{Seconds: 1, Speed: 100_000_000, Results: &results, Record: true,
		Progress: func(line string) {
			lines = append(lines, fmt.Sprint(line, ", after ", strings.Count(results.String(), "\n(")))
		}})
	must(t, err)
	must(t, r.End(&results))
	must(t, r.Text(&text))
	if results.String() != text.String() || strings.Count(text.String(), "segments again.") != 2 {
		t.Errorf("as phases end, and then:\n%s\nthe report:\n%s", results.String(), text.String())
	}
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "phase 2/2, about ") ||
		!strings.HasSuffix(lines[1], ", after 1") {
		t.Errorf("progress: %q", lines)
	}
	must(t, r.Page(&page))
	for _, line := range []string{"h1 to s1:p1", "s1:p4 to h4, priority 3", "h3, by s1:p3", "s1 lossless", "s1:p2"} {
		if !strings.Contains(page.String(), ">"+line+"<") {
			t.Errorf("no plot of the page has %s:\n%s", line, page.String())
		}
	}
	for _, c := range r.Checks {
		if !c.Pass && c.Kind == Hard {
			t.Errorf("phase %s: %s: want %s, got %s", c.Phase, c.Name, c.Want, c.Got)
		}
	}
	if len(r.Transfers) != 2*senders || r.Transfers[0].Program != "own" {
		t.Errorf("transfers: %+v", r.Transfers)
	}
}
