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

// A play is the processes of one act of demo deadlock: switches first, then senders, sinks and storms.
type play struct {
	name     string
	lockUp   bool
	speed    int64 // of every port, bit/s
	dir      string
	switches []*switchNode
	sources  []*source
	sinks    []*sink
	storms   []*stormHost
	start    time.Time // of the load
	stuck    bool      // what is locked up stays
	meter    *meter    // of all processes, begun with the load
	usage    usage     // of the machine, until the endpoints had ended
}

// A source is one sender; several may run at one host.
type source struct {
	host
	to    string // name of the receiver
	blind bool   // it asks no sink
}

// A sink is one receiver.
type sink struct {
	host
	seen traffic.SinkReport
}

// A stormHost is a host that pauses without end, from a moment of the act on and for so long.
type stormHost struct {
	host
	from, lasts time.Duration
	said        traffic.StormReport
}

// playPatience is how long endpoints may take beyond their time.
const playPatience = 15 * time.Second

// open starts the switches.
func (p *play) open(ctx context.Context) (err error) {
	if p.dir, err = os.MkdirTemp("", "pfcswitch-demo-"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := each(p.switches, func(s *switchNode) error { return s.start(ctx, p.dir, "") }); err != nil {
		return err
	}
	p.start = time.Now().Add(findDelay)
	return nil
}

// findDelay is the time for senders to find their sinks, whose addresses they are given.
const findDelay = 800 * time.Millisecond

// each does something with every switch at the same time.
func each(switches []*switchNode, do func(*switchNode) error) error {
	errs := make([]error, len(switches))
	var all sync.WaitGroup
	for i, s := range switches {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// stamp is a moment of the act for a command line.
func (p *play) stamp(after time.Duration) string { return fmt.Sprint(p.start.Add(after).UnixNano()) }

// share is a part of the ports' speed, in percent, for a command line.
func (p *play) share(percent int64) string { return fmt.Sprint(p.speed * percent / 100) }

// send starts a sender at a host from the beginning of the load on, for so long.
func (p *play) send(n *lab.Node, to string, lasts time.Duration, args ...string) error {
	s := &source{host: host{name: n.Name(), node: n}, to: to, blind: slices.Contains(args, "--no-sink")}
	p.sources = append(p.sources, s)
	return s.host.start(append([]string{"send", hostInterface, "-j", "--speed", fmt.Sprint(p.speed), "--start", p.stamp(0),
		"--seconds", fmt.Sprint(lasts.Seconds())}, args...)...)
}

// receive starts a sink at a host, until so long after the beginning of the load.
func (p *play) receive(n *lab.Node, lasts time.Duration, args ...string) error {
	s := &sink{host: host{name: n.Name(), node: n}}
	p.sinks = append(p.sinks, s)
	return s.host.start(append([]string{"sink", hostInterface, "-j", "--speed", fmt.Sprint(p.speed),
		"--seconds", fmt.Sprint((time.Until(p.start) + lasts).Seconds())}, args...)...)
}

// wait sleeps until a moment of the act. It ends early, with an error, where a switch or ctx does.
func (p *play) wait(ctx context.Context, after time.Duration) error {
	if p.meter == nil {
		if err := p.until(ctx, 0); err != nil {
			return err
		}
		var err error
		if p.meter, err = startMeter(p.processes()); err != nil {
			return err
		}
	}
	return p.until(ctx, after)
}

func (p *play) until(ctx context.Context, after time.Duration) error {
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

// processes are those of switches, senders and sinks. A storm is no part of what is judged.
func (p *play) processes() []*lab.Process {
	all := processes(p.switches)
	for _, s := range p.sources {
		all = append(all, s.process)
	}
	for _, s := range p.sinks {
		all = append(all, s.process)
	}
	return all
}

// collect waits for the endpoints and reads what they report, and then what the switches say.
func (p *play) collect(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, playPatience)
	defer cancel()
	for _, s := range p.sources {
		if err := s.finish(limited, &s.report); err != nil {
			return err
		}
	}
	for _, s := range p.sinks {
		if err := s.finish(limited, &s.seen); err != nil {
			return err
		}
	}
	for _, s := range p.storms {
		if err := s.finish(limited, &s.said); err != nil {
			return err
		}
	}
	var err error
	if p.usage, err = p.meter.read(time.Since(p.start)); err != nil {
		return err
	}
	for _, s := range p.sources {
		if s.report.Behind > p.usage.behind {
			p.usage.behind, p.usage.slowest = s.report.Behind, s.name
		}
	}
	if !p.stuck {
		if err := each(p.switches, func(s *switchNode) error { return s.settle(ctx) }); err != nil {
			return err
		}
	}
	return p.look(ctx)
}

// look asks every switch.
func (p *play) look(ctx context.Context) error {
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

// stop ends what still runs.
func (p *play) stop() error {
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

// A standing is a flow of an act, and the longest time for which it stood still at its receiver.
type standing struct {
	Flow
	slots []uint64 // wire bits in each part of the sink's window
	gap   time.Duration
	gaps  []traffic.Gap
	at    time.Duration // when the last frame came, in the act's time
}

// flows joins what senders sent with what sinks received. Senders that ask no sink are left out; of a flow that no sink has seen all
// frames are lost.
func (p *play) flows() (all []standing) {
	for _, s := range p.sources {
		if s.blind {
			continue
		}
		for _, sf := range s.report.Flows {
			f := standing{Flow: Flow{Act: p.name, Name: s.name + ">" + s.to, Priority: sf.Priority, Lossless: sf.Priority == losslessPriority && !p.lockUp, Sent: sf.Sent,
				Lost: sf.Sent}}
			p.match(&f, s.report.Source, sf.Flow)
			all = append(all, f)
		}
	}
	return all
}

// match adds what the sink saw last: more than it answered, where frames came late.
func (p *play) match(f *standing, source string, id uint32) {
	for _, s := range p.sinks {
		for _, rf := range s.seen.Flows {
			if rf.Source != source || rf.Flow != id || rf.Priority != f.Priority {
				continue
			}
			f.Received, f.Reordered, f.Duplicated = rf.Received, rf.Reordered, rf.Duplicated
			f.Lost = f.Sent - min(f.Sent, rf.Received)
			f.Latency = Latencies(rf.Latency)
			f.Rate = rf.Rate(s.seen.Window)
			f.slots = rf.SlotBits
			f.gap, f.gaps = time.Duration(rf.LongestGap), rf.Gaps
			f.at = p.since(rf.LastAt)
		}
	}
}

// since is a moment, in ns since 1970, in the act's time.
func (p *play) since(ns int64) time.Duration { return time.Duration(ns - p.start.UnixNano()) }
