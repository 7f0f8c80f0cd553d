package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
)

// A Calibration says which speed a demo took, and why.
type Calibration struct {
	Speed  int64   `json:"speed_bits_per_second"`
	Why    string  `json:"why"`
	Took   int64   `json:"took_ns"`
	Trials []Trial `json:"trials"`
}

// A Trial is a short load on the demo's own topology.
type Trial struct {
	Speed  int64   `json:"speed_bits_per_second"`
	Idle   float64 `json:"idle_share"` // of the CPUs' time
	Behind float64 `json:"behind"`     // of what the slowest sender was to offer
	Fits   bool    `json:"fits"`
}

// speeds are the speeds that a demo may choose. The lowest needs no trial.
var speeds = []int64{20e6, 50e6, 100e6, 200e6, 500e6, 1e9}

// firstTrial is the index of the first speed to try.
const firstTrial = 3

// Limits of a trial.
const (
	trialLoad = 150 * time.Millisecond
	// for senders to start, and to find the sinks behind what the last trial left in queues
	senderStartTime = 150 * time.Millisecond
	sinkStartTime   = 150 * time.Millisecond // for the sinks to start
	trialsTimeout   = 1500 * time.Millisecond
	idleLimit       = 0.5  // of the CPUs' time that has to be left
	keepUpLimit     = 0.05 // of its frames that a sender may leave out
	trialTime       = senderStartTime + trialLoad + 100*time.Millisecond
)

// fits tells whether all senders kept up and half of the CPUs' time was left.
func (t *Trial) fits() bool { return t.Idle >= idleLimit && t.Behind <= keepUpLimit }

// String says what the trial showed.
func (t *Trial) String() string {
	text := fmt.Sprintf("at %s %.0f %% of the CPUs' time was left", rateName(t.Speed), 100*t.Idle)
	if t.Behind > keepUpLimit {
		text += fmt.Sprintf(" and a sender left out %.0f %% of its frames", 100*t.Behind)
	}
	return text
}

// chooseSpeed finds the highest speed that fits. From the first one it goes up while the speeds fit, or down until one
// fits. try returns nil where no time is left; a speed that was not tried does not fit.
func chooseSpeed(try func(speed int64) (*Trial, error)) (c Calibration, err error) {
	fits := -1
	for i := firstTrial; i > 0 && i < len(speeds); {
		t, err := try(speeds[i])
		if err != nil {
			return c, err
		}
		if t == nil {
			break
		}
		t.Fits = t.fits()
		c.Trials = append(c.Trials, *t)
		up := c.Trials[0].Fits
		if t.Fits {
			fits = i
		}
		if t.Fits != up {
			break
		}
		if up {
			i++
		} else {
			i--
		}
	}
	c.Speed = speeds[max(fits, 0)]
	c.Why = c.why(fits)
	return c, nil
}

// why explains the choice.
func (c *Calibration) why(fits int) string {
	if len(c.Trials) == 0 {
		return "the lowest, since there was no time to try another one"
	}
	last := &c.Trials[len(c.Trials)-1]
	switch {
	case fits < 0 && last.Speed == speeds[1]:
		return "the lowest, since " + last.String()
	case fits < 0:
		return "the lowest, since " + last.String() + ", and there was no time to try another one"
	case fits == len(speeds)-1:
		return "the highest, since " + last.String()
	}
	for i := range c.Trials {
		if c.Trials[i].Speed == c.Speed {
			last = &c.Trials[i]
		}
	}
	text := "since " + last.String()
	for i := range c.Trials {
		if t := &c.Trials[i]; !t.Fits && t.Speed > c.Speed {
			return text + ", and " + t.String()
		}
	}
	return text + ", and there was no time to try a higher one"
}

// A testTopology is a demo's topology for trials at any speed.
type testTopology struct {
	lab      *lab.Lab
	dir      string
	switches []*switchNode
	set      func(speed int64)               // writes the speed into the configurations of the switches
	begin    func(ctx context.Context) error // starts the switches
	apply    func(ctx context.Context, s *switchNode) error
	sinks    []*host
	senders  []*testSender
	lead     time.Duration                                        // more of it, before the first trial
	load     func(ctx context.Context, lasts time.Duration) error // in the place of senders
}

// A testSender is a sender, and what it offers at a speed.
type testSender struct {
	host *host
	args func(speed int64) []string
}

// calibrate finds the speed for a demo, unless the user gave one.
func (r *Report) calibrate(ctx context.Context, o *Options, build func(b *testTopology, speed int64) error) error {
	if o.Speed != 0 {
		r.Speed = o.Speed
		return nil
	}
	o.progress("calibration: which speed leaves half of the CPU? (at most 1.5 s)")
	c, err := calibrateOn(ctx, r.Demo, build)
	if err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	o.progress(fmt.Sprintf("calibration: %s, %s", rateName(c.Speed), c.Why))
	r.Calibration, r.Speed, o.Speed = &c, c.Speed, c.Speed
	return nil
}

