package dataplane_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"pfcswitch/buffer"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

const (
	gigabit  = 1_000_000_000
	lossless = 3
	octets   = 1000
	seqAt    = frame.HeaderOctets + frame.TagOctets
)

// stations are the hosts behind port 0 of the first switch and port 1 of the second.
var stations = [2][6]byte{{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}}

// newSwitch returns a switch of two ports with PFC, behind which are the stations.
func newSwitch(t *testing.T) *dataplane.Switch {
	t.Helper()
	cfg := dataplane.Config{Lossless: 1 << lossless, Ageing: time.Minute, Identity: bridge.Identity{1},
		Buffer: buffer.Config{
			Cell: 256, Lossless: buffer.PoolConfig{Size: 256 << 10, Alpha: 1}, Lossy: buffer.PoolConfig{Size: 256 << 10,
				Alpha: 1},
		}}
	ports := map[int]dataplane.PortConfig{}
	var statics []dataplane.Static
	for i, name := range []string{"a", "b"} {
		c := dataplane.PortConfig{Name: name, MAC: [6]byte{2, 0, 0, 0, 1, byte(i)}, Speed: gigabit, Burst: 62_500,
			MaxFrame: 1514, Mode: macctl.ModePFC, Lossless: 1 << lossless, Quanta: math.MaxUint16,
			Classify: classify.Config{Trust: classify.TrustPCP}, Bridge: bridge.PortConfig{PVID: 1}}
		for q := range c.Egress {
			c.Egress[q] = sched.Queue{Weight: 1}
			c.Ingress[q] = buffer.QueueConfig{Headroom: 32 << 10, XonOffset: 4 << 10}
		}
		ports[i] = c
		statics = append(statics, dataplane.Static{MAC: frame.Address(stations[i][:]), VID: 1, Port: i})
	}
	s, err := dataplane.New(cfg, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Reconfigure(cfg, ports, statics, 1); err != nil {
		t.Fatal(err)
	}
	for i := range ports {
		s.SetUp(i, true, 1)
	}
	return s
}

// take gives frames to port i, which must have room for all of them.
func take(t *testing.T, s *dataplane.Switch, i int, now int64, frames ...[]byte) {
	t.Helper()
	c, _ := s.PortConfig(i)
	burst := make([]dataplane.Arrival, len(frames))
	for k, b := range frames {
		burst[k].Data, burst[k].At = b, now
		burst[k].Prepare(&c.Classify, c.MaxFrame)
	}
	for taken := 0; taken < len(burst); {
		n, stop := s.Ingress(i, burst, taken, now, 0)
		if taken = n; stop == dataplane.Hold {
			t.Fatalf("%d of %d frames have no room", len(burst)-taken, len(burst))
		}
	}
	s.Store(s.Settle(burst, nil))
}

// give makes one send call of port i and returns what left: MAC Control frames, and data.
func give(s *dataplane.Switch, i int, now int64) (control, data [][]byte) {
	for b, ok := s.ControlOut(i, nil, now); ok; b, ok = s.ControlOut(i, nil, now) {
		s.ControlSent(i, now)
		control = append(control, b)
	}
	if s.Dequeue(i, now, nil) > 0 {
		batch := port.NewBatch()
		s.Fill(i, batch, nil)
		for k := range batch.Len() {
			data = append(data, batch.Frame(k, nil))
		}
		s.Sent(i, batch.Len(), now)
	}
	return control, data
}

// Two switches joined by a link, in virtual time: when the station behind the second one stops it, the second stops
// the first, and that one its station. No frame is lost or overtaken.
func TestTwoCoresInALoop(t *testing.T) {
	s := [2]*dataplane.Switch{newSwitch(t), newSwitch(t)}
	exchange := func(from, i, to, j int, now int64) {
		control, data := give(s[from], i, now)
		for _, b := range control {
			s[to].Control(j, b, now, now)
		}
		take(t, s[to], j, now, data...)
		s[to].Tick(now)
	}
	const frames, step = 2000, 10_000
	stopped, sent, got := false, 0, []int(nil)
	sender := macctl.NewReceiver(macctl.ModePFC, 1<<lossless, gigabit, [6]byte{})
	for now := int64(step); len(got) < frames && now < 1_000_000_000; now += step {
		if now%(400*step) == 0 { // the station behind the second switch stops it for 4 ms, and frees it for 4 ms
			var times [dataplane.NumPriorities]uint16
			if now%(800*step) == 0 {
				times[lossless] = math.MaxUint16
			}
			s[1].Control(1, macctl.AppendPFC(nil, [6]byte{2}, 1<<lossless, times), now, now)
		}
		if paused := sender.Paused(now) != 0; !paused && sent < frames {
			take(t, s[0], 0, now, numbered(sent))
			sent++
		} else {
			stopped = stopped || paused
		}
		exchange(0, 1, 1, 0, now)
		exchange(1, 0, 0, 1, now)
		control, _ := give(s[0], 0, now)
		for _, b := range control {
			sender.Receive(b, now, now)
		}
		_, data := give(s[1], 1, now)
		for _, b := range data {
			got = append(got, int(binary.BigEndian.Uint32(b[seqAt:])))
		}
	}
	if len(got) != frames || !slices.IsSorted(got) || !stopped {
		t.Errorf("%d of %d frames came, in order: %v; their sender was stopped: %v", len(got), frames,
			slices.IsSorted(got), stopped)
	}
	for i := range s {
		var v dataplane.Snapshot
		if s[i].Snapshot(&v, 1_000_000_000); v.LosslessDrops() != 0 {
			t.Errorf("switch %d has lost %d lossless frames", i, v.LosslessDrops())
		}
	}
}

// numbered is a priority-tagged frame from the first station to the second.
func numbered(seq int) []byte {
	b := make([]byte, octets)
	copy(b, stations[1][:])
	copy(b[frame.AddressOctets:], stations[0][:])
	binary.BigEndian.PutUint16(b[2*frame.AddressOctets:], frame.TypeVLAN)
	binary.BigEndian.PutUint16(b[2*frame.AddressOctets+2:], uint16(frame.MakeTCI(lossless, false, 0)))
	binary.BigEndian.PutUint16(b[2*frame.AddressOctets+4:], 0x88B5)
	binary.BigEndian.PutUint32(b[seqAt:], uint32(seq))
	return b
}
