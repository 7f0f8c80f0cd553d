package dataplane

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/trunk"
)

// alwaysYellow makes every frame yellow, for its own meter and for the total's.
var alwaysYellow = trunk.MeterConfig{PIR: 800e9, PBS: trunk.MaxBurst}

// discarding is a trunk whose RED lets frames of priority 1 pass while fewer than so many octets wait in their area.
func discarding(low int64) TrunkConfig {
	c := threeToOne()
	c.Aggregate.Metered = true
	c.Aggregate.Total, c.Aggregate.Meters[1] = alwaysYellow, alwaysYellow
	c.Aggregate.RED[1] = trunk.REDConfig{Low: low, High: low, Probability: 1}
	return c
}

// areaOctets is what waits in the areas of a trunk, which are the uplink's egress queues.
func (s *Switch) areaOctets(t *trunkState) (octets int64) {
	p := s.ports[t.cfg.Uplink]
	for q := range p.queues {
		octets += p.count.QueueBytes[q] + int64(p.queues[q].frames)*frame.FCSOctets
	}
	return octets
}

// checkAreas compares what RED counts with what really waits in the areas.
func (s *Switch) checkAreas() error {
	for _, t := range s.trunks {
		if counted, waiting := t.toUplink.Total-t.unjudged.Total, s.areaOctets(t); counted != waiting {
			return fmt.Errorf("trunk %s: %d octets count as waiting in the areas, and %d do", t.cfg.Name, counted, waiting)
		}
	}
	return nil
}

// Frames that another worker has decided on and not handed over yet do not stand before those that take their turn first: RED
// counts what waits in the areas.
func TestREDCountsWhatHasPassedTheArbiter(t *testing.T) {
	r := trunkRig(t, discarding(3*(small+4)), nil)
	for _, i := range []int{1, uplinkPort} {
		r.sw.SetOwner(i, 1)
	}
	r.arrive(0, several(0, 5, 1, 10, small)...)
	staged := r.sw.Staged(nil)
	r.sw.Store(staged)
	r.settle()
	r.burst = r.receive(1, several(1, 5, 1, 5, small))
	if taken, _ := r.sw.Ingress(1, 1, r.burst, 0, r.now); taken != 5 || len(staged) != 10 {
		t.Fatalf("took %d frames beside the %d of the other worker", taken, len(staged))
	}
	passes := func(what string, member int, drops uint64) {
		t.Helper()
		if got := len(r.send(uplinkPort, port.BatchFrames)); got != 3 {
			t.Errorf("%s: %d frames passed, want the 3 before which the area holds less than the lower bound", what, got)
		}
		if n := r.count(member).Drops[1][DropRED]; n != drops {
			t.Errorf("%s: %d frames of member %d dropped by RED, want %d", what, n, member, drops)
		}
	}
	passes("the other worker's are staged", 1, 2)
	r.settle()
	r.sw.Publish(staged, r.now)
	passes("and handed over", 0, 7)
	r.empty()
}

// Whatever workers stage, hand over and send in between: what RED counts as waiting is what waits, it drops where that reaches the
// bound and never before, and no frame is lost on the way.
func TestREDOfSeveralWorkers(t *testing.T) {
	const octets, low = small + 4, 6 * (small + 4)
	var dropped, staged uint64
	rapid.Check(t, func(t *rapid.T) {
		r := trunkRig(t, discarding(low), nil)
		owners := [uplinkPort + 1]int{0, 1, 3, 3} // the last member is served by the uplink's worker
		for i, w := range owners {
			r.sw.SetOwner(i, w)
		}
		drawPort := rapid.IntRange(0, uplinkPort)
		var pending [][]Move
		publish := func() {
			r.sw.Publish(pending[0], r.now)
			pending = pending[1:]
		}
		red := func() (n uint64) {
			for i := range members {
				n += r.count(i).Drops[1][DropRED]
			}
			return n
		}
		t.Repeat(map[string]func(*rapid.T){
			"receive": func(t *rapid.T) {
				in := drawPort.Draw(t, "in")
				r.settle()
				r.burst = r.receive(in, several(in, 5, rapid.SampledFrom([]uint8{0, 1, 1, lossless}).Draw(t, "priority"), rapid.IntRange(1, 9).Draw(t, "frames"), small))
				for taken, stop := 0, Crossed; stop == Crossed && taken < len(r.burst); {
					taken, stop = r.sw.Ingress(in, owners[in], r.burst, taken, r.now)
				}
				if moves := r.sw.Staged(nil); len(moves) > 0 {
					r.sw.Store(moves)
					pending = append(pending, moves)
					staged += uint64(len(moves))
				}
			},
			"hand over": func(*rapid.T) {
				if len(pending) > 0 {
					publish()
				}
			},
			"judge": func(t *rapid.T) {
				before := red()
				r.sw.Dequeue(uplinkPort, r.now)
				area := r.sw.ports[uplinkPort].count.QueueBytes[1] / small * octets
				if red() > before && area < low || area >= low+octets {
					t.Fatalf("%d frames dropped, and %d octets wait of %d", red()-before, area, low)
				}
			},
			"send": func(t *rapid.T) {
				r.send(drawPort.Draw(t, "out"), rapid.IntRange(0, port.BatchFrames).Draw(t, "taken"))
			},
			"time": func(t *rapid.T) { r.now += rapid.SampledFrom([]int64{1, 10_000, 100_000_000}).Draw(t, "ns") },
			"": func(t *rapid.T) {
				r.wantLoads(t)
				if err := r.sw.checkAreas(); err != nil {
					t.Fatal(err)
				}
			},
		})
		r.settle()
		for len(pending) > 0 {
			publish()
		}
		dropped += red()
		for i := range uplinkPort + 1 {
			r.drain(i, r.now+second)
		}
		r.empty()
		if faults(r.snapshot()) != 0 {
			t.Error("a lossless frame was lost")
		}
	})
	if dropped == 0 || staged == 0 {
		t.Errorf("%d frames dropped, %d staged: the test proves nothing", dropped, staged)
	}
}
