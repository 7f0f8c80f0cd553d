package main

import (
	"encoding/json"
	"errors"
	"fmt"
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

// latency measures probes without load and at half of what the switch delivers in the same round, and the machine's gaps
// in the same minute.
func (b *bench) latency() error {
	return b.compare(func(all []*network) error {
		for round := range b.opt.rounds {
			waits, err := b.machineGaps()
			if err != nil {
				return err
			}
			for _, load := range []string{"idle", "half"} {
				b.record("latency", probing(load), ofMachine, round, waits...)
			}
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
	idle, err := n.probe()
	if err != nil {
		return err
	}
	octets := b.opt.octets[0]
	l := load{flows: n.straight(1), octets: octets, priority: probePriority, time: b.opt.seconds}
	full, err := b.measure(l)
	if err != nil {
		return err
	}
	l.rate, l.time = full.rate/2, b.opt.seconds+patience
	sender, err := b.send(l.flows[0], l)
	if err != nil {
		return err
	}
	defer b.forget(sender)
	defer sender.stop()
	if err := b.sleep(2 * b.opt.settle); err != nil {
		return err
	}
	before, from, err := l.now()
	if err != nil {
		return err
	}
	half, err := n.probe()
	if err != nil {
		return err
	}
	after, until, err := l.now()
	if err != nil {
		return err
	}
	b.record("latency", probing("idle"), n.of, round, idle...)
	b.record("latency", probing("half"), n.of, round, append(half, value{frameRate, float64(after-before) / until.Sub(from).Seconds()})...)
	return nil
}

func probing(load string) string { return fmt.Sprintf("load=%s octets=%d", load, probeOctets) }

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
	return []value{{p50, us(f.Latency.P50)}, {p99, us(f.Latency.P99)}, {p999, us(f.Latency.P999)}, {highest, us(f.Latency.Max)},
		{count, float64(f.Received)}, {lost, float64(f.Lost)}}, nil
}
