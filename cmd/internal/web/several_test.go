package web

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/web/webtest"
	"pfcswitch/dataplane/assert"
)

// heldSwitch is switch n of a ring, each of whose ports is held, and holds.
func heldSwitch(n int, label, name string) Switch {
	s := sampleState()
	s.Switch, s.PFC, s.Started = name, nil, s.Started.Add(time.Duration(n))
	held := api.PFCPriority{Priority: 3, Lossless: true, State: "both",
		Recent: &api.PFCRecent{IntervalNs: 1e9, ReceivedPausedShare: 1, SentPausedShare: 1}}
	for _, port := range []string{"down1", "down2", "next", "back"} {
		s.Ports = append(s.Ports, api.Port{Port: port, Up: true, LosslessPriorities: []api.Priority{3},
			LosslessDiscardedBy: []api.DiscardedBy{}})
		s.PFC = append(s.PFC, api.PFCPort{Port: port, FlowControl: "pfc", Priorities: []api.PFCPriority{held}})
		said := api.LLDPPort{Port: port, ChassisID: fmt.Sprint("chassis ", n), PortID: port}
		for step, ends := range map[int][2]string{1: {"next", "back"}, 2: {"back", "next"}} {
			if port == ends[0] {
				said.Neighbors = []api.LLDPNeighbor{{ChassisID: fmt.Sprint("chassis ", (n+step)%3), PortID: ends[1]}}
			}
		}
		s.LLDP = append(s.LLDP, said)
	}
	s.LosslessDropsSinceStart, s.LosslessDiscardedSinceStart = uint64(2*n), 1
	s.Ports[0].LosslessDiscardedBy = []api.DiscardedBy{{Reason: "watchdog", Frames: 1}}
	return Switch{label, func(context.Context) (*api.State, error) { return s, nil },
		func(context.Context) (*api.History, error) { return sampleHistory("down1"), nil }}
}

// The large figures are of all switches of the page, each counted once. Two of one name have their labels in the
// picture. While every link is held in both directions, nothing there covers anything else.
func TestPageOfSeveral(t *testing.T) {
	first := heldSwitch(0, "a-s1", "s1")
	board := NewPoller([]Switch{first, heldSwitch(1, "b-s1", "s1"), heldSwitch(2, "b-s2", "s2"),
		{"10.0.0.1:9808", first.Read, first.History}})
	t.Cleanup(board.Close)
	server := httptest.NewServer(handler(t, Config{Poller: board}))
	t.Cleanup(server.Close)
	p := webtest.Open(t, server.URL, false, 1250, 900)
	p.Await("the numbers are there", `document.querySelectorAll("#topology-picture g.switch").length === 3`)
	for id, want := range map[string]string{
		"drops": "6 lossless drops since the start of 3 switches — frames that had to arrive were lost: b-s1, " +
			"b-s2: see Events",
		"discarded": "3 frames of lossless priorities discarded on purpose — a-s1, b-s1, b-s2: watchdog 3: see Ports",
	} {
		assert.Equal(t, strings.Join(strings.Fields(p.Text(id)), " "), want, "the figure %s", id)
	}
	assert.Equal(t, webtest.Eval[string](p,
		`[...document.querySelectorAll("#topology-picture g.switch title")].map(n => n.textContent).sort().join()`),
		"a-s1,b-s1,s2", "switches of the picture")
	for _, width := range []int64{1250, 700, 500, 360} {
		p.Look(width == 500, width, 900)
		p.Await("the picture has its size", fmt.Sprintf(`(document.querySelector("#topology-picture").viewBox.baseVal.width +
			2 * parseFloat(getComputedStyle(document.body).paddingLeft) <= %d)`, width))
		for _, found := range p.Overflow() {
			t.Errorf("at %d pixels: %s", width, found)
		}
	}
}
