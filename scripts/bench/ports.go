package main

import (
	"errors"
	"fmt"
	"strings"
)

// portNumbers are the switches of the part: the first is what the others are compared with.
var portNumbers = []int{2, 8, 32}

// portsYAML configures a switch with n ports; rings are small, so that 32 ports fit into memory.
func portsYAML(n int) string {
	var s strings.Builder
	s.WriteString("preset: roce\nmetrics: {listen: \"127.0.0.1:9808\"}\nports:\n")
	var receivers []int
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&s, "  p%d: {speed: none, tagged: [10], ring: {max: 4MiB, other: 2048}}\n", i)
		if i%2 == 0 {
			receivers = append(receivers, i)
		}
	}
	return s.String() + staticEntries(receivers...)
}

// ports compares pfcswitch with many ports and with two: with one sender, all other ports up and silent; and with a sender
// at every other port, against as many senders that share one port of two. So both sides have the same processes.
func (b *bench) ports() (err error) {
	numbers := portNumbers
	if b.opt.smoke {
		numbers = []int{2, 4}
	}
	var all []*network
	defer func() {
		for _, n := range all {
			err = errors.Join(err, n.close())
		}
	}()
	for _, number := range numbers {
		n, err := b.newNetwork(fmt.Sprintf("ports%d", number), number)
		if err != nil {
			return err
		}
		n.of = ofPFC
		all = append(all, n)
		if err := n.startPFC(portsYAML(number)); err != nil {
			return err
		}
	}
	if err := b.memory(all, "idle"); err != nil {
		return err
	}
	few, many := all[0], all[len(all)-1]
	senders := numbers[len(numbers)-1] / 2
	for round := range b.opt.rounds {
		one := 0.0
		for _, n := range all {
			rate, err := b.portsRate(n, round, n.straight(1), 1, one)
			if err != nil {
				return err
			}
			if n == few {
				one = rate
			}
		}
		base, err := b.portsRate(few, round, few.shared(senders), senders, 0)
		if err != nil {
			return err
		}
		if _, err := b.portsRate(many, round, many.pairs(), senders, base); err != nil {
			return err
		}
	}
	return nil
}

// pairs are flows from every host of odd number to the next.
func (n *network) pairs() (all []flow) {
	for i := 0; i+1 < len(n.hosts); i += 2 {
		all = append(all, flow{n.hosts[i], n.hosts[i+1], mac(i + 2)})
	}
	return all
}

// shared are flows from host 1 to host 2, each of a sender of its own.
func (n *network) shared(senders int) (all []flow) {
	for range senders {
		all = append(all, n.straight(1)...)
	}
	return all
}

// portsRate measures and returns the rate; base is that of two ports, 0 where it is that.
func (b *bench) portsRate(n *network, round int, flows []flow, senders int, base float64) (float64, error) {
	o, err := b.measure(load{flows: flows, octets: b.opt.octets[0], priority: probePriority, time: b.opt.seconds})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", n.name, errors.Join(err, n.alive()))
	}
	values := []value{{offered, float64(o.offered)}, {delivered, float64(o.delivered)}, {frameRate, o.rate}, {cpuPerFrame, o.perFrame()}}
	if base > 0 {
		values = append(values, value{toTwoPorts, o.rate / base})
	}
	b.record("ports", fmt.Sprintf("ports=%d senders=%d octets=%d", len(n.hosts), senders, b.opt.octets[0]), ofPFC, round, values...)
	return o.rate, nil
}
