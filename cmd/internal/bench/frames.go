package bench

import (
	"errors"
	"fmt"
	"regexp"
)

// frames measures the highest rate that arrives when one or two senders send as fast as they can, what that takes of
// the machine's CPUs, and the switches' memory before and after.
func (b *bench) frames() error {
	all, err := b.compare()
	if err != nil {
		return err
	}
	if err := b.defaultMemory(); err != nil {
		return err
	}
	if err := b.recordMemory(all, "load=idle"); err != nil {
		return err
	}
	err = b.inTurn(all, b.opt.rounds, 2, func(n *network, round int, l load) error {
		o, err := b.measure(l)
		if err == nil {
			values := append(o.values(), value{cpuPerGB, o.perGB(l.octets)})
			b.record("delivered", l.conditions(), n.name, round, values...)
		}
		return err
	})
	if err != nil {
		return err
	}
	return b.recordMemory(all, "load=loaded")
}

// ringKey finds what scripts/bench.yaml asks for and nobody gets by default.
var ringKey = regexp.MustCompile(`, ring: \{[^}]*\}`)

// defaultMemory notes the memory of pfcswitch with the rings that it has by default, before and after a load.
func (b *bench) defaultMemory() error {
	if !b.opt.compares(dutPFC) {
		return nil
	}
	text, err := benchYAML()
	if err != nil {
		return err
	}
	n, err := b.startNetwork("defaults", dutPFC, comparedHosts, ringKey.ReplaceAllString(text, ""))
	if err != nil {
		return err
	}
	if err := b.recordMemory([]*network{n}, "load=idle rings=default"); err != nil {
		return err
	}
	for _, priority := range b.opt.priorities {
		l := load{flows: n.flowsToHost2(1, 3), octets: b.opt.octets[0], priority: priority, time: b.opt.seconds}
		if _, err := b.measure(l); err != nil {
			return err
		}
	}
	return errors.Join(b.recordMemory([]*network{n}, "load=loaded rings=default"), n.close())
}

// recordMemory records what the programs of a switch have in RAM; the bridge has none.
func (b *bench) recordMemory(all []*network, when string) error {
	for _, n := range all {
		if len(n.daemons) == 0 {
			continue
		}
		inAll, shared, err := resident(n.daemons)
		if err != nil {
			return err
		}
		b.record("memory", fmt.Sprintf("ports=%d %s", len(n.hosts), when), n.dut, 0,
			value{rss, inAll / (1 << 20)}, value{pss, shared / (1 << 20)})
	}
	return nil
}
