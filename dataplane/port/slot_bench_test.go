package port_test

import (
	"fmt"
	"testing"
	"time"

	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
)

// BenchmarkSlotRatio compares three sizes of ring slots, in turns: slots of 1514 octets with the oversize queue, and
// two rings with slots for every frame, with as many slots or with as much memory.
func BenchmarkSlotRatio(b *testing.B) {
	const slots = 2048
	inAll := slots * port.SlotOctets(1514) / port.SlotOctets(port.MaxFrame)
	ways := []*transit{newTransit(b, slots, 1514), newTransit(b, slots, port.MaxFrame),
		newTransit(b, inAll, port.MaxFrame)}
	for _, octets := range []int{60, 1514, 65_000} {
		b.Run(fmt.Sprintf("frame=%d", octets), func(b *testing.B) {
			batch := port.NewBatch()
			for seq := range 8 {
				data, v := craft(tci(3, 10), experimental, seq, octets), frame.VnetHeader{}
				if octets > 1514 {
					data, v = gsoFrame(nil, seq, octets)
				}
				add(batch, v, data, octets)
			}
			compare(b, []string{"small", "as-many", "as-much"}, func(i int) float64 { return ways[i].pass(b, batch) })
		})
	}
}

// A transit is a link with a port at each end.
type transit struct{ from, to *port.AFPacket }

func newTransit(b *testing.B, slots, frameSize int) *transit {
	b.Helper()
	w := &wire{t: b, packet: true}
	w.ns, w.handle = newNamespace(b)
	veth(b, w.handle, "host", "sw", 9000)
	to := port.Config{Interface: "sw", Netns: w.ns, LosslessSlots: slots, OtherSlots: slots, FrameSize: frameSize,
		Fanout: byPCP(b)}
	from := w.config()
	from.Interface = "host"
	return &transit{from: openPort(b, from), to: openPort(b, to)}
}

// pass sends a batch 100 times, receives it each time, and returns the nanoseconds of a frame.
func (l *transit) pass(b *testing.B, batch *port.Batch) float64 {
	const times = 100
	var frames [port.BatchFrames]port.Frame
	begun := time.Now()
	for range times {
		if n, err := l.from.Send(batch); n != batch.Len() || err != nil {
			b.Fatalf("Send: %d, %v", n, err)
		}
		for got, idle := 0, 0; got < batch.Len(); idle++ {
			for c := range port.NumClasses {
				n := l.to.Receive(c, frames[:], 1<<20)
				for i := range n {
					if frames[i].Truncated {
						b.Fatal("a frame was cut")
					}
				}
				l.to.Release(c, n)
				got += n
			}
			if idle > 1<<20 {
				b.Fatalf("%d of %d frames came", got, batch.Len())
			}
		}
	}
	return float64(time.Since(begun).Nanoseconds()) / float64(times*batch.Len())
}
