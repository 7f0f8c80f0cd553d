package simulation

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/plot"
)

// A Hold says for how long one end of a link was paused by the other.
type Hold struct {
	// Step is 1 where nobody holds the holder's node, which is where frames pile up; else one more than that of the
	// nearest of those that hold it.
	Step     int     `json:"step"`
	By       string  `json:"by"`   // SWITCH:PORT, or a host
	Held     string  `json:"held"` // likewise
	Priority int     `json:"priority"`
	Ns       int64   `json:"paused_ns"`
	Share    float64 `json:"paused_share"` // of the run

	minor bool // short, or by a switch that only stood still: nobody else is held for that
}

// AddHolds finds who held whom, from ports and hosts.
func (r *Report) AddHolds(t *config.Topology) {
	peers := peersOf(t)
	idle := map[string]bool{} // ports whose buffer held nobody
	for _, p := range r.Ports {
		idle[p.Switch+":"+p.Port] = p.Xoff == 0
	}
	add := func(held string, priority int, ns int64) {
		if by := peers[held]; by != "" && ns > 0 {
			r.Holds = append(r.Holds, Hold{By: by, Held: held, Priority: priority, Ns: ns,
				Share: float64(ns) / float64(max(1, r.Lasted)), minor: idle[by]})
		}
	}
	r.Holds = []Hold{}
	for _, p := range r.Ports {
		add(p.Switch+":"+p.Port, p.Priority, p.PausedNs)
	}
	for _, h := range r.Hosts {
		for q, ns := range h.PausedNs {
			add(h.Name, q, ns)
		}
		add(h.Name, -1, h.PausedAllNs)
	}
	r.stepHolds()
	slices.SortStableFunc(r.Holds, func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(b.Ns, a.Ns))
	})
}

func peersOf(t *config.Topology) map[string]string {
	peers := map[string]string{}
	for i := range t.Links {
		a, b := endName(t.Links[i].Ends[0]), endName(t.Links[i].Ends[1])
		peers[a], peers[b] = b, a
	}
	return peers
}

// endName is the end of a link as reports write it.
func endName(e config.LabEnd) string {
	if e.Interface == "eth0" {
		return e.Node
	}
	return e.Node + ":" + e.Interface
}

func nodeOf(end string) string {
	node, _, _ := strings.Cut(end, ":")
	return node
}

// minorPart is the part of the longest hold up to which another one is minor.
const minorPart = 10

// stepHolds numbers the holds from where frames pile up. Where all holders are held, as in a circle, that is where the
// longest hold comes from.
func (r *Report) stepHolds() {
	held, reached, most := map[string]bool{}, map[string]bool{}, int64(0)
	for _, h := range r.Holds {
		most = max(most, h.Ns)
	}
	for i := range r.Holds {
		h := &r.Holds[i]
		h.minor = h.minor || h.Ns < most/minorPart
		held[nodeOf(h.Held)] = held[nodeOf(h.Held)] || !h.minor
	}
	for _, h := range r.Holds {
		reached[nodeOf(h.By)] = !held[nodeOf(h.By)]
	}
	for step, left := 1, len(r.Holds); left > 0; {
		var next []string
		longest, before := -1, left
		for i := range r.Holds {
			switch h := &r.Holds[i]; {
			case h.Step != 0:
			case reached[nodeOf(h.By)]:
				h.Step = step
				if left--; !h.minor {
					next = append(next, nodeOf(h.Held))
				}
			case longest < 0 || h.Ns > r.Holds[longest].Ns:
				longest = i
			}
		}
		if step++; left == before {
			next, step = []string{nodeOf(r.Holds[longest].By)}, 1
		}
		for _, node := range next {
			reached[node] = true
		}
	}
}

func (r *Report) holdsText(out io.Writer) error {
	const head = "Who held whom. Step 1: by the switch or host where frames pile up; step 2: by those that it held.\n" +
		"STEP\tBY\tHELD\tPRIO\tTIME\t%"
	shown := r.Holds
	if !r.all {
		shown = shown[:min(mostRows, len(shown))]
	}
	return section(out, head, shown, len(r.Holds)-len(shown), func(w io.Writer, h Hold) {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", h.Step, h.By, h.Held, priority(h.Priority), short(h.Ns),
			r.share(h.Ns))
	})
}

// Measures of the picture of holds, in pixels.
const (
	columnWidth = 200 // of a step
	rowHeight   = 36
	nodeWidth   = 80
	nodeHeight  = 22
)

// HoldsPicture writes who held whom as an SVG: a column for each step, from where frames pile up to the left, to the
// senders; a line is the wider, the longer the hold. Minor holds are left out.
func (r *Report) HoldsPicture(out io.Writer) error {
	holds := slices.DeleteFunc(slices.Clone(r.Holds), func(h Hold) bool { return h.minor })
	columns := map[string]int{}
	place := func(end string, column int) {
		if at, ok := columns[nodeOf(end)]; !ok || column < at {
			columns[nodeOf(end)] = column
		}
	}
	for _, h := range holds {
		place(h.By, h.Step-1)
		place(h.Held, h.Step)
	}
	type point struct{ x, y int }
	at, rows, last := map[string]point{}, map[int]int{}, 0
	for _, node := range slices.Sorted(maps.Keys(columns)) {
		c := columns[node]
		at[node] = point{20 + columnWidth*c, 60 + rowHeight*rows[c]}
		rows[c]++
		last = max(last, c)
	}
	var p plot.Picture
	p.Text(10, 22, 15, "start", r.Phases[0].Title)
	p.Text(10, 42, 12, "start", "Who held whom, in % of the time. Frames pile up at the left, and senders wait at the "+
		"right.")
	for _, h := range holds {
		from, to := at[nodeOf(h.By)], at[nodeOf(h.Held)]
		fmt.Fprintf(&p, `<path d="M%d %dL%d %d" stroke="#b22222" stroke-opacity="0.5" stroke-width="%.1f"/>`+"\n",
			from.x+nodeWidth, from.y+nodeHeight/2, to.x, to.y+nodeHeight/2, 0.5+8*h.Share)
		p.Text((from.x+nodeWidth+4*to.x)/5, (from.y+4*to.y)/5+nodeHeight/2-3, 10, "middle", fmt.Sprintf("%.0f",
			100*h.Share))
	}
	for _, node := range slices.Sorted(maps.Keys(at)) {
		a := at[node]
		fmt.Fprintf(&p, `<rect x="%d" y="%d" width="%d" height="%d" fill="#dde8f0" stroke="#222"/>`+"\n", a.x, a.y,
			nodeWidth, nodeHeight)
		p.Text(a.x+nodeWidth/2, a.y+15, 12, "middle", node)
	}
	most := 0
	for _, n := range rows {
		most = max(most, n)
	}
	return p.WriteSVG(out, max(plot.Width, 40+columnWidth*last+nodeWidth), 80+rowHeight*most)
}
