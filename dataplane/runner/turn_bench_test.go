package runner

import (
	"fmt"
	"slices"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// An account is a port that counts by their source the frames that it sends into nothing.
type account struct {
	loopPort
	from    map[uint64]int
	scratch [frame.HeaderOctets + mtu]byte
}

func (p *account) Send(b *port.Batch) (int, error) {
	for i := range b.Len() {
		h, _ := frame.Parse(b.Frame(i, p.scratch[:0]))
		p.from[h.Src]++
	}
	return b.Len(), nil
}

// newFunnel is a worker between ports whose rings are never empty and one, number 0, that is far too slow for them.
func newFunnel(b *testing.B, sources int, v Tuning) (*worker, *account) {
	cfg, out := roomy(sources+1), &account{from: map[uint64]int{}}
	cfg.Buffer.Lossy.Size = 1 << 20
	sw, err := dataplane.New(cfg, Now())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sw.Close() })
	r := &Runner{sw: sw, tuning: v}
	w, err := newWorker(r, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.close() })
	r.workers = []*worker{w}
	var ports []dataplane.PortConfig
	for i := range sources + 1 {
		c := unshaped(i)
		var p port.Port = &loopPort{class: port.Other, frames: repeated(data(i, 0, 0, 0, 512), burstFrames)}
		if i == 0 {
			c.Speed, c.Burst = 100_000_000, 6250
			p = out
		}
		ports = append(ports, c)
		r.tasks[i] = &portTask{index: i, port: p}
		r.tasks[i].configure(c)
	}
	start(b, sw, cfg, Now(), ports...)
	r.assign(sw)
	return w, out
}

// What the weakest of several floods to one slow port gets of its fair share, where ports begin a round in turn and
// where the same one always does. No kernel and no sender takes CPU time meanwhile.
func BenchmarkTurn(b *testing.B) {
	for _, sources := range []int{2, 7} {
		for name, v := range map[string]Tuning{"in-turn": {}, "fixed": {FixedTurn: true}} {
			b.Run(fmt.Sprintf("%s/sources=%d", name, sources), func(b *testing.B) {
				w, out := newFunnel(b, sources, v)
				for b.Loop() {
					w.round(Now())
				}
				var sent []int
				sum := 0
				for i := range sources {
					n := out.from[host(i+1)]
					sent, sum = append(sent, n), sum+n
				}
				if sum > 0 {
					b.ReportMetric(float64(slices.Min(sent)*sources)/float64(sum), "of-fair-share")
				}
			})
		}
	}
}
