package demo

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// Text writes the report for a person.
func (r *Report) Text(out io.Writer) error {
	err := r.speedText(out)
	for _, a := range r.Phases {
		err = errors.Join(err, r.phaseText(out, a))
	}
	return errors.Join(err, r.End(out))
}

// speedText writes which speed the demo took.
func (r *Report) speedText(out io.Writer) (err error) {
	if c := r.Calibration; c != nil {
		_, err = fmt.Fprintf(out, "speed: %s, %s\n", rateName(c.Speed), c.Why)
	}
	return err
}

func (r *Report) phaseText(out io.Writer, a PhaseResult) error {
	if r.Demo == "headroom" {
		return r.linkText(out, a)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\n(%s) %s\n", a.Phase, a.Title)
	r.transfers(w, a.Phase)
	if len(r.Flows) > 0 {
		r.flows(w, a)
	}
	err := errors.Join(w.Flush(), r.trunkText(out, a.Phase), r.congestionText(out, a.Phase))
	r.timeline(out, a.Phase)
	for _, s := range r.Switches {
		if s.Phase == a.Phase {
			fmt.Fprintf(out, "  switch %s: lossless drops %d, %sPFC frames sent %d, most headroom used %s\n", s.Name,
				s.LosslessDrops, s.discarded(), s.PFCSent, peak(s.Headroom))
		}
	}
	return err
}

// End writes what the report for a person has behind the results of phases.
func (r *Report) End(out io.Writer) error {
	err := r.linksText(out)
	for i, sentence := range r.seen() {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, sentence)
	}
	return errors.Join(err, r.verdict(out))
}

// discarded is "" where nothing was.
func (s *SwitchResult) discarded() string {
	if s.Discarded == 0 {
		return ""
	}
	return fmt.Sprintf("discarded on purpose %d, ", s.Discarded)
}

func (r *Report) flows(w io.Writer, a PhaseResult) {
	fmt.Fprintln(w, "FLOW\tPRIORITY\tSENT\tRECEIVED\tLOST\tLOST %\tREORDERED\tMbit/s\tP50 µs\tP99.9 µs\t")
	for _, f := range r.Flows {
		if f.Phase == a.Phase {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%.1f\t%d\t%.1f\t%d\t%d\t\n", f.Name, priorityName(f, a), f.Sent,
				f.Received, f.Lost, 100*float64(f.Lost)/float64(max(1, f.Sent)), f.Reordered, float64(f.Rate)/1e6,
				f.Latency.P50/1000, f.Latency.P999/1000)
		}
	}
}

// transfers writes the TCP connections of a phase.
func (r *Report) transfers(w io.Writer, phase string) {
	for i, t := range r.Transfers {
		if i == 0 {
			fmt.Fprintln(w, "TCP\tPROGRAM\tPRIORITY\tOCTETS\tMbit/s\tSEGMENTS SENT AGAIN\t")
		}
		if t.Phase == phase {
			class := "unprotected"
			if t.Lossless {
				class = "lossless"
			}
			fmt.Fprintf(w, "%s\t%s\t%d %s\t%d\t%.1f\t%d\t\n", t.Name, t.Program, t.Priority, class, t.Octets,
				float64(t.Rate)/1e6, t.Retransmitted)
		}
	}
}

// trunkText writes what only demo trunk has to say of a phase.
func (r *Report) trunkText(out io.Writer, phase string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i, m := range r.Meters {
		if m.Phase != phase {
			continue
		}
		if i == 0 {
			fmt.Fprintln(w, "PRIORITY\tCIR Mbit/s\tPIR\t\tOFFERED\tGREEN\tYELLOW\tRED\tDELIVERED\t")
		}
		for _, o := range []struct {
			name string
			outcome
		}{{"links", m.Real}, {"virtual time", m.Model}} {
			fmt.Fprintf(w, "%d\t%.1f\t%.1f\t%s\t%d\t%d\t%d\t%d\t%d\t\n", m.Priority, float64(m.CIR)/1e6,
				float64(m.PIR)/1e6, o.name, o.Offered, o.Green, o.Yellow, o.Red, o.Delivered)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, d := range r.Distribution {
		if d.Phase != phase {
			continue
		}
		fmt.Fprintf(out, "  distribution %s: members were given %d bytes, %.2f %% off the mean at most; %d of %d "+
			"frames came late in their flow, overtaken by %d bytes at most\n", d.By, d.Members, 100*d.Imbalance,
			d.Reordered, d.Sent, d.Overtaken)
		if d.By == "least-filled" {
			fmt.Fprintf(out, "  by formula a frame of %d octets, second among frames of %d that reach idle members "+
				"at once, is overtaken by %d bytes\n", largeFrame, smallFrame, d.Formula)
		}
	}
	return nil
}

func priorityName(f Flow, a PhaseResult) string {
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
