package main

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
)

// With -v show headroom writes the detail, without it the text; other answers have no more to say.
func TestTextOf(t *testing.T) {
	h := &api.Headroom{Ports: []api.HeadroomPort{{Port: "p1", CellBytes: 256,
		Eta: api.HeadroomValue{Terms: []api.HeadroomTerm{{Name: "waiting", Bits: 12_336}}}}}}
	assert.Equal(t, textOf(false)(h), h.Text(), "without -v")
	got := textOf(true)(h)
	assert.True(t, got == h.Detail() && got != h.Text(), "with -v:\n%s", got)
	p := (&api.PFC{})
	assert.True(t, textOf(true)(p) == p.Text(), "show pfc is another with -v")
	for _, sub := range showCommand().Commands() {
		has := sub.Flags().Lookup("verbose") != nil
		assert.True(t, has == (sub.Name() == "headroom" || sub.Name() == "ports"), "show %s: -v: %v", sub.Name(), has)
		has = sub.Flags().Lookup("all") != nil
		assert.True(t, has == (sub.Name() == "queues"), "show %s: -a: %v", sub.Name(), has)
	}
}

// With --check the exit status tells whether a storm lasts, whatever else is asked.
func TestWatchdogCheck(t *testing.T) {
	states := make(chan string, 1)
	socket := filepath.Join(t.TempDir(), "s.sock")
	l := assert.Got(net.Listen("unix", socket)).Must(t)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Must(t, api.WriteJSON(w, &api.Watchdog{Header: api.Header{Schema: api.Schema},
			Queues: []api.WatchdogQueue{{Port: "p1", State: "operational"}, {Port: "p2", State: <-states}}}))
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { assert.Must(t, server.Close()) })
	for _, tt := range []struct {
		state, flags string
		status       int
	}{
		{"operational", "--check", 0}, {"off", "--check", 0}, {"stormed", "", 0}, {"stormed", "--check", 1},
		{"stormed", "--check -j", 1}, {"closed", "--check", 1},
	} {
		states <- tt.state
		out, status := run(t, showCommand(), append([]string{"watchdog", "-s", socket}, strings.Fields(tt.flags)...)...)
		assert.True(t, status == tt.status && strings.Contains(out, tt.state),
			"%s %s: status %d, want %d\n%s", tt.state, tt.flags, status, tt.status, out)
	}
	for flags, want := range map[string]int{"-s " + socket + "x": 1, "--check -s " + socket + "x": couldNotRun,
		"--check --priority 8 -s " + socket: couldNotRun, "--check --watch -s " + socket: couldNotRun} {
		out, status := run(t, showCommand(), append([]string{"watchdog"}, strings.Fields(flags)...)...)
		assert.Equal(t, status, want, "%s: status\n%s", flags, out)
	}
}
