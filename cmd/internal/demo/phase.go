package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/traffic"
)

// A phase is one run: hosts that send, a host that receives, switches between them.
type phase struct {
	name, title string
	control     bool // the run has to lose frames
	obey        bool // senders obey PFC
	flowControl string
	seconds     time.Duration
	speed       int64 // of hosts' ports, bit/s
	build       func(a *phase) error
	judge       func(a *phase, r *Report)
	verdict     func(r *Report)                 // replaces report and judge
	lead        time.Duration                   // for senders to find the sink; 0: startDelay
	block       blocking                        // of the receiver
	prepare     func(ctx context.Context) error // after the switches have started, before the hosts do
	during      func(ctx context.Context) error // while frames flow
	enter       func(ctx context.Context, commands []string)

	lab      *lab.Lab
	dir      string
	switches []*switchNode
	senders  []*host
	receiver *host

	starts time.Time // the load
	sink   traffic.SinkReport
	usage  usage // of the machine, while the load lasted
}

// A host is a sender or the receiver.
type host struct {
	name    string
	node    *lab.Node
	speed   int64           // of its port, bit/s
	offers  func() []string // flows of a sender, at its speed of now
	process *lab.Process
	out     bytes.Buffer
	report  traffic.SendReport
	kernel  lab.Stats
}

// A blocking is a receiver that blocks periodically during the load: it pauses its peer, then reads for a while.
type blocking struct {
	blocked, read time.Duration
	times         int
}

// every is the period of the blocking.
func (b blocking) every() time.Duration { return b.blocked + b.read }

// flags are the flags of such a sink.
func (b blocking) flags(start time.Time) []string {
	if b.times == 0 {
		return nil
	}
	return []string{"--block-at", fmt.Sprint(start.UnixNano()), "--block-for", b.blocked.String(), "--block-every",
		b.every().String(),
		"--block-times", fmt.Sprint(b.times)}
}

// Times of a phase around its load.
const (
	startDelay   = 1500 * time.Millisecond // for senders to find the sink
	warmUp       = 500 * time.Millisecond  // of the load, before rates are measured
	coolDown     = 100 * time.Millisecond
	startTimeout = 30 * time.Second // until all switches are up
	phaseTimeout = 30 * time.Second // beyond the load
)

// hostInterface is the name of a host's port.
const hostInterface = "eth0"

