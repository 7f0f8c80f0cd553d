package demo

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Text writes the report for a person.
func (r *Report) Text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, a := range r.Acts {
		fmt.Fprintf(w, "\n(%s) %s\n", a.Act, a.Title)
		r.transfers(w, a.Act)
		if len(r.Flows) > 0 {
			r.flows(w, a)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		if err := r.trunkText(out, a.Act); err != nil {
			return err
		}
		r.timeline(out, a.Act)
		for _, s := range r.Switches {
			if s.Act == a.Act {
				fmt.Fprintf(out, "  switch %s: lossless drops %d, PFC frames sent %d, most headroom used %s\n", s.Name, s.LosslessDrops, s.PFCSent, peak(s.Headroom))
			}
		}
	}
	return r.verdict(out)
}

// flows writes the flows of an act.
func (r *Report) flows(w io.Writer, a ActResult) {
	fmt.Fprintln(w, "FLOW\tPRIORITY\tSENT\tRECEIVED\tLOST\tLOST %\tREORDERED\tMbit/s\tP50 µs\tP99.9 µs\t")
	for _, f := range r.Flows {
		if f.Act == a.Act {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%.1f\t%d\t%.1f\t%d\t%d\t\n", f.Name, priorityName(f, a), f.Sent, f.Received, f.Lost,
				100*float64(f.Lost)/float64(max(1, f.Sent)), f.Reordered, float64(f.Rate)/1e6, f.Latency.P50/1000, f.Latency.P999/1000)
		}
	}
}

// transfers writes the TCP connections of an act.
func (r *Report) transfers(w io.Writer, act string) {
	for i, t := range r.Transfers {
		if i == 0 {
			fmt.Fprintln(w, "TCP\tPROGRAM\tPRIORITY\tOCTETS\tMbit/s\tSEGMENTS SENT AGAIN\t")
		}
		if t.Act == act {
			class := "unprotected"
			if t.Lossless {
				class = "lossless"
			}
			fmt.Fprintf(w, "%s\t%s\t%d %s\t%d\t%.1f\t%d\t\n", t.Name, t.Program, t.Priority, class, t.Octets, float64(t.Rate)/1e6, t.Again)
		}
	}
}

// trunkText writes what only demo trunk has to say of an act.
func (r *Report) trunkText(out io.Writer, act string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i, m := range r.Meters {
		if m.Act != act {
			continue
		}
		if i == 0 {
			fmt.Fprintln(w, "PRIORITY\tCIR Mbit/s\tPIR\t\tOFFERED\tGREEN\tYELLOW\tRED\tDELIVERED\t")
		}
		for _, o := range []struct {
			name string
			outcome
		}{{"links", m.Real}, {"virtual time", m.Model}} {
			fmt.Fprintf(w, "%d\t%.1f\t%.1f\t%s\t%d\t%d\t%d\t%d\t%d\t\n", m.Priority, float64(m.CIR)/1e6, float64(m.PIR)/1e6, o.name, o.Offered,
				o.Green, o.Yellow, o.Red, o.Delivered)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, d := range r.Distribution {
		if d.Act != act {
			continue
		}
		fmt.Fprintf(out, "  distribution %s: members were given %d bytes, %.2f %% off the mean at most; %d of %d frames came late in their flow, overtaken by %d bytes at most\n",
			d.By, d.Members, 100*d.Imbalance, d.Reordered, d.Sent, d.Overtaken)
		if d.By != "least-filled" {
			continue
		}
		fmt.Fprintf(out, "  least filled in virtual time: a mixed stream is %.2f %% off the mean; a frame of %d octets in second place among frames of %d is overtaken by %d, by formula %d\n",
			100*d.ModelImbalance, largeFrame, smallFrame, d.Model, d.Formula)
	}
	return nil
}

func priorityName(f Flow, a ActResult) string {
	switch {
	case f.Lossless:
		return fmt.Sprintf("%d lossless", f.Priority)
	case a.LockUp && f.Priority == losslessPriority:
		return fmt.Sprintf("%d locked up", f.Priority)
	case a.Control && f.Priority == losslessPriority:
		return fmt.Sprintf("%d unprotected", f.Priority)
	}
	return fmt.Sprintf("%d lossy", f.Priority)
}

func peak(all []Headroom) string {
	best := Headroom{}
	for _, h := range all {
		if h.Peak >= best.Peak {
			best = h
		}
	}
	if len(all) == 0 {
		return "none configured"
	}
	return fmt.Sprintf("%d of %d bytes at %s", best.Peak, best.Configured, best.Port)
}

func (r *Report) verdict(out io.Writer) error {
	failed := 0
	for _, c := range r.Checks {
		if !c.Pass {
			failed++
			fmt.Fprintf(out, "FAILED (%s) %s: want %s, got %s%s\n", c.Act, c.Name, c.Want, c.Got, because(c.Machine))
		}
	}
	for _, o := range r.Open {
		fmt.Fprintf(out, "not judged (%s) %s: %s (wanted: %s): %s\n", o.Act, o.Name, o.Got, o.Want, o.Why)
	}
	r.waits(out)
	word := "PASS"
	switch {
	case r.NotJudged():
		word = "NOT JUDGED: " + r.Machine
	case !r.Pass:
		word = "FAIL"
	}
	_, err := fmt.Fprintf(out, "\n%s (%d checks, %d failed)\n", word, len(r.Checks), failed)
	return err
}

// because is a reason behind what it is the reason of, if there is one.
func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// waits says how busy the machine was in each act, where it was the limit in one.
func (r *Report) waits(out io.Writer) {
	if r.Machine == "" {
		return
	}
	for _, a := range r.Acts {
		fmt.Fprintf(out, "act %s: a process waited for a CPU for %.0f %% of the run, senders stayed %.0f %% behind and stood still for up to %.1f ms\n", a.Act, 100*a.Waiting, 100*a.Behind,
			float64(a.LongestStall)/1e6)
	}
}
