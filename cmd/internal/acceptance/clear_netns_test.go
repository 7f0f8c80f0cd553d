package acceptance

import (
	"context"
	"testing"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane/assert"
)

// received returns how many frames the user is told that port n has received, and how many its buffer has admitted.
func received(t *testing.T, c *api.Client, n int) (frames, admitted uint64) {
	t.Helper()
	ports := assert.Got(c.Show(context.Background(), "ports")).Must(t)
	for _, p := range ports.(*api.Ports).Ports {
		if p.Port == PortName(n) {
			frames = p.ReceiveFrames
		}
	}
	buffer := assert.Got(c.Show(context.Background(), "buffer")).Must(t)
	for _, p := range buffer.(*api.Buffer).Ports {
		for _, q := range p.IngressQueues {
			if p.Port == PortName(n) {
				admitted += q.AdmittedFrames
			}
		}
	}
	return frames, admitted
}

// A port that is away while the user clears the counters, since its interface is gone or a configuration has removed
// it, comes back with what it counts from then on.
func TestClearWhileAPortIsAway(t *testing.T) {
	for _, row := range []struct {
		name        string
		leave, back func(r *Rig, s Setup)
	}{
		{"interface deleted", func(r *Rig, _ Setup) {
			must(r.T, r.Node.DeleteLink("p2"))
			r.WaitUp(2, false)
		}, func(r *Rig, _ Setup) { r.Link(2) }},
		{"port removed", func(r *Rig, s Setup) { must(r.T, r.Apply(s, 1)) },
			func(r *Rig, s Setup) { must(r.T, r.Apply(s, 2)) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := Setup{Keys: Lossless3}
			r := Start(t, 2, s)
			c := r.ServeControl()
			r.Passes(2, 1)
			if frames, admitted := received(t, c, 2); frames < 20 || admitted < 20 {
				t.Fatalf("%d frames received and %d admitted, want 20", frames, admitted)
			}
			row.leave(r, s)
			must(t, c.Clear(context.Background(), "counters"))
			if frames, admitted := received(t, c, 2); frames != 0 || admitted != 0 {
				t.Errorf("cleared while it is away: %d frames received and %d admitted, want 0", frames, admitted)
			}
			row.back(r, s)
			r.WaitUp(2, true)
			if frames, admitted := received(t, c, 2); frames > 5 || admitted != 0 {
				t.Errorf("back: %d frames received and %d admitted, want what came since the clear", frames, admitted)
			}
			r.Passes(2, 1)
			if frames, admitted := received(t, c, 2); frames < 20 || frames > 25 || admitted != 20 {
				t.Errorf("then %d frames received and %d admitted, want 20", frames, admitted)
			}
		})
	}
}
