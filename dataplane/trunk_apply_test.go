package dataplane

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// reapply puts in force once more what is.
func (r *rig) reapply() { r.retrunk(r.sw.cfg.Trunks...) }

// holds is how many holds the trunk has begun.
func (m markedTrunk) holds() (n uint64) {
	v := m.trunk()
	for p := range v.Holds {
		n += v.Holds[p].Begun + v.UplinkHolds[p].Begun
	}
	for i := range v.Members {
		n += v.Members[i].Holds.Begun
	}
	return n + v.UplinkPauses.Begun
}

// A configuration that changes nothing neither frees who is held, between the marks or above them, nor begins holds.
func TestApplyKeepsHolds(t *testing.T) {
	forMarks(t, func(t *testing.T, m markedTrunk) {
		m.fill(highMark + 1)
		m.wantHeld("above the high mark", true)
		begun := m.holds()
		for range 5 {
			m.reapply()
			m.wantHeld("above it, after an apply", true)
		}
		m.drop(highMark + 1 - lowMark)
		m.reapply()
		m.wantHeld("at the low mark, after an apply", true)
		got := m.holds()
		assert.True(t, got == begun && begun != 0, "%d holds have begun, want the %d from before", got, begun)
		m.drop(1)
		m.wantHeld("below it", false)
		m.reapply()
		m.wantHeld("free, after an apply", false)
		m.finish()
	})
}

// A port of a trunk that was made anew is told what the others are.
func TestApplyHoldsANewPort(t *testing.T) {
	r := trunkRig(t, threeToOne(), nil)
	r.hear(uplinkPort, lossless, 0xffff)
	r.wantHolds("the uplink is paused", 1<<lossless, 0)
	port := r.sw.ports[1].cfg
	r.sw.RemovePort(1, r.now)
	ports := testPorts(trunkPorts)
	ports[1] = port
	r.reconfigure(r.sw.cfg, ports...)
	r.sw.SetUp(1, true, r.now)
	r.wantHolds("a member was made anew", 1<<lossless, 0)
	r.hear(uplinkPort, lossless, 0)
	r.wantHolds("free", 0, 0)
	assert.Equal(t, r.sw.ports[1].sender.Causes(lossless), macctl.Cause(0), "the new member is held for")
}
