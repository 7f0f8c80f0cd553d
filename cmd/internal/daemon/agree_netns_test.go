package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/acceptance"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
)

// byHand are the events of an end that tell a person to set the headroom by hand.
func (p *pair) byHand(i int) []string {
	return p.events(i, dataplane.EventHeadroom, "by hand: ports.p1.priorities.3.headroom: ")
}

const measuring = "preset: roce\nheadroom: {interval: 100ms}\n"

// Two switches hear from each other that they measure, in every version of DCBX; they measure, set and tell. One that
// restarts without the bit ends it at both: what was found stays, and a person is told.
func TestHeadroomIsNegotiated(t *testing.T) {
	for name, keys := range map[string]string{
		"ieee": "lldp: {change_hold: 0s}", "cee": "lldp: {change_hold: 0s, dcbx: cee}",
		"cin": "lldp: {change_hold: 0s, dcbx: cin}",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, both(measuring+keys), both(""))
			p.measured()
			if r := p.found(0); r.Neighbour != "b" || r.ManualRequired {
				t.Errorf("neighbour %q, by hand %v", r.Neighbour, r.ManualRequired)
			}
			p.halt[1]()
			eventually(t, "the agreement is over", func() bool { return !p.found(0).Agreed })
			found := p.found(0).InForce
			p.start(1, measuring+strings.Replace(keys, "}", ", bit_ieee: off, bit_legacy: off}", 1))
			for i, want := range []string{"neighbour b does not measure headroom: ",
				"this end does not tell its neighbour that it measures headroom"} {
				eventually(t, "a person is told",
					func() bool { return p.found(i).ManualRequired && len(p.byHand(i)) > 0 })
				p.reports(i, dataplane.EventHeadroom, want)
			}
			r := p.found(0)
			assert.True(t, r.InForce == found, "in force %d, was %d", r.InForce, found)
		})
	}
}

// A neighbour that is gone ends the measurement: at once where it says goodbye, and where it dies without a word when
// the time of what it has told is over. What was found stays in force, and a person is told. What was lossless because
// of it is as configured again.
func TestHeadroomOfANeighbourThatIsGone(t *testing.T) {
	keys := measuring + "lldp: {change_hold: 0s, interval: 1s, hold: 2}"
	t.Run("goodbye", func(t *testing.T) {
		p := newPair(t, both(keys), both(""))
		p.loses(p.halt[1])
	})
	t.Run("killed", func(t *testing.T) {
		p := newPair(t, [2]string{strings.Replace(keys, "lldp: {",
			"priorities: {lossless: [3, 4]}\nlldp: {willing: true, ", 1), keys}, both(""))
		p.halt[1]()
		eventually(t, "the first neighbour is gone", func() bool { return len(p.lldp(0).Neighbors) == 0 })
		path := filepath.Join(p.Dir, "b.yaml")
		must(t, os.WriteFile(path, []byte(p.text(1, keys)), 0o600))
		process := assert.Got(p.nodes[1].Start(acceptance.SwitchCommand(path))).Must(t)
		p.agrees(0, "ieee", "peer", 0x08)
		p.loses(func() { _ = process.Stop(syscall.SIGKILL, time.Second) })
		p.agrees(0, "ieee", "no-peer", 0x18)
		assert.Equal(t, p.lldp(0).Statistics.Ageouts, 1, "neighbours were given up because of their age")
		m := p.ends[0].metricsPorts()[0].LLDP
		assert.True(t, m != nil && m.Neighbors == 0, "metrics %+v", m)
		p.reports(0, dataplane.EventLLDP, "b, port p1, is silent and forgotten")
	})
}

// loses waits until end 0 has measured and lets its neighbour go. What was found stays, and a person is told once.
func (p *pair) loses(gone func()) {
	t := p.T
	t.Helper()
	p.agreed(0)
	warned := len(p.byHand(0))
	gone()
	eventually(t, "the agreement is over", func() bool { return !p.found(0).Agreed })
	asked, inForce := p.found(0).Counters.Asked, p.found(0).InForce
	eventually(t, "a person is told", func() bool { return p.found(0).ManualRequired && len(p.byHand(0)) > warned })
	time.Sleep(200 * time.Millisecond)
	r := p.found(0)
	assert.True(t, r.Counters.Asked == asked && r.InForce == inForce && len(p.byHand(0)) == warned+1,
		"asked %d times more, in force %d, was %d, told %q", r.Counters.Asked-asked, r.InForce, inForce, p.byHand(0))
}
