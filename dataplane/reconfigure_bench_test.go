package dataplane

import (
	"fmt"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
)

// How long every worker stands still for a configuration of n ports, when they are new and when they stay.
func BenchmarkReconfigure(b *testing.B) {
	for _, n := range []int{2, 32, 256} {
		b.Run(fmt.Sprintf("ports=%d", n), func(b *testing.B) {
			cfg, ports := testConfig(n), map[int]PortConfig{}
			cfg.Buffer.Lossless.Size += 64 << 20
			for i := range n {
				ports[i] = testPort(i)
			}
			r := newRig(b, cfg)
			var still [2]time.Duration
			for b.Loop() {
				for k := range still {
					still[k] += r.standstill(b, cfg, ports)
				}
				r.standstill(b, cfg, nil)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(still[0].Microseconds())/float64(b.N), "µs/new")
			b.ReportMetric(float64(still[1].Microseconds())/float64(b.N), "µs/same")
		})
	}
}

// standstill puts a configuration in force and returns for how long the workers would stand still.
func (r *rig) standstill(b *testing.B, cfg Config, ports map[int]PortConfig) time.Duration {
	next := assert.Got(Prepare(cfg, ports, nil)).Must(b)
	began := time.Now()
	assert.Must(b, r.sw.Apply(next, r.now))
	return time.Since(began)
}

// How long every worker stands still for 1 GiB more of packet memory, where that of before has been used to its end.
func BenchmarkGrow(b *testing.B) {
	const octets, more = 64 << 20, 1 << 30
	var growing time.Duration
	for b.Loop() {
		m := assert.Got(newMemory(cell, octets)).Must(b)
		for c := m.alloc(cell); c != none; c = m.alloc(cell) {
			m.descs[m.allocDescriptor()].cell = c
			m.store(c, []byte{1})
		}
		began := time.Now()
		assert.Must(b, m.grow((octets+more)/cell))
		growing += time.Since(began)
		assert.Must(b, m.close())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(growing.Microseconds())/float64(b.N), "µs/grow")
}
