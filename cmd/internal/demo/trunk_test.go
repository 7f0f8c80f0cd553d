package demo

import (
	"strings"
	"testing"

	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/trunk"
)

// ms is a millisecond in ns.
const ms = int64(1_000_000)

// meteringModels are what act 1 makes, under virtual time, of 2 s in which senders send what they would without standing still, or
// somewhat less, from members of 100 Mbit/s. Each of the second one's frames passes: it is yellow where it is not green.
func meteringModels(stalls [trunkMembers][]traffic.Stall) (even, stalled [trunk.NumPriorities]outcome) {
	const speed, seconds = 100_000_000, 2
	c := trunk.AggregatorConfig{Members: trunkMembers, Metered: true, Total: trunk.MeterConfig{CIR: 2 * speed, PIR: 2 * speed, CBS: 64 << 10, PBS: 128 << 10}}
	var offers, late []offer
	for i, m := range metered {
		rate := func(share float64) int64 { return int64(share * speed) }
		c.Meters[m.priority] = trunk.MeterConfig{CIR: rate(m.cir), PIR: min(rate(m.pir), 2*speed), CBS: 64 << 10, PBS: 128 << 10}
		o := offer{member: i, priority: m.priority, octets: fullFrame, elapsed: seconds * 1000 * ms}
		running := o.elapsed
		for _, s := range stalls[i] {
			running -= s.Time - 2*ms // which is made up for
		}
		o.frames = uint64(float64(rate(m.offered)) * float64(running) / 1e9 / 8 / 1542)
		offers = append(offers, o)
		o.stalls = stalls[i]
		late = append(late, o)
	}
	return meterModel(c, offers, 2*speed), meterModel(c, late, 2*speed)
}

