package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// judgeLinks adds what several runs show together: how generous the headroom is, and that it grows with the link.
func judgeLinks(r *Report) {
	var order []link
	runs := map[link][]LinkResult{}
	for _, k := range r.Links {
		at := link{k.Length, k.Speed}
		if k.Control || strings.HasSuffix(k.Length, "+") {
			continue
		}
		if runs[at] == nil {
			order = append(order, at)
		}
		runs[at] = append(runs[at], k)
	}
	for _, at := range order {
		used := slices.MaxFunc(runs[at], func(a, b LinkResult) int { return cmp.Compare(a.Peak, b.Peak) })
		if used.Wire >= largestFrame { // on a shorter link nothing need be on its way when XOFF leaves
			r.check(used.Act, KindPFC, fmt.Sprintf("%s at %s: most bytes after XOFF", at.length, rateName(at.speed)), "more than 0", fmt.Sprint(used.Peak), used.Peak > 0)
		}
		ratio := median(runs[at], func(k LinkResult) float64 {
			return float64(k.Measured-k.Burst) / (generousLimit*float64(k.Peak) + 2*largestFrame)
		})
		r.onTime(runs[at][0].Act, fmt.Sprintf("%s at %s: headroom without burst, of 2.5 × peak + 2 frames (median of %d)", at.length, rateName(at.speed), len(runs[at])),
			"at most 1", fmt.Sprintf("%.2f", ratio), ratio <= 1, "it takes five runs on an idle machine: demo headroom without --quick")
	}
	for _, pair := range [][2]string{{"10 km", "20 km"}, {"100 km", "200 km"}} {
		for _, speed := range []int64{1e8, 1e9} {
			if short, long := runs[link{pair[0], speed}], runs[link{pair[1], speed}]; len(short) > 0 && len(long) > 0 {
				r.judgeDouble(short, long)
			}
		}
	}
}

// A link is what runs have in common.
type link struct {
	length string
	speed  int64
}

// judgeDouble: a link of double length has double the wire part. That is a time, which a machine that is late makes longer: there
// the shortest of all trips counts, unless the delay lines that make the length were late for it too. That the wire part is that of
// a trip which some frames took, however late, is judged of each run.
func (r *Report) judgeDouble(short, long []LinkResult) {
	at, name := long[0], fmt.Sprintf("wire part of %s, of %s, at %s", long[0].Length, short[0].Length, rateName(long[0].Speed))
	const want = "2 within 20 %"
	ratio := func(of func(LinkResult) float64) float64 { return median(long, of) / max(1, median(short, of)) }
	wire := ratio(func(k LinkResult) float64 { return float64(k.Wire) })
	trip := ratio(func(k LinkResult) float64 { return float64(k.TripNs) })
	late := median(short, func(k LinkResult) float64 { return float64(k.IdleLateNs) / float64(max(k.TripNs, 1)) })
	got := fmt.Sprintf("%.2f (%.2f by the shortest trips)", wire, trip)
	switch {
	case doubles(wire):
		r.check(at.Act, KindMeasured, name, want, got, true)
	case !doubles(trip) && late < lateLimit:
		r.check(at.Act, KindMeasured, name, want, got, false)
	default:
		r.onTime(at.Act, name, want, got, false, fmt.Sprintf("the machine was late: frames left the delay lines of the shorter link by %.1f %% of its trip too late as a rule", 100*late))
	}
}

// lateLimit is the share of a trip by which its delay lines may be late as a rule, for the shortest of many trips to be the link's.
const lateLimit = 0.05

func doubles(ratio float64) bool { return ratio >= 2*(1-doubleLimit) && ratio <= 2*(1+doubleLimit) }

func median(all []LinkResult, of func(LinkResult) float64) float64 {
	values := make([]float64, 0, len(all))
	for _, k := range all {
		values = append(values, of(k))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
