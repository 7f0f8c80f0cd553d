package simulation

import (
	"fmt"
	"io"

	"pfcswitch/cmd/internal/config"
)

// A Control is what DCQCN did to a flow, or to all flows with a size of an entry under traffic.
type Control struct {
	Name     string `json:"name"`
	Priority uint8  `json:"priority"`
	Marked   uint64 `json:"marked_frames"` // that came with congestion experienced
	Sent     uint64 `json:"cnp_sent_frames"`
	Received uint64 `json:"cnp_received_frames"`        // while the sender was sending
	Rate     int64  `json:"final_rate_bits_per_second"` // that the sender may send at the end; 0: of flows with a size
}

func (f *fabric) addControls(r *Report) {
	for i := range f.flows {
		if fl, v := &f.flows[i], f.Flow(i).DCQCN; fl.DCQCN {
			r.AddControl(Control{fl.from + ">" + fl.to, fl.Priority, v.Marked, v.Sent, v.Received, v.Rate},
				fl.LabTraffic, fl.size > 0)
		}
	}
}

// AddControl adds what DCQCN did to a flow of an entry: to those that have a size, in one line for all.
func (r *Report) AddControl(c Control, t *config.LabTraffic, sized bool) {
	if sized {
		c.Name, c.Rate = t.Name, 0
		if last := len(r.Controls) - 1; last >= 0 && r.Controls[last].Name == t.Name {
			l := &r.Controls[last]
			l.Marked, l.Sent, l.Received = l.Marked+c.Marked, l.Sent+c.Sent, l.Received+c.Received
			return
		}
	}
	r.Controls = append(r.Controls, c)
}

// controlText writes what DCQCN did.
func (r *Report) controlText(out io.Writer) error {
	const head = "DCQCN. MARKED: frames that came with congestion experienced. RATE: what the sender may send at the " +
		"end.\nFLOW\tPRIORITY\tMARKED\tCNPS SENT\tRECEIVED\tRATE Mbit/s"
	return section(out, head, r.Controls, 0, func(w io.Writer, c Control) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d", c.Name, c.Priority, c.Marked, c.Sent, c.Received)
		if c.Rate > 0 {
			fmt.Fprintf(w, "\t%.1f", float64(c.Rate)/1e6)
		}
		fmt.Fprintln(w)
	})
}
