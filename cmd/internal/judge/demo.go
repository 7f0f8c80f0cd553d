package judge

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// A report is what pfcswitch demo -j prints.
type report struct {
	Schema   int
	Demo     string
	Pass     bool
	CouldNot string `json:"could_not_run"`
	Checks   []checkResult
	Flows    []flow
	Switches []switchResult
	Acts     []actResult

	Transfers []transfer   // of demo host
	Meters    []metered    // of demo trunk
	Links     []linkResult // of demo headroom
	Quick     bool         // only some of them
}

// transfer is what one program sent by TCP.
type transfer struct {
	Act, Name string
	Lossless  bool
	Octets    int64
	Again     int64 `json:"segments_sent_again"`
}

// metered is how a priority fared in a trunk's meters.
type metered struct {
	Priority int
	Real     struct{ Offered, Green, Yellow, Red, Delivered int64 }
}

type actResult struct {
	Act     string
	Control bool
}

// checkResult is a check of the demo's own. One of kind soft is a rate, a share or a time, which the demo need not judge where
// the machine fell short.
type checkResult struct {
	Act, Name, Kind, Topic, Want, Got, Reason string
	Pass, Judged                              bool
}

type flow struct {
	Act, Name                   string
	Priority                    int
	Lossless                    bool
	Sent, Received              int64
	Lost, Reordered, Duplicated int64
	Latency                     struct{ P50, P99, P999, Max int64 } `json:"latency_ns"`
	Rate                        int64                               `json:"rate_bits_per_second"`
}

type switchResult struct {
	Act, Name     string
	LosslessDrops int64 `json:"lossless_drops"`
	PFCSent       int64 `json:"pfc_sent"`
	Headroom      []struct {
		Port       string
		Priority   int
		Configured int64 `json:"configured_bytes"`
		Peak       int64 `json:"peak_bytes"`
	}
}

// judgeDemo does not take the demo's word: it looks at the frames and counters itself.
func judgeDemo(in io.Reader, out io.Writer) (ok bool, err error) {
	var r report
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return false, fmt.Errorf("demo report: %w (did the demo run? its errors stand above)", err)
	}
	if r.Schema != 1 {
		return false, fmt.Errorf("demo report: schema %d, this script knows 1", r.Schema)
	}
	var faults []string
	for _, find := range findings(r.Demo) {
		faults = append(faults, find(r)...)
	}
	printRates(out, r)
	for _, f := range faults {
		fmt.Fprintln(out, "FAIL", f)
	}
	fmt.Fprintf(out, "demo %s: %d checks, %d flows, %d faults\n", r.Demo, len(r.Checks), len(r.Flows), len(faults))
	return len(faults) == 0, nil
}

// ownVerdict finds checks that failed, hard ones that were not judged, and a verdict that does not follow from them.
func ownVerdict(r report) (faults []string) {
	all := len(r.Checks) > 0 && r.CouldNot == ""
	for _, c := range r.Checks {
		switch {
		case !c.Judged && (c.Kind != "soft" || c.Reason == ""):
			faults = append(faults, fmt.Sprintf("act %s: %s: a check of kind %q is not judged, by reason %q", c.Act, c.Name, c.Kind, c.Reason))
		case c.Judged && !c.Pass:
			all = false
			faults = append(faults, fmt.Sprintf("act %s: %s: got %s, want %s", c.Act, c.Name, c.Got, c.Want))
		}
	}
	if r.CouldNot != "" {
		faults = append(faults, "it could not run: "+r.CouldNot)
	}
	if r.Pass != all {
		faults = append(faults, fmt.Sprintf("pass is %v, but of %d checks all that were judged passed: %v", r.Pass, len(r.Checks), all))
	}
	return faults
}

// leftOpen tells whether the demo has left a check of an act unjudged, since the machine fell short in it.
func leftOpen(r report, act string) bool {
	return slices.ContainsFunc(r.Checks, func(c checkResult) bool { return c.Act == act && !c.Judged })
}

// wantedActs are the acts of each demo, and whether they run without flow control.
var wantedActs = map[string][]actResult{
	"incast": {{"a", false}, {"b", false}, {"c1", true}, {"c2", true}},
	"host":   {{"a", false}, {"b", true}},
	"trunk":  {{"1", false}, {"2a", false}, {"2b", false}, {"3a", false}, {"3b", false}},
}

// lossyActs carry no lossless flow: they show something else.
var lossyActs = map[string][]string{"trunk": {"1", "3a", "3b"}}

// spreadActs send the frames of a lossless flow over several links, where one overtakes another.
var spreadActs = map[string][]string{"trunk": {"2b"}}

// allActs finds acts that are missing, are not what they have to be or show nothing: where nothing must be lost there has
// to be a lossless flow, and a switch that says what it did.
func allActs(r report) (faults []string) {
	if wantedActs[r.Demo] == nil {
		return []string{fmt.Sprintf("demo %q: this script does not know it", r.Demo)}
	}
	for _, a := range wantedActs[r.Demo] {
		switch {
		case !slices.Contains(r.Acts, a):
			faults = append(faults, fmt.Sprintf("no act %s (control: %v): the demo did not show all", a.Act, a.Control))
		case a.Control:
		case !losslessAct(r, a.Act) && !slices.Contains(lossyActs[r.Demo], a.Act):
			faults = append(faults, fmt.Sprintf("act %s: no lossless flow", a.Act))
		case !slices.ContainsFunc(r.Switches, func(s switchResult) bool { return s.Act == a.Act }):
			faults = append(faults, fmt.Sprintf("act %s: no counters of any switch", a.Act))
		}
	}
	return faults
}

