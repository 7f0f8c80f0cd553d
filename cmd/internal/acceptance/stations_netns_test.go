package acceptance

import (
	"encoding/binary"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
)

// A host that makes up source addresses takes no more of the table than its port's limit: a new host at another port is
// learned, lossless frames to it stay lossless, and an event names the port.
func TestMadeUpStations(t *testing.T) {
	r := Start(t, 4, Setup{Keys: Lossless3 + "fdb: []", Each: "storm: off"})
	s := r.sockets()
	b := Ethernet(1, 1, 0x88b5, make([]byte, 46)) // to the sender itself, so that most are dropped
	for i := range uint32(140_000) {
		b[6] = 6
		binary.BigEndian.PutUint32(b[8:], i)
		must(t, s[0].Send(frame.VnetHeader{}, b))
	}
	must(t, s[1].Send(frame.VnetHeader{}, Ethernet(2, 3, 0x88b5, pattern(60))))
	p2 := r.Snapshot(2).Index
	learned := func() bool {
		for _, e := range r.Source().FDB() {
			if e.Port == p2 && e.MAC == frame.Address(HostMAC(2)) {
				return true
			}
		}
		return false
	}
	eventually(t, "the new host is learned", learned)
	lossless := Tagged(Ethernet(3, 2, 0x88b5, pattern(60)), 0x8100, 3<<13)
	for range 20 {
		must(t, s[2].Send(frame.VnetHeader{}, lossless))
	}
	eventually(t, "they leave as lossless ones", func() bool { return r.Snapshot(2).Counters.QueueSent[3] == 20 })
	got := r.Events(dataplane.EventStations, 1)
	assert.True(t, len(got) != 0, "no event names the port")
	p1 := r.Snapshot(1).Index
	eventually(t, "the port has as many stations as it may", func() bool { // once all its frames have been read
		n := 0
		for _, e := range r.Source().FDB() {
			if e.Port == p1 {
				n++
			}
		}
		return n == 4096
	})
}