// Where a sender stood still for so long that its meter's bucket overflowed, what links have may differ from what virtual time has of
// a sender that did not; where the bucket took it all, where nothing stood still, or the other way round, it may not.
func TestMeteringOfStalls(t *testing.T) {
	one := func(member int, all ...traffic.Stall) (s [trunkMembers][]traffic.Stall) {
		s[member] = all
		return s
	}
	long := one(1, traffic.Stall{At: 500 * ms, Time: 74 * ms})
	for _, tt := range []struct {
		name    string
		stalls  [trunkMembers][]traffic.Stall
		member  int
		change  func(n *outcome) // of what virtual time has of senders that do not stand still
		pass    bool
		machine string // part of the reason
	}{
		{name: "as it should be", pass: true},
		{name: "as it should be, though one stood still for a while", stalls: one(1, traffic.Stall{At: 500 * ms, Time: 5 * ms}), member: 1, pass: true},
		{name: "3003 yellow frames instead of 2673", stalls: long, member: 1, change: func(n *outcome) { n.Yellow, n.Green = n.Yellow+330, n.Green-330 },
			machine: "act 1: a sender stood still, for up to 74.0 ms: of that virtual time makes 3"},
		{name: "likewise, and no sender stood still", member: 1, change: func(n *outcome) { n.Yellow, n.Green = n.Yellow+330, n.Green-330 }},
		{name: "likewise, and another one stood still", stalls: one(2, traffic.Stall{At: 500 * ms, Time: 74 * ms}), member: 1,
			change: func(n *outcome) { n.Yellow, n.Green = n.Yellow+330, n.Green-330 }},
		{name: "likewise, and it stood still for no longer than its bucket lasts: 7.5 ms", stalls: one(1, traffic.Stall{At: 500 * ms, Time: 7 * ms}), member: 1,
			change: func(n *outcome) { n.Yellow, n.Green = n.Yellow+330, n.Green-330 }},
		{name: "more than twice what it explains", stalls: long, member: 1, change: func(n *outcome) { n.Yellow, n.Green = n.Yellow+900, n.Green-900 }},
		{name: "too few yellow ones", stalls: long, member: 1, change: func(n *outcome) { n.Yellow, n.Green = n.Yellow-330, n.Green+330 }},
		{name: "many times for 20 ms, far from each other", stalls: one(1, traffic.Stall{At: 200 * ms, Time: 20 * ms}, traffic.Stall{At: 600 * ms, Time: 20 * ms},
			traffic.Stall{At: 1000 * ms, Time: 20 * ms}, traffic.Stall{At: 1400 * ms, Time: 20 * ms}), member: 1,
			change: func(n *outcome) { n.Yellow, n.Green = n.Yellow+280, n.Green-280 }, machine: "up to 20.0 ms"},
		{name: "it explains yellow frames, and not that some are red", stalls: long, member: 1,
			change: func(n *outcome) { n.Yellow, n.Green, n.Red = n.Yellow+320, n.Green-330, 10 }},
		{name: "it explains no lost ones", stalls: long, member: 1, change: func(n *outcome) { n.Delivered -= n.Delivered / 10 }},
		{name: "above the peak rate", stalls: one(0, traffic.Stall{At: 500 * ms, Time: 150 * ms}), member: 0,
			change: func(n *outcome) { n.Green, n.Yellow, n.Red = n.Green-200, n.Yellow-200, n.Red+400 }, machine: "up to 150.0 ms"},
	} {
		even, stalled := meteringModels(tt.stalls)
		p := metered[tt.member].priority
		m := Metered{Priority: p, Real: even[p], Model: even[p], Stalled: stalled[p]}
		if tt.change != nil {
			tt.change(&m.Real)
		}
		a := &act{name: "1"}
		for _, all := range tt.stalls {
			h := &host{}
			for _, s := range all {
				h.report.LongestStall = max(h.report.LongestStall, s.Time)
			}
			a.senders = append(a.senders, h)
		}
		r := &Report{}
		a.compareWithModel(r, &m)
		r.judge()
		if r.Pass != tt.pass || r.NotJudged() != (tt.machine != "") || !strings.Contains(r.Machine, tt.machine) {
			t.Errorf("%s: pass %v, machine %q, want %v, %q\nlinks %+v\nmodel %+v\nwith stalls %+v", tt.name, r.Pass, r.Machine, tt.pass, tt.machine, m.Real, m.Model, m.Stalled)
		}
	}
}

// A check that the machine has spoiled excuses no other one.
func TestSpoiledChecks(t *testing.T) {
	spoiled, failed, passed := Check{Kind: KindRate, Machine: "it stood still"}, Check{Kind: KindLoss}, Check{Pass: true}
	for _, tt := range []struct {
		name    string
		machine string
		checks  []Check
		pass    bool
		want    string
	}{
		{"all passed", "", []Check{passed, passed}, true, ""},
		{"nothing was looked at", "", nil, false, ""},
		{"one spoiled", "", []Check{passed, spoiled, passed}, false, "it stood still"},
		{"one spoiled, and one failed later", "", []Check{spoiled, failed}, false, ""},
		{"one failed, and one spoiled later", "", []Check{failed, spoiled}, false, ""},
		{"the machine was the limit throughout", "it waited", []Check{spoiled, failed}, false, "it waited"},
	} {
		r := &Report{Machine: tt.machine, Checks: tt.checks}
		if r.judge(); r.Pass != tt.pass || r.Machine != tt.want || r.NotJudged() != (tt.want != "") {
			t.Errorf("%s: pass %v, machine %q, not judged %v, want %v, %q", tt.name, r.Pass, r.Machine, r.NotJudged(), tt.pass, tt.want)
		}
	}
	r := &Report{Checks: []Check{spoiled, failed}}
	var out strings.Builder
	if err := r.verdict(&out); err != nil || !strings.Contains(out.String(), ", got : it stood still\n") || !strings.Contains(out.String(), ", got \n") {
		t.Errorf("%v, %q", err, out.String())
	}
}
