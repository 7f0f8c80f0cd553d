package main

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
					l := load{octets: octets, priority: priority, time: b.opt.seconds}
					base, err := bridged.trunkRate(l, round, senders, 0)
					if err != nil {
						return err
					}
					if _, err := trunk.trunkRate(l, round, senders, base); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
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

// trunkRate measures and returns the rate; base is that of the bridge's ports, 0 where it is that.
func (n *network) trunkRate(l load, round, senders int, base float64) (float64, error) {
	l.through, l.flows = n, n.straight([]int{1, 3}[:senders]...)
	o, err := n.b.measure(l)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", n.name, errors.Join(err, n.alive()))
	}
	values := []value{{offered, float64(o.offered)}, {delivered, float64(o.delivered)}, {frameRate, o.rate}, {cpuPerFrame, o.perFrame()}}
	if base > 0 {
		values = append(values, value{toBridged, o.rate / base})
	}
	n.b.record("trunk", fmt.Sprintf("device=%s senders=%d octets=%d priority=%d", n.name, senders, l.octets, l.priority), ofPFC, round, values...)
	return o.rate, nil
}