// lossAndOrder finds lossless flows that did not arrive whole, in order (where that is promised) and once.
func lossAndOrder(r report) (faults []string) {
	for _, f := range r.Flows {
		if !f.Lossless {
			continue
		}
		late := f.Reordered != 0 && !slices.Contains(spreadActs[r.Demo], f.Act)
		if f.Sent == 0 || f.Received != f.Sent || f.Lost != 0 || late || f.Duplicated != 0 {
			faults = append(faults, fmt.Sprintf("act %s, flow %s, priority %d: sent %d, received %d, lost %d, reordered %d, duplicated %d",
				f.Act, f.Name, f.Priority, f.Sent, f.Received, f.Lost, f.Reordered, f.Duplicated))
		}
	}
	for _, t := range r.Transfers {
		if t.Octets == 0 {
			faults = append(faults, fmt.Sprintf("act %s, %s: nothing arrived by TCP", t.Act, t.Name))
		}
	}
	for _, s := range r.Switches {
		if losslessAct(r, s.Act) && s.LosslessDrops != 0 {
			faults = append(faults, fmt.Sprintf("act %s, switch %s: lossless_drops %d", s.Act, s.Name, s.LosslessDrops))
		}
	}
	return faults
}

// pauses finds acts in which flow control was not put to the test, and headroom that did not suffice.
func pauses(r report) (faults []string) {
	sent := map[string]int64{}
	for _, s := range r.Switches {
		sent[s.Act] += s.PFCSent
		for _, h := range s.Headroom {
			if losslessAct(r, s.Act) && h.Peak > h.Configured {
				faults = append(faults, fmt.Sprintf("act %s, %s:%s, priority %d: %d bytes of headroom used, %d configured",
					s.Act, s.Name, h.Port, h.Priority, h.Peak, h.Configured))
			}
		}
	}
	for act, n := range sent {
		if losslessAct(r, act) && n == 0 {
			faults = append(faults, fmt.Sprintf("act %s: no switch sent PFC, so nothing was shown", act))
		}
	}
	return faults
}

// losslessAct says whether an act has a flow that must not lose frames.
func losslessAct(r report, act string) bool {
	return slices.ContainsFunc(r.Flows, func(f flow) bool { return f.Act == act && f.Lossless }) ||
		slices.ContainsFunc(r.Transfers, func(t transfer) bool { return t.Act == act && t.Lossless })
}

// controlRun finds a demo whose control acts lost nothing in the priority that is lossless elsewhere: the same load
// without flow control must lose frames, else the lossless acts were no feat.
func controlRun(r report) (faults []string) {
	protected := map[int]bool{}
	for _, f := range r.Flows {
		protected[f.Priority] = protected[f.Priority] || f.Lossless
	}
	for _, a := range r.Acts {
		if !a.Control {
			continue
		}
		if !slices.ContainsFunc(r.Flows, func(f flow) bool { return f.Act == a.Act && protected[f.Priority] && f.Lost > 0 }) &&
			!slices.ContainsFunc(r.Transfers, func(t transfer) bool { return t.Act == a.Act && t.Again > 0 }) {
			faults = append(faults, fmt.Sprintf("act %s: without flow control nothing was lost, so the load was too small to show anything", a.Act))
		}
	}
	return faults
}

// metering finds a demo trunk whose meters did not meter: one priority has to lose frames for being red, one to have yellow
// ones without that, and one to arrive whole.
func metering(r report) (faults []string) {
	if r.Demo != "trunk" || leftOpen(r, "1") {
		return nil
	}
	var above, between, below bool
	for _, m := range r.Meters {
		n := m.Real
		above = above || n.Red > 0 && n.Delivered < n.Offered && n.Delivered > 0
		between = between || n.Yellow > 0 && n.Red == 0
		below = below || n.Offered > 0 && n.Green == n.Offered && n.Delivered == n.Offered
	}
	if !above || !between || !below {
		faults = append(faults, fmt.Sprintf("a priority above its peak rate: %v, between its rates: %v, below its committed rate: %v: all three have to be shown", above, between, below))
	}
	return faults
}

// printRates prints what each flow got and how evenly the flows of an act and priority shared (Jain's index, 1 is
// even).
func printRates(out io.Writer, r report) {
	type group struct {
		act      string
		priority int
	}
	sum, squares, n := map[group]float64{}, map[group]float64{}, map[group]float64{}
	for _, f := range r.Flows {
		g, x := group{f.Act, f.Priority}, float64(f.Received)
		sum[g] += x
		squares[g] += x * x
		n[g]++
	}
	for _, c := range r.Checks {
		switch {
		case !c.Judged:
			fmt.Fprintf(out, "not judged: act %s %s: %s (wanted: %s): %s\n", c.Act, c.Name, c.Got, c.Want, c.Reason)
		case c.Kind == "soft":
			fmt.Fprintf(out, "act %s %s: %s (wanted: %s)\n", c.Act, c.Name, c.Got, c.Want)
		}
	}
	for _, f := range r.Flows {
		g := group{f.Act, f.Priority}
		fmt.Fprintf(out, "act %s %-10s priority %d: %8d frames, %7.1f Mbit/s, share %4.1f %%, lost %d, latency p50 %d µs, p99.9 %d µs; fairness %.3f\n",
			f.Act, f.Name, f.Priority, f.Received, float64(f.Rate)/1e6, 100*ratio(float64(f.Received), sum[g]),
			f.Lost, f.Latency.P50/1000, f.Latency.P999/1000, ratio(sum[g]*sum[g], n[g]*squares[g]))
	}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
