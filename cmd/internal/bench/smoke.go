package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// smokeRows are the rows of more than 0 that a part gives where it works, of devices under test.
var smokeRows = map[string][]struct {
	what, metric string
	duts         []string
}{
	"frames": {{"delivered", frameRate, switchNames}, {"delivered", cpuPerFrame, []string{dutBridge}},
		{"memory", pss, []string{dutPFC, dutOVS, dutOVSTSO}}},
	"lossfree": {{"loss-free", frameRate, switchNames}},
	"tcp":      {{"tcp", throughput, switchNames}},
	"latency":  {{"latency", p99, switchNames}, {machineGaps, highest, []string{dutMachine}}},
	"xoff":     {{"xoff-reaction", p99, []string{dutPFC}}},
	"pause":    {{"pause", stopped, []string{dutPFC}}},
	"ports":    {{"ports", toTwoPorts, []string{dutPFC}}, {"ports", coreShare, []string{dutPFC}}},
	"fabric":   {{"fabric", pss, []string{dutPFC}}, {"fabric", upAfter, []string{dutPFC}}},
	"incast":   {{"incast", tcpRate, []string{dutPFC}}, {"incast", heldShare, []string{dutPFC}}},
	"fdb":      {{"fdb", toEmpty, []string{dutPFC}}, {"fdb", toOne, []string{dutPFC}}},
	"trunk":    {{"trunk", toBridged, []string{dutPFC}}},
	"flap":     {{"flap", outage, []string{dutPFC}}},
}

// judgeSmoke returns an error where a part did not give its results.
func (b *bench) judgeSmoke(rows []row) error {
	var errs []error
	for _, p := range b.opt.parts {
		withIperf := p.name == "tcp" || p.name == "incast"
		if withIperf && b.peers.iperf3 == "" || p.name == "lossfree" && b.opt.search == 0 {
			continue // noted before
		}
		for _, want := range smokeRows[p.name] {
			for _, dut := range want.duts {
				if b.present(dut) && !given(rows, want.what, want.metric, dut) { // an absent one was noted
					errs = append(errs, fmt.Errorf("part %s gave no %s of %s", p.name, want.metric, dut))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// given tells whether there is a row of the kind that is more than 0.
func given(rows []row, what, metric, dut string) bool {
	return slices.ContainsFunc(rows, func(r row) bool {
		return r.what == what && r.metric == metric && r.dut == dut && r.median > 0 && !math.IsInf(r.median, 0)
	})
}

// verify shows on links whose answer is known that figures are what they say: every frame counts, and the latency is
// at least a delay that pfcswitch adds, and less than a second more. The switch sends nothing of its own.
func (b *bench) verify() error {
	const delay = 5 * time.Millisecond
	text := fmt.Sprintf(`preset: roce
metrics: {listen: off}
lldp: {agent: off}
ports:
  p1: {speed: 1G, tagged: [10], loop: off}
  p2: {speed: 1G, tagged: [10], loop: off}
  p3: {speed: 1G, tagged: [10], loop: off}
  p4: {speed: 1G, tagged: [10], loop: off, delay: %s}
`, delay)
	n, err := b.startNetwork("verify", dutPFC, comparedHosts, text+staticEntries(2, 4))
	if err != nil {
		return err
	}
	if err := n.forwards(); err != nil {
		return err
	}
	o, err := n.b.measure(load{through: n, flows: n.flowsToHost2(1), octets: 512, priority: probePriority,
		time: 100 * time.Millisecond, rate: 10_000})
	if err != nil || o.delivered != o.offered || o.offered == 0 {
		return errors.Join(err, fmt.Errorf("%d frames offered, %d counted as delivered", o.offered, o.delivered))
	}
	values, err := n.probe(n.hosts[0])
	if err != nil {
		return err
	}
	got := time.Duration(values[0].v * 1e3)
	if values[0].metric != p50 || got < delay || got > delay+time.Second {
		return fmt.Errorf("latency behind a port with a delay of %v: %s is %v", delay, values[0].metric, got)
	}
	_, err = fmt.Fprintf(b.out, "latency behind a port with a delay of %v: %v (median)\n", delay, got)
	return err
}
