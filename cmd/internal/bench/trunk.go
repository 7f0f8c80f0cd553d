package bench

import (
	"errors"
	"fmt"
)

// trunk compares pfcswitch as a trunk, hosts 1 and 3 at its members and host 2 at its uplink, with the same ports as ports of
// a bridge.
func (b *bench) trunk() (err error) {
	ports, err := unnamed("scripts/bench-trunk.yaml")
	if err != nil {
		return err
	}
	bridged, err := b.trunkNetwork("bridge-ports", ports+staticEntries(2))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bridged.close()) }()
	trunk, err := b.trunkNetwork("trunk", ports+"\ntrunks: {up: {uplink: p2, members: [p1, p3]}}\n")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trunk.close()) }()
	for round := range b.opt.rounds {
		for senders := 1; senders <= 2; senders++ {
			for _, octets := range b.opt.octets {
				for _, priority := range b.opt.priorities {
					if err := b.trunkPair(bridged, trunk, round, senders, load{octets: octets, priority: priority, time: b.opt.seconds}); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// trunkPair measures both with a load.
func (b *bench) trunkPair(bridged, trunk *network, round, senders int, l load) error {
	rates := map[*network]float64{}
	for _, n := range inTurn([]*network{bridged, trunk}, round) {
		o, err := n.trunkLoad(l, senders)
		if err != nil {
			return err
		}
		rates[n] = o.rate
		b.record("trunk", n.trunkCase(l, senders), ofPFC, round, value{offered, float64(o.offered)}, value{delivered, float64(o.delivered)},
			value{frameRate, o.rate}, value{cpuPerFrame, o.perFrame()})
	}
	b.record("trunk", trunk.trunkCase(l, senders), ofPFC, round, value{toBridged, rates[trunk] / rates[bridged]})
	return nil
}

func (n *network) trunkCase(l load, senders int) string {
	return fmt.Sprintf("device=%s senders=%d octets=%d priority=%d", n.name, senders, l.octets, l.priority)
}

func (n *network) trunkLoad(l load, senders int) (outcome, error) {
	l.through, l.flows = n, n.straight([]int{1, 3}[:senders]...)
	o, err := n.b.measure(l)
	if err != nil {
		return o, fmt.Errorf("%s: %w", n.name, errors.Join(err, n.alive()))
	}
	return o, nil
}

func (b *bench) trunkNetwork(name, text string) (*network, error) {
	n, err := b.newNetwork(name, 3)
	if err != nil {
		return nil, err
	}
	if err = n.startPFC(text); err == nil {
		err = n.forwards()
	}
	if err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}
