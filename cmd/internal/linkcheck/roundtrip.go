package linkcheck

import (
	"fmt"
	"slices"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// maxTrips bounds how long a check takes, and what the other end is asked for.
const maxTrips = 10_000

var pathNames = [macctl.NumPaths]string{"control", "fallback", "bridged"}

// roundTrip measures how long frames take, by the way of PFC where that passes.
func (c *checker) roundTrip() {
	way := c.base
	if p := c.passes[macctl.PathControl]; p.out && p.back {
		way = macctl.PathControl
	}
	var total, link, peer []int64
	r := &api.LinkTrip{Way: pathNames[way], Octets: macctl.FrameSize, PrecisionNs: port.ClockStep(c.wire.Now)}
	for range c.o.Count {
		r.Asked++
		a, ok := c.requestOnce(request{path: way, answerPath: way})
		whole, turn := a.received-a.sent, a.Sent-a.Received
		if !ok || whole <= 0 || turn < 0 || turn > whole { // lost, or a clock was set meanwhile
			r.Lost++
			continue
		}
		if a.kernelStamp {
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

// spreadOf describes samples, and sorts them.
func spreadOf(ns []int64) api.Spread {
	slices.Sort(ns)
	return api.Spread{Samples: len(ns), MinNs: ns[0], P50Ns: api.Quantile(ns, 500), P99Ns: api.Quantile(ns, 990), P999Ns: api.Quantile(ns, 999), MaxNs: ns[len(ns)-1]}
}
