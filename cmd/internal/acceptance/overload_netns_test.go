package acceptance

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/macctl"
)

// A switch that gets too little CPU makes its peers wait, and loses nothing of theirs: while it stands still for 50 ms
// again and again, and while every CPU has something else to do. Two senders at the speed of the port that both want
// keep the buffer at its threshold all the time, and 30 ms between two stops are too short to empty the rings that the
// first one has filled. In each stop a sender sends what it sends in 50 ms, also where the stop takes longer.
func TestOverload(t *testing.T) {
	const speed, standstill = 500e6, 50 * time.Millisecond
	const most = uint64(speed/8*50e-3) / (1518 + 24) // frames of priority 3 that a sender sends in a standstill
	for _, tt := range []struct {
		name string
		make func(t *testing.T, r *Rig, p *lab.Process, senders ...*Station)
	}{
		{"stopped for 50 ms", func(t *testing.T, _ *Rig, p *lab.Process, senders ...*Station) {
			for range 10 {
				for _, h := range senders {
					h.Limit.Store(h.Sent[3].Load() + most)
				}
				freeze(t, p)
				time.Sleep(standstill)
				thaw(t, p)
				for _, h := range senders {
					h.Limit.Store(0)
				}
				time.Sleep(30 * time.Millisecond)
			}
		}},
		{"a busy process on every CPU", func(t *testing.T, r *Rig, _ *lab.Process, _ ...*Station) {
			var busy []*lab.Process
			for range runtime.NumCPU() {
				p, err := r.Node.Start(lab.Command{Argv: []string{"/bin/sh", "-c", "while :; do :; done"}})
				must(t, err)
				busy = append(busy, p)
			}
			time.Sleep(2 * time.Second)
			for _, p := range busy {
				_ = p.Stop(syscall.SIGKILL, Timeout) // the error says that it was killed
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRig(t, 3)
			p := r.StartProcess(Setup{Keys: Lossless3, Each: "speed: 500M"})
			h1, _, h3, end := r.Incast(macctl.ModePFC, speed)
			tt.make(t, r, p, h1, h3)
			end()
			must(t, p.Stop(syscall.SIGTERM, Timeout))
		})
	}
}
