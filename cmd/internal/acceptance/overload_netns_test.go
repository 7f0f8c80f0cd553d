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
// first one has filled.
func TestOverload(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(t *testing.T, r *Rig, p *lab.Process)
	}{
		{"stopped for 50 ms", func(t *testing.T, _ *Rig, p *lab.Process) {
			for range 10 {
				from := time.Now()
				freeze(t, p)
				time.Sleep(50 * time.Millisecond)
				thaw(t, p)
				t.Logf("stopped for %v", time.Since(from))
				time.Sleep(30 * time.Millisecond)
			}
		}},
		{"a busy process on every CPU", func(t *testing.T, r *Rig, _ *lab.Process) {
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
			_, _, _, end := r.Incast(macctl.ModePFC, 500e6)
			tt.make(t, r, p)
			end()
			must(t, p.Stop(syscall.SIGTERM, Timeout))
		})
	}
}
