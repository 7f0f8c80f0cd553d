package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"testing"

	"pfcswitch/cmd/internal/config"
	"pfcswitch/deadlock"
)

// unplugged starts a switch at 1 Gbit/s without interfaces, with keys for the whole switch and for each of its two ports.
func unplugged(t *testing.T, log *slog.Logger, keys, port string) *Daemon {
	t.Helper()
	text := fmt.Sprintf("name: test\nmetrics: {listen: off}\napi: {socket: %s/api.sock}\n%s\nports:\n", t.TempDir(), keys)
	for _, name := range []string{"p1", "p2"} {
		text += fmt.Sprintf("  %s: {interface: nowhere-%s, speed: 1G, %s}\n", name, name, port)
	}
	c, _, err := config.Parse("test.yaml", []byte(text+"fdb:\n  - {mac: \"02:00:00:00:00:02\", vlan: 1, port: p2}\n"))
	must(t, err)
	d, err := New(c, log)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	return d
}

var discards = slog.New(slog.NewTextHandler(io.Discard, nil))

// A port is watched for as long as it is lossless: not while its link keeps MAC Control frames.
func TestWatchedWhileLossless(t *testing.T) {
	for _, tt := range []struct {
		mode   string
		queues []uint8
	}{{"pfc", []uint8{3, 4}}, {"pause", []uint8{deadlock.All}}, {"off", nil}} {
		t.Run(tt.mode, func(t *testing.T) {
			d := unplugged(t, discards, "priorities: {lossless: [3, 4]}", "flow_control: "+tt.mode)
			for _, swallows := range []bool{false, true, false} {
				for _, p := range d.ports {
					p.swallows = swallows && p.cfg.Name == "p1"
				}
				must(t, d.putInForce(t.Context(), d.cfg))
				want := map[string]bool{}
				for _, q := range tt.queues {
					want[fmt.Sprintf("p2 %d", q)] = true
					if !swallows {
						want[fmt.Sprintf("p1 %d", q)] = true
					}
				}
				got := map[string]bool{}
				for _, s := range d.watchdog.status() {
					got[fmt.Sprintf("%s %d", s.Name, s.Queue)] = true
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("p1 keeps MAC Control frames: %v; watched\n got %v\nwant %v", swallows, got, want)
				}
			}
		})
	}
}
