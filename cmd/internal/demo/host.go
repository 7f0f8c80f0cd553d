package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane/port"
)

// A hostPhase is a run of demo host: hosts whose own kernels send by TCP, each through a host NIC.
//
//	h1: TCP ── nic0 │ eth0 ──┐
//	h2: TCP ── nic0 │ eth0 ──┼ s1 ── eth0 │ nic0 ── TCP :h4
//	h3: TCP ── nic0 │ eth0 ──┘
type hostPhase struct {
	name, title string
	control     bool
	speed       int64
	seconds     time.Duration

	lab       *lab.Lab
	dir       string
	s1        *switchNode
	nics      []*switchNode // of the senders, then of the receiver
	programs  []*lab.Process
	transfers []Transfer
	usage     usage
}

// hostTAP is the interface that a host's programs use.
const hostTAP = "nic0"

// The switch of demo host has a shallow buffer, which a few TCP connections fill.
const shallowBuffer = "buffer: {lossy: {size: 256KiB}, policy: static, xoff: 32KiB, xon: 16KiB}\n"

// dscp is the DSCP of the lossless priority in preset roce.
const dscp = 26 // its priority is 3

func hostPhases(o Options) []*hostPhase {
	seconds := time.Duration(o.Seconds * float64(time.Second))
	return []*hostPhase{
		{name: "a", title: "three hosts send to one by TCP, each through a host NIC", seconds: seconds},
		{name: "b", title: "control: the same, but flow control is off at the switch", control: true, seconds: seconds},
	}
}

// Hosts runs the phases of demo host: (a) three TCP senders into one receiver, every host with a host NIC; (b) the same
// without flow control at the switch, where TCP has to send again what the switch drops.
func Hosts(ctx context.Context, o Options) (*Report, error) {
	o.Seconds = math.Ceil(o.Seconds) // iperf3 knows whole ones
	r := newReport("host", o)
	if err := port.CheckTUN(); err != nil {
		return r.finish(err)
	}
	if err := r.calibrate(ctx, &o, hostsTopology); err != nil {
		return r.finish(err)
	}
	phases := hostPhases(o)
	if o.Enter != nil {
		phases[0], phases[1] = phases[1], phases[0]
	}
	for i, a := range phases {
		a.speed = o.Speed
		o.progress(fmt.Sprintf("act %s: %s (%v)", a.name, a.title, a.seconds))
		enter := o.Enter
		if i < len(phases)-1 {
			enter = nil
		}
		whole, err := a.perform(ctx, r, enter)
		if err != nil {
			return r.finish(fmt.Errorf("act %s: %w", a.name, err))
		}
		if !whole {
			break
		}
	}
	return r.finish(nil)
}

// perform builds the phase's lab, runs it and adds its results to the report. whole tells whether no process failed.
func (a *hostPhase) perform(ctx context.Context, r *Report, enter func(context.Context, []string)) (whole bool,
	err error) {
	if a.lab, err = lab.New(ctx, "host."+a.name); err != nil {
		return false, err
	}
	if a.dir, err = os.MkdirTemp("", "pfcswitch-demo-"); err != nil {
		return false, errors.Join(err, a.lab.Close())
	}
	defer func() {
		r.checkLeftovers(a.name, errors.Join(closeLab(a.lab), os.RemoveAll(a.dir)))
	}()
	if err := a.build(); err != nil {
		return false, err
	}
	if err := a.start(ctx); err != nil {
		if isRefusal(err) || ctx.Err() != nil {
			return false, err
		}
		return false, &programError{a.name, err}
	}
	broken := a.run(ctx)
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("interrupted: %w", err)
	}
	if broken == nil {
		a.judge(r)
	}
	if enter != nil {
		enter(ctx, a.enterCommands())
	}
	if err := a.stop(); broken == nil {
		broken = err
	}
	if broken != nil {
		r.addFailure(a.name, broken)
	}
	return broken == nil, nil
}

// run sends, lets the switches settle and observes.
func (a *hostPhase) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.seconds+phaseTimeout)
	defer cancel()
	m, err := startMeter(processes(a.switches()))
	if err != nil {
		return err
	}
	if a.transfers, err = a.load(ctx); err != nil {
		return err
	}
	if a.usage, err = m.read(a.seconds); err != nil {
		return err
	}
	return each(a.switches(), func(s *switchNode) error { return s.waitDrained(ctx) })
}

