package daemon

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"pfcswitch/cmd/internal/lab"
	"pfcswitch/macctl"
)

// A switch that gets too little CPU makes its peers wait, and loses nothing of theirs: while it stands still for 50 ms again and
// again, and while every CPU has something else to do. Two senders at the speed of the port that both want keep the buffer at
// its threshold all the time.
func TestOverload(t *testing.T) {
	const speed, octets = 500e6, 1518 // 1514 behind the tag
	for _, tt := range []struct {
		name string
		make func(t *testing.T, r *rig, p *lab.Process)
	}{
		{"stopped for 50 ms", func(t *testing.T, _ *rig, p *lab.Process) {
			for range 10 {
				freeze(t, p)
				time.Sleep(50 * time.Millisecond)
				thaw(t, p)
				time.Sleep(30 * time.Millisecond)
			}
		}},
		{"a busy process on every CPU", func(t *testing.T, r *rig, _ *lab.Process) {
			var busy []*lab.Process
			for range runtime.NumCPU() {
				p, err := r.sw.Start(lab.Command{Argv: []string{"/bin/sh", "-c", "while :; do :; done"}})
				must(t, err)
				busy = append(busy, p)
			}
			time.Sleep(2 * time.Second)
			for _, p := range busy {
				_ = p.Stop(syscall.SIGKILL, patience) // the error says that it was killed
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, 3, lab.LinkOptions{})
			p := r.startProcess(setup{keys: "priorities: {lossless: [3]}", each: "speed: 500M"})
			h1, h2, h3 := r.station(1, macctl.ModePFC, speed), r.station(2, macctl.ModePFC, speed), r.station(3, macctl.ModePFC, speed)
			s := stream{to: 2, prio: 3, octets: octets}
			stop1, stop3 := h1.send(s), h3.send(s)
			eventually(t, "both senders are held now and then", func() bool { return h1.controls.Load() > 2 && h3.controls.Load() > 2 })
			tt.make(t, r, p)
			stop1()
			stop3()
			h2.whole(h1, 3)
			h2.whole(h3, 3)
			t.Logf("%d and %d frames came", h2.tally(1, 3).frames, h2.tally(3, 3).frames)
			must(t, p.Stop(syscall.SIGTERM, patience))
		})
	}
}
