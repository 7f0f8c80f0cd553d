package api

import (
	"strings"
	"testing"

	"pfcswitch/dataplane"
)

// No answer says of a port that is down, such as one whose interface is missing, that it runs or waits for its peer.
func TestDownPorts(t *testing.T) {
	for _, up := range []bool{true, false} {
		m := &moment{source: &fake{}}
		m.source.Snapshot(&m.snapshot)
		for i := range m.snapshot.Ports {
			m.snapshot.Ports[i].Up = up
		}
		for _, p := range m.readPFC().(*PFC).Ports {
			for _, q := range p.Priorities {
				if q.Lossless && (q.State == "down") == up {
					t.Errorf("up %v: show pfc: %s is %s", up, p.Port, q.State)
				}
			}
		}
		buffer := m.readBuffer().(*Buffer)
		if text := buffer.ingressTable().String(); strings.Contains(text, "runs") != up || strings.Contains(text, "held") && !up {
			t.Errorf("up %v: show buffer:\n%s", up, text)
		}
		info := HeadroomInfo{Port: m.snapshot.Ports[0].Config.Name, Cell: 256}
		if p := m.headroomPort(&info); (p.State == "down") == up {
			t.Errorf("up %v: show headroom: %s", up, p.State)
		}
	}
}

// Where there is nothing to show, the answer says so.
func TestNothingToShow(t *testing.T) {
	m := &moment{source: &fake{empty: true}, snapshot: dataplane.Snapshot{}}
	for want, r := range map[string]Reply{"no station is known": m.readFDB(), "no port speaks LLDP": m.readLLDP(), "there is no trunk": m.readTrunk()} {
		if !strings.HasSuffix(r.Text(), "\n"+want+"\n") {
			t.Errorf("no %q in %q", want, r.Text())
		}
	}
}
