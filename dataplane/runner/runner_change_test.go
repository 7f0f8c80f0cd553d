package runner

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// Whatever is changed while stations send: frames stay accounted for, no lossless one is lost but with its link, and
// the switch is empty at the end.
func TestChangesUnderLoad(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		for _, kinds := range []int{4, 5} {
			l := newTestbed(t, e, roomy(4), changeable()...)
			l.losesFrames = kinds == 5
			for _, s := range l.stations {
				s.holdsAtRandom = true
			}
			var over atomic.Bool
			go func() {
				defer over.Store(true)
				for range 60 {
					l.change(rand.IntN(kinds))
					time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
				}
				l.eventuallyConfigured()
			}()
			for !over.Load() && !t.Failed() {
				l.mix(40)
				l.live(func() bool { return true })
				l.balanced()
			}
			l.empties()
		}
	})
}

// changeable are ports of every kind: shaped, with a delay line, without a speed.
func changeable() []dataplane.PortConfig {
	all := unshapedPorts(4)
	all[1] = testPort(1)
	all[2] = testPort(2)
	all[2].Delay = 200_000
	return all
}

// change makes one change of the kinds that a user and the kernel make.
func (l *testbed) change(kind int) {
	i := rand.IntN(len(l.stations))
	switch kind {
	case 0: // flap
		l.mustNot(l.r.SetUp(i, false))
		l.mustNot(l.r.SetUp(i, true))
	case 1: // the interface goes and comes back
		l.mustNot(l.r.Detach(i))
		l.attach(i, nil)
	case 4: // a port is taken out of the configuration, and put in again
		ports := asMap(changeable()...)
		delete(ports, i)
		if l.configure(l.cfg, ports) {
			l.eventuallyConfigured()
			l.attach(i, nil)
		}
	default:
		cfg, ports := l.cfg, asMap(changeable()...)
		cfg.Buffer.Lossless.Size += int64(rand.IntN(4096)) * cell
		cfg.Buffer.Lossy.Size /= int64(1 + rand.IntN(4))
		p := ports[i]
		p.Delay = int64(rand.IntN(3)) * 100_000
		p.Speed = int64(rand.IntN(3)) * gigabit
		p.Mode = []macctl.Mode{macctl.ModePFC, macctl.ModePause}[rand.IntN(2)]
		ports[i] = p
		l.configure(cfg, ports)
	}
}

// configure puts a configuration in force, and tells whether it could be done now.
func (l *testbed) configure(cfg dataplane.Config, ports map[int]dataplane.PortConfig) bool {
	var statics []dataplane.Static
	for _, s := range l.statics {
		if _, ok := ports[s.Port]; ok {
			statics = append(statics, s)
		}
	}
	err := l.r.Configure(cfg, ports, statics)
	if !errors.Is(err, buffer.ErrBusy) {
		l.mustNot(err)
	}
	return err == nil
}

func (l *testbed) eventuallyConfigured() {
	eventually(l.t, "the first configuration is in force again", func() bool {
		return l.configure(l.cfg, asMap(changeable()...))
	})
}

// mustNot reports an error in a goroutine that may not end the test.
func (l *testbed) mustNot(err error) {
	l.t.Helper()
	assert.True(l.t, err == nil, "%v", err)
}
