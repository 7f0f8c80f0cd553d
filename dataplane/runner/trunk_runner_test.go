package runner

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/trunk"
	"pfcswitch/macctl"
)

// uplinkPort is the uplink of threeToOne.
const uplinkPort = 3

// threeToOne is a trunk of the first ports whose lossless priority has watermarks both ways. Lossy frames are yellow,
// and RED drops some.
func threeToOne(mark trunk.Mark) dataplane.TrunkConfig {
	yellow := trunk.MeterConfig{PIR: 800e9, PBS: trunk.MaxBurst}
	c := dataplane.TrunkConfig{Name: "up", Uplink: uplinkPort, Members: []int{0, 1, 2},
		Aggregate: trunk.AggregatorConfig{Lossless: 1 << lossless, Metered: true, Total: yellow},
		Flow:      trunk.FlowConfig{Mode: macctl.ModePFC, Lossless: 1 << lossless}}
	c.Aggregate.Meters[0], c.Aggregate.RED[0] = yellow, trunk.REDConfig{Low: 4 * mtu, High: 16 * mtu, Probability: 0.5}
	c.Flow.Priority[lossless], c.Flow.UplinkPriority[lossless] = mark, mark
	return c
}

// Whatever goroutine serves a port: a trunk keeps order by member and priority on the way up, loses no lossless frame
// either way, and holds nobody in the end, though stations hold the switch at random and the trunk changes meanwhile.
func TestRunnerCarriesATrunk(t *testing.T) {
	forExecutors(t, func(t *testing.T, e executor) {
		l := newTestbed(t, e, roomy(4), unshapedPorts(4)...)
		cfg := l.cfg
		configure := func(c dataplane.TrunkConfig) {
			cfg.Trunks = []dataplane.TrunkConfig{c}
			err := l.r.Configure(cfg, l.ports, nil)
			assert.True(t, err == nil, "%v", err)
		}
		configure(threeToOne(trunk.Mark{High: 40 * cell, Low: 20 * cell}))
		const n = 300
		for _, s := range l.stations {
			s.holdsAtRandom = true
			count, to := n, uplinkPort
			if s.id == uplinkPort {
				count, to = 3*n, 0
			}
			for seq := range count {
				octets := []int{60, small, mtu}[rand.IntN(3)]
				s.todo = append(s.todo, data(s.id, to, lossless, seq, octets), data(s.id, to, 0, seq, octets))
			}
		}
		changed := make(chan struct{})
		go func() {
			defer close(changed)
			for i := range 10 {
				c := threeToOne(trunk.Mark{High: int64(20+10*i) * cell, Low: 10 * cell})
				c.ByFlow = i%3 == 2
				configure(c)
				time.Sleep(2 * time.Millisecond)
			}
		}()
		l.live(func() bool { return true })
		<-changed
		up := l.stations[uplinkPort]
		var down []int
		for _, s := range l.stations[:uplinkPort] {
			eventually(t, "frames come up", func() bool { return len(up.received(s.id, lossless)) >= n })
			if got := up.received(s.id, lossless); len(got) != n || !slices.IsSorted(got) {
				t.Errorf("%d of %d lossless frames of member %d came, in order: %v", len(got), n, s.id,
					slices.IsSorted(got))
			}
			got := up.received(s.id, 0)
			assert.True(t, slices.IsSorted(got), "lossy frames of member %d are out of order", s.id)
		}
		eventually(t, "frames come down", func() bool {
			down = down[:0]
			for _, s := range l.stations[:uplinkPort] {
				down = append(down, s.received(uplinkPort, lossless)...)
			}
			return len(down) >= 3*n
		})
		slices.Sort(down)
		assert.True(t, len(down) == 3*n && len(slices.Compact(down)) == 3*n,
			"%d lossless frames came down, want %d", len(down), 3*n)
		v := l.empties()
		held := v.Trunks[0].Held
		assert.True(t, held.Priorities == 0 && held.Uplink == 0, "somebody stays held: %+v", held)
	})
}