func calibrateOn(ctx context.Context, demo string, build func(b *testTopology, speed int64) error) (c Calibration,
	err error) {
	begun := time.Now()
	b := &testTopology{}
	b.begin = func(ctx context.Context) error {
		return each(b.switches, func(s *switchNode) error { return s.start(ctx, b.dir, "pfc") })
	}
	b.apply = func(ctx context.Context, s *switchNode) error { return applyFile(ctx, s, b.dir) }
	if b.lab, err = lab.New(ctx, demo+".calibration"); err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if b.dir, err = os.MkdirTemp("", "pfcswitch-demo-"); err != nil {
		return c, err
	}
	if err := build(b, speeds[firstTrial]); err != nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := b.start(ctx); err != nil {
		return c, err
	}
	limited, stop := context.WithDeadline(ctx, begun.Add(trialsTimeout))
	defer stop()
	c, err = chooseSpeed(func(speed int64) (*Trial, error) {
		if time.Since(begun) > trialsTimeout-trialTime {
			return nil, nil
		}
		t, err := b.try(limited, speed)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			return nil, nil
		}
		return t, err
	})
	c.Took = int64(time.Since(begun))
	for _, s := range b.switches {
		select {
		case <-s.process.Ended():
			return c, &programError{"calibration", s.ended()}
		default:
		}
	}
	return c, err
}

// start runs the switches and the sinks.
func (b *testTopology) start(ctx context.Context) error {
	if err := b.begin(ctx); err != nil {
		return err
	}
	b.lead = sinkStartTime
	for _, h := range b.sinks {
		if err := h.start("sink", hostInterface, "-j", "--speed", fmt.Sprint(h.speed), "--seconds",
			fmt.Sprint(startTimeout.Seconds())); err != nil {
			return err
		}
	}
	return nil
}

// applyFile gives a switch its configuration for the speed that was set.
func applyFile(ctx context.Context, s *switchNode, dir string) error {
	path, err := s.config(dir, "pfc")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = api.NewClient(s.socket).Apply(ctx, path, text)
	return err
}

// try runs the load at a speed.
func (b *testTopology) try(ctx context.Context, speed int64) (*Trial, error) {
	b.set(speed)
	if err := each(b.switches, func(s *switchNode) error { return b.apply(ctx, s) }); err != nil {
		return nil, err
	}
	start := time.Now().Add(senderStartTime + b.lead)
	b.lead = 0
	for _, s := range b.senders {
		args := append([]string{"send", hostInterface, "-j", "--start", fmt.Sprint(start.UnixNano()), "--seconds",
			fmt.Sprint(trialLoad.Seconds())}, s.args(speed)...)
		if err := s.host.start(args...); err != nil {
			return nil, err
		}
	}
	if b.load == nil {
		time.Sleep(time.Until(start))
	}
	m, err := startMeter(processes(b.switches))
	if err != nil {
		return nil, err
	}
	if b.load != nil {
		err = b.load(ctx, trialLoad)
	} else {
		time.Sleep(time.Until(start.Add(trialLoad)))
	}
	if err != nil {
		return nil, err
	}
	u, err := m.read(trialLoad)
	if err != nil {
		return nil, err
	}
	t := &Trial{Speed: speed, Idle: u.idle, Behind: b.stopSenders(ctx)}
	return t, ctx.Err()
}

// stopSenders ends the senders, which would go on to settle totals, and returns how far the slowest was behind. One
// that has no report has not even begun.
func (b *testTopology) stopSenders(ctx context.Context) (behind float64) {
	var all sync.WaitGroup
	for _, s := range b.senders {
		all.Go(func() { _ = s.host.process.Stop(syscall.SIGTERM, 500*time.Millisecond) }) // finish tells how it ended
	}
	all.Wait()
	for _, s := range b.senders {
		if s.host.finish(ctx, &s.host.report) != nil {
			behind = 1
			continue
		}
		late := 1 - float64(s.host.report.Elapsed)/float64(trialLoad)
		behind = max(behind, s.host.report.Behind, late)
	}
	return behind
}

func (b *testTopology) close() error { return errors.Join(closeLab(b.lab), os.RemoveAll(b.dir)) }

// closeLab ends what runs in a lab and makes sure that none of its namespaces is left.
func closeLab(l *lab.Lab) error {
	nodes := l.Nodes()
	errs := []error{l.Close()}
	for _, n := range nodes {
		if _, err := os.Lstat(n.Path()); err == nil {
			errs = append(errs, fmt.Errorf("namespace %s is still there", n.Namespace()))
		}
	}
	return errors.Join(errs...)
}

// topologyOf makes a bench of the topology of a phase. Its buffers stay as they are built: they are full while it
// changes.
func (a *phase) topologyOf(b *testTopology, speed int64) error {
	a.lab, a.speed = b.lab, speed
	if err := a.build(a); err != nil {
		return err
	}
	b.switches, b.sinks = a.switches, []*host{a.receiver}
	for _, h := range a.senders {
		b.senders = append(b.senders, &testSender{h, func(int64) []string { return h.flags() }})
	}
	built := speed
	b.set = func(speed int64) {
		for _, s := range a.switches {
			for i := range s.ports {
				s.ports[i].speed = s.ports[i].speed / built * speed
			}
		}
		for _, h := range a.hosts() {
			h.speed = h.speed / built * speed
		}
		a.speed, built = a.speed/built*speed, speed
	}
	return nil
}
