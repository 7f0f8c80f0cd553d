package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/sim"
	"pfcswitch/deadlock"
)

// Options say how to run.
type Options struct {
	Seed     uint64
	Stall    time.Duration // without a frame that moves, after which the run ends; 0: twice the longest pause
	Response time.Duration // of the hosts to PFC and PAUSE; negative: the limit of the standard
	Noise    time.Duration // the mean of what each response takes longer, at random
	Latest   time.Duration // the longest response with Noise; 0: until a send call of the host has ended
	Measure  bool          // hosts measure headroom, too, and all go on while flows run; else switches do before
	LLDP     bool          // switches speak LLDP and DCBX with each other before the flows begin
	Progress func(text string)
	Warn     func(text string) // of what may end the run early; nil: not told
	SVG      io.Writer         // gets a picture of the run; nil: none
	// Capture opens the file for the frames of a switch; nil: no frame is captured.
	Capture func(name string) (io.WriteCloser, error)
	// Look, where set, sees the switches of the file after each LookEvery of virtual time, by their names.
	Look      func(at time.Duration, s func(name string) *dataplane.Snapshot)
	LookEvery time.Duration
	// Together, where set, runs parts of a large fabric on up to Workers CPUs: see sim.Config. The report is the same.
	Together func(tasks int, do func(worker, task int))
	Workers  int
	// Watchdog, where set, gets what the watchdogs of the switches say, with the time of the traffic.
	Watchdog func(name string, e deadlock.Event)

	real bool         // for NewPlan
	left func() int64 // octets of memory that are left; nil: ask the system
}

// parts is how often a run tells how far it is.
const parts = 200

// eventsAtOnce is after how many events captures are written, which is before their rings are full, and an interrupt is
// looked for.
const eventsAtOnce = 10_000

// Run runs the topology of a file and judges the result. An error means that nothing ran: it has file, line and key
// where the file is at fault.
func Run(ctx context.Context, file string, o Options) (_ *Report, err error) {
	t, err := config.LoadVirtualTopology(file)
	if err != nil {
		return nil, err
	}
	return RunTopology(ctx, t, o)
}

// RunTopology is Run for a file that has been read.
func RunTopology(ctx context.Context, t *config.Topology, o Options) (_ *Report, err error) {
	f, err := build(t, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	length := Length(t)
	if !o.Measure && len(f.measured) > 0 { // before frames are captured
		f.measureLinks()
	}
	f.warnOfMemory(length, o)
	captures, err := f.capture(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, captures.close()) }()
	f.Start()
	c := f.newCourse()
	step := max(1, int64(length)/parts)
	if o.Look != nil {
		step = int64(o.LookEvery)
	}
	for until := step; f.Ending() == sim.Running; until += step {
		for done := false; !done; {
			if ctx.Err() != nil {
				return nil, fmt.Errorf("interrupted after %v of virtual time", time.Duration(f.Now()-f.Begun()))
			}
			done = f.AdvanceBy(until, eventsAtOnce)
			if err := errors.Join(captures.write(), f.checkMemory(o)); err != nil {
				return nil, err
			}
		}
		f.tell(o.Watchdog)
		f.followHeadroom()
		if o.Progress != nil {
			o.Progress(fmt.Sprintf("%v of %v, %d frame-hops", time.Duration(until).Round(time.Microsecond), length,
				f.Hops()))
		}
		if o.SVG != nil {
			c.sample(f)
		}
		if o.Look != nil {
			o.Look(time.Duration(f.Now()-f.Begun()), f.snapshot)
		}
	}
	if err := captures.end(); err != nil {
		return nil, err
	}
	r := f.report(length)
	if o.SVG != nil {
		err = c.svg(o.SVG, r.Phases[0].Title)
	}
	return r, err
}

// snapshot returns the state of a switch until the next call, nil where the file has none of this name.
func (f *fabric) snapshot(name string) *dataplane.Snapshot {
	for _, s := range f.switches {
		if s.name == name {
			s.sw.Snapshot(&f.looked, f.Now())
			return &f.looked
		}
	}
	return nil
}
