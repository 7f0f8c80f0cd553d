package bench

import (
	"fmt"
	"strings"
	"time"
)

// estimate says about how long the run takes, and its parts in minutes.
func (b *bench) estimate() string {
	var all []string
	var sum time.Duration
	for _, p := range b.opt.parts {
		t := b.estimatePart(p.name)
		sum += t
		all = append(all, fmt.Sprintf("%s %.1f", p.name, t.Minutes()))
	}
	return fmt.Sprintf("this takes about %s minutes: %s", number(sum.Minutes()), strings.Join(all, ", "))
}

// What a part takes beyond its measurements, as runs with short ones have shown.
const (
	startsLoad   = 200 * time.Millisecond // the senders' processes
	startsProbe  = 700 * time.Millisecond // a sink and a sender, which wait for each other
	startsTCP    = 300 * time.Millisecond
	startsPFC    = 800 * time.Millisecond
	oneFlap      = 400 * time.Millisecond
	learning     = 4 * time.Second
	startsFabric = 20 * time.Second
	startsIncast = 4 * time.Second // sinks and senders, which wait for each other
	searches     = 5               // trials that search, on the way to a rate
	confirms     = 4               // that confirm it, one of them in vain
)

// load is what a load takes, with the rest before and after it.
func (o *options) load(seconds time.Duration) time.Duration {
	return seconds + 2*o.settle + quietTime + startsLoad
}

// defaults is what it takes to measure the memory of pfcswitch with the rings that it has by default.
func (o *options) defaults() time.Duration {
	if !o.compares(dutPFC) {
		return 0
	}
	return startsPFC + time.Duration(len(o.priorities))*o.load(o.seconds)
}

// estimatePart returns about how long a part takes.
func (b *bench) estimatePart(name string) time.Duration {
	o := &b.opt
	times := func(n int, t time.Duration) time.Duration { return time.Duration(n) * t }
	compared := 0
	for _, dut := range switchNames {
		if b.present(dut) {
			compared++
		}
	}
	loads, load, probe := len(o.octets)*len(o.priorities), o.load(o.seconds), o.seconds+startsProbe
	round := time.Duration(0)
	switch name {
	case "frames":
		return o.defaults() + times(o.rounds*2*loads*compared, load)
	case "lossfree":
		one := times(1+confirms, o.load(o.trial)) + times(searches, o.load(o.searchTrial()))
		return times(o.search*loads*compared, one)
	case "fdb":
		return learning + times(4*o.rounds, load+o.seconds)
	case "tcp":
		if b.peers.iperf3 != "" {
			round = times(2*len(o.priorities)*compared, o.seconds+startsTCP)
		}
	case "latency":
		round = probe + times(compared, 2*probe+load)
	case "xoff":
		round = probe
	case "pause":
		for _, q := range pauseQuanta {
			round += times(pauseSeries, betweenPauses+3*time.Duration(pauseTime(q)))
		}
	case "ports":
		round = times(len(portNumbers)+2, load) + times(len(portNumbers), o.settle+o.seconds)
	case "fabric":
		return times(len(b.fabrics()), startsFabric+fabricQuiet+fabricLong*o.seconds)
	case "incast":
		if b.peers.iperf3 != "" {
			return startsFabric + times(o.rounds, startsIncast+o.tcpSeconds()+incastMore)
		}
	case "trunk":
		round = times(2*2*loads, load)
	case "flap":
		round = times(2*flapSeries, oneFlap)
	}
	return times(o.rounds, round)
}
