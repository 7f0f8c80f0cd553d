package metrics

import (
	"fmt"
	"testing"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/deadlock"
	"pfcswitch/macctl"
)

// wide is a switch of 32 ports with eight lossless priorities each.
func wide() Config {
	const ports = 32
	c := config()
	var all []Port
	var queues []deadlock.Status
	for n := range ports {
		name := fmt.Sprintf("p%d", n+1)
		all = append(all, Port{Name: name, LLDP: &LLDP{Neighbors: 1}, Headroom: measured()})
		for q := range dataplane.NumPriorities {
			queues = append(queues, deadlock.Status{Name: name, Queue: uint8(q)})
		}
	}
	c.Ports, c.Watchdog = func() []Port { return all }, func() []deadlock.Status { return queues }
	c.Snapshot = func(v *dataplane.Snapshot) {
		sample(v)
		v.Trunks = nil
		v.Ports, v.Buffer.Ports = nil, nil
		for n := range ports {
			p := pfcPort()
			p.Index, p.Config.Name, p.Config.Lossless = n, all[n].Name, 0xff
			v.Ports = append(v.Ports, p)
			b := buffer.PortSnapshot{Port: n, Name: all[n].Name, Mode: macctl.ModePFC}
			for q := range b.Ingress {
				b.Ingress[q].Lossless = true
			}
			v.Buffer.Ports = append(v.Buffer.Ports, b)
		}
	}
	return c
}

// BenchmarkScrape scrapes 32 ports as Prometheus does.
func BenchmarkScrape(b *testing.B) {
	h := Handler(NewCollector(wide()), none)
	b.ReportAllocs()
	for b.Loop() {
		ask(h, "/metrics", protobuf)
	}
}
