package demo

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

func TestRetransSegs(t *testing.T) {
	for text, want := range map[string]uint64{
		"Ip: A\nIp: 1\nTcp: RtoMin OutSegs RetransSegs InErrs\nTcp: 200 17 42 0\n": 42,
		"Tcp: RetransSegs\nTcp: 0\n": 0,
	} {
		got, err := readRetransSegs(strings.NewReader(text))
		assert.True(t, got == want && err == nil, "%q: %d, %v, want %d", text, got, err, want)
	}
	for _, text := range []string{"", "Tcp: OutSegs\nTcp: 1\n", "Tcp: A RetransSegs\nTcp: 1\n"} {
		got, err := readRetransSegs(strings.NewReader(text))
		assert.True(t, err != nil, "%q: %d and no error", text, got)
	}
}

// Without iperf3 the demo sends by itself, and shows the same. What it writes as phases end and behind them is the
// report; what it records is on its page.
func TestHostsWithoutIperf3(t *testing.T) {
	labtest.Require(t)
	t.Setenv("PATH", t.TempDir())
	var end, text, page strings.Builder
	var said []string // progress and results
	r := assert.Got(Hosts(context.Background(), Options{Seconds: 1, Speed: 100_000_000, Record: true,
		Progress: func(line string) { said = append(said, line) },
		Results:  func(text string) error { said = append(said, text); return nil }})).Must(t)
	assert.Must(t, errors.Join(r.End(&end), r.Text(&text)))
	assert.True(t, len(said) == 4 && strings.HasPrefix(said[2], "phase 2/2, about ") &&
		said[1]+said[3]+end.String() == text.String(), "as phases begin and end: %q, and then:\n%s", said, end.String())
	if !r.Pass {
		t.Logf("the sentences at the end are not tested, since this machine could not show all: %s", r.verdictWord())
	} else if strings.Count(end.String(), "segments again.") != 2 {
		t.Errorf("no sentences about TCP:\n%s", end.String())
	}
	assert.Must(t, r.Page(&page))
	const enough = 5 // values, half of those of an idle machine: TCP has begun
	values := 0
	for _, a := range r.Phases {
		values = max(values, len(a.course.at))
	}
	for _, line := range []string{"h1 to s1:p1", "s1:p4 to h4, priority 3", "h3, by s1:p3", "s1 lossless"} {
		if values < enough {
			t.Logf("the plot of %s is not tested: it has %d values", line, values)
		} else if !strings.Contains(page.String(), ">"+line+"<") {
			t.Errorf("no plot of the page has %s:\n%s", line, page.String())
		}
	}
	if values >= enough && !regexp.MustCompile(">s1:p[1-3]<").MatchString(page.String()) { // of those that were held
		t.Errorf("no plot of the page has the headroom of a port:\n%s", page.String())
	}
	for _, c := range r.Checks {
		assert.True(t, c.Pass || c.Kind != Hard, "phase %s: %s: want %s, got %s", c.Phase, c.Name, c.Want, c.Got)
	}
	assert.True(t, len(r.Transfers) == 2*senders && r.Transfers[0].Program == "own", "transfers: %+v", r.Transfers)
}
