package port_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// BenchmarkSendRatio sends bursts over a veth whose peer drops them, by AF_XDP and by packet sockets in turns. It
// reports the median time per frame of each, and of the ratios.
func BenchmarkSendRatio(b *testing.B) {
	for _, octets := range []int{60, 1514} {
		b.Run(fmt.Sprintf("frame=%d", octets), func(b *testing.B) {
			batch := port.NewBatch()
			for seq := range port.BatchFrames {
				add(batch, frame.VnetHeader{}, craft(tci(3, 10), experimental, seq, octets), octets)
			}
			ways := []*port.AFPacket{deaf(b, true), deaf(b, false)}
			var took [2][]float64 // ns a frame
			var ratios []float64
			for b.Loop() {
				for turn := range ways {
					i := (turn + len(ratios)) % len(ways) // each begins in turn
					took[i] = append(took[i], drive(b, ways[i], batch))
				}
				n := len(ratios)
				ratios = append(ratios, took[0][n]/took[1][n])
			}
			b.ReportMetric(median(took[0]), "ns/frame-af_xdp")
			b.ReportMetric(median(took[1]), "ns/frame-packet")
			b.ReportMetric(median(ratios), "af_xdp/packet")
		})
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
