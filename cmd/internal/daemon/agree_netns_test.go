package daemon

import (
	"strings"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/headroom"
)

// found is what an end knows of the headroom of its link.
func (p *pair) found(i int) (r headroom.Report) {
	for _, info := range (source{p.ends[i]}).Headroom() {
		r = info.Report
	}
	return r
}

// warned counts the events of an end that tell a person to set the headroom by hand.
func (p *pair) warned(i int) (n int) {
	p.ends[i].runner.View(func(sw *dataplane.Switch) {
		for _, e := range sw.Events(nil, 0) {
			if e.Kind == dataplane.EventHeadroom && strings.Contains(e.Text, "by hand: ports.p1.priorities.3.headroom: ") {
				n++
			}
		}
	})
	return n
}

const measuring = "preset: roce\nheadroom: {interval: 100ms}\n"

// Two switches hear from each other that they measure, in every version of DCBX; they measure, set and tell. One that restarts
// without the bit ends it at both: what was found stays, and a person is told.
func TestHeadroomIsNegotiated(t *testing.T) {
	for name, keys := range map[string]string{
		"ieee": "lldp: {change_hold: 0s}", "cee": "lldp: {change_hold: 0s, dcbx: cee}", "cin": "lldp: {change_hold: 0s, dcbx: cin}",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, [2]string{measuring + keys, measuring + keys})
			for i := range p.ends {
				eventually(t, "the headroom was measured and told", func() bool {
					r := p.found(i)
					return r.Agreed && r.Measured != nil && r.Told && r.InForce >= headroom.Octets(r.Target)
				})
			}
			if r := p.found(0); r.Neighbour != "b" || r.ManualRequired {
				t.Errorf("neighbour %q, by hand %v", r.Neighbour, r.ManualRequired)
			}
			found := p.found(0).InForce
			p.halt[1]()
			p.start(1, measuring+strings.Replace(keys, "}", ", bit_ieee: off, bit_legacy: off}", 1))
			for i := range p.ends {
				eventually(t, "a person is told", func() bool { return p.found(i).ManualRequired && p.warned(i) > 0 })
			}
			if r := p.found(0); r.InForce != found {
				t.Errorf("in force %d, was %d", r.InForce, found)
			}
		})
	}
}

// A neighbour that dies without a word ends the measurement when its time is over.
func TestHeadroomOfANeighbourThatIsGone(t *testing.T) {
	keys := measuring + "lldp: {change_hold: 0s}"
	p := newPair(t, [2]string{keys, keys})
	eventually(t, "the headroom was measured", func() bool { return p.found(0).Measured != nil })
	p.halt[1]() // says goodbye
	eventually(t, "the agreement is over", func() bool { return !p.found(0).Agreed })
	asked, inForce := p.found(0).Counters.Asked, p.found(0).InForce
	eventually(t, "a person is told", func() bool { return p.found(0).ManualRequired && p.warned(0) > 0 })
	if r := p.found(0); r.Counters.Asked != asked || r.InForce != inForce {
		t.Errorf("asked %d times more, in force %d, was %d", r.Counters.Asked-asked, r.InForce, inForce)
	}
}
