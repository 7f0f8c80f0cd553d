package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"syscall"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/traffic"
)

// hostInterface is the name of a host's port.
const hostInterface = "eth0"

// A station is a host at a port of a switch.
type station struct {
	name  string
	node  *lab.Node
	speed int64 // of its port, bit/s
}

// An endpoint is a sender, a sink or a storm. Several may run at one host.
type endpoint struct {
	station
	to    string          // name of a sender's sink; empty: no sink counts its frames
	lasts time.Duration   // of a sender's load; 0: as long as the phase's
	args  func() []string // more of its command line, at the speed and time of now; a sink: nil is windowArgs

	process  *lab.Process
	out      bytes.Buffer
	report   any // of its command: sent, received or storm
	sent     traffic.SendReport
	received traffic.SinkReport
	storm    traffic.StormReport
}

func (p *phase) addSender(at station, to string, args func() []string) *endpoint {
	e := &endpoint{station: at, to: to, args: args}
	e.report = &e.sent
	p.senders = append(p.senders, e)
	return e
}

func (p *phase) addSink(at station, args func() []string) {
	e := &endpoint{station: at, args: args}
	e.report = &e.received
	p.sinks = append(p.sinks, e)
}

// sends are the arguments of a sender whose flows do not depend on the speed.
func sends(flows ...string) func() []string {
	var args []string
	for _, f := range flows {
		args = append(args, "--flow", f)
	}
	return func() []string { return args }
}

// stamp is a moment of the load for a command line.
func (p *phase) stamp(after time.Duration) string { return fmt.Sprint(p.start.Add(after).UnixNano()) }

// startHosts starts the endpoints, whose load begins a little later.
func (p *phase) startHosts() error {
	p.start = time.Now().Add(p.lead)
	for _, e := range p.sinks {
		args := e.args
		if args == nil {
			args = p.windowArgs
		}
		if err := e.run("sink", args()...); err != nil {
			return err
		}
	}
	for _, e := range p.senders {
		lasts := e.lasts
		if lasts == 0 {
			lasts = p.seconds
		}
		if err := e.send(p.stamp(0), lasts, p.flowControl(p.ignorePFC)); err != nil {
			return err
		}
	}
	for _, e := range p.storms {
		if err := e.run("send", e.args()...); err != nil {
			return err
		}
	}
	return nil
}

// windowArgs let a sink wait for all senders and measure rates in the middle of the load.
func (p *phase) windowArgs() []string {
	return []string{"--expect", fmt.Sprint(len(p.senders)), "--from", p.stamp(warmUp), "--until",
		p.stamp(p.seconds - coolDown)}
}

func (e *endpoint) send(start string, lasts time.Duration, flowControl string) error {
	args := []string{"--start", start, "--seconds", inSeconds(lasts), "--flow-control", flowControl}
	return e.run("send", append(args, e.args()...)...)
}

func inSeconds(d time.Duration) string { return fmt.Sprint(d.Seconds()) }

// run starts a command of this program at the host.
func (e *endpoint) run(command string, args ...string) (err error) {
	e.out.Reset()
	argv := []string{lab.Self, command, hostInterface, "-j", "--speed", speedText(e.speed)}
	e.process, err = e.node.Start(lab.Command{Name: e.name, Argv: append(argv, args...), Stdout: &e.out})
	return err
}

// finish waits for the endpoint's report.
func (e *endpoint) finish(ctx context.Context) error {
	select {
	case <-e.process.Ended():
	case <-ctx.Done():
		return fmt.Errorf("host %s did not finish: %w: %s", e.name, context.Cause(ctx), e.process.Output())
	}
	if err := e.process.Wait(); err != nil {
		return err
	}
	if err := json.Unmarshal(e.out.Bytes(), e.report); err != nil {
		return fmt.Errorf("host %s: its report cannot be read: %w", e.name, err)
	}
	return nil
}

func (e *endpoint) stop(grace time.Duration) error {
	if e.process == nil {
		return nil
	}
	return e.process.Stop(syscall.SIGTERM, grace)
}

func (p *phase) collect(ctx context.Context) error {
	for _, e := range p.endpoints() {
		if err := e.finish(ctx); err != nil {
			return err
		}
	}
	p.joinFlows()
	return nil
}

// A flow is a flow of a phase, with the times in which no frame of it arrived.
type flow struct {
	Flow
	slots []uint64 // wire bits in each part of the sink's window
	gap   time.Duration
	gaps  []traffic.Gap
	at    time.Duration // when the last frame came, since the load began; 0: none did
}

// joinFlows joins the counters of senders and sinks. A flow that no sink has seen lost all frames.
func (p *phase) joinFlows() {
	for _, e := range p.senders {
		if e.to == "" {
			continue
		}
		for _, sf := range e.sent.Flows {
			f := flow{Flow: Flow{Phase: p.name, Name: e.name + ">" + e.to, Priority: sf.Priority, Sent: sf.Sent,
				Lost: sf.Sent, Lossless: sf.Priority == losslessPriority && !p.control && !p.lockUp}}
			p.addReceived(&f, e.sent.Source, sf.Flow)
			p.flows = append(p.flows, f)
		}
	}
}

// addReceived adds the counters of the sink, which include frames that came after its answer.
func (p *phase) addReceived(f *flow, source string, id uint32) {
	for _, e := range p.sinks {
		for _, rf := range e.received.Flows {
			if rf.Source != source || rf.Flow != id || rf.Priority != f.Priority {
				continue
			}
			f.Received, f.Reordered, f.Duplicated = rf.Received, rf.Reordered, rf.Duplicated
			f.Lost = f.Sent - min(f.Sent, rf.Received)
			f.Latency, f.Rate = rf.Latency, rf.Rate(e.received.Window)
			f.slots, f.gap, f.gaps = rf.SlotBits, time.Duration(rf.LongestGap), rf.Gaps
			if rf.Received > 0 {
				f.at = p.since(rf.LastAt)
			}
		}
	}
}

// since is the time from the beginning of the load to a moment in ns since 1970.
func (p *phase) since(ns int64) time.Duration { return time.Duration(ns - p.start.UnixNano()) }
