package sim

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
)

// The same fabric gives the same result in one shard and in many, with one worker and with several, and however often
// Advance returns.
func TestShardsChangeNothing(t *testing.T) {
	crossed := uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		speed := rapid.SampledFrom([]int64{gigabit, 100 * gigabit}).Draw(t, "speed")
		delay, trunk := rapid.Int64Range(0, 2000).Draw(t, "delay"), rapid.Int64Range(0, 2000).Draw(t, "trunk")
		flood := rapid.Bool().Draw(t, "flood")
		leaves, spines := rapid.IntRange(1, 3).Draw(t, "leaves"), rapid.IntRange(1, 2).Draw(t, "spines")
		hosts := rapid.IntRange(1, 3).Draw(t, "hosts")
		length := 60 * int64(mtu) * 8 * gigabit / speed
		var flows []FlowConfig
		for range rapid.IntRange(1, 8).Draw(t, "flows") {
			first, last := leaves+spines, leaves+spines+leaves*hosts-1
			flows = append(flows, FlowConfig{From: rapid.IntRange(first, last).Draw(t, "from"),
				To: rapid.IntRange(first, last).Draw(t, "to"), Octets: rapid.IntRange(64, mtu).Draw(t, "octets"),
				Priority: rapid.SampledFrom([]uint8{lossless, 0}).Draw(t, "priority"), Stop: length,
				Window: rapid.SampledFrom([]uint64{0, 4}).Draw(t, "window"), DCQCN: rapid.Bool().Draw(t, "dcqcn"),
				TTL: rapid.SampledFrom([]uint8{0, 2, 9}).Draw(t, "ttl")})
		}
		faults := []FaultConfig{
			{Kind: Flap, At: End{0, hosts}, Start: length / 4, Stop: length / 3},
			{Kind: Slow, At: End{leaves + spines, 0}, Rate: speed / 5, Start: length / 5, Stop: length / 2},
			{Kind: Storm, At: End{leaves + spines, 0}, Start: length * 3 / 5, Stop: length * 4 / 5},
		}[:rapid.IntRange(0, 3).Draw(t, "faults")]
		run := func(divided bool, workers int, events uint64) string {
			r := newRig(t, speed, delay)
			r.addLeafSpine(leaves, spines, hosts, trunk, flood && spines == 1)
			r.divided, r.clock.sideBySide = divided, 0
			if workers > 1 {
				r.workers = append(r.workers, newWorker())
				r.Together = inTwo
			}
			for _, fl := range flows {
				if fl.From != fl.To {
					r.load(fl)
				}
			}
			for _, fa := range faults {
				err := r.AddFault(fa)
				assert.MustBeTrue(t, err == nil, "%v", err)
			}
			r.start()
			for !r.AdvanceBy(4*length, events) {
			}
			if divided {
				crossed += r.Hops()
			}
			return r.text()
		}
		want := run(false, 1, never)
		workers := rapid.IntRange(1, 2).Draw(t, "workers")
		events := rapid.SampledFrom([]uint64{7, never}).Draw(t, "events")
		got := run(true, workers, events)
		assert.MustBeTrue(t, got == want, "got\n%s\nwant\n%s", got, want)
	})
	assert.True(t, crossed != 0, "no frame crossed from one shard to another: the property proves nothing")
}

// A half-duplex link joins the shards of its ends.
func TestHalfDuplexBetweenSwitches(t *testing.T) {
	var texts [2]string
	for i := range texts {
		r := halfRig(t, 500)
		a, b := r.addSwitch(2, 128, mtu, nil), r.addSwitch(2, 128, mtu, nil)
		r.join(End{a, 1}, End{b, 1})
		assert.Must(t, r.HalfDuplex(End{a, 1}, ForcedCollision))
		hosts := []int{r.addHost(a, 0), r.addHost(b, 0)}
		for k, h := range hosts {
			r.load(FlowConfig{From: h, To: hosts[1-k], Octets: mtu, Stop: 50 * ms})
		}
		r.divided = i == 1
		r.start()
		r.Advance(never - r.Begun())
		texts[i] = r.text()
		assert.True(t, r.Station(End{a, 1}).Collisions != 0, "no collision: the test proves little")
	}
	assert.True(t, texts[0] == texts[1], "in one shard\n%s\nin several\n%s", texts[0], texts[1])
}

// What Learn leaves is over: no event of a switch comes before those of the flows' time.
func TestLearnEndsInTime(t *testing.T) {
	r := newRig(t, gigabit, 500)
	sw := r.addSwitch(2, 256, mtu, nil)
	from, to := r.addHost(sw, 0), r.addHost(sw, 1)
	r.Watch(sw, func(_ bridge.PortSet, now int64) int64 { return now + 10 }) // more events than Learn takes at a time
	r.load(FlowConfig{From: from, To: to, Priority: lossless, Octets: mtu, Stop: ms})
	r.start()
	assert.True(t, !r.clock.open && (r.Begun()-1)%r.LookEvery == 0, "begun at %d, in a window that is open: %v",
		r.Begun(), r.clock.open)
}

// inTwo has two goroutines do tasks.
func inTwo(tasks int, do func(worker, task int)) {
	var both sync.WaitGroup
	for worker := range 2 {
		both.Go(func() {
			for task := worker; task < tasks; task += 2 {
				do(worker, task)
			}
		})
	}
	both.Wait()
}

// text is all that a run shows.
func (r *rig) text() string {
	s, unbalanced := r.Sum()
	text := fmt.Sprintln(r.Begun(), r.now, r.ending, r.Hops(), r.Events(), s, unbalanced)
	for i := range r.flows {
		f := r.Flow(i)
		text += fmt.Sprintln(i, f.Sent, f.Received, f.Reordered, f.Rate, f.Latency.Quantile(0.5), f.Latency.Quantile(1))
	}
	for i, n := range r.nodes {
		if n.host != nil {
			text += fmt.Sprintln(i, r.Host(i))
		} else {
			text += fmt.Sprintln(i, r.xoffs(i))
		}
	}
	return text
}
