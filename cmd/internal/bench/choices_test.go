package bench

import (
	"slices"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/traffic"
)

func TestWeakestShare(t *testing.T) {
	for _, tt := range []struct {
		received []uint64
		want     float64
		ok       bool
	}{
		{[]uint64{300, 100}, 0.5, true}, {[]uint64{7, 7}, 1, true}, {[]uint64{7}, 0, true},
		{nil, 0, false}, {[]uint64{0, 0}, 0, false}, {[]uint64{1, 1, 1}, 0, false},
	} {
		var flows []traffic.ReceivedFlow
		for _, n := range tt.received {
			flows = append(flows, traffic.ReceivedFlow{Received: n})
		}
		if got, err := weakestShare(flows, 2); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%v: %v, %v, want %v", tt.received, got, err, tt.want)
		}
	}
}

// Port 2 alone is slow, and every experiment has a baseline and another setting.
func TestExperiments(t *testing.T) {
	for i := range experiments {
		c := &experiments[i]
		text := c.yaml()
		if slow := strings.Count(text, "100M"); slow > 1 || (slow == 1) != c.slow ||
			c.slow && !strings.Contains(text, "p2: {speed: 100M, tagged") || strings.Count(text, "tagged") != c.ports {
			t.Errorf("%d ports, slow: %v:\n%s", c.ports, c.slow, text)
		}
		for _, smoke := range []bool{false, true} {
			b := bench{opt: options{smoke: smoke}}
			if all := b.settingsFor(c); len(all) < 2 || all[0] != baseline || smoke && len(all) != 2 {
				t.Errorf("%d ports: %v", c.ports, all)
			}
		}
	}
}

// In as many rounds as there are settings each of them is the first of a round once.
func TestRotated(t *testing.T) {
	all := []setting{baseline, tuned("a"), tuned("b")}
	firsts := map[setting]int{}
	for round := range 2 * len(all) {
		r := rotated(all, round)
		firsts[r[0]]++
		if len(r) != len(all) || !slices.Contains(r, baseline) || !slices.Contains(r, all[1]) ||
			!slices.Contains(r, all[2]) {
			t.Errorf("round %d: %v", round, r)
		}
	}
	if len(firsts) != len(all) || firsts[baseline] != 2 {
		t.Errorf("the first were %v", firsts)
	}
}
