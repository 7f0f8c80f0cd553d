package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/cmd/internal/traffic"
)

// A scenario has the processes of one phase of demo deadlock: switches first, then senders, sinks and storms.
type scenario struct {
	name       string
	lockUp     bool
	speed      int64 // of every port, bit/s
	dir        string
	switches   []*switchNode
	sources    []*source
	sinks      []*sink
	storms     []*stormHost
	start      time.Time // of the load
	stuck      bool      // what is locked up stays
	usageMeter *meter    // of all processes, begun with the load
	usage      usage     // of the machine, until the endpoints had ended
}

// A source is one sender; several may run at one host.
type source struct {
	host
	to     string // name of the receiver
	noSink bool   // it asks no sink
}

// A sink is one receiver.
type sink struct {
	host
	sinkReport traffic.SinkReport
}

// A stormHost is a host that pauses without end, from a moment of the phase on and for so long.
type stormHost struct {
	host
	from, duration time.Duration
	stormReport    traffic.StormReport
}

// endpointTimeout is how long endpoints may take beyond their time.
const endpointTimeout = 15 * time.Second

// open starts the switches.
func (p *scenario) open(ctx context.Context) (err error) {
	if p.dir, err = os.MkdirTemp("", "pfcswitch-demo-"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := each(p.switches, func(s *switchNode) error { return s.start(ctx, p.dir, "") }); err != nil {
		return err
	}
	p.start = time.Now().Add(sinkSearchTime)
	return nil
}

// sinkSearchTime is the time for senders to find their sinks, whose addresses they are given.
const sinkSearchTime = 800 * time.Millisecond

// each calls do for all switches concurrently.
func each(switches []*switchNode, do func(*switchNode) error) error {
	errs := make([]error, len(switches))
	var all sync.WaitGroup
	for i, s := range switches {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// stamp is a moment of the phase for a command line.
func (p *scenario) stamp(after time.Duration) string {
	return fmt.Sprint(p.start.Add(after).UnixNano())
}

// share is a part of the ports' speed, in percent, for a command line.
func (p *scenario) share(percent int64) string { return fmt.Sprint(p.speed * percent / 100) }

// send starts a sender at a host, which sends from the beginning of the load.
func (p *scenario) send(n *lab.Node, to string, lasts time.Duration, args ...string) error {
	s := &source{host: host{name: n.Name(), node: n}, to: to, noSink: slices.Contains(args, "--no-sink")}
	p.sources = append(p.sources, s)
	return s.host.start(append([]string{"send", hostInterface, "-j", "--speed", fmt.Sprint(p.speed), "--start",
		p.stamp(0),
		"--seconds", fmt.Sprint(lasts.Seconds())}, args...)...)
}

// receive starts a sink at a host, which ends so long after the beginning of the load.
func (p *scenario) receive(n *lab.Node, lasts time.Duration, args ...string) error {
	s := &sink{host: host{name: n.Name(), node: n}}
	p.sinks = append(p.sinks, s)
	return s.host.start(append([]string{"sink", hostInterface, "-j", "--speed", fmt.Sprint(p.speed),
		"--seconds", fmt.Sprint((time.Until(p.start) + lasts).Seconds())}, args...)...)
}

// wait sleeps until a moment of the phase. It returns an error when a switch or ctx ends before.
func (p *scenario) wait(ctx context.Context, after time.Duration) error {
	if p.usageMeter == nil {
		if err := p.waitUntil(ctx, 0); err != nil {
			return err
		}
		var err error
		if p.usageMeter, err = startMeter(p.processes()); err != nil {
			return err
		}
	}
	return p.waitUntil(ctx, after)
}

func (p *scenario) waitUntil(ctx context.Context, after time.Duration) error {
	ctx, ended := context.WithCancelCause(ctx)
	defer ended(nil)
	for _, s := range p.switches {
		go s.runWatch(ctx, ended)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(p.start.Add(after))):
		return nil
	}
}

// processes are those of switches, senders and sinks. A storm is not judged.
func (p *scenario) processes() []*lab.Process {
	all := processes(p.switches)
	for _, s := range p.sources {
		all = append(all, s.process)
	}
	for _, s := range p.sinks {
		all = append(all, s.process)
	}
	return all
}

// collect waits for the endpoints and reads their reports, then asks the switches.
func (p *scenario) collect(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, endpointTimeout)
	defer cancel()
	for _, s := range p.sources {
		if err := s.finish(limited, &s.report); err != nil {
			return err
		}
	}
	for _, s := range p.sinks {
		if err := s.finish(limited, &s.sinkReport); err != nil {
			return err
		}
	}
	for _, s := range p.storms {
		if err := s.finish(limited, &s.stormReport); err != nil {
			return err
		}
	}
	var err error
	if p.usage, err = p.usageMeter.read(time.Since(p.start)); err != nil {
		return err
	}
	for _, s := range p.sources {
		if s.report.Behind > p.usage.behind {
			p.usage.behind, p.usage.slowestSender = s.report.Behind, s.name
		}
	}
	if !p.stuck {
		if err := each(p.switches, func(s *switchNode) error { return s.waitDrained(ctx) }); err != nil {
			return err
		}
	}
	return p.observe(ctx)
}

// observe asks every switch.
func (p *scenario) observe(ctx context.Context) error {
	for _, s := range p.switches {
		if err := s.observe(ctx); err != nil {
			return err
		}
		if err := s.observeWatchdog(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stop ends all processes.
func (p *scenario) stop() error {
	var errs []error
	end := func(h *host) {
		if h.process != nil {
			errs = append(errs, h.process.Stop(syscall.SIGTERM, time.Second))
		}
	}
	for _, s := range p.sources {
		end(&s.host)
	}
	for _, s := range p.sinks {
		end(&s.host)
	}
	for _, s := range p.storms {
		end(&s.host)
	}
	errs = append(errs, each(p.switches, (*switchNode).stop))
	return errors.Join(append(errs, os.RemoveAll(p.dir))...)
}

// A flowStall is a flow of a phase, with the times in which no frame of it arrived.
type flowStall struct {
	Flow
	slots []uint64 // wire bits in each part of the sink's window
	gap   time.Duration
	gaps  []traffic.Gap
	at    time.Duration // when the last frame came, in the phase's time
}

// flows joins the counters of senders and sinks, without senders that ask no sink. A flow that no sink has seen lost
// all frames.
func (p *scenario) flows() (all []flowStall) {
	for _, s := range p.sources {
		if s.noSink {
			continue
		}
		for _, sf := range s.report.Flows {
			f := flowStall{Flow: Flow{Phase: p.name, Name: s.name + ">" + s.to, Priority: sf.Priority,
				Lossless: sf.Priority == losslessPriority && !p.lockUp, Sent: sf.Sent,
				Lost: sf.Sent}}
			p.match(&f, s.report.Source, sf.Flow)
			all = append(all, f)
		}
	}
	return all
}

// match adds the counters of the sink, which include frames that came after its answer.
func (p *scenario) match(f *flowStall, source string, id uint32) {
	for _, s := range p.sinks {
		for _, rf := range s.sinkReport.Flows {
			if rf.Source != source || rf.Flow != id || rf.Priority != f.Priority {
				continue
			}
			f.Received, f.Reordered, f.Duplicated = rf.Received, rf.Reordered, rf.Duplicated
			f.Lost = f.Sent - min(f.Sent, rf.Received)
			f.Latency = rf.Latency
			f.Rate = rf.Rate(s.sinkReport.Window)
			f.slots = rf.SlotBits
			f.gap, f.gaps = time.Duration(rf.LongestGap), rf.Gaps
			f.at = p.since(rf.LastAt)
		}
	}
}

// since converts ns since 1970 into the phase's time.
func (p *scenario) since(ns int64) time.Duration { return time.Duration(ns - p.start.UnixNano()) }
