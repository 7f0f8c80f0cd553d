package demo

import (
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"pfcswitch/cmd/internal/lab"
)

// Times of the phases with a loop and with a storm. A queue that drops for loopRecovery has seen every frame of the
// loop, also on a slow machine.
const (
	loopEnd      = 300 * time.Millisecond  // of the sender whose frames circle
	loopVictim   = 2000 * time.Millisecond // of the others
	loopRecovery = 800 * time.Millisecond
	stormBegin   = 500 * time.Millisecond
	stormSlot    = 300 * time.Millisecond
	stormPairs   = 7 // of slots, without and with the storm
	stormEnd     = stormBegin + 2*stormPairs*stormSlot
	stormLoad    = stormEnd + 300*time.Millisecond // of all senders
)

// loopPhase: frames for an address that every switch sends on to the next fill the ring; only dropping them helps.
func (d *deadlockDemo) loopPhase(ctx context.Context, p *scenario, l *lab.Lab, r *Report) error {
	g := &ring{speed: p.speed, watchdog: watchSettings(watchCount, loopRecovery, "drop")}
	if err := g.build(l); err != nil {
		return err
	}
	p.switches = g.switches
	if err := p.open(ctx); err != nil {
		return err
	}
	for k := range ringSwitches {
		if err := p.receive(g.receivers[k].node, loopVictim+drainTime); err != nil {
			return err
		}
	}
	for k := range ringSwitches {
		near := next(k)
		n := g.senders[k].node
		if err := p.send(n, g.receivers[near].name, loopVictim, "--to", receiverMAC(near).String(), "--flow",
			"3:rate="+p.share(5), "--flow", "0:rate="+p.share(5)); err != nil {
			return err
		}
		if err := p.send(n, "nowhere", loopEnd, "--to", unknownMAC.String(), "--no-sink", "--flow",
			"3:rate="+p.share(40)); err != nil {
			return err
		}
	}
	const full = loopEnd + 50*time.Millisecond
	if err := p.wait(ctx, full); err != nil {
		return err
	}
	if err := p.observe(ctx); err != nil {
		return err
	}
	r.addPauses(p, full)
	if err := p.collect(ctx); err != nil {
		return err
	}
	flows := p.flows()
	r.addMoment(p, 0, "h1, h2, h3", "send frames to %s, which every switch has behind the next one", unknownMAC)
	r.addMoment(p, loopEnd, "h1, h2, h3", "stop sending them")
	r.addEvents(p)
	r.addStalls(p, flows)
	r.add(p, flows)
	r.checkDetected(p)
	var dropped uint64
	for _, s := range p.switches {
		dropped += s.watchdogSum().Dropped
	}
	r.control(p.name, "frames dropped by the watchdog", "more than 0", fmt.Sprint(dropped), dropped > 0, false)
	r.checkAlive(p, flows, loopVictim)
	r.checkOthers(p, flows)
	r.checkEmpty(p)
	return nil
}

// stormHosts of phase d: h1 sends to r1, the host that storms; h2 sends to r2, which has nothing to do with it.
var stormHosts = []string{"h1", "r1", "h2", "r2"}

// storming tells whether r1 storms in a slot. The order in a pair alternates, so that a drift does not count.
func storming(slot int) bool { return slot%4 == 1 || slot%4 == 2 }

// storms are the storms of phase d: slots in a row in which r1 storms.
func storms() (all []*stormHost) {
	for slot := range 2 * stormPairs {
		switch {
		case !storming(slot):
		case slot > 0 && storming(slot-1):
			all[len(all)-1].duration += stormSlot
		default:
			all = append(all, &stormHost{from: stormBegin + time.Duration(slot)*stormSlot, duration: stormSlot})
		}
	}
	return all
}

