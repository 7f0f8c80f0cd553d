package labrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/demo"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/cmd/internal/topology"
)

// Options say how to run.
type Options struct {
	Keeper   []string // arguments of the command that keeps a lab
	Progress func(text string)
}

func (o *Options) progress(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// A run is one run of a lab's traffic.
type run struct {
	Options
	topology *config.Topology
	plan     *simulation.Plan
	state    *topology.State
	length   time.Duration
	start    time.Time // of the traffic
	senders  []*endpoint
	sinks    map[string]*endpoint // by host
	before   map[string]*api.State
	after    map[string]*api.State
}

// drainTime is how long the switches may take to become empty when the endpoints have ended.
const drainTime = 10 * time.Second

// Run sends the traffic of a file and judges the result. A lab that is not up is brought up, and taken down again. An
// error means that nothing was judged: it has file, line and key where the file is at fault.
func Run(ctx context.Context, file string, o Options) (_ *simulation.Report, err error) {
	t, err := config.LoadTopology(file)
	if err != nil {
		return nil, err
	}
	r := &run{Options: o, topology: t, length: simulation.Length(t), sinks: map[string]*endpoint{}}
	if r.plan, err = simulation.NewPlan(t); err != nil {
		return nil, err
	}
	if err := r.addEndpoints(); err != nil {
		return nil, err
	}
	o.progress("lab %s: %d nodes", t.Name, len(t.Switches)+len(t.Hosts))
	state, down, err := topology.Use(ctx, t, file, o.Keeper)
	if err != nil {
		return nil, err
	}
	r.state = state
	defer func() { err = errors.Join(err, down()) }()
	if err := r.send(ctx); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted, and nothing was judged")
		}
		return nil, err
	}
	return r.report(), nil
}

// send runs the endpoints, and asks the switches before and after.
func (r *run) send(ctx context.Context) (err error) {
	if r.before, err = r.observe(ctx); err != nil {
		return err
	}
	if err := r.runEndpoints(ctx); err != nil {
		return err
	}
	r.progress("the switches are to be empty")
	for deadline := time.Now().Add(drainTime); ; {
		if r.after, err = r.observe(ctx); err != nil || r.drained() || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// observe asks every switch for its state at one moment.
func (r *run) observe(ctx context.Context) (map[string]*api.State, error) {
	all := map[string]*api.State{}
	for _, s := range r.topology.Switches {
		n := r.state.Node(s.Name)
		answer, err := api.NewClient(n.Socket).Show(ctx, "state")
		if err != nil {
			return nil, fmt.Errorf("switch %s: %w", s.Name, err)
		}
		all[s.Name] = answer.(*api.State)
	}
	return all, nil
}

// drained tells whether no switch holds a frame or a peer.
func (r *run) drained() bool {
	for _, s := range r.after {
		if !demo.Empty(s.Pools, s.PFC) {
			return false
		}
	}
	return true
}
