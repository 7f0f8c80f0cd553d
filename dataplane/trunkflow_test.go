package dataplane

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// heldPriorities returns what the peer of port i is told to stop, after all control frames of the switch have left.
func (r *rig) heldPriorities(i int) uint8 {
	for b := r.tell(i); b != nil; b = r.tell(i) {
		f, _ := macctl.Parse(b, [6]byte{})
		for _, quanta := range append(f.Time[:], f.Pause) {
			assert.True(r.tb, quanta == 0 || quanta == 0xffff, "port %d: a hold of %d quanta", i, quanta)
		}
	}
	return r.sw.ports[i].sender.XoffSent()
}

func (r *rig) wantHolds(when string, members, uplink uint8) {
	r.tb.Helper()
	for i := range uplinkPort {
		assert.Equal(r.tb, r.heldPriorities(i), members, "%s: member %d is told", when, i)
	}
	assert.Equal(r.tb, r.heldPriorities(uplinkPort), uplink, "%s: the uplink is told", when)
}

// PFC passes from the uplink to all members, as long as it lasts there, and a new XOFF for less does not shorten what
// members are told; from the members to the uplink when all that are up are paused.
func TestPFCPassesThroughATrunk(t *testing.T) {
	r := trunkRig(t, threeToOne(), func(_ *Config, ports []PortConfig) {
		for i := range ports {
			ports[i].Quanta = 5000
		}
	})
	const stop = 1 << lossless
	r.hear(uplinkPort, lossless, 100)
	r.wantHolds("XOFF at the uplink", stop, 0)
	r.hear(uplinkPort, 5, 100)
	r.wantHolds("XOFF for a lossy priority", stop, 0)
	r.now += macctl.QuantaDuration(100, gigabit)
	assert.Equal(t, r.sw.TxDeadline(uplinkPort, r.now-1), r.now, "deadline, want the end of the pause")
	r.sw.Tick(r.now)
	r.wantHolds("expired", 0, 0)
	r.hear(uplinkPort, lossless, 0xffff)
	r.wantHolds("XOFF again", stop, 0)
	r.hear(uplinkPort, lossless, 0)
	r.wantHolds("XON", 0, 0)

	r.hear(0, lossless, 0xffff)
	r.hear(1, lossless, 0xffff)
	r.wantHolds("two members paused", 0, 0)
	r.hear(2, lossless, 1000)
	r.wantHolds("all members paused", 0, stop)
	r.hear(1, lossless, 0)
	r.wantHolds("one free", 0, 0)
	r.sw.SetUp(1, false, r.now)
	r.wantHolds("the free one down", 0, stop)
	r.now += macctl.QuantaDuration(1000, gigabit)
	r.sw.Tick(r.now)
	r.wantHolds("another one's pause expired", 0, 0)
	r.sw.SetUp(2, false, r.now)
	r.wantHolds("only the paused one is up", 0, stop)
	r.sw.SetUp(0, false, r.now)
	assert.Equal(t, r.heldPriorities(uplinkPort), 0, "nobody is up: the uplink is told")
	if v := r.trunk(); v.Holds[lossless] != (HoldCount{Begun: 2, Passed: 2}) ||
		v.UplinkHolds[lossless] != (HoldCount{Begun: 3, Passed: 3}) {
		t.Errorf("holds of members %+v, of the uplink %+v: no watermark has held anybody", v.Holds[lossless],
			v.UplinkHolds[lossless])
	}
	r.hear(uplinkPort, lossless, 0xffff)
	r.sw.SetUp(uplinkPort, false, r.now)
	for i := range members {
		r.sw.SetUp(i, true, r.now)
		assert.Equal(t, r.heldPriorities(i), 0, "the uplink is down: member %d is told", i)
	}
}

// A frame that crosses a watermark ends the burst, so that the peer is told before the rest is looked at.
func TestWatermarkStopsTheBurst(t *testing.T) {
	r := trunkRig(t, marked(threeToOne(), 3*(small+4), small), nil)
	burst := r.receive(0, several(0, 5, lossless, 10, small))
	taken, stop := r.sw.Ingress(0, burst, 0, r.now, 0)
	assert.True(t, taken == 4 && stop == ThresholdCrossed, "took %d frames, stop %d, want 4 and Crossed", taken, stop)
	r.burst = burst
	r.settle()
	r.drain(uplinkPort, r.now+second)
	r.offer(uplinkPort, several(uplinkPort, 0, lossless, 12, small)...)
	assert.Equal(t, r.heldPriorities(uplinkPort), 1<<lossless, "the uplink is told")
	for i := range members {
		r.send(i, port.BatchFrames)
	}
	assert.Equal(t, r.heldPriorities(uplinkPort), 0, "members are empty: the uplink is told")
}
