package api

import (
	"context"
	"encoding/json"
	"testing"
)

// The state has what show tells of the same moment, and goes on counting where the user began again.
func TestState(t *testing.T) {
	f := &fake{}
	c, _ := serve(t, f)
	if err := c.Clear(context.Background(), "counters"); err != nil {
		t.Fatal(err)
	}
	b, err := c.Raw(context.Background(), "state", 0)
	if err != nil {
		t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	if s.Schema != Schema || s.Cleared != nil || s.LosslessDrops != 2 || s.SwitchNs != 20e9 || s.PFC[0].Priorities[3].SentPausedNs != 812_000_000 {
		t.Errorf("counters were cleared, or are missing: %+v", s.Header)
	}
	m := momentOf(f)
	m.recent.old = sample{} // the server that was asked has no older one
	for noun, got := range map[string]any{
		"ports": &Ports{s.Header, s.Ports}, "queues": &Queues{s.Header, s.Queues}, "headroom": &Headroom{s.Header, s.Headroom},
		"watchdog": &Watchdog{s.Header, s.Watchdog}, "lldp": &LLDP{s.Header, s.LLDP}, "buffer": &Buffer{s.Header, s.Pools, s.Buffer},
	} {
		if text, want := got.(Reply).Text(), nouns[noun].answer(m).Text(); tail(text) != tail(want) {
			t.Errorf("%s:\n%s\nwant\n%s", noun, text, want)
		}
	}
	if len(s.Events) != 2 {
		t.Errorf("events %+v", s.Events)
	}
}

// tail cuts the headline off, which tells the time.
func tail(text string) string {
	for i := range text {
		if text[i] == '\n' {
			return text[i:]
		}
	}
	return text
}

// Of many events the state has the newest.
func TestStateOfManyEvents(t *testing.T) {
	all := make([]Event, 3*newestEvents)
	if got := newest(all); len(got) != newestEvents || &got[0] != &all[2*newestEvents] {
		t.Errorf("%d events", len(got))
	}
	if got := newest(all[:7]); len(got) != 7 {
		t.Errorf("%d events of 7", len(got))
	}
}
