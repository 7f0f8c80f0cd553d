package demo

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"time"
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

// buildLoop: frames for an address that every switch sends on to the next fill the ring; only dropping them helps.
func (p *phase) buildLoop() {
	g := p.addRing(watchSettings(watchCount, loopRecovery, "drop"), func() []string {
		return p.sinkUntil(loopVictim + drainTime)
	})
	for k := range ringSwitches {
		near := next(k)
		victim := ringLoad{to: receiverMAC(near), sink: receiver(near), flows: map[int]int64{3: 5, 0: 5}}
		g.addLoad(k, victim, loopVictim)
		g.addLoad(k, ringLoad{to: unknownMAC, flows: map[int]int64{3: 40}}, loopEnd)
	}
}

func (p *phase) judgeLoop() {
	p.addMoment(0, "h1, h2, h3", "send frames to %s, which every switch has behind the next one", unknownMAC)
	p.addMoment(loopEnd, "h1, h2, h3", "stop sending them")
	p.judgeWatched()
	p.shows("frames dropped by the watchdog", p.watchdogSum().Dropped, false)
	p.checkAlive(loopVictim)
	p.checkLossy()
}

// stormHosts of phase d: h1 sends to r1, the host that storms; h2 sends to r2, which has nothing to do with it.
var stormHosts = []string{"h1", "r1", "h2", "r2"}

// storming tells whether r1 storms in a slot. The order in a pair alternates, so that a drift does not count.
func storming(slot int) bool { return slot%4 == 1 || slot%4 == 2 }

// A pause is a storm of phase d, from a moment of the load on.
type pause struct{ from, lasts time.Duration }

// storms are the storms of phase d: slots in a row in which r1 storms.
func storms() (all []pause) {
	for slot := range 2 * stormPairs {
		switch {
		case !storming(slot):
		case slot > 0 && storming(slot-1):
			all[len(all)-1].lasts += stormSlot
		default:
			all = append(all, pause{stormBegin + time.Duration(slot)*stormSlot, stormSlot})
		}
	}
	return all
}

// bystander is the rate of each flow of phase d, in percent of the ports' speed.
const bystander = 30

// buildStorm makes one switch with four hosts. One of them pauses the switch without end.
func (p *phase) buildStorm() {
	settings := "preset: roce\nwatchdog: " + watchSettings(watchCount, watchRecovery, "forward") + "\nfdb:\n"
	for i, name := range stormHosts {
		settings += fmt.Sprintf("  - {mac: %q, vlan: 1, port: to-%s}\n", stationMAC(i).String(), name)
	}
	s := p.addSwitch("s1", settings)
	var at []station
	for i, name := range stormHosts {
		at = append(at, p.addHost(name, s, "to-"+name, p.speed, stationMAC(i)))
	}
	for from := 0; from < len(stormHosts); from += 2 {
		to := from + 1
		p.addSink(at[to], func() []string {
			return append(p.sinkUntil(stormLoad+drainTime), "--from", p.stamp(stormBegin), "--until", p.stamp(stormEnd),
				"--slots", fmt.Sprint(2*stormPairs))
		})
		e := p.addSender(at[from], stormHosts[to], func() []string {
			return p.sendShares(stationMAC(to), map[int]int64{3: bystander, 0: bystander}, false)
		})
		e.lasts = stormLoad
	}
	for _, s := range storms() {
		e := &endpoint{station: at[1], args: func() []string {
			return []string{"--storm", fmt.Sprint(losslessPriority), "--seconds", inSeconds(s.lasts), "--start",
				p.stamp(s.from)}
		}}
		e.report = &e.storm
		p.storms = append(p.storms, e)
	}
}

// judgeStorm: senders to other hosts than the one that pauses without end are not affected.
func (p *phase) judgeStorm() {
	for i, s := range storms() {
		x := &p.storms[i].storm
		gap := time.Duration(x.LongestGap).Round(time.Microsecond)
		p.addMoment(s.from, "r1", "sends XOFF without end for %v: %d in all, %.0f a second, %.2f %% of the time "+
			"paused, longest gap %v", s.lasts, x.Frames, x.Rate, 100*x.Paused, gap)
		p.addMoment(s.from+s.lasts, "r1", "stops")
	}
	p.judgeWatched()
	p.checkArrived(stormLoad)
	for _, f := range p.flows {
		if f.Priority == losslessPriority && !strings.HasPrefix(f.Name, "h2") {
			continue
		}
		least, median, most := stormRatios(f.slots)
		p.soft(TopicRate, fmt.Sprintf("%s, priority %d: rate with the storm, of that without, median of %d pairs",
			f.Name, f.Priority, stormPairs), "within 5 %",
			fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100*median, 100*least, 100*most), math.Abs(median-1)-0.05)
		p.addMoment(stormEnd, f.Name, "priority %d had %.1f %% of its rate in the storms, the median of %d pairs "+
			"(%.1f to %.1f)", f.Priority, 100*median, stormPairs, 100*least, 100*most)
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
