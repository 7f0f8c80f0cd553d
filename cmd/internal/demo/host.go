package demo

import (
	"context"
	"fmt"
	"math"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/port"
)

// hostTAP is the interface that a host's programs use.
const hostTAP = "nic0"

// The switch of demo host has a shallow buffer, which a few TCP connections fill.
const hostSwitch = "preset: roce\nbuffer: {lossy: {size: 256KiB}, policy: static, xoff: 32KiB, xon: 16KiB}\n" +
	"priorities: {trust: dscp}\n"

// dscp is the DSCP of the lossless priority in preset roce.
const dscp = 26 // its priority is 3

// Hosts runs the phases of demo host: (a) three TCP senders into one receiver, every host with a host NIC; (b) the same
// without flow control at the switch, where TCP has to retransmit what the switch drops.
//
//	h1: TCP ── nic0 │ eth0 ──┐
//	h2: TCP ── nic0 │ eth0 ──┼ s1 ── eth0 │ nic0 ── TCP :h4
//	h3: TCP ── nic0 │ eth0 ──┘
func Hosts(ctx context.Context, o Options) (*Report, error) {
	o.Seconds = math.Ceil(o.Seconds) // iperf3 knows whole ones
	r := newReport("host", o)
	if err := port.CheckTUN(); err != nil {
		return r.finish(err)
	}
	if err := r.calibrate(ctx, &o, &phase{build: (*phase).buildHosts, trial: (*phase).burst}); err != nil {
		return r.finish(err)
	}
	return r.finish(performPhases(ctx, o, hostPhases(o), r))
}

func hostPhases(o Options) []*phase {
	all := []*phase{
		{name: "a", title: "three hosts send to one by TCP, each through a host NIC"},
		{name: "b", title: "control: the same, but flow control is off at the switch", control: true, off: true},
	}
	for _, p := range all {
		p.speed, p.seconds, p.build = o.Speed, o.load(), (*phase).buildHosts
		p.during, p.judge = (*phase).sendTCP, (*phase).judgeHosts
	}
	return o.keepLast("a", all)
}

// buildHosts makes the switch and the host NICs: those of the senders, then that of the receiver.
func (p *phase) buildHosts() {
	s1 := p.addSwitch("s1", hostSwitch)
	for i := range senders + 1 {
		nic := p.addSwitch(fmt.Sprintf("h%d", i+1), "")
		nic.ports = []switchPort{{name: hostInterface}, {name: hostTAP}}
		nic.config = func() string {
			return string(config.NIC{Name: nic.name, Wire: hostInterface, TAP: hostTAP, Metrics: "off",
				Addresses: []string{hostAddress(i) + "/24"}, Speed: fmt.Sprint(p.speed), Socket: nic.socket,
				Nice: hostNice}.YAML())
		}
		p.link(s1, fmt.Sprintf("p%d", i+1), p.speed, nic.node, hostInterface, nil)
	}
}

// nic is the host NIC of a sender or, after those, of the receiver.
func (p *phase) nic(i int) *switchNode { return p.switches[1+i] }

func hostAddress(i int) string { return fmt.Sprintf("10.0.0.%d", i+1) }

// judgeHosts adds the checks of demo host.
func (p *phase) judgeHosts() {
	var retransmitted, octets uint64
	rate := int64(0)
	for _, t := range p.transfers {
		retransmitted, octets, rate = retransmitted+t.Retransmitted, octets+t.Octets, rate+t.Rate
	}
	p.some(TopicRun, "octets that arrived", octets)
	if p.control {
		p.shows("TCP segments sent again without flow control", retransmitted, false)
		return
	}
	p.checkDrops()
	p.checkHostQueues()
	for i := range senders {
		port := fmt.Sprintf("p%d", i+1)
		p.some(TopicPFC, "s1:"+port+": XOFF to the host NIC", p.switches[0].pfc(port, losslessPriority).SentXoff)
	}
	// TCP also retransmits what comes after its time-out, though nothing is lost.
	segments := float64(octets)/segmentOctets + 1
	p.soft(TopicRate, "TCP segments sent again", "0", fmt.Sprint(retransmitted), float64(retransmitted)/segments)
	full := float64(p.speed) * payloadShare
	p.soft(TopicRate, "payload through the bottleneck", fmt.Sprintf("at least %.1f Mbit/s", fillLimit*full/1e6),
		fmt.Sprintf("%.1f Mbit/s", float64(rate)/1e6), fillLimit-float64(rate)/full)
}

// segmentOctets is the payload of a full segment of TCP with time stamps.
const segmentOctets = 1448

// payloadShare is what TCP carries of a wire: a full segment in a frame of 1514 octets, and 24 around it.
const payloadShare = segmentOctets / 1538.0

// checkHostQueues: nothing was lost in the hosts' queues before the NIC.
func (p *phase) checkHostQueues() {
	for _, s := range p.switches {
		for _, port := range s.state.ports.Ports {
			if port.TAPDrops != nil {
				p.none(TopicLoss, s.name+": tap_drops_total", *port.TAPDrops)
			}
		}
	}
}
