package runner

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/port"
)

// What a capture costs a worker, as a ratio to the same worker without one, in turns of one run: with a reader that
// makes a file of everything as fast as it can (reader), and with one that never reads, so that its place is
// overwritten all the time (slow). A control pair without captures (off) shows how far the machine's own noise goes.
func BenchmarkTapRatio(b *testing.B) {
	for _, octets := range []int{60, 1514} {
		for _, snap := range []int{64, capture.MaxSnap} {
			b.Run(fmt.Sprintf("frame=%d/snap=%d", octets, snap), func(b *testing.B) {
				newRig := func() *workerRig {
					return newWorkerRig(b, port.Lossless, repeated(data(0, 1, lossless, 0, octets), burstFrames), nil)
				}
				base, off, reader, slow := newRig(), newRig(), newRig(), newRig()
				tapped(b, slow.w.r.sw, snap)
				readTap(b, reader.w.r, snap)
				rigs := []*workerRig{base, off, reader, slow}
				var ratios [4][]float64
				for b.Loop() {
					var took [4]time.Duration
					for turn := range rigs {
						i := (turn + len(ratios[0])) % len(rigs) // each begins in turn
						begun := time.Now()
						for range 200 {
							rigs[i].round()
						}
						took[i] = time.Since(begun)
					}
					for i := range rigs {
						ratios[i] = append(ratios[i], float64(took[i])/float64(took[0]))
					}
				}
				for i, name := range []string{"", "off/off", "reader/off", "slow/off"} {
					if i > 0 {
						slices.Sort(ratios[i])
						b.ReportMetric(ratios[i][len(ratios[i])/2], name)
					}
				}
			})
		}
	}
}

// readTap makes a file of everything that is captured, which nobody keeps, until the end of the benchmark.
func readTap(b *testing.B, r *Runner, snap int) {
	s := capture.NewStream(tapped(b, r.sw, snap), capture.Options{Snap: snap, Interfaces: r.Interfaces})
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for buffer, more := s.Begin(nil), false; ; {
			if buffer, more = s.Append(buffer[:0], 64<<10); more {
				continue
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	b.Cleanup(func() { close(stop); done.Wait() })
}
