package bench

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/frame"
)

// Probes are frames whose latency is measured: from the sender's clock read before its send call to the kernel's
// receive stamp at the sink. They go from host 1 to host 4, beside the load from host 1 to host 2, and share with the
// load the switch's ingress port and CPU, but not the receiver.
const (
	probeOctets   = 128
	probePriority = 3
	probeRate     = 2000 // frames/s
)

// latency measures probes without load and at half of what the switch delivers in the same round, and what all CPUs do
// meanwhile: the probes' programs, their starts, the load's sender and whatever else runs are in that. Before come the
// machine's gaps, while nothing is sent: the switches that are compared all run, idle.
func (b *bench) latency() error {
	all, err := b.compare()
	if err != nil {
		return err
	}
	for round := range b.opt.rounds {
		waits, err := b.machineGaps()
		if err != nil {
			return err
		}
		b.record(machineGaps, fmt.Sprintf("cpus=%d", runtime.NumCPU()), dutMachine, round, waits...)
		for _, n := range alternate(all, round) {
			if err := b.latencyOf(n, round); err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
		}
	}
	return nil
}

func (b *bench) latencyOf(n *network, round int) error {
	probe := func() ([]value, error) {
		values, used, err := n.probeUsage(n.hosts[0])
		return append(values, used.machineShare()), err
	}
	idle, err := probe()
	if err != nil {
		return err
	}
	octets := b.opt.octets[0]
	l := load{flows: n.flowsToHost2(1), octets: octets, priority: probePriority, time: b.opt.seconds}
	full, err := b.measure(l)
	if err != nil {
		return err
	}
	l.rate = full.rate / 2
	half, rate, err := b.underLoad(l, probe)
	if err != nil {
		return err
	}
	half = append(half, value{frameRate, rate}, value{ofDelivered, rate / full.rate})
	b.record("latency", probeConditions("idle", 0), n.dut, round, idle...)
	b.record("latency", probeConditions("half", octets), n.dut, round, half...)
	return nil
}

// probeUsage is probe, with the CPU time that was used meanwhile.
func (n *network) probeUsage(from *lab.Node) (values []value, used cpuUsage, err error) {
	used, err = n.usageOf(func() (err error) {
		values, err = n.probe(from)
		return err
	})
	return values, used, err
}

// probeConditions are the conditions of probes beside a load of frames of so many octets, 0 for none.
func probeConditions(load string, octets int) string {
	conditions := fmt.Sprintf("load=%s probe_octets=%d", load, probeOctets)
	if octets > 0 {
		conditions += fmt.Sprintf(" load_octets=%d", octets)
	}
	return conditions
}

// What still counts as half of the delivered rate.
const (
	halfLeast = 0.45
	halfMost  = 0.55
)

// offHalfLoad says which switches had another load than half of what they deliver: a sender may stay behind the rate
// that it is asked for.
func offHalfLoad(results []result) (all []string) {
	for _, dut := range columns {
		var bad []float64
		rounds := 0
		for _, r := range results {
			for _, v := range r.values {
				if r.what != "latency" || r.dut != dut || v.metric != ofDelivered {
					continue
				}
				if rounds++; v.v < halfLeast || v.v > halfMost {
					bad = append(bad, v.v)
				}
			}
		}
		if len(bad) > 0 {
			all = append(all, fmt.Sprintf("NOT HALF LOAD: latency of %s with load=half is "+
				"with %s to %s of its delivered rate in %d of %d rounds",
				dut, number(slices.Min(bad)), number(slices.Max(bad)), len(bad), rounds))
		}
	}
	return all
}

// underLoad measures while the load's one sender is at work, and returns the frames/s that arrived meanwhile.
func (b *bench) underLoad(l load, measure func() ([]value, error)) (values []value, rate float64, err error) {
	l.time = b.opt.seconds + patience
	sender, err := b.send(l.flows[0], l)
	if err != nil {
		return nil, 0, err
	}
	defer sender.stop()
	if err := b.sleep(2 * b.opt.settle); err != nil {
		return nil, 0, err
	}
	before, err := l.arrived()
	if err != nil {
		return nil, 0, err
	}
	start := time.Now()
	if values, err = measure(); err != nil {
		return nil, 0, err
	}
	after, err := l.arrived()
	return values, float64(after-before) / time.Since(start).Seconds(), errors.Join(err, sender.alive())
}

// probe sends probes from a host to host 4 and returns their latencies.
func (n *network) probe(from *lab.Node) ([]value, error) {
	b := n.b
	receiver, err := b.startSink(n.hosts[comparedHosts-1], "--flow-control", "off", "--expect", "1")
	if err != nil {
		return nil, err
	}
	defer receiver.stop()
	flow := fmt.Sprintf("%d:octets=%d,rate=%d", probePriority, probeOctets, probeRate*8*frame.WireOctets(probeOctets))
	sender, err := b.startSender(from, mac(comparedHosts), flow, b.opt.seconds, "--flow-control", "off",
		"--speed", "none")
	if err != nil {
		return nil, err
	}
	if _, err := b.wait(sender, b.opt.seconds+patience); err != nil {
		return nil, err
	}
	var r traffic.SinkReport
	if err := b.report(receiver, b.opt.seconds+2*patience, &r); err != nil {
		return nil, err
	}
	return probeValues(&r)
}

// probeValues are the latencies of the one flow that a sink saw.
func probeValues(r *traffic.SinkReport) ([]value, error) {
	if len(r.Flows) != 1 || r.Flows[0].Received == 0 || !r.Flows[0].Finished {
		return nil, errors.New("the sink did not see one flow to its end")
	}
	f := r.Flows[0]
	us := func(ns int64) float64 { return float64(ns) / 1e3 }
	all := []value{{p50, us(f.Latency.P50)}, {p99, us(f.Latency.P99)}}
	if f.Received >= enough999 {
		all = append(all, value{p999, us(f.Latency.P999)})
	}
	return append(all, value{highest, us(f.Latency.Max)}, value{samples, float64(f.Received)},
		value{lost, float64(f.Lost)}), nil
}
