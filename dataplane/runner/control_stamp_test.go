package runner

import (
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// A slowed port's control frames come while the worker reads them: each is stamped as it is asked for, after a while.
type slowed struct {
	*loopPort
	frames [][]byte
	pause  time.Duration
}

func (p *slowed) Control() ([]byte, int64) {
	if len(p.frames) == 0 {
		return nil, 0
	}
	time.Sleep(p.pause)
	return p.frames[0], wallClock()
}

func (p *slowed) ControlDone() { p.frames = p.frames[1:] }

// A control frame that comes while others are read has the time at which it came, not that at which reading began: a
// measurement that is stamped too early makes the link seem shorter than it is.
func TestControlFramesThatComeMeanwhile(t *testing.T) {
	const pause = 2 * time.Millisecond
	p := &prober{}
	m := newWorkerRig(t, port.Other, nil, func(cfg *dataplane.Config, ports []dataplane.PortConfig) {
		cfg.Measurement, ports[0].Prober = macctl.DefaultMeasurementFormat, p
	})
	m.w.r.tasks[0].port = &slowed{loopPort: m.in, pause: pause, frames: [][]byte{request(), request(), request()}}
	m.w.readControl(m.w.r.tasks[0])
	assert.MustEqual(t, len(p.stamps), 3, "frames were taken")
	for i := range 2 {
		if apart := p.stamps[i+1] - p.stamps[i]; apart < int64(pause) {
			t.Errorf("frames %d and %d, %v apart, are stamped %v apart", i, i+1, pause, time.Duration(apart))
		}
	}
	last := p.stamps[2]
	assert.True(t, last <= Now(), "a frame is stamped %v ahead", time.Duration(last-Now()))
}