// startSwitches starts the switches, and the hosts, whose load begins a little later.
func (a *phase) startSwitches(ctx context.Context) (err error) {
	if a.dir, err = os.MkdirTemp("", "pfcswitch-demo-"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := each(a.switches, func(s *switchNode) error { return s.start(ctx, a.dir, a.flowControl) }); err != nil {
		return err
	}
	if a.prepare != nil {
		if err := a.prepare(ctx); err != nil {
			return err
		}
	}
	return a.startHosts()
}

// run waits for the load, lets the switches settle and observes. It ends early where a switch does.
func (a *phase) run(ctx context.Context) error {
	limit := a.seconds + phaseTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it had %v", limit))
	defer cancel()
	ctx, ended := context.WithCancelCause(ctx)
	for _, s := range a.switches {
		go s.runWatch(ctx, ended)
	}
	done := make(chan error, 1)
	go a.runDuring(ctx, done)
	defer func() {
		ended(nil)
		waitClosed(done)
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(a.starts)):
	}
	m, err := startMeter(a.processes())
	if err != nil {
		return err
	}
	if err := a.collect(ctx); err != nil {
		return err
	}
	if a.usage, err = m.read(a.seconds); err != nil {
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	for _, s := range a.switches {
		if err := s.waitDrained(ctx); err != nil {
			return err
		}
	}
	return a.observe()
}

// runDuring runs the phase's own work while frames flow.
func (a *phase) runDuring(ctx context.Context, done chan<- error) {
	defer close(done)
	if a.during != nil {
		done <- a.during(ctx)
	}
}

// startHosts starts the hosts' endpoints.
func (a *phase) startHosts() error {
	lead := startDelay
	if a.lead > 0 {
		lead = a.lead
	}
	start := time.Now().Add(lead)
	end := start.Add(a.seconds)
	a.starts = start
	sink := []string{"sink", hostInterface, "-j", "--expect", fmt.Sprint(len(a.senders)), "--speed",
		fmt.Sprint(a.receiver.speed),
		"--from", fmt.Sprint(start.Add(warmUp).UnixNano()), "--until", fmt.Sprint(end.Add(-coolDown).UnixNano())}
	if err := a.receiver.start(append(sink, a.block.flags(start)...)...); err != nil {
		return err
	}
	flowControl := "pfc"
	if !a.obey {
		flowControl = "off"
	}
	for _, h := range a.senders {
		args := []string{"send", hostInterface, "-j", "--flow-control", flowControl, "--seconds",
			fmt.Sprint(a.seconds.Seconds()),
			"--start", fmt.Sprint(start.UnixNano())}
		if err := h.start(append(args, h.flags()...)...); err != nil {
			return err
		}
	}
	return nil
}

// collect reads the reports of the endpoints.
func (a *phase) collect(ctx context.Context) error {
	for _, h := range a.senders {
		if err := h.finish(ctx, &h.report); err != nil {
			return err
		}
	}
	return a.receiver.finish(ctx, &a.sink)
}

// flags are a sender's flags for its speed and its flows.
func (h *host) flags() []string {
	args := []string{"--speed", fmt.Sprint(h.speed)}
	for _, f := range h.offers() {
		args = append(args, "--flow", f)
	}
	return args
}

// constantOffer returns flows that do not depend on the speed.
func constantOffer(flows ...string) func() []string { return func() []string { return flows } }

// start runs a command of this program at the host.
func (h *host) start(args ...string) (err error) {
	h.out.Reset()
	h.process, err = h.node.Start(lab.Command{Name: h.name, Argv: append([]string{lab.Self}, args...), Stdout: &h.out})
	return err
}

// finish waits for the host's report.
func (h *host) finish(ctx context.Context, report any) error {
	select {
	case <-h.process.Ended():
	case <-ctx.Done():
		return fmt.Errorf("host %s did not finish: %w: %s", h.name, context.Cause(ctx), h.process.Output())
	}
	if err := h.process.Wait(); err != nil {
		return err
	}
	if err := json.Unmarshal(h.out.Bytes(), report); err != nil {
		return fmt.Errorf("host %s: its report cannot be read: %w", h.name, err)
	}
	return nil
}

// observe reads the kernel's counters of the hosts.
func (a *phase) observe() (err error) {
	for _, h := range a.hosts() {
		if h.kernel, err = h.node.Stats(hostInterface); err != nil {
			return err
		}
	}
	return nil
}

func (a *phase) hosts() []*host { return append([]*host{a.receiver}, a.senders...) }

// processes are those of the hosts and of the switches.
func (a *phase) processes() (all []*lab.Process) {
	for _, h := range a.hosts() {
		all = append(all, h.process)
	}
	return append(all, processes(a.switches)...)
}

// stop ends all started processes. Its error names those that failed.
func (a *phase) stop() error {
	var errs []error
	for _, h := range a.hosts() {
		if h.process != nil {
			errs = append(errs, h.process.Stop(syscall.SIGTERM, time.Second))
		}
	}
	errs = append(errs, each(a.switches, (*switchNode).stop))
	return errors.Join(append(errs, os.RemoveAll(a.dir))...)
}

// shortage is what the machine withheld from the phase.
func (a *phase) shortage() shortage {
	s := a.usage.shortage
	for _, h := range a.senders {
		if h.report.Behind > s.behind {
			s.behind, s.slowestSender = h.report.Behind, h.name
		}
	}
	return s
}

// result summarizes the phase.
func (a *phase) result() PhaseResult {
	s := a.shortage()
	return PhaseResult{Phase: a.name, Title: a.title, Control: a.control, RunQueueDelay: s.runQueueDelay,
		Steal: s.steal, CPUs: a.usage.cores, Behind: s.behind,
		LongestStall: a.longestStall()}
}

// longestStall is the longest stall of a sender, in ns.
func (a *phase) longestStall() (longest int64) {
	for _, h := range a.senders {
		longest = max(longest, h.report.LongestStall)
	}
	return longest
}

// flows joins the counters of the senders with those of the sink.
func (a *phase) flows() []Flow {
	var all []Flow
	for _, h := range a.senders {
		for _, sf := range h.report.Flows {
			f := Flow{Phase: a.name, Name: h.name + ">" + a.receiver.name, Priority: sf.Priority, Sent: sf.Sent,
				Lost:     sf.Sent,
				Lossless: sf.Priority == losslessPriority && !a.control}
			for _, rf := range a.sink.Flows {
				if rf.Source == h.report.Source && rf.Flow == sf.Flow && rf.Priority == sf.Priority {
					f.Received, f.Reordered, f.Duplicated = rf.Received, rf.Reordered, rf.Duplicated
					f.Lost = sf.Sent - min(sf.Sent, rf.Received)
					f.Latency = rf.Latency
					f.Rate = rf.Rate(a.sink.Window)
				}
			}
			all = append(all, f)
		}
	}
	return all
}

// waitClosed waits until done is closed.
func waitClosed(done <-chan error) {
	for range done { // the error was read before, or does not matter
	}
}
