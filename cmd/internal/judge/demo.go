package judge

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"pfcswitch/cmd/internal/demo"
)

// A faultList says what is wrong with a report.
type faultList []string

func (f *faultList) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// judgeDemo does not rely on the demo's verdict alone: all that a demo shows has to be in its report, and no lossless
// flow may have lost a frame.
func judgeDemo(in io.Reader, out io.Writer) (ok bool, err error) {
	var r demo.Report
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return false, fmt.Errorf("demo report: %w (did the demo run? its errors stand above)", err)
	}
	if r.Schema != 1 {
		return false, fmt.Errorf("demo report: schema %d, this script knows 1", r.Schema)
	}
	var faults faultList
	for _, find := range []func(*demo.Report) faultList{ownVerdict, allPhases, lossAndOrder, slowedDown} {
		faults = append(faults, find(&r)...)
	}
	printRates(out, &r)
	for _, f := range faults {
		fmt.Fprintln(out, "FAIL", f)
	}
	fmt.Fprintf(out, "demo %s: %d checks, %d flows, %d faults\n", r.Demo, len(r.Checks), len(r.Flows), len(faults))
	return len(faults) == 0, nil
}

// ownVerdict finds checks that failed, hard ones that were not judged, and a verdict that does not follow from them.
func ownVerdict(r *demo.Report) (faults faultList) {
	all := len(r.Checks) > 0 && r.CouldNotRun == ""
	for _, c := range r.Checks {
		switch {
		case !c.Judged && (c.Kind != "soft" || c.Reason == ""):
			faults.add("phase %s: %s: a check of kind %q is not judged, by reason %q", c.Phase, c.Name, c.Kind,
				c.Reason)
		case c.Judged && !c.Pass:
			all = false
			faults.add("phase %s: %s: got %s, want %s", c.Phase, c.Name, c.Got, c.Want)
		}
	}
	if r.CouldNotRun != "" {
		faults.add("it could not run: %s", r.CouldNotRun)
	}
	if r.Pass != all {
		faults.add("pass is %v, but of %d checks all that were judged passed: %v", r.Pass, len(r.Checks), all)
	}
	return faults
}

// A kind is what a phase has to show.
type kind int

const (
	lossless kind = iota // a flow that loses nothing
	spread               // such a flow, whose frames take several links and overtake each other
	lossy                // something else than a lossless flow
	control              // the same load without flow control
	lockUp               // lossless frames that are stuck for ever, or dropped to end that
)

type wantedPhase struct {
	phase string
	kind  kind
}

var wantedPhases = map[string][]wantedPhase{
	"incast":   {{"a", lossless}, {"b", lossless}, {"c1", control}, {"c2", control}},
	"host":     {{"a", lossless}, {"b", control}},
	"trunk":    {{"1", lossy}, {"2a", lossless}, {"2b", spread}, {"3a", lossy}, {"3b", lossy}},
	"dcqcn":    {{"a", lossless}, {"b", lossless}},
	"deadlock": {{"a", lockUp}, {"b", lossless}, {"c", lockUp}, {"d", lossless}},
}

// allPhases finds phases that are missing, are not what they have to be or show nothing. Where nothing must be lost,
// there has to be a lossless flow, and a switch that says what it did.
func allPhases(r *demo.Report) (faults faultList) {
	if r.Demo == "headroom" {
		return allLinks(r)
	}
	if wantedPhases[r.Demo] == nil {
		faults.add("demo %q: this script does not know it", r.Demo)
	}
	for _, a := range wantedPhases[r.Demo] {
		isControl := a.kind == control
		shown := func(b demo.PhaseResult) bool { return b.Phase == a.phase && b.Control == isControl }
		lost := func(f demo.Flow) bool { return f.Phase == a.phase && f.Priority == 3 && f.Lost > 0 }
		switch {
		case !slices.ContainsFunc(r.Phases, shown):
			faults.add("no phase %s (control: %v): the demo did not show all", a.phase, isControl)
		case isControl:
		case a.kind == lockUp:
			if !slices.ContainsFunc(r.Flows, lost) {
				faults.add("phase %s: every frame of priority 3 arrived, so nothing was locked up", a.phase)
			}
		case a.kind != lossy && !losslessPhase(r, a.phase):
			faults.add("phase %s: no lossless flow", a.phase)
		case !slices.ContainsFunc(r.Switches, func(s demo.SwitchResult) bool { return s.Phase == a.phase }):
			faults.add("phase %s: no counters of any switch", a.phase)
		}
	}
	return faults
}

