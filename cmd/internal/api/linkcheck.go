package api

import (
	"fmt"
	"strings"
)

// LinkCheck is the answer to linkcheck: what passes a link from one end to the other.
type LinkCheck struct {
	Schema    int        `json:"schema"`
	Interface string     `json:"interface"`
	Netns     *string    `json:"netns"` // null: this one
	Port      *string    `json:"port"`  // of the switch that was asked for, null where an interface was named
	Peer      *string    `json:"peer"`  // address of the end that answers; null: none does
	Pass      bool       `json:"pass"`
	Checks    []LinkTest `json:"checks"`
	// OutBytes and BackBytes are the longest frames that passed, without FCS; null where none was tried. OwnBytes is
	// what this end's interface takes.
	OutBytes  *int      `json:"out_bytes"`
	BackBytes *int      `json:"back_bytes"`
	OwnBytes  int       `json:"own_bytes"`
	RoundTrip *LinkTrip `json:"round_trip"` // null where nobody answers
}

// LinkTest is one row: what passed in each direction, and the remedy if it did not.
type LinkTest struct {
	Check   string  `json:"check"`   // pfc, tag, mtu, checksum or round-trip
	Verdict string  `json:"verdict"` // pass, fail, or unknown
	Out     string  `json:"out"`     // from this end to the other: pass, eaten, kept, stripped, …; unknown
	Back    string  `json:"back"`
	Text    string  `json:"text"`
	Remedy  *string `json:"remedy"`
}

// Verdicts of a LinkTest.
const (
	LinkPass    = "pass"
	LinkFail    = "fail"
	LinkUnknown = "unknown"
)

// LinkTrip is the round-trip time in ns. Total is the sum of the time at the peer and on the link.
type LinkTrip struct {
	Asked         int    `json:"asked"`
	Lost          int    `json:"lost"`
	Way           string `json:"way"`            // control (as PFC goes), fallback or bridged
	Octets        int    `json:"octets"`         // of each frame, without FCS
	KernelStamped int    `json:"kernel_stamped"` // trips with a kernel send stamp; others use the clock
	PrecisionNs   int64  `json:"precision_ns"`   // step of this end's clock, finer than which none of its stamps is
	Total         Spread `json:"total"`
	Link          Spread `json:"link"`
	Peer          Spread `json:"peer"`
}

// Text implements Reply.
func (r *LinkCheck) Text() string {
	var s strings.Builder
	name := "interface " + r.Interface
	if r.Port != nil {
		name = "port " + *r.Port + " (interface " + r.Interface + ")"
	}
	if r.Peer == nil {
		fmt.Fprintf(&s, "%s: nobody answers\n", name)
	} else {
		fmt.Fprintf(&s, "%s: %s answers\n", name, *r.Peer)
	}
	t := newTable("CHECK", "VERDICT", "OUT", "BACK", "WHAT IT MEANS")
	for i := range r.Checks {
		c := &r.Checks[i]
		t.row(c.Check, strings.ToUpper(c.Verdict), c.Out, c.Back, c.Text)
	}
	s.WriteString("\n" + t.String())
	if r.RoundTrip != nil {
		s.WriteString("\n" + r.RoundTrip.text())
	}
	for i := range r.Checks {
		if c := &r.Checks[i]; c.Remedy != nil {
			fmt.Fprintf(&s, "\n%s: %s\n", c.Check, *c.Remedy)
		}
	}
	return s.String()
}

func (r *LinkTrip) text() string {
	t := newTable("ROUND TRIP", ">SAMPLES", ">MIN", ">P50", ">P99", ">P99.9", ">MAX")
	t.row(r.Total.cells("there and back")...)
	t.row(r.Link.cells("on the link")...)
	t.row(r.Peer.cells("at the peer")...)
	return t.String() + fmt.Sprintf("%d of %d answered, %d octets, by %s; the kernel stamped %d of them as they "+
		"left, the others are stamped before the call; the clock moves by %s\n",
		r.Asked-r.Lost, r.Asked, r.Octets, r.Way, r.KernelStamped, duration(r.PrecisionNs))
}
