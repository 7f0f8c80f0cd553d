package bench

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
)

// One gap of 10 ms in a second: 1 % of all moments fall into it, half of those wait longer than 5 ms.
func TestWait(t *testing.T) {
	var g cpuGaps
	g.add(10_000_000)
	g.add(500) // reading the clock
	g.Watched = 1e9
	for quantile, want := range map[float64]float64{0.5: 0, 0.98: 0, 0.995: 5e6, 0.999: 9e6} {
		got := g.wait(quantile)
		assert.True(t, math.Abs(got-want) <= 1000, "%v: %.0f ns, want %.0f", quantile, got, want)
	}
	assert.Equal(t, (&cpuGaps{}).wait(.99), 0, "without a gap nothing waits")
}

// The quantiles come close to those of all gaps one by one.
func TestWaitOfManyGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(1000, 50_000_000), 1, 200).Draw(t, "gaps")
		var g cpuGaps
		for _, ns := range all {
			g.add(ns)
			g.Watched += ns + 10_000
		}
		for _, q := range []float64{.5, .9, .99} {
			w := g.wait(q)
			late := 0.0
			for _, ns := range all {
				late += max(0, float64(ns)-w)
			}
			// A step is 19 % wide: the share of later moments differs by no more than that.
			if got := late / float64(g.Watched); got > (1-q)+0.1 || w > 1 && got < (1-q)-0.1 {
				t.Fatalf("quantile %v: %.0f ns, but %.3f of all moments wait longer", q, w, got)
			}
		}
	})
}

func TestSteps(t *testing.T) {
	var g cpuGaps
	for _, ns := range []int64{999, 1000, 1999, 2000, 1 << 62} {
		g.add(ns)
	}
	assert.True(t, g.Steps[0].Count == 1 && g.Steps[3].Count == 1 && g.Steps[4].Count == 1 &&
		g.Steps[gapSteps-1].Count == 1 && g.Longest == 1<<62, "%+v", g)
}

func TestSpin(t *testing.T) {
	var out bytes.Buffer
	for _, args := range [][]string{nil, {"0"}, {"x", "1"}, {"0", "x"}} {
		assert.True(t, spin(args, &out) == 2 && out.Len() <= 0, "%q was taken", args)
	}
}

// The JSON has the steps that are not empty, with their bounds.
func TestGapsAsJSON(t *testing.T) {
	var g cpuGaps
	g.add(3000)
	g.add(3100)
	g.add(5_000_000)
	g.Watched = 2e9
	var out bytes.Buffer
	assert.Must(t, writeJSON(&out, machine{What: "machine"}, &g, nil, nil))
	var got struct {
		What    string
		Watched float64 `json:"watched_s"`
		Longest float64 `json:"longest_us"`
		Steps   []struct {
			From  float64 `json:"from_us"`
			To    float64 `json:"to_us"`
			Count int
			Sum   float64 `json:"sum_us"`
		}
	}
	_, second, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	err := json.Unmarshal(second, &got)
	assert.MustBeTrue(t, err == nil && got.What == "gap-histogram" && got.Watched == 2 && got.Longest == 5000 &&
		len(got.Steps) == 2, "%v: %+v", err, got)
	s := got.Steps[0]
	assert.True(t, s.Count == 2 && s.Sum == 6.1 && s.From <= 3 && s.To >= 3.1, "%+v", s)
}
