package simulation

import (
	"fmt"
	"io"
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
		fl, v := &f.flows[i], f.Flow(i).DCQCN
		if !fl.DCQCN {
			continue
		}
		c := Control{Name: fl.from + ">" + fl.to, Priority: fl.Priority, Rate: v.Rate}
		if fl.size > 0 {
			c.Name, c.Rate = fl.Name, 0
		}
		last := len(r.Controls) - 1
		if last < 0 || c.Rate > 0 || r.Controls[last].Name != c.Name {
			r.Controls = append(r.Controls, c)
			last++
		}
		r.Controls[last].Marked += v.Marked
		r.Controls[last].Sent += v.Sent
		r.Controls[last].Received += v.Received
	}
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
