package bench

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWeakest(t *testing.T) {
	for text, want := range map[string]float64{
		`{"flows":[{"received":300},{"received":100}]}`: 0.5, `{"flows":[{"received":7},{"received":7}]}`: 1, `{"flows":[{"received":7}]}`: 0,
	} {
		if got, err := weakest([]byte(text), 2); got != want || err != nil {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "{}", `{"flows":[{},{}]}`, `{"flows":[{"received":1},{"received":1},{"received":1}]}`} {
		if _, err := weakest([]byte(text), 2); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// Port 2 alone is slow, and every contest has a switch as it is and another.
func TestContests(t *testing.T) {
	for i := range contests {
		c := &contests[i]
		text := c.yaml()
		if slow := strings.Count(text, "100M"); slow > 1 || (slow == 1) != c.slow || c.slow && !strings.Contains(text, "p2: {speed: 100M, tagged") || strings.Count(text, "tagged") != c.ports {
			t.Errorf("%d ports, slow: %v:\n%s", c.ports, c.slow, text)
		}
		for _, smoke := range []bool{false, true} {
			b := bench{opt: options{smoke: smoke}}
			if all := b.settingsFor(c); len(all) < 2 || all[0] != asIs || smoke && len(all) != 2 {
				t.Errorf("%d ports: %v", c.ports, all)
			}
		}
	}
}

// In as many rounds as there are settings each of them is the first of a round once.
func TestRotated(t *testing.T) {
	all := []setting{asIs, tuned("a"), tuned("b")}
	firsts := map[setting]int{}
	for round := range 2 * len(all) {
		r := rotated(all, round)
		firsts[r[0]]++
		if len(r) != len(all) || !slices.Contains(r, asIs) || !slices.Contains(r, all[1]) || !slices.Contains(r, all[2]) {
			t.Errorf("round %d: %v", round, r)
		}
	}
	if len(firsts) != len(all) || firsts[asIs] != 2 {
		t.Errorf("the first were %v", firsts)
	}
}

// A process that works has the CPU time that it knows of itself, and one that is gone none.
func TestCPUTime(t *testing.T) {
	before, err := cpuTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const work = 50 * time.Millisecond
	start := time.Now()
	for time.Since(start) < 20*work {
		now, err := cpuTime(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now-before >= work {
			if took := time.Since(start); took < work/2 {
				t.Errorf("%v of CPU time within %v", now-before, took)
			}
			return
		}
	}
	t.Errorf("no %v of CPU time within %v", work, time.Since(start))
}

func TestEffort(t *testing.T) {
	now := time.Now()
	from := effort{at: now, process: time.Second, machine: 10}
	until := effort{at: now.Add(2 * time.Second), process: 1500 * time.Millisecond, machine: 11}
	if got := until.perFrame(from, 1000); got != 500 {
		t.Errorf("half a second for 1000 frames: %v µs each", got)
	}
	if v := until.since(from); v[0] != (value{coreShare, 25}) || v[1].metric != allCores || v[1].v <= 0 || v[1].v > 50 {
		t.Errorf("half a second of two: %v", v)
	}
}
