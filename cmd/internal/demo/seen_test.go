package demo

import (
	"pfcswitch/dataplane/assert"
	"slices"
	"testing"
)

func flow3(phase string, sent, lost uint64) Flow {
	return Flow{Phase: phase, Priority: 3, Sent: sent, Lost: lost}
}

// The sentences at the end have the report's figures, whatever they are. Nothing is said where the demo did not show
// all, or where a check failed.
func TestSeen(t *testing.T) {
	for _, tt := range []struct {
		report Report
		want   [3]string
	}{
		{Report{Demo: "incast", Flows: []Flow{flow3("a", 100, 0), flow3("b", 50, 1), flow3("c1", 10, 6),
			flow3("c2", 10, 5), {Phase: "a", Sent: 80, Lost: 60}, {Phase: "c1", Sent: 9, Lost: 9}},
			Switches: []SwitchResult{{Phase: "a", PFCSent: 7, Headroom: []Headroom{{Peak: 10, Configured: 100},
				{Peak: 5, Configured: 20}}}, {Phase: "b", PFCSent: 3}, {Phase: "c1", PFCSent: 1,
				Headroom: []Headroom{{Peak: 9, Configured: 9}}}}},
			[3]string{"With PFC, priority 3 lost 1 of 150 frames, over one switch and over two.", "The switches " +
				"sent 10 PFC frames (XOFF, XON and refreshes), and what came after an XOFF took at most 25 % of the " +
				"headroom.",
				"Without PFC, the same load lost 55 % of priority 3; the lossy priority 0 lost 75 % with PFC too."}},
		{Report{Demo: "host", Switches: []SwitchResult{{Phase: "a", Name: "s1", PFCSent: 6},
			{Phase: "a", Name: "h4", PFCSent: 2, Headroom: []Headroom{{Peak: 1, Configured: 2}}},
			{Phase: "b", Name: "s1", PFCSent: 1}}, Transfers: []Transfer{{Phase: "a",
			Octets: 2 << 20}, {Phase: "a", Octets: 1 << 20}, {Phase: "b", Octets: 4 << 20, Retransmitted: 8}}},
			[3]string{"With PFC and host NICs, TCP carried 3.0 MiB and sent 0 segments again.", "The switch " +
				"sent 6 PFC frames (XOFF, XON and refreshes), and what came after an XOFF took at most 0 % of the " +
				"headroom.", "Without flow control at the switch, TCP carried 4.0 MiB and sent 8 segments again."}},
		{Report{Demo: "headroom", Links: []LinkResult{{Measured: 900, Holds: 1000, Peak: 500},
			{Measured: 2000, Holds: 2000, Peak: 100}, {Control: true, Measured: 1, Holds: 1, Peak: 9, Lost: 4}}},
			[3]string{"In 2 runs with measured headroom of 900 to 2000 bytes, 0 frames were lost.", "What came after " +
				"an XOFF took at most 50 % of the headroom in force at the end.", "With a third of the headroom that " +
				"was used, 4 frames were lost."}},
		{Report{Demo: "deadlock", Flows: []Flow{flow3("a", 70, 54), flow3("b", 60, 0), flow3("d", 20, 0)},
			Switches: []SwitchResult{{Phase: "b", Discarded: 1}, {Phase: "c", Discarded: 33}}},
			[3]string{"Without a watchdog, three switches waited for each other for ever, and priority 3 lost 54 of " +
				"70 frames.", "With the watchdog, the same ring lost none of 60 frames; where frames circled, the " +
				"watchdog dropped 33.", "While a host paused its port again and again, priority 3 lost none of " +
				"20 frames."}},
		{Report{Demo: "trunk", Flows: []Flow{flow3("2a", 5, 0), flow3("2b", 6, 0)},
			Meters: []Metered{{Real: outcome{Offered: 100, Delivered: 48}, Model: outcome{Delivered: 50}},
				{Real: outcome{Offered: 100, Delivered: 2}, Model: outcome{Delivered: 1}}},
			Distribution: []Distribution{{Phase: "3b", Sent: 9}, {Phase: "3a", Imbalance: .0123, Reordered: 7}}},
			[3]string{"Of 200 metered frames, 50 passed the trunk, and 51 in virtual time.", "By fill, members were " +
				"at most 1.23 % off their mean; by flow, 0 of 9 frames came out of order.", "Watermarks held the " +
				"members, and then the uplink, and priority 3 lost none of 11 frames."}},
	} {
		r := &tt.report
		whole(r)
		r.Judge()
		got := r.seen()
		assert.True(t, got == nil, "demo %s has not shown all, but: %q", r.Demo, got)
		r.whole = true
		got = r.seen()
		assert.True(t, slices.Equal(got, tt.want[:]), "demo %s: %q, want %q", r.Demo, got, tt.want)
		for _, denied := range []Report{{CouldNotRun: "no load"}, {Checks: []Check{{Judged: true}}}} {
			r.CouldNotRun, r.Checks = denied.CouldNotRun, append(r.Checks[:1], denied.Checks...)
			r.Judge()
			assert.True(t, r.seen() == nil, "demo %s with %+v, but: %q", r.Demo, denied, r.seen())
		}
	}
}
