package labrun

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/demo"
	"pfcswitch/cmd/internal/simulation"
	"pfcswitch/cmd/internal/topology"
)

// Options say how to run.
type Options struct {
	Keeper   []string // arguments of the command that keeps a lab
	Seed     uint64   // of flows at random, as in virtual time
	Progress func(text string)
	// Calibrate lowers all speeds and rates by one factor where the machine does not carry them. No lab may be up.
	Calibrate bool
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
	started  int                  // endpoints
	ended    chan *endpoint       // each of them
	before   map[string]*api.State
	after    map[string]*api.State

	linkFaults sync.Mutex     // guards failing
	failing    map[string]int // faults of links that are on

	calibration *demo.Calibration // nil: not asked for
	scale       float64           // of all speeds and rates
}

// Times after the traffic.
const (
	stallTime = 5 * time.Second        // without a frame that moves, after which held frames are lost
	lookTime  = 100 * time.Millisecond // between two looks whether the switches are empty
	restTime  = 300 * time.Millisecond // for the last frames to reach the sinks
)

// Run sends the traffic of a file and judges the result. A lab that is not up is brought up, and taken down again. An
// error means that nothing was judged: it has file, line and key where the file is at fault.
func Run(ctx context.Context, file string, o Options) (_ *simulation.Report, err error) {
	r := &run{Options: o, sinks: map[string]*endpoint{}, failing: map[string]int{}, scale: 1}
	if err = r.read(file); err == nil && o.Calibrate {
		err = r.calibrate(ctx, file)
	}
	if err != nil {
		return nil, err
	}
	t := r.topology
	if err := errors.Join(r.addEndpoints(), r.checkFlaps()); err != nil {
		return nil, err
	}
	r.ended = make(chan *endpoint, len(r.senders)+len(r.sinks))
	o.progress("lab %s: %d nodes", t.Name, len(t.Switches)+len(t.Hosts))
	state, down, err := topology.Use(ctx, t, file, o.Keeper, r.scale)
	if err != nil {
		return nil, err
	}
	r.state = state
	defer func() { err = errors.Join(err, down()) }()
	o.progress("lab %s: the switches attach their programs", t.Name)
	if err = state.AwaitPrograms(ctx); err == nil {
		err = r.send(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted, and nothing was judged")
		}
		return nil, err
	}
	return r.report(), nil
}

// read reads the file, with its speeds and rates scaled.
func (r *run) read(file string) (err error) {
	if r.topology, err = config.LoadScaledTopology(file, r.scale); err != nil {
		return err
	}
	r.length = simulation.Length(r.topology)
	r.plan, err = simulation.NewPlan(r.topology, r.Seed)
	return err
}

// send runs the endpoints, and asks the switches before and after. Sinks go on until the switches are empty: frames may
// be held for long after they were sent.
func (r *run) send(ctx context.Context) (err error) {
	if r.before, err = r.observe(ctx); err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer func() {
		end()
		for ; r.started > 0; r.started-- {
			<-r.ended
		}
	}()
	if err := r.startEndpoints(ctx); err != nil {
		return err
	}
	flaps := r.startFlaps(ctx)
	defer func() {
		end()
		err = errors.Join(err, flaps())
	}()
	if err := r.wait(ctx, len(r.sinks)); err != nil {
		return err
	}
	if err := r.drain(ctx); err != nil {
		return err
	}
	for _, e := range r.sinks {
		_ = e.cmd.Process.Signal(unix.SIGTERM) // one that has ended says why
	}
	return r.wait(ctx, 0)
}

// drain waits until the switches are empty, or nothing moves.
func (r *run) drain(ctx context.Context) (err error) {
	sent, moved := uint64(0), time.Now()
	for {
		if r.after, err = r.observe(ctx); err != nil {
			return err
		}
		now, held := r.sent()
		if now != sent {
			sent, moved = now, time.Now()
		}
		if r.progress("the last frames: switches hold %d KiB", held>>10); r.drained() || time.Since(moved) > stallTime {
			time.Sleep(restTime)
			return nil
		}
		time.Sleep(lookTime)
	}
}

// sent returns how many frames the switches have sent, and how many octets they hold.
func (r *run) sent() (frames uint64, held int64) {
	for _, s := range r.after {
		for i := range s.Ports {
			frames += s.Ports[i].TransmitFrames
		}
		for _, p := range s.Pools {
			for _, segment := range p.Segments.All() {
				held += segment.UsedBytes
			}
		}
	}
	return frames, held
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