// lossAndOrder finds lossless flows that did not arrive whole, in order (where that is promised) and once.
func lossAndOrder(r *demo.Report) (faults faultList) {
	for _, f := range r.Flows {
		if !f.Lossless {
			continue
		}
		disordered := f.Reordered != 0 && !slices.Contains(wantedPhases[r.Demo], wantedPhase{f.Phase, spread})
		if f.Sent == 0 || f.Received != f.Sent || f.Lost != 0 || disordered || f.Duplicated != 0 {
			faults.add("phase %s, flow %s, priority %d: sent %d, received %d, lost %d, reordered %d, duplicated %d",
				f.Phase, f.Name, f.Priority, f.Sent, f.Received, f.Lost, f.Reordered, f.Duplicated)
		}
	}
	for _, t := range r.Transfers {
		if t.Octets == 0 {
			faults.add("phase %s, %s: nothing arrived by TCP", t.Phase, t.Name)
		}
	}
	for _, s := range r.Switches {
		if losslessPhase(r, s.Phase) && s.LosslessDrops != 0 {
			faults.add("phase %s, switch %s: lossless_drops %d", s.Phase, s.Name, s.LosslessDrops)
		}
	}
	return faults
}

// slowedDown finds a demo dcqcn whose senders were not held by pauses alone in phase a, or not notified in phase b.
func slowedDown(r *demo.Report) (faults faultList) {
	if r.Demo != "dcqcn" {
		return nil
	}
	shown := map[string]bool{}
	for _, c := range r.Congestion {
		switch c.Phase {
		case "a":
			shown["a"] = c.Paused > 0 && c.Marked == 0 && c.CNPsReceived == 0
		case "b":
			shown["b"] = c.Marked > 0 && c.CNPsReceived > 0
		}
	}
	for _, phase := range []string{"a", "b"} {
		if !shown[phase] {
			faults.add("phase %s: not what it has to show: pauses alone in a, marks and CNPs in b: %+v", phase,
				r.Congestion)
		}
	}
	return faults
}

// losslessPhase says whether a phase has a flow that must not lose frames.
func losslessPhase(r *demo.Report, phase string) bool {
	return slices.ContainsFunc(r.Flows, func(f demo.Flow) bool { return f.Phase == phase && f.Lossless }) ||
		slices.ContainsFunc(r.Transfers, func(t demo.Transfer) bool { return t.Phase == phase && t.Lossless })
}

// printRates prints the soft checks, what each flow got and how evenly the flows of a phase and priority shared (Jain's
// index, 1 is even).
func printRates(out io.Writer, r *demo.Report) {
	for _, c := range r.Checks {
		switch {
		case !c.Judged:
			fmt.Fprintf(out, "not judged: phase %s %s: %s (wanted: %s): %s\n", c.Phase, c.Name, c.Got, c.Want, c.Reason)
		case c.Kind == "soft":
			fmt.Fprintf(out, "phase %s %s: %s (wanted: %s)\n", c.Phase, c.Name, c.Got, c.Want)
		}
	}
	for _, f := range r.Flows {
		var n, sum, squares float64
		for _, g := range r.Flows {
			if x := float64(g.Received); g.Phase == f.Phase && g.Priority == f.Priority {
				n, sum, squares = n+1, sum+x, squares+x*x
			}
		}
		fmt.Fprintf(out, "phase %s %-10s priority %d: %8d frames, %7.1f Mbit/s, share %4.1f %%, lost %d, "+
			"latency p50 %d µs, p99.9 %d µs; fairness %.3f\n", f.Phase, f.Name, f.Priority, f.Received,
			float64(f.Rate)/1e6, 100*float64(f.Received)/max(1, sum), f.Lost, f.Latency.P50/1000, f.Latency.P999/1000,
			sum*sum/max(1, n*squares))
	}
}
