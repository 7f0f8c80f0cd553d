package main

import (
	"testing"

	"pfcswitch/cmd/internal/api"
)

// With -v show headroom writes the detail, without it the text; other answers have no more to say.
func TestTextOf(t *testing.T) {
	h := &api.Headroom{Ports: []api.HeadroomPort{{Port: "p1", CellBytes: 256,
		Eta: api.HeadroomValue{Terms: []api.HeadroomTerm{{Name: "waiting", Bits: 12_336}}}}}}
	if got := textOf(false)(h); got != h.Text() {
		t.Errorf("without -v:\n%s", got)
	}
	if got := textOf(true)(h); got != h.Detail() || got == h.Text() {
		t.Errorf("with -v:\n%s", got)
	}
	if p := (&api.PFC{}); textOf(true)(p) != p.Text() {
		t.Error("show pfc is another with -v")
	}
	for _, sub := range showCommand().Commands() {
		if has := sub.Flags().Lookup("verbose") != nil; has != (sub.Name() == "headroom" || sub.Name() == "ports") {
			t.Errorf("show %s: -v: %v", sub.Name(), has)
		}
		if has := sub.Flags().Lookup("all") != nil; has != (sub.Name() == "queues") {
			t.Errorf("show %s: -a: %v", sub.Name(), has)
		}
	}
}
