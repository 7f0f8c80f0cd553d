package simulation

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Text writes the report for a person.
func (r *Report) Text(out io.Writer) error {
	if r.Calibration != nil && r.Scale != 1 {
		fmt.Fprintf(out, "All speeds and rates of the file times %g, which this machine carries: the slowest link has "+
			"%.4g Mbit/s.\n\n", r.Scale, float64(r.Speed)/1e6)
	}
	if err := r.lldpText(out); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Lossless priorities of ports. RX: held by the peer. TX: holding the peer. Peaks in bytes.")
	fmt.Fprintln(w, "PORT\tPRIO\tRX FRAMES\tRX PAUSED\t%\tTX FRAMES\tTX PAUSED\t%\tPRIVATE\tSHARED\tHEADROOM\tOF")
	shown, hidden := r.rows()
	for _, p := range shown {
		fmt.Fprintf(w, "%s:%s\t%s\t%d\t%s\t%s\t%d\t%s\t%s\t%d\t%d\t%d\t%d\n", p.Switch, p.Port, priority(p.Priority),
			p.FramesReceived, short(p.PausedNs), r.share(p.PausedNs), p.FramesSent, short(p.HeldNs), r.share(p.HeldNs),
			p.PrivatePeak, p.SharedPeak, p.HeadroomPeak, p.HeadroomSize)
	}
	for _, h := range r.Hosts {
		for q, n := range h.PFCReceived {
			if n > 0 {
				fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", h.Name, q, n, short(h.PausedNs[q]), r.share(h.PausedNs[q]))
			}
		}
		if h.PausesReceived > 0 || h.PausedAllNs > 0 {
			fmt.Fprintf(w, "%s\tall\t%d\t%s\t%s\n", h.Name, h.PausesReceived, short(h.PausedAllNs),
				r.share(h.PausedAllNs))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if hidden > 0 {
		fmt.Fprintf(out, "%d more without a pause: -j has them\n", hidden)
	}
	fmt.Fprintln(out)
	err := r.holdsText(out)
	if r.Deadlock {
		r.deadlockText(out)
	}
	return errors.Join(err, r.completionText(out), r.controlText(out), r.halfDuplexText(out), r.Report.Text(out))
}

// section writes a table: a title with the columns' names, a line for each row, how many more are hidden, and an empty
// line. It writes nothing where there are no rows.
func section[T any](out io.Writer, head string, rows []T, hidden int, row func(w io.Writer, v T)) error {
	if len(rows) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	for _, v := range rows {
		row(w, v)
	}
	if hidden > 0 {
		fmt.Fprintf(w, "%d more: -j has them\n", hidden)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// deadlockText writes who waits for whom.
func (r *Report) deadlockText(out io.Writer) {
	if len(r.Cycle) == 0 {
		fmt.Fprintln(out, "Nothing moves, and no cycle of waits was found. What hosts hold counts as lost:")
		for _, w := range r.HeldByHosts {
			fmt.Fprintf(out, "  %s holds %d frames of priority %d, paused by %s\n", w.Port, w.Frames, w.Priority, w.By)
		}
		fmt.Fprintln(out)
		return
	}
	fmt.Fprintln(out, "Deadlock. Each waits for the next, and the last for the first; what is held counts as lost:")
	for _, c := range r.Cycle {
		fmt.Fprintf(out, "  %s holds %d frames of priority %d, paused by %s\n", c.Port, c.Frames, c.Priority, c.By)
	}
	fmt.Fprintln(out)
}

func priority(p int) string {
	if p < 0 {
		return "all"
	}
	return fmt.Sprint(p)
}

// short writes a time with four digits.
func short(ns int64) string {
	unit := int64(1)
	for ns/unit >= 10_000 {
		unit *= 10
	}
	return time.Duration((ns + unit/2) / unit * unit).String()
}

// share writes a time as a share of the run.
func (r *Report) share(ns int64) string {
	return fmt.Sprintf("%.1f", 100*float64(ns)/float64(max(1, r.Lasted)))
}
