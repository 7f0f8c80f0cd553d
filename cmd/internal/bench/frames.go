package bench

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// frames measures the highest rate that arrives when one or two senders send as fast as they can, what that takes of the
// machine's CPUs, and the switches' memory before and after.
func (b *bench) frames() error {
	return b.compare(func(all []*network) error {
		if err := b.defaultMemory(); err != nil {
			return err
		}
		b.noteTwins()
		if err := b.memory(all, "load=idle"); err != nil {
			return err
		}
		for round := range b.opt.rounds {
			for senders := 1; senders <= 2; senders++ {
				if err := b.framesRound(all, round, senders); err != nil {
					return err
				}
			}
		}
		return b.memory(all, "load=loaded")
	})
}

func (b *bench) framesRound(all []*network, round, senders int) error {
	from := []int{1, 3}[:senders]
	for _, octets := range b.opt.octets {
		for _, priority := range b.opt.priorities {
			for _, n := range inTurn(all, round) {
				o, err := b.measure(load{through: n, flows: n.straight(from...), octets: octets, priority: priority, time: b.opt.seconds})
				if err != nil {
					return fmt.Errorf("%s: %w", n.name, err)
				}
				b.record("delivered", fmt.Sprintf("senders=%d octets=%d priority=%d", senders, octets, priority), n.name, round,
					value{offered, float64(o.offered)}, value{delivered, float64(o.delivered)}, value{frameRate, o.rate},
					value{cpuPerFrame, o.perFrame()}, value{cpuPerGB, o.perGB(octets)})
			}
		}
	}
	return nil
}

// inTurn returns the networks, in every other round from the last to the first: who is always measured before another gains or loses
// by what becomes slower or faster in time.
func inTurn[N any](all []N, round int) []N {
	if round%2 == 0 {
		return all
	}
	back := slices.Clone(all)
	slices.Reverse(back)
	return back
}

// rings are what scripts/bench.yaml asks for and nobody gets by default.
var rings = regexp.MustCompile(`, ring: \{[^}]*\}`)

// defaultMemory notes the memory of pfcswitch with the rings that it has by default, before and after a load.
func (b *bench) defaultMemory() (err error) {
	if !b.opt.compares(ofPFC) {
		return nil
	}
	text, err := benchYAML()
	if err != nil {
		return err
	}
	n, err := b.newNetwork("defaults", comparedHosts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	n.of = ofPFC
	if err := n.startPFC(rings.ReplaceAllString(text, "")); err != nil {
		return err
	}
	if err := b.memory([]*network{n}, "load=idle rings=default"); err != nil {
		return err
	}
	for _, priority := range b.opt.priorities {
		if _, err := b.measure(load{flows: n.straight(1, 3), octets: b.opt.octets[0], priority: priority, time: b.opt.seconds}); err != nil {
			return err
		}
	}
	return b.memory([]*network{n}, "load=loaded rings=default")
}

// memory notes what the programs of a switch have in RAM; the bridge has none.
func (b *bench) memory(all []*network, when string) error {
	for _, n := range all {
		if len(n.daemons) == 0 {
			continue
		}
		m, err := resident(n.daemons)
		if err != nil {
			return err
		}
		b.record("memory", fmt.Sprintf("ports=%d %s", len(n.hosts), when), n.of, 0, value{rss, m.rss / (1 << 20)}, value{pss, m.pss / (1 << 20)})
	}
	return nil
}
