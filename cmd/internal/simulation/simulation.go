package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane/sim"
)

// Options say how to run.
type Options struct {
	Seed     uint64
	Stall    time.Duration // without a frame that moves, after which the run ends; 0: twice the longest pause
	Response time.Duration // of the hosts to PFC and PAUSE; negative: the limit of the standard
	Progress func(text string)
}

// parts is how often a run tells how far it is.
const parts = 200

// Run runs the topology of a file and judges the result. An error means that nothing ran: it has file, line and key
// where the file is at fault.
func Run(ctx context.Context, file string, o Options) (_ *Report, err error) {
	t, err := config.LoadTopology(file)
	if err != nil {
		return nil, err
	}
	return run(ctx, t, o)
}

func run(ctx context.Context, t *config.Topology, o Options) (_ *Report, err error) {
	f, err := build(t, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	length := time.Duration(0)
	for i := range t.Traffic {
		length = max(length, t.Traffic[i].Start+t.Traffic[i].Duration)
	}
	f.Start()
	step := max(1, int64(length)/parts)
	for until, end := step, sim.Running; end == sim.Running; until += step {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("interrupted after %v of virtual time", time.Duration(f.Now()-f.Begun()))
		}
		end = f.Advance(until)
		if o.Progress != nil {
			o.Progress(fmt.Sprintf("%v of %v, %d frame-hops", time.Duration(until).Round(time.Microsecond), length,
				f.Hops()))
		}
		f.ending = end
	}
	return f.report(length), nil
}
