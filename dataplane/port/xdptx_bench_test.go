package port_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// BenchmarkSendRatio sends bursts over a veth whose peer drops them, by AF_XDP and by packet sockets in turns.
func BenchmarkSendRatio(b *testing.B) {
	for _, octets := range []int{60, 1514} {
		b.Run(fmt.Sprintf("frame=%d", octets), func(b *testing.B) {
			batch := port.NewBatch()
			for seq := range port.BatchFrames {
				add(batch, frame.VnetHeader{}, craft(tci(3, 10), experimental, seq, octets), octets)
			}
			ways := []*port.AFPacket{deaf(b, false), deaf(b, true)}
			compare(b, []string{"packet", "af_xdp"}, func(i int) float64 { return drive(b, ways[i], batch) })
		})
	}
}

// compare measures ways in turns, each of which begins in turn. It reports the median time per frame of each, and the
// median of the ratios of each other one to the first.
func compare(b *testing.B, names []string, measure func(way int) (nsPerFrame float64)) {
	b.Helper()
	took, ratios := make([][]float64, len(names)), make([][]float64, len(names))
	for round := 0; b.Loop(); round++ {
		for turn := range names {
			way := (turn + round) % len(names)
			took[way] = append(took[way], measure(way))
		}
		for way := range names {
			ratios[way] = append(ratios[way], took[way][round]/took[0][round])
		}
	}
	for way, name := range names {
		b.ReportMetric(median(took[way]), "ns/frame-"+name)
		if way > 0 {
			b.ReportMetric(median(ratios[way]), name+"/"+names[0])
		}
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// deaf opens a port on a link whose peer drops everything.
func deaf(b *testing.B, xdp bool) *port.AFPacket {
	b.Helper()
	w := &wire{t: b, packet: !xdp}
	w.ns, w.handle = newNamespace(b)
	veth(b, w.handle, "host", "sw", 9000)
	p := w.open()
	if p.TxPath().XDP != xdp {
		b.Fatalf("the port sends in way %+v", p.TxPath())
	}
	return p
}

// drive sends a batch 200 times and returns the nanoseconds per frame.
func drive(b *testing.B, p *port.AFPacket, batch *port.Batch) float64 {
	const times = 200
	begun := time.Now()
	for range times {
		if n, err := p.Send(batch); n != batch.Len() || err != nil {
			b.Fatalf("Send: %d, %v", n, err)
		}
	}
	return float64(time.Since(begun).Nanoseconds()) / float64(times*batch.Len())
}
