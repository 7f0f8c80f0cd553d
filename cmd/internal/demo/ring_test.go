package demo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/cmd/internal/traffic"
	"pfcswitch/dataplane/assert"
)

// Each switch of the ring sends on to the next what is not its own, and what is for nobody.
func TestRingConfigurations(t *testing.T) {
	g := &ring{phase: &phase{speed: 200_000_000}, watchdog: watchSettings(slowWatchCount, watchRecovery, "forward")}
	for k := range ringSwitches {
		c, warnings, err := config.Parse("ring.yaml", []byte(g.config(k)))
		assert.Must(t, err)
		assert.True(t, len(warnings) == 0, "s%d: %v", k+1, warnings)
		ports := map[string]string{}
		for _, e := range c.FDB {
			ports[fmt.Sprintf("%x", e.MAC)] = e.Port
		}
		for j := range ringSwitches {
			want := "out"
			if j == k {
				want = "sink"
			}
			assert.Equal(t, ports[fmt.Sprintf("%x", []byte(receiverMAC(j)))], want, "s%d: r%d is behind", k+1, j+1)
		}
		assert.Equal(t, ports[fmt.Sprintf("%x", []byte(unknownMAC))], "out", "s%d: frames for nobody go to, want out",
			k+1)
		for i := range c.Ports {
			w := c.Ports[i].Watchdog
			assert.True(t, w.DetectionTime() == slowWatchCount*watchPeriod && w.DetectionTime() > blockTime,
				"%s: %v make a deadlock, want more than the receivers hang", c.Ports[i].Name, w.DetectionTime())
		}
	}
}

// The timeline is in order of time, whatever was added first, and of one phase.
func TestTimeline(t *testing.T) {
	r := &Report{}
	p := &phase{name: "b", report: r}
	p.addMoment(20*time.Millisecond, "s1:out", "later")
	p.addMoment(10*time.Millisecond, "h1>r2", "earlier, for %d ms", 5)
	(&phase{name: "c", report: r}).addMoment(0, "s1", "another phase")
	var out strings.Builder
	r.timeline(&out, "b")
	want := "      10.0 ms  h1>r2   earlier, for 5 ms\n      20.0 ms  s1:out  later\n"
	assert.True(t, out.String() == want, "got\n%s\nwant\n%s", out.String(), want)
}

// A flow that ends short of its sender has a line, and each time for which a flow stood still has two. Such a flow does
// not flow at the end; a flow that arrived whole passes every check.
func TestStalls(t *testing.T) {
	lost := flow{Flow: Flow{Name: "h1>r2", Priority: 3, Sent: 10, Received: 7, Lost: 3}, at: time.Second}
	stalled := flow{Flow: Flow{Name: "h1>r3", Priority: 3, Lossless: true, Sent: 10, Received: 10}, at: time.Second,
		gap: 2 * traffic.LongGap, gaps: []traffic.Gap{{From: 1e9, Time: int64(traffic.LongGap)},
			{From: 2e9, Time: 2 * int64(traffic.LongGap)}}}
	steady := flow{Flow: Flow{Name: "h1>r3", Sent: 10, Received: 10}, at: 2 * time.Second, gap: traffic.LongGap - 1}
	r := &Report{}
	p := &phase{name: "a", report: r, start: time.Unix(0, 0), flows: []flow{lost, stalled, steady}}
	p.addLost()
	p.addStalls()
	assert.True(t, len(r.Timeline) == 5 && r.Timeline[0].Who == "h1>r2" && r.Timeline[1].At == int64(time.Second) &&
		r.Timeline[2].At == int64(time.Second+traffic.LongGap) && strings.Contains(r.Timeline[2].Text, "30ms") &&
		r.Timeline[3].At == int64(2*time.Second) && strings.Contains(r.Timeline[4].Text, "60ms"), "%+v", r.Timeline)
	p.flows = p.flows[1:]
	p.checkArrived(2 * time.Second)
	var got []bool // lost, reordered, reordered; lost of the lossy flow; flows at the end, both
	for _, c := range r.Checks {
		got = append(got, c.Pass)
	}
	want := []bool{true, true, true, true, false, true}
	assert.True(t, slices.Equal(got, want), "checks %v, want %v: %+v", got, want, r.Checks)
}

// A flow that lost everything says so, one that lost its end when that was, and one that sent nothing or lost nothing
// has no line.
func TestLostMoments(t *testing.T) {
	r := &Report{}
	(&phase{report: r, flows: []flow{{Flow: Flow{Name: "h1>r2", Priority: 3}},
		{Flow: Flow{Name: "h2>r3", Priority: 3, Sent: 4, Lost: 4}},
		{Flow: Flow{Name: "h3>r1", Priority: 3, Sent: 9, Received: 8, Lost: 1}, at: time.Second},
		{Flow: Flow{Name: "h3>r2", Sent: 9, Received: 9}, at: time.Second}}}).addLost()
	want := []Moment{{Who: "h2>r3", Text: "priority 3: none of its 4 frames ever arrives"},
		{At: 1e9, Who: "h3>r1", Text: "priority 3: its last frame arrives; 1 never do"}}
	assert.True(t, slices.Equal(r.Timeline, want), "%+v, want %+v", r.Timeline, want)
}

// The storms of phase d fill the slots that are said to be in a storm, one of each pair.
func TestStorms(t *testing.T) {
	in := func(at time.Duration) bool {
		for _, s := range storms() {
			if at >= s.from && at < s.from+s.lasts {
				return true
			}
		}
		return false
	}
	slots := make([]uint64, 2*stormPairs)
	for i := range slots {
		assert.Equal(t, in(stormBegin+time.Duration(i)*stormSlot+1), storming(i), "slot %d: a storm", i)
		assert.True(t, storming(i) != storming(i^1), "slots %d and %d are no pair", i, i^1)
		if slots[i] = 100; storming(i) {
			slots[i] = uint64(90 + i) // with 91, 92, 95, 96, 99, 100 and 103
		}
	}
	if least, median, most := stormRatios(slots); least != .91 || median != .96 || most != 1.03 {
		t.Errorf("%v, %v, %v, want 0.91, 0.96 and 1.03", least, median, most)
	}
	_, median, _ := stormRatios(slots[1:])
	assert.True(t, median == 0, "a ratio of %v of slots that were not seen", median)
}
