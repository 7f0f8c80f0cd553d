package api

import (
	"errors"
	"slices"
	"testing"
)

// Of trunks a filter keeps those that have one of the ports, whole, and of them the priorities that are wanted.
func TestFilterOfTrunks(t *testing.T) {
	all := answer(&fake{}, "trunk").(*Trunks)
	for _, name := range all.Trunks[0].ports() {
		r := answer(&fake{}, "trunk").(*Trunks)
		if err := (Filter{Ports: []string{name}, Priorities: []Priority{3}}).Apply(r); err != nil {
			t.Fatal(err)
		}
		if len(r.Trunks) == 0 || len(r.Trunks[0].Members) != len(all.Trunks[0].Members) {
			t.Fatalf("%s: %+v", name, r.Trunks)
		}
		for _, trunk := range r.Trunks {
			if !slices.Contains(trunk.ports(), name) || len(trunk.Priorities) != 1 || trunk.Priorities[0].Priority != 3 || len(trunk.Members[0].Priorities) != 1 {
				t.Errorf("%s: %+v", name, trunk)
			}
		}
	}
	r := &Trunks{Trunks: []Trunk{{Trunk: "a", Uplink: TrunkUplink{Port: "p1"}}, {Trunk: "b", Uplink: TrunkUplink{Port: "p2"}}}}
	if err := (Filter{Ports: []string{"p2"}}).Apply(r); err != nil || len(r.Trunks) != 1 || r.Trunks[0].Trunk != "b" {
		t.Errorf("%+v, %v, want b alone", r.Trunks, err)
	}
	f := Filter{Ports: []string{"p3"}, There: func() ([]string, error) { return []string{"p1", "p2", "p3"}, nil }}
	if err := f.Apply(r); err != nil || len(r.Trunks) != 0 {
		t.Errorf("a port of no trunk: %+v, %v", r.Trunks, err)
	}
}

// A port of which nothing is known is none that there is not.
func TestFilterOfWhatTellsNoPorts(t *testing.T) {
	for _, noun := range []string{"fdb", "events", "watchdog"} {
		for _, tt := range []struct {
			port  string
			there []string
			asked bool
			good  bool
		}{{"p1", nil, false, true}, {"p3", []string{"p2", "p3"}, true, true}, {"p9", []string{"p2", "p3"}, true, false}} {
			asked := false
			f := Filter{Ports: []string{tt.port}, There: func() ([]string, error) { asked = true; return tt.there, nil }}
			err := f.Apply(answer(&fake{}, noun))
			if missing := new(NoPortError); asked != tt.asked || (err == nil) != tt.good || err != nil && !errors.As(err, &missing) {
				t.Errorf("%s of %s: asked %v, %v", noun, tt.port, asked, err)
			}
		}
		refused := errors.New("refused")
		if err := (Filter{Ports: []string{"p9"}, There: func() ([]string, error) { return nil, refused }}).Apply(answer(&fake{}, noun)); !errors.Is(err, refused) {
			t.Errorf("%s: %v", noun, err)
		}
	}
}
