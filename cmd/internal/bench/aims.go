package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// An aim is what a value of pfcswitch should reach: its median, or the median of the rounds' ratios to a peer. It
// decides nothing.
type aim struct {
	text       string
	what       string
	conditions map[string]any // those that a row has to have
	metric     string
	to         string // a peer; "" for the value itself
	least      float64
	most       float64 // where it is not 0, the value should be at most this
	better     float64 // what is hoped for beyond
}

type cond = map[string]any

var aims = []aim{
	{"60 octets, one sender, to the bridge", "delivered", cond{"senders": 1, "octets": 60},
		frameRate, dutBridge, 1.3, 0, 0},
	{"60 octets, one sender, to Open vSwitch", "delivered", cond{"senders": 1, "octets": 60},
		frameRate, dutOVS, 2.5, 0, 0},
	{"1514 octets, one sender, to the bridge", "delivered", cond{"senders": 1, "octets": 1514},
		frameRate, dutBridge, 1.3, 0, 0},
	{"two senders, to the bridge", "delivered", cond{"senders": 2}, frameRate, dutBridge, 0.8, 0, 1},
	{"CPU of a frame, to the bridge", "delivered", nil, cpuPerFrame, dutBridge, 0, 0.85, 0},
	{"loss-free rate, of its own delivered", "loss-free", nil, ofDelivered, "", 0.9, 0, 0},
	{"TCP, to the bridge", "tcp", nil, throughput, dutBridge, 1, 0, 1.2},
	{"TCP, 4 streams, to Open vSwitch with TSO", "tcp", cond{"streams": 4}, throughput, dutOVSTSO, 2, 0, 0},
	{"latency at half load, p50, to the bridge", "latency", cond{"load": "half"}, p50, dutBridge, 0, 1.3, 0},
	{"latency at half load, p99, to the bridge", "latency", cond{"load": "half"}, p99, dutBridge, 0, 1.3, 0},
	{"latency at half load, p50, to Open vSwitch", "latency", cond{"load": "half"}, p50, dutOVS, 0, 0.5, 0},
	{"latency without load, p50, to the bridge", "latency", cond{"load": "idle"}, p50, dutBridge, 0, 1.5, 0},
	{"rate with 32 ports against 2", "ports", cond{"ports": 32, "senders": 1}, toTwoPorts, "", 0.9, 0, 0},
	{"idle with eight ports, % of a core", "ports", cond{"load": "idle", "ports": 8}, coreShare, "", 0, 0.2, 0},
	{"rate of a trunk against the same ports of a bridge", "trunk", nil, toBridged, "", 0.9, 0, 0},
}

// printAims prints what is reached, for every row that an aim is about.
func printAims(out io.Writer, rows []row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := "\nAIM OF PFCSWITCH\tCONDITIONS\tWANTED\tHOPED FOR\tMEASURED\tREACHED\n"
	for i := range aims {
		a := &aims[i]
		for _, r := range a.rows(rows) {
			fmt.Fprint(w, head)
			head = ""
			s, format := a.measured(r)
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", a.text, r.conditions, a.wanted(), a.hoped(), s.text(format),
				a.verdict(s.median))
		}
	}
	return w.Flush()
}

// rows returns those that the aim is about.
func (a *aim) rows(rows []row) (all []row) {
	for _, r := range rows {
		has, matches := conditionFields(r.conditions), true
		for k, v := range a.conditions {
			matches = matches && has[k] == v
		}
		s, _ := a.measured(r)
		if matches && r.what == a.what && r.metric == a.metric && r.dut == dutPFC && s.rounds > 0 {
			all = append(all, r)
		}
	}
	return all
}

// measured returns what the aim looks at in a row, and how that is written. There are no rounds without the peer.
func (a *aim) measured(r row) (s stats, format func(float64) string) {
	if a.to == "" {
		return r.stats, number
	}
	return r.ratios[a.to], hundredths
}

func (a *aim) wanted() string {
	switch {
	case a.least > 0:
		return fmt.Sprintf("at least %g", a.least)
	case a.most > 0:
		return fmt.Sprintf("at most %g", a.most)
	}
	return "reported"
}

func (a *aim) hoped() string {
	if a.better == 0 {
		return "-"
	}
	return fmt.Sprint(a.better)
}

func (a *aim) verdict(v float64) string {
	switch {
	case a.least == 0 && a.most == 0:
		return "-"
	case v >= a.least && (a.most == 0 || v <= a.most):
		return "yes"
	}
	return "no"
}
