package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
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
	best, step := 0, 0
	for i := firstTrial; i > 0 && i < len(speeds); i += step {
		t, err := try(speeds[i])
		if err != nil {
			return c, err
		}
		if t == nil {
			break
		}
		t.Fits = t.fits()
		c.Trials = append(c.Trials, *t)
		if step == 0 {
			step = -1
			if t.Fits {
				step = 1
			}
		}
		if t.Fits {
			best = i
		}
		if t.Fits != (step > 0) {
			break
		}
	}
	c.Speed = speeds[best]
	c.Why = c.why()
	return c, nil
}

// why explains the choice.
func (c *Calibration) why() string {
	if len(c.Trials) == 0 {
		return "the lowest, since there was no time to try another one"
	}
	trials := slices.SortedFunc(slices.Values(c.Trials), func(a, b Trial) int { return cmp.Compare(a.Speed, b.Speed) })
	at := slices.IndexFunc(trials, func(t Trial) bool { return t.Speed == c.Speed })
	switch {
	case at < 0 && trials[0].Speed == speeds[1]:
		return "the lowest, since " + trials[0].String()
	case at < 0:
		return "the lowest, since " + trials[0].String() + ", and there was no time to try another one"
	case c.Speed == speeds[len(speeds)-1]:
		return "the highest, since " + trials[at].String()
	case at+1 < len(trials):
		return "since " + trials[at].String() + ", and " + trials[at+1].String()
	}
	return "since " + trials[at].String() + ", and there was no time to try a higher one"
}

// calibrate finds the speed for a demo, unless the user gave one, on a topology like that of the demo.
func (r *Report) calibrate(ctx context.Context, o *Options, p *phase) error {
	if o.Speed != 0 {
		return nil
	}
	o.progress("calibration: which speed leaves half of the CPU? (at most 1.5 s)")
	begun := time.Now()
	p.speed = speeds[firstTrial]
	c, err := p.calibrate(ctx, r.Demo+".calibration", begun.Add(trialsTimeout))
	if err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	c.Took = int64(time.Since(begun))
	o.progress(fmt.Sprintf("calibration: %s, %s", rateName(c.Speed), c.Why))
	r.Calibration, r.Speed, o.Speed = &c, c.Speed, c.Speed
	return o.result(r.speedText)
}

// Calibrate finds the highest speed at which phase (b) of demo incast leaves half of the CPU. frames is how many frames
// of 1,514 octets cross links in a second there: each sender fills its link, all of them the link between the switches,
// since only their lossless priority is paused, and the last link is full too.
func Calibrate(ctx context.Context, name string) (c Calibration, frames float64, err error) {
	begun := time.Now()
	p := &phase{name: "b", build: (*phase).buildIncast, speed: speeds[firstTrial]}
	if c, err = p.calibrate(ctx, name+".calibration", begun.Add(trialsTimeout)); err != nil {
		return c, 0, fmt.Errorf("calibration: %w", err)
	}
	c.Took = int64(time.Since(begun))
	return c, (2*senders + 1) * float64(c.Speed) / float64(8*(frameOctets+24)), nil
}

func (p *phase) calibrate(ctx context.Context, name string, end time.Time) (c Calibration, err error) {
	if err := p.open(ctx, name); err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.startSwitches(ctx); err != nil {
		return c, err
	}
	for _, e := range p.sinks {
		if err := e.run("sink", "--seconds", inSeconds(startTimeout)); err != nil {
			return c, err
		}
	}
	limited, stop := context.WithDeadline(ctx, end)
	defer stop()
	lead := senderStartTime + sinkStartTime
	c, err = chooseSpeed(func(speed int64) (*Trial, error) {
		if time.Until(end) < trialTime {
			return nil, nil
		}
		t, err := p.try(limited, speed, lead)
		lead = senderStartTime
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			return nil, nil
		}
		return t, err
	})
	for _, s := range p.switches {
		select {
		case <-s.process.Ended():
			return c, &programError{"calibration", s.ended()}
		default:
		}
	}
	return c, err
}

// try runs the load at a speed, after the lead.
func (p *phase) try(ctx context.Context, speed int64, lead time.Duration) (*Trial, error) {
	p.setSpeed(speed)
	if err := each(p.switches, func(s *switchNode) error { return s.apply(ctx) }); err != nil {
		return nil, err
	}
	p.start = time.Now().Add(lead)
	for _, e := range p.senders {
		if err := e.send(p.stamp(0), trialLoad, "pfc"); err != nil {
			return nil, err
		}
	}
	if p.trial == nil {
		time.Sleep(time.Until(p.start))
	}
	m, err := startMeter(p.processes())
	if err != nil {
		return nil, err
	}
	if p.trial == nil {
		time.Sleep(time.Until(p.start.Add(trialLoad)))
	} else if err := p.trial(p, ctx); err != nil {
		return nil, err
	}
	u, err := m.read(trialLoad)
	if err != nil {
		return nil, err
	}
	return &Trial{Speed: speed, Idle: u.idle, Behind: p.stopSenders(ctx)}, ctx.Err()
}

// setSpeed changes all speeds in proportion.
func (p *phase) setSpeed(speed int64) {
	scale := func(n *int64) { *n = *n * speed / p.speed }
	for _, s := range p.switches {
		for i := range s.ports {
			scale(&s.ports[i].speed)
		}
	}
	for _, e := range p.endpoints() {
		scale(&e.speed)
	}
	p.speed = speed
}

// stopSenders ends the senders, which would go on to settle totals, and returns how far the slowest was behind. One
// that has no report has not even begun.
func (p *phase) stopSenders(ctx context.Context) (behind float64) {
	_ = concurrently(len(p.senders), func(i int) error { // finish tells how each ended
		return p.senders[i].stop(500 * time.Millisecond)
	})
	for _, e := range p.senders {
		if e.finish(ctx) != nil {
			behind = 1
			continue
		}
		missing := 1 - float64(e.sent.Elapsed)/float64(trialLoad)
		behind = max(behind, e.sent.Behind, missing)
	}
	return behind
}