// build makes the nodes and links.
func (a *hostPhase) build() (err error) {
	node, err := a.lab.Node("s1")
	if err != nil {
		return err
	}
	a.s1 = &switchNode{name: "s1", node: node}
	for i := range senders + 1 {
		name := fmt.Sprintf("h%d", i+1)
		if node, err = a.lab.Node(name); err != nil {
			return err
		}
		nic := &switchNode{name: name, node: node, ports: []switchPort{{name: hostInterface}, {name: hostTAP}}}
		a.nics = append(a.nics, nic)
		p := fmt.Sprintf("p%d", i+1)
		a.s1.ports = append(a.s1.ports, switchPort{name: p, speed: a.speed, peer: node, peerInterface: hostInterface})
		if err := a.lab.Link(a.s1.node, p, node, hostInterface, lab.LinkOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// start runs the switch and the host NICs.
func (a *hostPhase) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	flowControl := "pfc"
	if a.control {
		flowControl = "off"
	}
	a.s1.extraConfig = shallowBuffer + "priorities: {trust: dscp}\n"
	if err := a.s1.start(ctx, a.dir, flowControl); err != nil {
		return err
	}
	return each(a.nics, func(n *switchNode) error {
		n.socket = filepath.Join(a.dir, n.name+".sock")
		c := a.nic(n)
		return n.startCommand(ctx, "nic", "--wire", c.Wire, "--tap", c.TAP, "--address", c.Addresses[0], "--speed",
			c.Speed, "--name", c.Name,
			"--nice", c.Nice, "--socket", c.Socket, "--metrics", c.Metrics)
	})
}

// nic is the configuration of a host NIC.
func (a *hostPhase) nic(n *switchNode) config.NIC {
	return config.NIC{Name: n.name, Wire: hostInterface, TAP: hostTAP,
		Addresses: []string{hostAddress(slices.Index(a.nics, n)) + "/24"},
		Speed:     fmt.Sprint(a.speed), Metrics: "off", Socket: n.socket, Nice: hostNice}
}

// hostsTopology is the demo's topology for trials.
func hostsTopology(b *testTopology, speed int64) error {
	a := &hostPhase{lab: b.lab, dir: b.dir, speed: speed}
	if err := a.build(); err != nil {
		return err
	}
	b.switches, b.begin, b.load = a.switches(), a.start, a.burst
	b.set = func(speed int64) {
		a.speed = speed
		for i := range a.s1.ports {
			a.s1.ports[i].speed = speed
		}
	}
	b.apply = func(ctx context.Context, s *switchNode) error {
		if s == a.s1 {
			return applyFile(ctx, s, b.dir)
		}
		_, err := api.NewClient(s.socket).Apply(ctx, s.name, a.nic(s).YAML())
		return err
	}
	return nil
}

func hostAddress(i int) string { return fmt.Sprintf("10.0.0.%d", i+1) }

func (a *hostPhase) switches() []*switchNode { return append([]*switchNode{a.s1}, a.nics...) }

func (a *hostPhase) stop() error {
	for _, p := range a.programs {
		_ = p.Stop(syscall.SIGKILL, time.Second) // those that have ended well are gone already
	}
	return each(a.switches(), (*switchNode).stop)
}

func (a *hostPhase) enterCommands() (all []string) {
	for _, s := range a.switches() {
		all = append(all, fmt.Sprintf("%s: %s", s.name, s.node.EnterCommand()),
			fmt.Sprintf("%s: pfcswitch show pfc -s %s", s.name, s.socket))
	}
	return all
}

// judge adds the results of the phase to the report.
func (a *hostPhase) judge(r *Report) {
	r.Transfers = append(r.Transfers, a.transfers...)
	r.Phases = append(r.Phases, PhaseResult{Phase: a.name, Title: a.title, Control: a.control,
		RunQueueDelay: a.usage.runQueueDelay, Steal: a.usage.steal, CPUs: a.usage.cores})
	for _, s := range a.switches() {
		r.Switches = append(r.Switches, s.result(a.name))
	}
	var again, octets uint64
	rate := int64(0)
	for _, t := range a.transfers {
		again, octets, rate = again+t.Again, octets+t.Octets, rate+t.Rate
	}
	r.hard(a.name, TopicRun, "octets that arrived", "more than 0", fmt.Sprint(octets), octets > 0)
	if a.control {
		r.control(a.name, "TCP segments sent again without flow control", "more than 0", fmt.Sprint(again), again > 0,
			false)
		return
	}
	a.checkLoss(r)
	a.checkHeld(r)
	// TCP also sends again what comes later than it has the patience for, though nothing is lost.
	segments := float64(octets)/segmentOctets + 1
	r.soft(a.name, TopicRate, "TCP segments sent again", "0", fmt.Sprint(again), float64(again)/segments,
		a.usage.shortage)
	full := float64(a.speed) * payloadShare
	r.soft(a.name, TopicRate, "payload through the bottleneck", fmt.Sprintf("at least %.1f Mbit/s", fillLimit*full/1e6),
		fmt.Sprintf("%.1f Mbit/s", float64(rate)/1e6), fillLimit-float64(rate)/full, a.usage.shortage)
}

// segmentOctets is the payload of a full segment of TCP with time stamps.
const segmentOctets = 1448

// payloadShare is what TCP carries of a wire: a full segment in a frame of 1514 octets, and 24 around it.
const payloadShare = segmentOctets / 1538.0

// checkLoss: nothing was lost between the hosts' stacks, nor in their queues before the NIC.
func (a *hostPhase) checkLoss(r *Report) {
	for _, s := range a.switches() {
		n := s.state.ports.LosslessDropsSinceStart
		r.hard(a.name, TopicLoss, s.name+": lossless_drops_total", "0", fmt.Sprint(n), n == 0)
		for _, p := range s.state.ports.Ports {
			if p.TAPDrops != nil {
				r.hard(a.name, TopicLoss, s.name+": tap_drops_total", "0", fmt.Sprint(*p.TAPDrops), *p.TAPDrops == 0)
			}
		}
	}
}

// checkHeld: the pause went from the bottleneck to every sender's NIC and on to its host.
func (a *hostPhase) checkHeld(r *Report) {
	for i := range senders {
		p := fmt.Sprintf("p%d", i+1)
		n := a.s1.pfc(p, losslessPriority).SentXoff
		r.hard(a.name, TopicPFC, "s1:"+p+": XOFF to the host NIC", "more than 0", fmt.Sprint(n), n > 0)
	}
}
