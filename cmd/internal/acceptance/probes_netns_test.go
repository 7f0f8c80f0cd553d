package acceptance

import (
	"bytes"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/porttest"
)

// A host that replays a recorded loop probe, or sends one with another port's number by a port that does not look for
// loops, stops no flooding: broadcasts go on between all hosts.
func TestRecordedLoopProbes(t *testing.T) {
	r := Start(t, 3, Setup{Ports: map[int]string{3: "loop: off"}})
	s := r.sockets()
	recorded := nextLoopProbe(t, s[1])
	for range 2 {
		nextLoopProbe(t, s[1])
	}
	must(t, s[1].Send(frame.VnetHeader{}, recorded))
	forged := bytes.Clone(recorded)
	forged[29] ^= 1 // the number of the other port that looks for loops
	must(t, s[2].Send(frame.VnetHeader{}, forged))
	ignored := func(n int) uint64 {
		c := r.Snapshot(n).Counters.LoopProbesReceived
		return c[bridge.ProbeLate] + c[bridge.ProbeForged]
	}
	eventually(t, "both are ignored", func() bool { return ignored(2) == 1 && ignored(3) == 1 })
	for n := 1; n <= 3; n++ {
		got := r.Snapshot(n)
		assert.True(t, got.Loop != bridge.LoopShut, "%s is shut: %s", PortName(n), got.LoopWhy)
		e := r.Events(dataplane.EventLoop, n)
		assert.True(t, len(e) == min(n-1, 1), "%s: events %+v", PortName(n), e)
	}
	cry := Ethernet(1, 2, 0x88b5, pattern(50))
	copy(cry, bytes.Repeat([]byte{0xff}, 6))
	for range 25 {
		must(t, s[0].Send(frame.VnetHeader{}, cry))
	}
	for range 25 {
		for _, to := range s[1:] {
			got := next(t, to)
			assert.MustBeTrue(t, bytes.Equal(got.Data, cry), "got %x, want the broadcast", got.Data)
		}
	}
}

// A host that sends each loop probe of another switch straight back, twice, reaches only its own switch, which does not
// forward the probes: flooding between the switches goes on.
func TestLoopProbesSentBack(t *testing.T) {
	r := NewRig(t, 3)
	r.linkBehind()
	r.Start(Setup{Keys: "fdb: []", Ports: map[int]string{3: "loop: off"}})
	r.startBehind("loop: on", "loop: on")
	host := socketAt(t, r.Host(3), "eth1")
	for back := 0; back < 2; {
		b := nextLoopProbe(t, host)
		if !bytes.Equal(b[6:12], PortMAC(2)) { // the second switch's own
			continue
		}
		for range 2 {
			must(t, host.Send(frame.VnetHeader{}, b))
		}
		back++
	}
	cry := Ethernet(3, 1, 0x88b5, pattern(50)) // behind the probes
	copy(cry, bytes.Repeat([]byte{0xff}, 6))
	must(t, host.Send(frame.VnetHeader{}, cry))
	eventually(t, "a broadcast comes through both switches", func() bool {
		return r.Snapshot(2).Counters.ReceivedFrames > 0
	})
	if p := r.Snapshot(2); p.Loop != bridge.LoopWatching || p.Counters.LoopProbesReceived[bridge.ProbeReturns] != 0 {
		t.Errorf("p2 is %v, %v; probes %v", p.Loop, p.LoopWhy, p.Counters.LoopProbesReceived)
	}
}

// nextLoopProbe returns the next loop probe at a host.
func nextLoopProbe(t *testing.T, s *porttest.Socket) []byte {
	t.Helper()
	for {
		p := assert.Got(s.Receive(Timeout)).Must(t)
		if isProbe(p.Data) {
			return bytes.Clone(p.Data)
		}
	}
}
