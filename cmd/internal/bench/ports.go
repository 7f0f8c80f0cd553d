package bench

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

// ports compares pfcswitch with many ports and with two: with one sender and one receiver, all other ports up and silent. What a sender
// at every other port brings stands beside as many senders that share one port of two: both sides have the same processes, but not the same
// load of a port.
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
	if err := b.memory(all, "load=idle rings=small"); err != nil {
		return err
	}
	senders := numbers[len(numbers)-1] / 2
	for round := range b.opt.rounds {
		if err := b.portsRound(all, round, senders); err != nil {
			return err
		}
	}
	return nil
}

// portsRound measures one sender and one receiver at every switch, and then as many senders as there may be: each with a receiver and
// ports of its own, and all at one port.
func (b *bench) portsRound(all []*network, round, senders int) error {
	few, many := all[0], all[len(all)-1]
	rates := map[*network]float64{}
	var err error
	for _, n := range inTurn(all, round) {
		if rates[n], err = b.portsRate(n, round, n.straight(1), 1); err != nil {
			return err
		}
	}
	for _, n := range all[1:] {
		b.record("ports", n.portsCase(1, b.opt.octets[0]), ofPFC, round, value{toTwoPorts, rates[n] / rates[few]})
	}
	flows := map[*network][]flow{few: few.shared(senders), many: many.pairs()}
	for _, n := range inTurn([]*network{few, many}, round) {
		if rates[n], err = b.portsRate(n, round, flows[n], senders); err != nil {
			return err
		}
	}
	b.record("ports", many.portsCase(senders, b.opt.octets[0]), ofPFC, round, value{toShared, rates[many] / rates[few]})
	return nil
}

func (n *network) portsCase(senders, octets int) string {
	return fmt.Sprintf("ports=%d senders=%d octets=%d", len(n.hosts), senders, octets)
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

// portsRate measures and returns the rate.
func (b *bench) portsRate(n *network, round int, flows []flow, senders int) (float64, error) {
	o, err := b.measure(load{flows: flows, octets: b.opt.octets[0], priority: probePriority, time: b.opt.seconds})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", n.name, errors.Join(err, n.alive()))
	}
	b.record("ports", n.portsCase(senders, b.opt.octets[0]), ofPFC, round, value{offered, float64(o.offered)}, value{delivered, float64(o.delivered)},
		value{frameRate, o.rate}, value{cpuPerFrame, o.perFrame()})
	return o.rate, nil
}
