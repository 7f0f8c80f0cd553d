package linkcheck

import (
	"fmt"
	"slices"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/macctl"
)

// maxTrips bounds how long a check takes, and what the other end is asked for.
const maxTrips = 10_000

var wayNames = [macctl.NumWays]string{"control", "fallback", "bridged"}

// roundTrip measures how long frames take, by the way of PFC where that passes.
func (c *checker) roundTrip() {
	way := c.base
	if p := c.passes[macctl.WayControl]; p.out && p.back {
		way = macctl.WayControl
	}
	var total, link, peer []int64
	r := &api.LinkTrip{Way: wayNames[way], Octets: macctl.FrameSize, PrecisionNs: clockStep(c.wire.Now)}
	for range c.o.Count {
		r.Asked++
		a, ok := c.askOnce(question{way: way, back: way})
		whole, turn := a.got-a.sent, a.Sent-a.Received
		if !ok || whole <= 0 || turn < 0 || turn > whole { // lost, or a clock was set meanwhile
			r.Lost++
			continue
		}
		if a.kernel {
			r.KernelStamped++
		}
		total, link, peer = append(total, whole), append(link, whole-turn), append(peer, turn)
	}
	t := api.LinkTest{Check: "round-trip", Verdict: api.LinkPass, Out: "-", Back: "-"}
	if len(total) == 0 {
		t.Verdict, t.Text = api.LinkFail, "none of the frames came back"
		t.Remedy = remedy(t.Verdict, "the link loses all that is sent one after the other: look at the counters of both interfaces (ip -s link show)")
		c.add(t)
		return
	}
	r.Total, r.Link, r.Peer = spreadOf(total), spreadOf(link), spreadOf(peer)
	c.report.RoundTrip = r
	t.Text = fmt.Sprintf("%d of %d came back", r.Asked-r.Lost, r.Asked)
	if r.Lost > 0 {
		t.Verdict = api.LinkFail
		t.Remedy = remedy(t.Verdict, "frames were lost, or were later than --patience: look at the counters of both interfaces (ip -s link show)")
	}
	c.add(t)
}

// spreadOf describes samples; the quantiles are the nearest ranks.
func spreadOf(ns []int64) api.Spread {
	slices.Sort(ns)
	n := len(ns)
	rank := func(permille int) int64 { return ns[min(n-1, max(0, (n*permille+999)/1000-1))] }
	return api.Spread{Samples: n, MinNs: ns[0], P50Ns: rank(500), P99Ns: rank(990), P999Ns: rank(999), MaxNs: ns[n-1]}
}

// clockStep is the smallest step of a clock that a thousand looks show, at least 1 ns.
func clockStep(now func() int64) int64 {
	least := int64(1 << 62)
	last := now()
	for range 1000 {
		next := now()
		if step := next - last; step > 0 {
			least = min(least, step)
		}
		last = next
	}
	if least == 1<<62 {
		return 1
	}
	return least
}
