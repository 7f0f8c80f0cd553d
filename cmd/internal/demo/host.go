package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"pfcswitch/cmd/internal/lab"
)

// A hostAct is a run of demo host: hosts whose own kernels send by TCP, each through a host NIC.
//
//	h1: TCP ── nic0 │ eth0 ──┐
//	h2: TCP ── nic0 │ eth0 ──┼ s1 ── eth0 │ nic0 ── TCP :h4
//	h3: TCP ── nic0 │ eth0 ──┘
type hostAct struct {
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
	waiting   float64
}

// hostTAP is the interface that a host's programs use.
const hostTAP = "nic0"

// The switch of demo host has a shallow buffer, which a few TCP connections fill.
const shallow = "buffer: {lossy: {size: 256KiB}, policy: static, xoff: 32KiB, xon: 16KiB}\n"

// dscp is the DSCP of the lossless priority in preset roce.
const dscp = 26 // its priority is 3

func hostActs(o Options) []*hostAct {
	seconds := time.Duration(o.Seconds * float64(time.Second))
	return []*hostAct{
		{name: "a", title: "three hosts send to one by TCP, each through a host NIC", seconds: seconds},
		{name: "b", title: "control: the same, but flow control is off at the switch", control: true, seconds: seconds},
	}
}

// Hosts runs the acts of demo host: (a) three TCP senders into one receiver, every host with a host NIC; (b) the same without flow
// control at the switch, where TCP has to send again what the switch drops.
func Hosts(ctx context.Context, o Options) (*Report, error) {
	o.Seconds = math.Ceil(o.Seconds) // iperf3 knows whole ones
	r := &Report{Schema: 1, Demo: "host", Seconds: o.Seconds, Checks: []Check{}, Flows: []Flow{}, Switches: []SwitchResult{}, Acts: []ActResult{}}
	acts := hostActs(o)
	if o.Enter != nil {
		acts[0], acts[1] = acts[1], acts[0]
	}
	for i, a := range acts {
		a.speed = o.Speed
		if o.Progress != nil {
			o.Progress(fmt.Sprintf("act %s: %s (%v)", a.name, a.title, a.seconds))
		}
		enter := o.Enter
		if i < len(acts)-1 {
			enter = nil
		}
		if err := a.play(ctx, r, enter); err != nil {
			return nil, fmt.Errorf("act %s: %w", a.name, err)
		}
	}
	r.judge()
	return r, nil
}

// play builds the act's lab, runs it and adds what it showed to the report.
func (a *hostAct) play(ctx context.Context, r *Report, enter func(context.Context, []string)) (err error) {
	if a.lab, err = lab.New(ctx, "host."+a.name); err != nil {
		return err
	}
	if a.dir, err = os.MkdirTemp("", "pfcswitch-demo-"); err != nil {
		return errors.Join(err, a.lab.Close())
	}
	defer func() { err = errors.Join(err, a.stop(), a.lab.Close(), os.RemoveAll(a.dir)) }()
	if err := a.build(); err != nil {
		return err
	}
	if err := a.start(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.seconds+actPatience)
	defer cancel()
	before := waitsOf(processes(a.switches()))
	if a.transfers, err = a.load(ctx); err != nil {
		return err
	}
	a.waiting = before.most(a.seconds)
	for _, s := range a.switches() {
		if err := s.settle(ctx); err != nil {
			return err
		}
	}
	a.judge(r)
	if enter != nil {
		enter(context.WithoutCancel(ctx), a.enterCommands())
	}
	return nil
}

