package labrun

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/cmd/internal/traffic"
)

// An endpoint is the sender or the sink of a host.
type endpoint struct {
	host     string
	flows    []int            // of the plan: those that it sends, in the order of its report
	fault    *config.LabFault // of a sink: what it does to its peer
	cmd      *exec.Cmd
	out      bytes.Buffer
	messages bytes.Buffer
	sent     traffic.SendReport
	received traffic.SinkReport
	err      error // when it has ended
}

// Times around the traffic.
const (
	startTime     = 1500 * time.Millisecond // for senders to find their sinks,
	startTimeOf   = 150 * time.Millisecond  // and for each endpoint, where many start at once
	progressTime  = 200 * time.Millisecond
	abandonedTime = time.Hour // after the traffic, when a sink ends by itself
	slots         = 100       // of a sink's window, from which rates are taken
)

// addEndpoints finds the senders and sinks of the flows.
func (r *run) addEndpoints() error {
	senders := map[string]*endpoint{}
	for i := range r.plan.Flows {
		f := &r.plan.Flows[i]
		for _, host := range []string{f.From, f.To} {
			if err := r.checkHost("traffic."+f.Name, host); err != nil {
				return err
			}
		}
		e := senders[f.From]
		if e == nil {
			e = &endpoint{host: f.From}
			senders[f.From], r.senders = e, append(r.senders, e)
		}
		e.flows = append(e.flows, i)
		r.addSink(f.To)
	}
	return r.addFaults()
}

// checkHost refuses a host that has a host NIC.
func (r *run) checkHost(key, name string) error {
	for _, h := range r.topology.Hosts {
		if h.Name == name && h.NIC != nil {
			return r.topology.Errorf(key, "%s has a host NIC, which has its eth0 for itself: write nic: false, or "+
				"another host", name)
		}
	}
	return nil
}

// addSink adds the sink of a host, where it has none.
func (r *run) addSink(host string) *endpoint {
	if r.sinks[host] == nil {
		r.sinks[host] = &endpoint{host: host}
	}
	return r.sinks[host]
}

func (r *run) startEndpoints(ctx context.Context) error {
	r.start = time.Now().Add(startTime + startTimeOf*time.Duration(cap(r.ended)))
	for _, e := range r.sinks {
		if err := r.startEndpoint(ctx, e, r.sinkArgs(e), &e.received); err != nil {
			return err
		}
	}
	for _, e := range r.senders {
		if err := r.startEndpoint(ctx, e, r.senderArgs(e), &e.sent); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until only so many endpoints run, or one has failed.
func (r *run) wait(ctx context.Context, left int) error {
	tick := time.NewTicker(progressTime)
	defer tick.Stop()
	for r.started > left {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-r.ended:
			if r.started--; e.err != nil {
				return e.err
			}
		case <-tick.C:
			r.progress("%s", r.phase())
		}
	}
	return nil
}

// phase says where in the traffic the run is.
func (r *run) phase() string {
	switch at := time.Since(r.start); {
	case at < 0:
		return "senders find their sinks"
	case at < r.length:
		return fmt.Sprintf("%v of %v", at.Round(100*time.Millisecond), r.length)
	}
	return "the last frames"
}

// senderArgs are the arguments of a sender: a flow for each of the plan that it sends.
func (r *run) senderArgs(e *endpoint) []string {
	args := []string{"send", "--start", fmt.Sprint(r.start.UnixNano()), "--seconds", fmt.Sprint(r.length.Seconds())}
	for _, i := range e.flows {
		f := &r.plan.Flows[i]
		flow := fmt.Sprintf("%d:octets=%d,after=%v,for=%v,to=%v", f.Priority, f.Octets, f.Start, f.Stop-f.Start,
			r.address(f.To))
		if f.Frames > 0 {
			flow += fmt.Sprintf(",count=%d", f.Frames)
		}
		if f.Rate > 0 {
			flow += fmt.Sprintf(",rate=%d", f.Rate)
		}
		if f.Unanswered > 0 {
			flow += fmt.Sprintf(",window=%d", f.Unanswered)
		}
		if f.DCQCN {
			flow += ",cc=dcqcn"
		}
		args = append(args, "--flow", flow)
	}
	return args
}

// sinkArgs are the arguments of a sink. It ends by a signal, and by itself where nobody waits for it any longer.
func (r *run) sinkArgs(e *endpoint) []string {
	args := []string{"sink", "--from", fmt.Sprint(r.start.UnixNano()), "--until",
		fmt.Sprint(r.start.Add(r.length).UnixNano()), "--slots", fmt.Sprint(slots), "--seconds",
		fmt.Sprint((time.Until(r.start) + r.length + abandonedTime).Seconds())}
	if slices.ContainsFunc(r.plan.Flows, func(f simulation.PlannedFlow) bool { return f.DCQCN }) {
		args = append(args, "--cc", "dcqcn")
	}
	if e.fault != nil {
		args = append(args, r.faultArgs(e.fault)...)
	}
	return args
}

func (r *run) address(host string) string {
	for i := range r.topology.Hosts {
		if r.topology.Hosts[i].Name == host {
			return r.topology.Address(i).String()
		}
	}
	return ""
}

// startEndpoint starts a command of this program inside a host, at the speed and with the flow control of the port that
// the host is linked to.
func (r *run) startEndpoint(ctx context.Context, e *endpoint, args []string, report any) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p := r.plan.Ports[e.host]
	var lossless []string
	for q := range p.Queues {
		if p.Queues[q].Lossless {
			lossless = append(lossless, fmt.Sprint(q))
		}
	}
	argv := slices.Concat(r.state.Node(e.host).Enter, []string{self}, args, []string{"eth0", "-j", "--speed",
		fmt.Sprint(p.Speed), "--flow-control"})
	if len(lossless) > 0 {
		argv = append(argv, string(p.FlowControl), "--lossless", strings.Join(lossless, ","))
	} else {
		argv = append(argv, string(config.FlowOff))
	}
	e.cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
	e.cmd.Cancel = func() error { return e.cmd.Process.Signal(syscall.SIGTERM) }
	e.cmd.WaitDelay = time.Second
	e.cmd.Stdout, e.cmd.Stderr = &e.out, &e.messages
	if err := e.cmd.Start(); err != nil {
		return fmt.Errorf("host %s: %w (nsenter is of util-linux)", e.host, err)
	}
	r.started++
	go r.runWait(e, report)
	return nil
}

func (r *run) runWait(e *endpoint, report any) {
	e.err = e.finish(report)
	r.ended <- e
}

func (e *endpoint) finish(report any) error {
	if err := e.cmd.Wait(); err != nil {
		return fmt.Errorf("host %s: %s: %w", e.host, strings.TrimSpace(e.messages.String()), err)
	}
	if err := json.Unmarshal(e.out.Bytes(), report); err != nil {
		return fmt.Errorf("host %s: its report cannot be read: %w", e.host, err)
	}
	return nil
}
