package dataplane

import (
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
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

// Frames that another worker has decided on and not handed over yet do not stand before those that take their turn
// first: RED counts what waits in the areas.
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
	r.sw.Begin(1)
	if taken, _ := r.sw.Ingress(1, r.burst, 0, r.now, 0); taken != 5 || len(staged) != 10 {
		t.Fatalf("took %d frames beside the %d of the other worker", taken, len(staged))
	}
	passes := func(what string, member int, drops uint64) {
		t.Helper()
		assert.Equal(t, len(r.send(uplinkPort, port.BatchFrames)), 3,
			"%s: frames passed, want the 3 before which the area holds less than the lower bound", what)
		assert.Equal(t, r.count(member).Drops[1][DropRED], drops, "%s: frames of member %d dropped by RED", what,
			member)
	}
	passes("the other worker's are staged", 1, 2)
	r.settle()
	r.sw.Publish(staged, r.now)
	passes("and handed over", 0, 7)
	r.empty()
}

// An area is a trunk whose ports are served by several workers, and whose RED drops where so many octets wait.
type area struct {
	*rig
	pending [][]Move // staged, and not handed over
}

const (
	areaFrame = small + 4
	areaLow   = 6 * areaFrame
)

// areaOwners are the workers of the trunk's ports: the last member is served by the uplink's.
var areaOwners = [uplinkPort + 1]int{0, 1, 3, 3}

func newArea(tb reporter) *area {
	r := trunkRig(tb, discarding(areaLow), nil)
	for i, w := range areaOwners {
		r.sw.SetOwner(i, w)
	}
	return &area{rig: r}
}

// feed lets a port's worker receive frames, and stage what is for others.
func (a *area) feed(in int, prio uint8, n int) {
	a.settle()
	a.burst = a.receive(in, several(in, 5, prio, n, small))
	for taken, stop := 0, ThresholdCrossed; stop == ThresholdCrossed && taken < len(a.burst); {
		a.sw.Begin(areaOwners[in])
		taken, stop = a.sw.Ingress(in, a.burst, taken, a.now, 0)
	}
	if moves := a.sw.Staged(nil); len(moves) > 0 {
		a.sw.Store(moves)
		a.pending = append(a.pending, moves)
	}
}

// handOver publishes what was staged first.
func (a *area) handOver() {
	if len(a.pending) > 0 {
		a.sw.Publish(a.pending[0], a.now)
		a.pending = a.pending[1:]
	}
}

// red is how many frames RED has dropped.
func (a *area) red() (n uint64) {
	for i := range members {
		n += a.count(i).Drops[1][DropRED]
	}
	return n
}

// judge lets frames take their turn. RED has to drop where the bound is reached, and never before.
func (a *area) judge() {
	before := a.red()
	a.sw.Dequeue(uplinkPort, a.now, nil)
	octets := a.sw.ports[uplinkPort].count.QueueBytes[1] / small * areaFrame
	assert.MustBeTrue(a.tb, (a.red() <= before || octets >= areaLow) && octets < areaLow+areaFrame,
		"%d frames dropped, and %d octets wait of %d", a.red()-before, octets, areaLow)
}

// wantREDsOctets compares what RED counts with what really waits in the areas, the uplink's egress queues.
func (a *area) wantREDsOctets(t *rapid.T) {
	waiting, p := int64(0), a.sw.ports[uplinkPort]
	for q := range p.queues {
		waiting += p.count.QueueBytes[q] + int64(p.queues[q].frames)*frame.FCSOctets
	}
	if k := p.trunk; k.toUplink.Total-k.unjudged.Total != waiting {
		t.Fatalf("%d octets count as waiting in the areas, and %d do", k.toUplink.Total-k.unjudged.Total, waiting)
	}
}

// ends hands over and sends all that is left, and wants it accounted for.
func (a *area) ends() {
	for a.settle(); len(a.pending) > 0; {
		a.handOver()
	}
	for i := range uplinkPort + 1 {
		a.drain(i, a.now+second)
	}
	a.empty()
	assert.Equal(a.tb, faults(a.snapshot()), 0, "lossless frames were lost")
}

// Whatever workers stage, hand over and send in between: what RED counts as waiting is what waits, it drops where
// that reaches the bound and never before, and no frame is lost on the way.
func TestREDOfSeveralWorkers(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	a.feed(0, 1, 9)
	a.feed(2, 1, 4)
	staged := len(a.pending)
	a.judge()
	a.handOver()
	a.judge()
	assert.True(t, a.red() != 0 && staged != 0, "%d frames dropped, %d times some were staged: the test proves nothing",
		a.red(), staged)
	a.ends()
	rapid.Check(t, func(t *rapid.T) {
		a := newArea(t)
		drawPort := rapid.IntRange(0, uplinkPort)
		t.Repeat(map[string]func(*rapid.T){
			"receive": func(t *rapid.T) {
				a.feed(drawPort.Draw(t, "in"), rapid.SampledFrom([]uint8{0, 1, 1, lossless}).Draw(t, "priority"),
					rapid.IntRange(1, 9).Draw(t, "frames"))
			},
			"hand over": func(*rapid.T) { a.handOver() },
			"judge":     func(*rapid.T) { a.judge() },
			"send": func(t *rapid.T) {
				a.send(drawPort.Draw(t, "out"), rapid.IntRange(0, port.BatchFrames).Draw(t, "taken"))
			},
			"time": func(t *rapid.T) { a.now += rapid.SampledFrom([]int64{1, 10_000, 100_000_000}).Draw(t, "ns") },
			"": func(t *rapid.T) {
				a.wantLoads(t)
				a.wantREDsOctets(t)
			},
		})
		a.ends()
	})
}