// build makes the nodes and links.
func (a *hostAct) build() (err error) {
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
		a.s1.ports = append(a.s1.ports, switchPort{name: p, speed: a.speed, peer: node, peerI: hostInterface})
		if err := a.lab.Link(a.s1.node, p, node, hostInterface, lab.LinkOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// start runs the switch and the host NICs.
func (a *hostAct) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	flowControl := "pfc"
	if a.control {
		flowControl = "off"
	}
	a.s1.more = shallow + "priorities: {trust: dscp}\n"
	if err := a.s1.start(ctx, a.dir, flowControl); err != nil {
		return err
	}
	for i, n := range a.nics {
		n.socket = filepath.Join(a.dir, n.name+".sock")
		if err := n.launch(ctx, "nic", "--wire", hostInterface, "--tap", hostTAP, "--address", hostAddress(i)+"/24",
			"--speed", fmt.Sprint(a.speed), "--name", n.name, "--nice", evenNice, "--socket", n.socket, "--metrics", "off"); err != nil {
			return err
		}
	}
	return nil
}

func hostAddress(i int) string { return fmt.Sprintf("10.0.0.%d", i+1) }

func (a *hostAct) switches() []*switchNode { return append([]*switchNode{a.s1}, a.nics...) }

func (a *hostAct) stop() error {
	var errs []error
	for _, p := range a.programs {
		_ = p.Stop(syscall.SIGKILL, time.Second) // those that have ended well are gone already
	}
	for _, s := range a.switches() {
		if s != nil {
			errs = append(errs, s.stop())
		}
	}
	return errors.Join(errs...)
}

func (a *hostAct) enterCommands() (all []string) {
	for _, s := range a.switches() {
		all = append(all, fmt.Sprintf("%s: %s", s.name, s.node.EnterCommand()), fmt.Sprintf("%s: pfcswitch show pfc -s %s", s.name, s.socket))
	}
	return all
}

// judge adds what the act showed to the report.
func (a *hostAct) judge(r *Report) {
	r.Transfers = append(r.Transfers, a.transfers...)
	r.Acts = append(r.Acts, ActResult{Act: a.name, Title: a.title, Control: a.control, Waiting: a.waiting})
	for _, s := range a.switches() {
		r.Switches = append(r.Switches, s.result(a.name))
	}
	if r.Machine == "" && a.waiting > waitLimit {
		r.Machine = fmt.Sprintf("act %s: a process waited for a CPU for %.0f %% of the run, more than %.0f %%", a.name, 100*a.waiting, 100*waitLimit)
	}
	var again, octets uint64
	rate := int64(0)
	for _, t := range a.transfers {
		again, octets, rate = again+t.Again, octets+t.Octets, rate+t.Rate
	}
	r.check(a.name, KindRun, "octets that arrived", "more than 0", fmt.Sprint(octets), octets > 0)
	if a.control {
		r.check(a.name, KindControl, "TCP segments sent again without flow control", "more than 0", fmt.Sprint(again), again > 0)
		return
	}
	r.check(a.name, KindLoss, "TCP segments sent again", "0", fmt.Sprint(again), again == 0)
	a.checkLoss(r)
	a.checkHeld(r)
	want := fillLimit * float64(a.speed) * payloadShare
	r.check(a.name, KindRate, "payload through the bottleneck", fmt.Sprintf("at least %.1f Mbit/s", want/1e6), fmt.Sprintf("%.1f Mbit/s", float64(rate)/1e6), float64(rate) >= want)
}

// payloadShare is what TCP with time stamps carries of a wire: 1448 octets in a frame of 1514, and 24 around it.
const payloadShare = 1448.0 / 1538

// checkLoss: nothing was lost between the hosts' stacks, nor in their queues before the NIC.
func (a *hostAct) checkLoss(r *Report) {
	for _, s := range a.switches() {
		n := s.state.ports.LosslessDropsSinceStart
		r.check(a.name, KindLoss, s.name+": lossless_drops_total", "0", fmt.Sprint(n), n == 0)
		for _, p := range s.state.ports.Ports {
			if p.TAPDrops != nil {
				r.check(a.name, KindLoss, s.name+": tap_drops_total", "0", fmt.Sprint(*p.TAPDrops), *p.TAPDrops == 0)
			}
		}
	}
}

// checkHeld: the pause went from the bottleneck to every sender's NIC and on to its host.
func (a *hostAct) checkHeld(r *Report) {
	for i := range senders {
		p := fmt.Sprintf("p%d", i+1)
		n := a.s1.xoffSent(p, losslessPriority)
		r.check(a.name, KindPFC, "s1:"+p+": XOFF to the host NIC", "more than 0", fmt.Sprint(n), n > 0)
	}
}
