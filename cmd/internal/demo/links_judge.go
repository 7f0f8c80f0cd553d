package demo

import (
	"cmp"
	"fmt"
	"math"
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
		if bytesIn(at.speed, int64(2*used.delay)) >= largestFrame { // on a shorter link nothing need be on its way when XOFF leaves
			r.hard(used.Act, TopicPFC, fmt.Sprintf("%s at %s: most bytes after XOFF", at.length, rateName(at.speed)), "more than 0", fmt.Sprint(used.Peak), used.Peak > 0)
		}
		r.judgeGenerous(at, runs[at])
	}
	for _, pair := range [][2]string{{"10 km", "20 km"}, {"100 km", "200 km"}} {
		for _, at := range order {
			if long := runs[link{pair[1], at.speed}]; at.length == pair[0] && len(long) > 0 {
				r.judgeDouble(runs[at], long)
			}
		}
	}
}

// A link is what runs have in common.
type link struct {
	length string
	speed  int64
}

// judgeGenerous compares the headroom that was found with what came after XOFF, both at the link's rate: without the peer's
// burst and send call, which are in force for the worst case and pass faster than that.
func (r *Report) judgeGenerous(at link, runs []LinkResult) {
	act, name := runs[0].Act, fmt.Sprintf("%s at %s: headroom without burst and send call, of 2.5 × most bytes after XOFF without them + 2 frames (median of %d)",
		at.length, rateName(at.speed), len(runs))
	if median(runs, func(k LinkResult) float64 { return float64(k.Paced) }) == 0 {
		r.unjudged(act, TopicRate, name, "at most 1", "-", "no frame came after an XOFF, since the peer obeys before its next one is due")
		return
	}
	ratio := median(runs, func(k LinkResult) float64 {
		return float64(k.Measured-k.Burst-k.SendCall) / (generousLimit*float64(k.Paced) + 2*largestFrame)
	})
	r.soft(act, TopicRate, name, "at most 1", fmt.Sprintf("%.2f", ratio), ratio-1, medianShortage(runs))
}

// judgeDouble: a link of double length has double the wire part. That is a time, which a machine that is late makes longer: there
// the shortest of all trips counts, unless the delay lines that make the length were late for it too.
func (r *Report) judgeDouble(short, long []LinkResult) {
	at, name := long[0], fmt.Sprintf("wire part of %s, of %s, at %s", long[0].Length, short[0].Length, rateName(long[0].Speed))
	ratio := func(of func(LinkResult) float64) float64 { return median(long, of) / max(1, median(short, of)) }
	wire := ratio(func(k LinkResult) float64 { return float64(k.Wire) })
	trip := ratio(func(k LinkResult) float64 { return float64(k.TripNs) })
	late := median(short, func(k LinkResult) float64 { return float64(k.IdleLateNs) / float64(max(k.TripNs, 1)) })
	const want = "2 within 20 %"
	got := fmt.Sprintf("%.2f (%.2f by the shortest trips)", wire, trip)
	doubles := func(ratio float64) bool { return math.Abs(ratio-2) <= 2*doubleLimit }
	switch {
	case doubles(wire):
		r.soft(at.Act, TopicMeasured, name, want, got, 0, shortage{})
	case doubles(trip):
		r.unjudged(at.Act, TopicMeasured, name, want, got, fmt.Sprintf("the shortest trips are %.2f times as long: the others were late", trip))
	case late >= lateLimit:
		r.unjudged(at.Act, TopicMeasured, name, want, got,
			fmt.Sprintf("frames left the delay lines of the shorter link by %.1f %% of its trip too late as a rule", 100*late))
	default:
		r.soft(at.Act, TopicMeasured, name, want, got, math.Abs(wire-2)-2*doubleLimit, shortage{})
	}
}

// lateLimit is the share of a trip by which its delay lines may be late as a rule, for the shortest of many trips to be the link's.
const lateLimit = 0.05

// medianShortage is what the machine withheld from the run in the middle.
func medianShortage(runs []LinkResult) shortage {
	all := slices.SortedFunc(slices.Values(runs), func(a, b LinkResult) int { return cmp.Compare(a.shortage.share(), b.shortage.share()) })
	return all[len(all)/2].shortage
}

func median(all []LinkResult, of func(LinkResult) float64) float64 {
	values := make([]float64, 0, len(all))
	for _, k := range all {
		values = append(values, of(k))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
