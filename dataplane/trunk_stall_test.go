package dataplane

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/port"
)

// As workers do: send calls of one port in a row, and ns to which deadlines are coalesced.
const (
	serveCalls = 4
	servePause = 100_000
)

// A served rig runs transmit tasks as workers do: only where the switch says that there is work, or at the deadline
// that the last run of the task has set.
type servedRig struct {
	*rig
	deadline [trunkPorts]int64
	offered  int64 // frames
}

// serve runs the transmit task of a port and tells whether it has sent something.
func (s *servedRig) serve(i int) bool {
	calls := 0
	for ; calls < serveCalls; calls++ {
		for b := s.tell(i); b != nil; b = s.tell(i) {
		}
		if len(s.send(i, port.BatchFrames)) == 0 {
			break
		}
	}
	s.sw.Tick(s.now)
	if s.deadline[i] = s.sw.TxDeadline(i, s.now); calls == serveCalls {
		s.deadline[i] = s.now
	} else if s.deadline[i] <= s.now {
		s.deadline[i] = s.now + servePause
	}
	return calls > 0
}

// round serves every port that has work, and tells whether one had.
func (s *servedRig) round() (work bool) {
	for i := range trunkPorts {
		if s.sw.TakePending(i) || s.deadline[i] <= s.now {
			s.serve(i)
			work = true
		}
	}
	return work
}

// run lets time pass.
func (s *servedRig) run(until int64) {
	for s.now < until {
		if s.round() {
			continue
		}
		next := int64(math.MaxInt64)
		for _, at := range s.deadline {
			next = min(next, at)
		}
		s.now = min(next, until)
	}
	for s.round() {
	}
}

// Once nobody pauses a trunk's ports any more, what waits leaves as fast as the ports are, and whoever is held is
// told that it may go on: no hold waits for a pause to run out, for a refresh, or for a frame that may not come.
func TestTrunkNeverStalls(t *testing.T) {
	t.Parallel()
	s := stallRig(t)
	s.hear(uplinkPort, lossless, 0xffff)
	s.hear(0, lossless, 0xffff)
	s.feed(0, 10)
	s.feed(uplinkPort, 10)
	s.run(s.now + 10_000)
	if v := s.trunk(); v.Held.Priorities == 0 || v.Held.Uplink == 0 {
		t.Errorf("%+v: not everybody is held, the test proves nothing", v.Held)
	}
	s.endsWell()
	rapid.Check(t, func(t *rapid.T) {
		s := stallRig(t)
		drawPort := rapid.IntRange(0, uplinkPort)
		t.Repeat(map[string]func(*rapid.T){
			"receive": func(t *rapid.T) { s.feed(drawPort.Draw(t, "in"), rapid.IntRange(1, 20).Draw(t, "frames")) },
			"hear": func(t *rapid.T) {
				s.hear(drawPort.Draw(t, "port"), lossless, rapid.SampledFrom([]uint16{0, 10, 0xffff}).Draw(t, "quanta"))
			},
			"time": func(t *rapid.T) {
				s.run(s.now + rapid.SampledFrom([]int64{1, 1000, 10_000, 100_000_000}).Draw(t, "ns"))
			},
			"retrunk": func(*rapid.T) { s.reapply() },
		})
		s.endsWell()
	})
}

// stallRig is a trunk whose marks are reached soon.
func stallRig(tb reporter) *servedRig {
	const octets = small + 4
	return &servedRig{rig: trunkRig(tb, marked(threeToOne(), 5*octets, 2*octets), nil)}
}

func (s *servedRig) feed(in, n int) {
	s.offer(in, several(in, 5, lossless, n, small)...)
	s.offered += int64(n)
}

// endsWell ends all pauses, and wants that everything leaves and nobody is held, within the time that it takes.
func (s *servedRig) endsWell() {
	for i := range uplinkPort + 1 {
		s.hear(i, lossless, 0)
	}
	s.run(s.now + s.offered*(small+24)*8 + 2*servePause) // all of it by one port, where a pause would last 33 ms
	for i := range uplinkPort + 1 {
		if p := s.sw.ports[i]; p.sender.XoffSent() != 0 || p.sender.XoffWanted() != 0 {
			s.tb.Errorf("port %d: its peer is told %08b, want is %08b", i, p.sender.XoffSent(), p.sender.XoffWanted())
		}
	}
	s.empty()
}
