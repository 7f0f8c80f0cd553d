package acceptance

import (
	"encoding/binary"
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port/porttest"
)

// Frames to a station behind a group come to the switch, which alone knows their flows: the programs in the kernel go
// by addresses, and take none of them, though they take what the same host sends to a station behind one port. Each
// flow leaves by one port, whole and in order.
func TestGroupsAreNotOnTheFastPath(t *testing.T) {
	const flows, frames = 40, 60
	needAssist(t)
	r := Start(t, 4, Setup{Keys: Lossless3 + "assist: auto\nfdb: [{mac: \"02:00:00:00:00:09\", ports: [p2, p3]}, " +
		"{mac: \"02:00:00:00:00:01\", port: p1}, {mac: \"02:00:00:00:00:04\", port: p4}]\n",
		Each: "speed: none, loop: off"})
	sender := r.Socket(1)
	behind := [2]*porttest.Socket{r.Socket(2), r.Socket(3)}
	sent, next, at := uint64(0), map[uint16]uint32{}, map[uint16]int{}
	send := func(b []byte) {
		must(t, sender.Send(complete, b))
		sent++
	}
	arrived := 0
	collect := func() {
		for i, s := range behind {
			for _, b := range udpOf(s) {
				flow, got := binary.BigEndian.Uint16(b[14+20:])-1000, binary.BigEndian.Uint32(b[len(b)-4:])
				if before, seen := at[flow]; seen && before != i || got != next[flow] {
					t.Fatalf("flow %d: frame %d by p%d after frame %d by p%d", flow, got, i+2, next[flow]-1, before+2)
				}
				at[flow], next[flow] = i, got+1
				arrived++
			}
		}
	}
	for n := range uint32(frames) {
		for flow := range uint16(flows) {
			b := IPv4UDP(1, 9, 0, 100)
			binary.BigEndian.PutUint16(b[14+20:], 1000+flow)
			binary.BigEndian.PutUint32(b[len(b)-4:], n)
			send(b)
			if flow%8 == 0 {
				send(Ethernet(1, 4, NumberedType, make([]byte, 46)))
			}
		}
		r.received(sent)
		time.Sleep(time.Millisecond) // the switch opens the fast path where nothing waits
		collect()
	}
	eventually(t, "all frames have arrived", func() bool {
		collect()
		return arrived == flows*frames
	})
	for n, fast := range map[int]bool{2: false, 3: false, 4: true} {
		c := r.Snapshot(n).Counters
		forwarded := uint64(0)
		for _, f := range c.Forwarded {
			forwarded += f
		}
		assert.True(t, forwarded > 0 == fast && c.SentFrames >= frames,
			"p%d sent %d frames, %d of them on the fast path", n, c.SentFrames, forwarded)
	}
}

// udpOf returns the datagrams that have arrived at a host.
func udpOf(s *porttest.Socket) (all [][]byte) {
	for {
		p, err := s.Receive(0)
		if err != nil {
			return all
		}
		if len(p.Data) > 42 && binary.BigEndian.Uint16(p.Data[12:]) == 0x0800 && p.Data[5] == 9 {
			all = append(all, append([]byte(nil), p.Data...))
		}
	}
}
