package runner

import (
	"sync/atomic"
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/porttest"
)

// A probeRefuser end takes no loop probes.
type probeRefuser struct {
	*porttest.End
	refused atomic.Int64
	passes  atomic.Bool
}

func (p *probeRefuser) SendControl(b []byte) error {
	if _, err := bridge.ParseProbe(b); err == nil && !p.passes.Load() {
		p.refused.Add(1)
		return port.ErrAgain
	}
	return p.End.SendControl(b)
}

// A probe that the kernel does not take is not counted.
func TestProbeThatIsRefused(t *testing.T) {
	c := unshaped(0)
	c.Bridge.Loop = true
	l := newTestbed(t, executors[0], roomy(1), c)
	l.must(l.r.Detach(0))
	sent := func() uint64 { return l.snapshotOf(0).Counters.LoopProbesSent }
	before := sent()
	end := &probeRefuser{}
	l.attach(0, func(near *porttest.End) port.Port {
		end.End = near
		return end
	})
	eventually(t, "a probe is refused", func() bool { return end.refused.Load() > 0 })
	got := sent()
	assert.True(t, got == before, "%d probes were sent that were refused", got-before)
	end.passes.Store(true)
	eventually(t, "the next one is sent", func() bool { return sent() > before })
}
