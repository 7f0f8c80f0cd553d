package daemon

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/port"
	"pfcswitch/headroom"
	"pfcswitch/macctl"
)

// A relay joins the switch side's p1 and p2 as a cable does, or as two NICs do that keep MAC Control frames for
// themselves.
type relay struct {
	passes atomic.Bool // MAC Control frames too
	ends   [2]port.Port
}

// relay runs one until the test ends.
func (r *rig) relay() *relay {
	r.T.Helper()
	l := &relay{}
	for i := range l.ends {
		var err error
		l.ends[i], err = port.Open(port.Config{Interface: PortName(i + 1), Netns: r.Node.Path(), LosslessSlots: 1024,
			OtherSlots: 1, FrameSize: 1518, Fanout: OneRing(r.T)})
		must(r.T, err)
	}
	var quit atomic.Bool
	var done sync.WaitGroup
	for i, in := range l.ends {
		done.Go(func() {
			for !quit.Load() {
				l.forward(in, l.ends[1-i])
				time.Sleep(50 * time.Microsecond)
			}
		})
	}
	r.T.Cleanup(func() {
		quit.Store(true)
		done.Wait()
		for _, p := range l.ends {
			must(r.T, p.Close())
		}
	})
	return l
}

func (l *relay) forward(in, out port.Port) {
	for b, _ := in.Control(); b != nil; b, _ = in.Control() {
		if l.passes.Load() {
			_ = out.SendControl(b) // what is lost is asked again
		}
		in.ControlDone()
	}
	var frames [64]port.Frame
	n := in.Receive(port.Lossless, frames[:], 1<<20)
	for _, f := range frames[:n] {
		_ = out.SendControl(f.Data)
	}
	in.Release(port.Lossless, n)
}

// A port whose link keeps MAC Control frames, as many NICs do, is lossy and says why; when they pass again it is
// lossless again, says so, and has the headroom that is measured then.
func TestSelfTest(t *testing.T) {
	r := newRig(t, 2)
	nic := r.relay()
	p := startPair(r, [2]*lab.Node{r.Host(1), r.Host(2)}, both("eth0"), // the relay passes no LLDP
		both("preset: roce\nlldp: {agent: off}\nheadroom: {interval: 100ms, agree: always}\n"),
		both("speed: 1G, delay: 100us"))
	for i := range p.ends {
		eventually(t, "the port is lossy", func() bool { return p.snapshot(i).Config.Mode == macctl.ModeOff })
		if r := p.found(i); !r.ControlDiscarded || r.ControlPasses {
			t.Errorf("end %d: swallowed %v, passes %v", i, r.ControlDiscarded, r.ControlPasses)
		}
		p.reports(i, dataplane.EventPort, "do not pass in both directions")
	}
	nic.passes.Store(true)
	for i := range p.ends {
		eventually(t, "the port is lossless again", func() bool {
			return p.snapshot(i).Config.Mode == macctl.ModePFC && p.snapshot(i).Config.Lossless == 1<<3
		})
		if r := p.found(i); r.ControlDiscarded || !r.ControlPasses {
			t.Errorf("end %d: swallowed %v, passes %v", i, r.ControlDiscarded, r.ControlPasses)
		}
		p.reports(i, dataplane.EventPort, "MAC Control frames (0x8808) pass again")
	}
	p.measured()
	for i := range p.ends {
		eventually(t, "what was measured is in force", func() bool {
			r := p.found(i)
			return p.snapshot(i).Config.Ingress[3].Headroom == r.InForce &&
				r.InForce >= headroom.Octets(r.Measured.Bits())
		})
	}
}