// stormPhase: one host pauses periodically without end; senders to other hosts are not affected.
func (d *deadlockDemo) stormPhase(ctx context.Context, p *scenario, l *lab.Lab, r *Report) error {
	nodes, err := d.buildStorm(p, l)
	if err != nil {
		return err
	}
	if err := p.open(ctx); err != nil {
		return err
	}
	mac := func(i int) string { return stationMAC(i).String() }
	window := []string{"--from", p.stamp(stormBegin), "--until", p.stamp(stormEnd), "--slots",
		fmt.Sprint(2 * stormPairs)}
	for _, i := range []int{1, 3} {
		if err := p.receive(nodes[i], stormLoad+drainTime, window...); err != nil {
			return err
		}
	}
	for _, i := range []int{0, 2} {
		if err := p.send(nodes[i], stormHosts[i+1], stormLoad, "--to", mac(i+1), "--flow", "3:rate="+p.share(bystander),
			"--flow", "0:rate="+p.share(bystander)); err != nil {
			return err
		}
	}
	for _, s := range storms() {
		s.host = host{name: stormHosts[1], node: nodes[1]}
		p.storms = append(p.storms, s)
		if err := s.host.start("send", hostInterface, "-j", "--speed", fmt.Sprint(p.speed), "--storm",
			fmt.Sprint(losslessPriority),
			"--seconds", fmt.Sprint(s.duration.Seconds()), "--start", p.stamp(s.from)); err != nil {
			return err
		}
	}
	inStorm := p.storms[0].from + 150*time.Millisecond
	if err := p.wait(ctx, inStorm); err != nil {
		return err
	}
	if err := p.observe(ctx); err != nil {
		return err
	}
	r.addPauses(p, inStorm)
	if err := p.collect(ctx); err != nil {
		return err
	}
	d.judgeStorm(p, r)
	return nil
}

// bystander is the rate of each flow of phase d, in percent of the ports' speed.
const bystander = 30

func (d *deadlockDemo) judgeStorm(p *scenario, r *Report) {
	flows := p.flows()
	for _, s := range p.storms {
		said := &s.stormReport
		r.addMoment(p, s.from, "r1", "sends XOFF without end for %v: %d in all, %.0f a second, %.2f %% of the time "+
			"paused, longest gap %v", s.duration, said.Frames,
			said.Rate, 100*said.Paused, time.Duration(said.LongestGap).Round(time.Microsecond))
		r.addMoment(p, s.from+s.duration, "r1", "stops")
	}
	r.addEvents(p)
	r.addStalls(p, flows)
	r.add(p, flows)
	r.checkDetected(p)
	r.checkArrived(p, flows, stormLoad)
	r.checkEmpty(p)
	for _, f := range flows {
		spared := strings.HasPrefix(f.Name, "h2") || f.Priority != losslessPriority
		if !spared {
			continue
		}
		least, median, most := stormRatios(f.slots)
		r.soft(p.name, TopicRate, fmt.Sprintf("%s, priority %d: rate with the storm, of that without, median of "+
			"%d pairs", f.Name, f.Priority, stormPairs),
			"within 5 %", fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100*median, 100*least, 100*most),
			math.Abs(median-1)-0.05, p.usage.shortage)
		r.addMoment(p, stormEnd, f.Name, "priority %d had %.1f %% of its rate in the storms, the median of %d pairs "+
			"(%.1f to %.1f)", f.Priority, 100*median,
			stormPairs, 100*least, 100*most)
	}
}

// stormRatios are the ratios of what arrived with and without the storm, of each pair of slots. They are 0 where a sink
// has not seen every slot.
func stormRatios(slots []uint64) (least, median, most float64) {
	if len(slots) != 2*stormPairs {
		return 0, 0, 0
	}
	var all []float64
	for i := 0; i < len(slots); i += 2 {
		with, without := slots[i], slots[i+1]
		if !storming(i) {
			with, without = without, with
		}
		all = append(all, float64(with)/float64(max(1, without)))
	}
	slices.Sort(all)
	return all[0], all[len(all)/2], all[len(all)-1]
}

// stationMAC is that of host i of phase d.
func stationMAC(i int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 4, 0, byte(i + 1)} }

// buildStorm makes one switch with four hosts.
func (d *deadlockDemo) buildStorm(p *scenario, l *lab.Lab) (nodes []*lab.Node, err error) {
	s, err := newSwitch(l, "s1")
	if err != nil {
		return nil, err
	}
	p.switches = []*switchNode{s}
	var ports, fdb strings.Builder
	for i, name := range stormHosts {
		n, err := l.Node(name)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
		port := "to-" + name
		if err := connect(l, s, port, n, hostInterface, p.speed, stationMAC(i)); err != nil {
			return nil, err
		}
		fmt.Fprintf(&ports, "  %s: {speed: %d, loop: off, %s}\n", port, p.speed, longRing)
		fmt.Fprintf(&fdb, "  - {mac: %q, vlan: 1, port: %s}\n", stationMAC(i).String(), port)
	}
	s.fixedConfig = "preset: roce\nwatchdog: " + watchSettings(watchCount, watchRecovery, "forward") + "\nports:\n" +
		ports.String() + "fdb:\n" + fdb.String()
	return nodes, nil
}
