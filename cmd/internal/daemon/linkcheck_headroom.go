package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/config"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/runner"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// How a check of a port's headroom goes on: how long the link is full before an XOFF, which silence ends a count
// (longer than a machine that works at all stands still, as a rule), and how often the check looks.
const (
	checkFill  = 3 * time.Millisecond
	checkQuiet = 4 * time.Millisecond
	checkLook  = 500 * time.Microsecond
)

func (s source) CheckHeadroom(ctx context.Context, ask api.HeadroomCheckRequest) (*api.HeadroomCheck, error) {
	if !s.d.checking.TryLock() {
		return nil, errors.New("another check of a headroom is running: wait until it has ended")
	}
	defer s.d.checking.Unlock()
	run, err := s.d.newHeadroomCheck(ask)
	if err != nil {
		return nil, err
	}
	result, err := run.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("port %s: %w", ask.Port, err)
	}
	answer := run.result(result)
	text := answer.Event()
	s.d.report(slog.LevelInfo, dataplane.EventHeadroom, ask.Port, text)
	return answer, nil
}

type headroomCheck struct {
	d        *Daemon
	view     *view
	port     *config.Port
	number   int
	prober   *Prober
	priority uint8
	check    *headroom.Check
	begun    time.Time
	held     bool    // the priority
	inForce  []int64 // octets, as each XOFF left
}

// newHeadroomCheck refuses ports and priorities that cannot be checked.
func (d *Daemon) newHeadroomCheck(ask api.HeadroomCheckRequest) (*headroomCheck, error) {
	r := &headroomCheck{d: d, view: d.published.Load(), begun: time.Now()}
	var names []string
	for i := range r.view.cfg.Ports {
		names = append(names, r.view.cfg.Ports[i].Name)
		if names[i] == ask.Port {
			r.port = &r.view.cfg.Ports[i]
		}
	}
	if r.port == nil {
		return nil, &api.NoPortError{Name: ask.Port, Existing: names}
	}
	if r.prober = r.view.probers[ask.Port]; r.prober == nil {
		return nil, fmt.Errorf("port %s has no flow control, or leads to the host: there is no headroom to check",
			ask.Port)
	}
	report := d.probeReport(r.prober)
	var c dataplane.PortConfig
	known := false
	r.number = r.view.numbers[ask.Port]
	d.runner.View(func(sw *dataplane.Switch) { c, known = sw.PortConfig(r.number) })
	if !known || c.Mode == macctl.ModeOff {
		return nil, fmt.Errorf("port %s is lossy now: there is no headroom to check", ask.Port)
	}
	switch {
	case ask.Priority == nil:
		r.priority = uint8(bits.TrailingZeros8(c.Lossless)) & 7
	case *ask.Priority < 0 || *ask.Priority > 7 || c.Lossless>>*ask.Priority&1 == 0:
		return nil, fmt.Errorf("priority %d of port %s is not lossless: see show pfc", *ask.Priority, ask.Port)
	default:
		r.priority = uint8(*ask.Priority)
	}
	if !report.Agreed {
		return nil, fmt.Errorf("port %s: the peer has not agreed to measure headroom, and fills no link: see show "+
			"headroom", ask.Port)
	}
	r.check = headroom.NewCheck(headroom.CheckSettings{Xoffs: ask.Xoffs, Fill: checkFill, Quiet: checkQuiet,
		RoundTrip: report.RoundTrips.Max})
	return r, nil
}

// run makes the check. At its end the peer may send again and stops filling the link, also after an error.
func (r *headroomCheck) run(ctx context.Context) (headroom.CheckResult, error) {
	defer r.execute(headroom.CheckOutput{Done: true})
	tick := time.NewTicker(checkLook)
	defer tick.Stop()
	for {
		o := r.check.Step(r.observe())
		if o.Done {
			return r.check.Result()
		}
		if o.Ask || o.Hold != r.held {
			r.execute(o)
		}
		select {
		case <-ctx.Done():
			return headroom.CheckResult{}, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (r *headroomCheck) observe() (l headroom.CheckInput) {
	r.d.runner.View(func(sw *dataplane.Switch) {
		h := sw.LookAtHeadroom(r.number, r.priority)
		l = headroom.CheckInput{Now: runner.Now(), Up: h.Up, Exclusive: h.Own, XoffSent: h.XoffSent, XoffCount: h.Xoffs,
			AfterXoff: h.After, BeforeXoff: h.Before, Streamed: h.Streamed, Octets: h.Octets}
		l.Granted, l.Answered = r.prober.Granted()
	})
	return l
}

func (r *headroomCheck) execute(o headroom.CheckOutput) {
	r.d.runner.Act(func(sw *dataplane.Switch) {
		if o.Hold && !r.held {
			r.inForce = append(r.inForce, r.headroomInForce(sw))
		}
		r.held = o.Hold
		sw.HoldForHeadroomProbe(r.number, r.priority, o.Hold, runner.Now())
		switch {
		case o.Done:
			r.prober.AskStream(r.priority, 0)
		case o.Ask:
			r.prober.AskStream(r.priority, headroom.MaxStream)
		}
	})
}

// headroomInForce is the headroom of the priority, in bytes of the buffer.
func (r *headroomCheck) headroomInForce(sw *dataplane.Switch) int64 {
	c, _ := sw.PortConfig(r.number)
	if c.Mode == macctl.ModePause {
		return c.Ingress[0].Headroom
	}
	return c.Ingress[r.priority].Headroom
}

// result describes the outcome of the check, with what else is known of the headroom.
func (r *headroomCheck) result(result headroom.CheckResult) *api.HeadroomCheck {
	var c dataplane.PortConfig
	inForce := api.HeadroomInForce{Then: r.inForce}
	r.d.runner.View(func(sw *dataplane.Switch) {
		c, _ = sw.PortConfig(r.number)
		inForce.Now = r.headroomInForce(sw)
	})
	return api.NewHeadroomCheck(r.view.cfg.Name, r.begun, &result,
		api.HeadroomInfo{Port: r.port.Name, Calculated: r.port.CalculatedHeadroom(),
			Report: r.d.probeReport(r.prober), Packing: r.view.cfg.Packing(r.port)}, &c, r.priority, inForce)
}
