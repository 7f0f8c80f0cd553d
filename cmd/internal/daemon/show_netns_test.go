package daemon

import (
	"context"
	"slices"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/cmd/internal/lab"
	"pfcswitch/macctl"
)

// Whoever asks a switch under full load, two saturated senders towards one port that holds them, has the answer within 50 ms:
// the median of the questions over the control socket, JSON decoded and table made, for each noun.
func TestShowUnderLoad(t *testing.T) {
	const limit = 50 * time.Millisecond
	r := newRig(t, 3, lab.LinkOptions{})
	r.start(setup{keys: smallBuffers, each: "speed: 1G, ring: {outage: 400ms, max: 64MiB}"})
	c := r.serveControl()
	h1, h2, h3 := r.station(1, macctl.ModePFC, 1e9), r.station(2, macctl.ModePFC, 1e9), r.station(3, macctl.ModePFC, 1e9)
	stop1, stop3 := h1.send(stream{to: 2, prio: 3}), h3.send(stream{to: 2, prio: 3})
	eventually(t, "both senders are held now and then", func() bool { return h1.controls.Load() > 2 && h3.controls.Load() > 2 })
	for _, noun := range api.Nouns() {
		var took []time.Duration
		for range 21 {
			begun := time.Now()
			reply, err := c.Show(context.Background(), noun)
			must(t, err)
			_ = reply.Text()
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		t.Logf("show %-8s median %v, least %v, most %v", noun, took[10], took[0], took[20])
		if took[10] > limit {
			t.Errorf("show %s takes %v, the median of 21, want %v at most", noun, took[10], limit)
		}
	}
	stop1()
	stop3()
	h2.whole(h1, 3)
	h2.whole(h3, 3)
}
