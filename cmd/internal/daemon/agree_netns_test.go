package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/acceptance"
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
			if e.Kind == dataplane.EventHeadroom && strings.Contains(e.Text,
				"by hand: ports.p1.priorities.3.headroom: ") {
				n++
			}
		}
	})
	return n
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
			p := newPair(t, [2]string{measuring + keys, measuring + keys})
			for i := range p.ends {
				eventually(t, "the headroom was measured, told and set", func() bool {
					r := p.found(i)
					return r.Agreed && r.Measured != nil && r.ResultAcked && r.PeerApplied &&
						r.InForce >= headroom.Octets(r.Target)
				})
			}
			if r := p.found(0); r.Neighbour != "b" || r.ManualRequired {
				t.Errorf("neighbour %q, by hand %v", r.Neighbour, r.ManualRequired)
			}
			p.halt[1]()
			eventually(t, "the agreement is over", func() bool { return !p.found(0).Agreed })
			found := p.found(0).InForce
			p.start(1, measuring+strings.Replace(keys, "}", ", bit_ieee: off, bit_legacy: off}", 1))
			for i := range p.ends {
				eventually(t, "a person is told", func() bool { return p.found(i).ManualRequired && p.warned(i) > 0 })
			}
			for i, want := range []string{"neighbour b does not measure headroom: ",
				"this end does not tell its neighbour that it measures headroom"} {
				eventually(t, fmt.Sprintf("an event of end %d names who does not measure: %s", i, want), func() bool {
					return slices.ContainsFunc(p.events(i, dataplane.EventHeadroom),
						func(s string) bool { return strings.HasPrefix(s, want) })
				})
			}
			if r := p.found(0); r.InForce != found {
				t.Errorf("in force %d, was %d", r.InForce, found)
			}
		})
	}
}

// A neighbour that is gone ends the measurement: at once where it says goodbye, and where it dies without a word when
// the time of what it has told is over. What was found stays in force, and a person is told. What was lossless because
// of it is as configured again.
func TestHeadroomOfANeighbourThatIsGone(t *testing.T) {
	keys := measuring + "lldp: {change_hold: 0s, interval: 1s, hold: 2}"
	t.Run("goodbye", func(t *testing.T) {
		p := newPair(t, [2]string{keys, keys})
		p.loses(p.halt[1])
	})
	t.Run("killed", func(t *testing.T) {
		p := newPair(t, [2]string{strings.Replace(keys, "lldp: {",
			"priorities: {lossless: [3, 4]}\nlldp: {willing: true, ", 1), keys})
		p.halt[1]()
		eventually(t, "the first neighbour is gone", func() bool { return len(p.told(0).Neighbors) == 0 })
		path := filepath.Join(p.dir, "b.yaml")
		must(t, os.WriteFile(path, []byte(p.text(1, keys)), 0o600))
		process, err := p.nodes[1].Start(acceptance.SwitchCommand(path))
		must(t, err)
		p.agrees(0, "ieee", "peer", 0x08)
		p.loses(func() { _ = process.Stop(syscall.SIGKILL, time.Second) })
		p.agrees(0, "ieee", "no-peer", 0x18)
		if n := p.told(0).Statistics.Ageouts; n != 1 {
			t.Errorf("%d neighbours were given up because of their age", n)
		}
		if m := p.ends[0].metricsPorts()[0].LLDP; m == nil || m.Neighbors != 0 {
			t.Errorf("metrics %+v", m)
		}
		if texts := p.events(0, dataplane.EventLLDP); !strings.HasSuffix(texts[len(texts)-1],
			"b, port p1, is silent and forgotten") {
			t.Errorf("events %q", texts)
		}
	})
}

// loses waits until end 0 has measured, lets its neighbour go, and sees to it that what was found stays.
func (p *pair) loses(gone func()) {
	t := p.t
	t.Helper()
	eventually(t, "the headroom was measured", func() bool {
		r := p.found(0)
		return r.Agreed && r.Measured != nil &&
			r.ResultAcked
	})
	warned := p.warned(0)
	gone()
	eventually(t, "the agreement is over", func() bool { return !p.found(0).Agreed })
	asked, inForce := p.found(0).Counters.Asked, p.found(0).InForce
	eventually(t, "a person is told", func() bool { return p.found(0).ManualRequired && p.warned(0) > warned })
	if r := p.found(0); r.Counters.Asked != asked || r.InForce != inForce {
		t.Errorf("asked %d times more, in force %d, was %d", r.Counters.Asked-asked, r.InForce, inForce)
	}
}
