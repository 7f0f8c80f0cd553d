package bench

import (
	"errors"
	"fmt"
	"slices"
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

// ports compares pfcswitch with many ports and with two: with one sender and one receiver, all other ports up and
// silent. What a sender at every other port brings stands beside as many senders that share one port of two: both
// sides have the same processes, but not the same load of a port.
func (b *bench) ports() error {
	numbers := portNumbers
	if b.opt.smoke {
		numbers = []int{2, 4}
	}
	var all []*network
	for _, number := range numbers {
		n, err := b.startNetwork(fmt.Sprintf("ports%d", number), dutPFC, number, portsYAML(number))
		if err != nil {
			return err
		}
		all = append(all, n)
	}
	if err := b.recordMemory(all, "load=idle rings=small"); err != nil {
		return err
	}
	senders := numbers[len(numbers)-1] / 2
	return b.eachRound(func(round int) error {
		for _, n := range alternate(all, round) {
			if err := n.idleUsage(round); err != nil {
				return err
			}
		}
		return b.portsRound(all, round, senders)
	})
}

// idleUsage measures the CPU time of a switch while nobody sends.
func (n *network) idleUsage(round int) error {
	if err := n.b.sleep(n.b.opt.settle); err != nil {
		return err
	}
	used, err := n.usageOf(func() error { return n.b.sleep(n.b.opt.seconds) })
	if err == nil {
		n.b.record("ports", fmt.Sprintf("load=idle ports=%d", len(n.hosts)), n.dut, round, used.shares()...)
	}
	return err
}

// portsRound measures one sender and one receiver at every switch, and then as many senders as there may be: each with
// a receiver and ports of its own, and all at one port.
func (b *bench) portsRound(all []*network, round, senders int) error {
	few, many := all[0], all[len(all)-1]
	rates := map[*network]float64{}
	measure := func(networks []*network, senders int, flows func(*network) []flow) (err error) {
		for _, n := range alternate(networks, round) {
			if rates[n], err = b.portsRate(n, round, flows(n), senders); err != nil {
				return err
			}
		}
		return nil
	}
	if err := measure(all, 1, func(n *network) []flow { return n.flowsToHost2(1) }); err != nil {
		return err
	}
	for _, n := range all[1:] {
		b.record("ports", n.portsConditions(1), dutPFC, round, value{toTwoPorts, rates[n] / rates[few]})
	}
	err := measure([]*network{few, many}, senders, func(n *network) []flow {
		if n == few {
			return slices.Repeat(n.flowsToHost2(1), senders) // of a sender each
		}
		return n.pairFlows()
	})
	if err == nil {
		b.record("ports", many.portsConditions(senders), dutPFC, round, value{toShared, rates[many] / rates[few]})
	}
	return err
}

func (n *network) portsConditions(senders int) string {
	return fmt.Sprintf("ports=%d senders=%d octets=%d", len(n.hosts), senders, n.b.opt.octets[0])
}

// pairFlows are flows from every host of odd number to the next.
func (n *network) pairFlows() (all []flow) {
	for i := 0; i+1 < len(n.hosts); i += 2 {
		all = append(all, flow{n.hosts[i], n.hosts[i+1], mac(i + 2)})
	}
	return all
}

func (b *bench) portsRate(n *network, round int, flows []flow, senders int) (float64, error) {
	o, err := b.measure(load{flows: flows, octets: b.opt.octets[0], priority: probePriority, time: b.opt.seconds})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", n.name, errors.Join(err, n.alive()))
	}
	b.record("ports", n.portsConditions(senders), dutPFC, round, o.values()...)
	return o.rate, nil
}

// trunk compares pfcswitch as a trunk, hosts 1 and 3 at its members and host 2 at its uplink, with the same ports as
// ports of a bridge.
func (b *bench) trunk() error {
	ports, err := withoutName("scripts/bench-trunk.yaml")
	if err != nil {
		return err
	}
	bridged, err := b.trunkNetwork("bridge-ports", ports+staticEntries(2))
	if err != nil {
		return err
	}
	trunk, err := b.trunkNetwork("trunk", ports+"\ntrunks: {up: {uplink: p2, members: [p1, p3]}}\n")
	if err != nil {
		return err
	}
	rates := map[*network]float64{}
	return b.inTurn([]*network{bridged, trunk}, b.opt.rounds, 2, func(n *network, round int, l load) error {
		o, err := b.measure(l)
		if err != nil {
			return err
		}
		b.record("trunk", "device="+n.name+" "+l.conditions(), dutPFC, round, o.values()...)
		if rates[n] = o.rate; len(rates) == 2 { // both with this load
			ratio := value{toBridged, rates[trunk] / rates[bridged]}
			b.record("trunk", "device=trunk "+l.conditions(), dutPFC, round, ratio)
			clear(rates)
		}
		return nil
	})
}

func (b *bench) trunkNetwork(name, text string) (*network, error) {
	n, err := b.startNetwork(name, dutPFC, 3, text)
	if err != nil {
		return nil, err
	}
	return n, n.forwards()
}
