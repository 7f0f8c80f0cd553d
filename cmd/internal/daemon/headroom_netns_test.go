package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/headroom"
)

// atOnce makes an end take over at once what its neighbour says.
const atOnce = "lldp: {change_hold: 0s}\n"

// Two switches measure the link between them, set what they have found, and tell each other.
func TestHeadroomIsMeasured(t *testing.T) {
	tests := []struct {
		name, keys string
		turns      bool
	}{
		{"as it is", "", true},
		{"at the link layer", ", answer: link", true},
		{"two stamps", ", stamps: 2", false},
		{"loopback", ", stamps: 2, mode: loopback", false},
		{"client", ", variant: client", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			keys := strings.Replace(measuring, "}", tt.keys+"}", 1)
			// b cannot calculate this delay
			p := newPair(t, both(keys+atOnce), [2]string{"speed: 1G, delay: 200us", "speed: 1G"})
			p.measured()
			for i := range p.ends {
				r := p.found(i)
				eventually(t, "the least trip is 200µs and a little", func() bool {
					r = p.found(i)
					return r.RoundTrips.Min < time.Millisecond
				})
				assert.True(t, r.RoundTrips.Min >= 200*time.Microsecond,
					"trip %v, want 200µs and a little", r.RoundTrips.Min)
				assert.Equal(t, r.Turnarounds.Samples > 0, tt.turns, "%d turn-arounds", r.Turnarounds.Samples)
				eventually(t, "the headroom is what was measured, or what the peer told where that is more: at end 1 "+
					"clearly more than what is calculated", func() bool {
					r = p.found(i)
					found, inForce := max(r.Measured.Bits(), r.Received),
						r.Settings.Packing.Bytes(headroom.Octets(r.Target))
					return p.snapshot(i).Config.Ingress[3].Headroom == inForce && r.InForce == inForce &&
						r.Measured.Bits() > 200_000 &&
						(r.Target == found && (i == 0 || min(found, r.Measured.Bits()) > r.Calculated+100_000) ||
							i == 0 && r.Target == r.Calculated && r.Target > found) // which is not left at once
				})
				eventually(t, "the resume threshold follows", func() bool {
					return p.found(i).Xon > 25_000 && p.xonFollows(i) // there and back is 200 µs at 1 Gbit/s
				})
				m := p.ends[i].metricsPorts()[0]
				assert.True(t, m.Headroom != nil && m.Headroom.Agreed && m.Headroom.Measured.Bits() != 0 &&
					m.Headroom.ControlPasses && (i != 0 || 8*25_000 <= m.Calculated.Eta.Bits()) &&
					m.Calculated.Delay.Bits() > m.Calculated.Eta.Bits(), "metrics: %+v", m)
				for why, n := range r.Counters.Ignored {
					if n > 0 {
						t.Logf("%d messages ignored: %v", n, headroom.Ignored(why))
					}
				}
				t.Logf("trip %v, turn %v, %d bits in force, calculated %d", r.RoundTrips, r.Turnarounds, 8*r.InForce,
					r.Calculated)
			}
		})
	}
}

// A headroom that the pool is too small for is not set: the old value stays, and a person is told once, with what is
// needed.
func TestPoolTooSmallForTheHeadroom(t *testing.T) {
	p := newPair(t, both(strings.Replace(measuring, "}", ", min: 200KiB}", 1)+atOnce+
		"buffer: {lossless: {size: 288KiB}}\n"), both("speed: 1G"))
	before := p.snapshot(0).Config.Ingress[3].Headroom
	warnings := func() int {
		return len(p.events(0, dataplane.EventHeadroom, fmt.Sprintf(
			"the link needs a headroom of 624384 B, and %d B stay in force: ", before)))
	}
	eventually(t, "a person is told", func() bool { return warnings() > 0 })
	time.Sleep(2 * headroomPeriod)
	if got := p.snapshot(0).Config.Ingress[3].Headroom; got != before || p.found(0).InForce != before {
		t.Errorf("in force %d, and by the report %d, was %d", got, p.found(0).InForce, before)
	}
	n := warnings()
	assert.True(t, n == 1, "told %d times", n)
}

// A resume threshold that is written stays, whatever was measured; an apply that takes it away lets what was measured
// in.
func TestWrittenXonStays(t *testing.T) {
	p := newPair(t, both(measuring+atOnce+"buffer: {xon: 7KiB}\n"), both("speed: 1G"))
	p.measured()
	time.Sleep(50 * time.Millisecond)
	assert.Equal(t, p.snapshot(0).Config.Ingress[3].Xon, 7<<10, "xon")
	p.apply(0, measuring+atOnce)
	eventually(t, "the resume threshold follows", func() bool { return p.xonFollows(0) })
}

// How long the peer keeps a request is told apart by what the link carries.
func TestTurnAroundUnderLoad(t *testing.T) {
	p := newPair(t, both(allowing), both("speed: 1G"))
	p.agreed(0, 1)
	r := p.found(0)
	assert.True(t, r.Idle.Samples != 0 && r.Busy.Samples == 0, "idle %+v, busy %+v", r.Idle, r.Busy)
	assert.Got(p.ends[0].Source().CheckHeadroom(t.Context(), api.HeadroomCheckRequest{Port: "p1", Xoffs: 40})).Must(t)
	r = p.found(0)
	assert.True(t, r.Busy.Samples != 0, "after a stream: idle %+v, busy %+v", r.Idle, r.Busy)
	m := p.ends[0].metricsPorts()[0].Headroom
	assert.True(t, m.Busy.Samples != 0 && m.Idle.Samples != 0, "metrics: idle %+v, busy %+v", m.Idle, m.Busy)
}
