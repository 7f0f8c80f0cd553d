package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Probes are frames whose latency is measured: from the sender's clock read before its send call to the kernel's receive
// stamp at the sink. They go from host 1 to host 4, beside the load from host 1 to host 2, and share with it the switch's
// ingress port and CPU, but not the receiver.
const (
	probeOctets   = 128
	probePriority = 3
	probeRate     = 2000 // frames/s
)

// latency measures probes without load and at half of what the switch delivers in the same round, and what all CPUs do meanwhile, the
// probes' programs, their starts, the load's sender and whatever else runs included. Before it come the machine's gaps, while nothing is sent: the switches
// that are compared all run, idle.
func (b *bench) latency() error {
	return b.compare(func(all []*network) error {
		for round := range b.opt.rounds {
			waits, err := b.machineGaps()
			if err != nil {
				return err
			}
			b.record(ofGaps, fmt.Sprintf("cpus=%d", runtime.NumCPU()), ofMachine, round, waits...)
			for _, n := range inTurn(all, round) {
				if err := b.latencyOf(n, round); err != nil {
					return fmt.Errorf("%s: %w", n.name, err)
				}
			}
		}
		return nil
	})
}

func (b *bench) latencyOf(n *network, round int) error {
	idle, err := n.busyProbe()
	if err != nil {
		return err
	}
	octets := b.opt.octets[0]
	l := load{flows: n.straight(1), octets: octets, priority: probePriority, time: b.opt.seconds}
	full, err := b.measure(l)
	if err != nil {
		return err
	}
	l.rate = full.rate / 2
	half, rate, err := b.beside(l, n.busyProbe)
	if err != nil {
		return err
	}
	b.record("latency", probing("idle", 0), n.of, round, idle...)
	b.record("latency", probing("half", octets), n.of, round, append(half, value{frameRate, rate}, value{ofDelivered, rate / full.rate})...)
	return nil
}

// busyProbe is probe, with what all CPUs did meanwhile.
func (n *network) busyProbe() ([]value, error) {
	before, err := n.effort()
	if err != nil {
		return nil, err
	}
	values, err := n.probe()
	if err != nil {
		return nil, err
	}
	after, err := n.effort()
	return append(values, after.busy(before)), err
}

// probing are the conditions of probes beside a load of frames of so many octets, 0 for none.
func probing(load string, octets int) string {
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

// notHalf says which switches had another load than half of what they deliver: a sender that is asked for a rate may stay behind it.
func notHalf(results []result) (all []string) {
	bad, rounds := map[string][]float64{}, map[string]int{}
	for i := range results {
		r := &results[i]
		if r.what != "latency" {
			continue
		}
		for _, v := range r.values {
			if v.metric != ofDelivered {
				continue
			}
			if rounds[r.of]++; v.v < halfLeast || v.v > halfMost {
				bad[r.of] = append(bad[r.of], v.v)
			}
		}
	}
	for _, of := range columns {
		if b := bad[of]; len(b) > 0 {
			all = append(all, fmt.Sprintf("NOT HALF LOAD: latency of %s with load=half is with %s to %s of its delivered rate in %d of %d rounds", of,
				number(slices.Min(b)), number(slices.Max(b)), len(b), rounds[of]))
		}
	}
	return all
}

// beside measures while the load's one sender is at work, and returns the frames/s that arrived meanwhile.
func (b *bench) beside(l load, measure func() ([]value, error)) (values []value, rate float64, err error) {
	l.time = b.opt.seconds + patience
	sender, err := b.send(l.flows[0], l)
	if err != nil {
		return nil, 0, err
	}
	defer b.forget(sender)
	defer sender.stop()
	if err := b.sleep(2 * b.opt.settle); err != nil {
		return nil, 0, err
	}
	before, from, err := l.now()
	if err != nil {
		return nil, 0, err
	}
	if values, err = measure(); err != nil {
		return nil, 0, err
	}
	after, until, err := l.now()
	return values, float64(after-before) / until.Sub(from).Seconds(), errors.Join(err, sender.alive())
}

// now reads the receivers' counters and the clock.
func (l *load) now() (uint64, time.Time, error) {
	n, err := l.arrived()
	return n, time.Now(), err
}

// sinkReport is what matters of the report of "pfcswitch sink".
type sinkReport struct {
	Flows []struct {
		Received, Lost uint64
		Finished       bool
		Latency        struct{ P50, P99, P999, Max int64 } `json:"latency_ns"`
	}
}

// probe sends probes from host 1 to host 4 and returns their latencies.
func (n *network) probe() ([]value, error) { return n.probeFrom(n.hosts[0]) }

func (n *network) probeFrom(from *node) ([]value, error) {
	b := n.b
	sinkHost := n.hosts[comparedHosts-1]
	receiver, err := b.start(sinkHost.namespace, b.program, "sink", "eth0", "--expect", "1", "-j", "--flow-control", "off", "--speed", "none",
		"--seconds", fmt.Sprint((b.opt.seconds + patience).Seconds()))
	if err != nil {
		return nil, err
	}
	defer func() {
		receiver.stop()
		b.forget(receiver)
	}()
	out, err := b.start(from.namespace, b.program, "send", "eth0", "--to", mac(comparedHosts), "-j", "--flow-control", "off", "--vlan", fmt.Sprint(vlan),
		"--flow", fmt.Sprintf("%d:octets=%d,rate=%d", probePriority, probeOctets, probeRate*8*wire(probeOctets)), "--seconds", fmt.Sprint(b.opt.seconds.Seconds()),
		"--speed", "none")
	if err != nil {
		return nil, err
	}
	if _, err := b.wait(out, b.opt.seconds+patience); err != nil {
		return nil, err
	}
	said, err := b.wait(receiver, b.opt.seconds+2*patience)
	if err != nil {
		return nil, err
	}
	return parseProbes(said)
}

func parseProbes(said []byte) ([]value, error) {
	var r sinkReport
	if err := json.Unmarshal(said, &r); err != nil {
		return nil, fmt.Errorf("report of a sink: %w", err)
	}
	if len(r.Flows) != 1 || r.Flows[0].Received == 0 || !r.Flows[0].Finished {
		return nil, errors.New("the sink did not see one flow to its end")
	}
	f := r.Flows[0]
	us := func(ns int64) float64 { return float64(ns) / 1e3 }
	all := []value{{p50, us(f.Latency.P50)}, {p99, us(f.Latency.P99)}}
	if f.Received >= enough999 {
		all = append(all, value{p999, us(f.Latency.P999)})
	}
	return append(all, value{highest, us(f.Latency.Max)}, value{samples, float64(f.Received)}, value{lost, float64(f.Lost)}), nil
}
