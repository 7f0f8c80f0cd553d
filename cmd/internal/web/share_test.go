package web

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pfcswitch/cmd/internal/api"
)

var begun = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// stateAt is a switch with one port that has been paused for so long; times are in ms.
func stateAt(at, received, sent int64) *api.State {
	return &api.State{Header: api.Header{Schema: api.Schema, Started: begun, SwitchNs: at * 1e6},
		Ports: []api.Port{}, Pools: []api.Pool{}, Buffer: []api.BufferPort{}, Queues: []api.QueuesPort{}, Headroom: []api.HeadroomPort{},
		Watchdog: []api.WatchdogQueue{}, LLDP: []api.LLDPPort{}, Events: []api.Event{},
		PFC: []api.PFCPort{{Port: "p1", FlowControl: "pfc", Priorities: []api.PFCPriority{{ReceivedPausedNs: received * 1e6, SentPausedNs: sent * 1e6}}}}}
}

func TestShares(t *testing.T) {
	changed := func(s *api.State, change func(*api.State)) *api.State { change(s); return s }
	for _, tt := range []struct {
		name   string
		states []*api.State
		want   string // window in ms, received, sent
	}{
		{"one look tells nothing", []*api.State{stateAt(100, 50, 50)}, "0 [] []"},
		{"two looks", []*api.State{stateAt(0, 0, 0), stateAt(1000, 250, 1000)}, "1000 [0.25] [1]"},
		{"nothing since", []*api.State{stateAt(0, 70, 80), stateAt(1000, 70, 80)}, "1000 [0] [0]"},
		{"what is older than the window does not count", []*api.State{stateAt(0, 0, 0), stateAt(4000, 4000, 0), stateAt(6000, 4000, 500)}, "2000 [0] [0.25]"},
		{"nobody watched for long", []*api.State{stateAt(0, 0, 0), stateAt(60_000, 50_000, 0)}, "0 [] []"},
		{"a clock that stands", []*api.State{stateAt(5, 0, 0), stateAt(5, 0, 0)}, "0 [] []"},
		{"another switch", []*api.State{stateAt(0, 0, 0), changed(stateAt(1000, 500, 500), func(s *api.State) { s.Started = begun.Add(1) })}, "0 [] []"},
		{"a counter that went back", []*api.State{stateAt(0, 9, 0), stateAt(1000, 8, 0), stateAt(2000, 508, 0)}, "1000 [0.5] [0]"},
		{"other flow control", []*api.State{stateAt(0, 0, 0), changed(stateAt(1000, 500, 0), func(s *api.State) { s.PFC[0].FlowControl = "pause" })}, "0 [] []"},
		{"a port that was away", []*api.State{stateAt(0, 0, 0), changed(stateAt(1000, 0, 0), func(s *api.State) { s.PFC = nil }), stateAt(2000, 500, 0)}, "0 [] []"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var h history
			var last []Shares
			for _, s := range tt.states {
				last = h.add(s)
			}
			if got := fmt.Sprint(last[0].WindowNs/1e6, last[0].Received, last[0].Sent); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A port that is paused for parts of the time has just these shares, whatever the moments of the looks, and the history
// keeps no more than the window.
func TestSharesAreTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.Int64Range(0, 1000).Draw(t, "part") // of 1000 ns
		var h history
		at, looks := int64(0), rapid.SliceOfN(rapid.Int64Range(1, 2000), 2, 40).Draw(t, "ms between looks")
		for i, ms := range looks {
			at += ms * 1e6
			s := stateAt(0, 0, 0)
			s.SwitchNs, s.PFC[0].Priorities[0] = at, api.PFCPriority{ReceivedPausedNs: at / 1000 * part, SentPausedNs: at / 1000 * (1000 - part)}
			got := h.add(s)[0]
			if i == 0 {
				continue
			}
			if got.WindowNs <= 0 || got.WindowNs > int64(window) {
				t.Fatalf("the window is %d ns", got.WindowNs)
			}
			if want := float64(part) / 1000; got.Received[0] != want || got.Sent[0] != share(1000-part, 1000) {
				t.Fatalf("received %v, want %v; sent %v", got.Received[0], want, got.Sent[0])
			}
		}
		if kept := len(h.ports["p1"]); kept > len(looks) || at-h.ports["p1"][0].at > int64(window) {
			t.Fatalf("%d samples are kept", kept)
		}
	})
}
