package daemon

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port/porttest"
	"pfcswitch/macctl"
)

// flood sends 20 lossy frames before each of n numbered lossless ones from host 1 to host 2.
func flood(s *porttest.Socket, n int, v frame.VnetHeader, lossy []byte) error {
	lossless := (&Station{N: 1}).Numbered(Stream{To: 2, Prio: 3, Octets: 300})
	for i := range n {
		for range 20 {
			if err := s.Send(v, lossy); err != nil {
				return err
			}
		}
		binary.BigEndian.PutUint64(lossless[20:], uint64(i))
		if err := s.Send(frame.VnetHeader{}, lossless); err != nil {
			return err
		}
	}
	return nil
}

// overflow sends n numbered frames of host 1 while the switch stands still.
func (r *rig) overflow(s *porttest.Socket, n int, stream Stream) {
	r.T.Helper()
	must(r.T, r.d().runner.Do(func(*dataplane.Switch) error {
		b := (&Station{N: 1}).Numbered(stream)
		for range n {
			if err := s.Send(frame.VnetHeader{}, b); err != nil {
				return err
			}
		}
		return nil
	}))
}

// While the switch stands still, lossy traffic overflows its own receive ring and costs lossless traffic nothing:
// frames, frames that do not fit a slot, and GSO frames.
func TestOverflowingLossyRing(t *testing.T) {
	const lossless = 200
	whole := frame.VnetHeader{Flags: frame.VnetNeedsCsum, GSOType: frame.GSOUDPL4, GSOSize: 1400, HdrLen: 14 + 28,
		CsumStart: 14 + 20, CsumOffset: 6}
	for _, tt := range []struct {
		name  string
		speed string
		vnet  frame.VnetHeader
		lossy []byte
	}{
		{"frames", "speed: 1G, ring: {other: 1000}", frame.VnetHeader{}, IPv4UDP(1, 2, 0, 200)},
		{"small frames", "speed: 1G, ring: {other: 50}", frame.VnetHeader{}, IPv4UDP(1, 2, 0, 60)},
		{"larger than a slot", "speed: 1G, ring: {frame: 400, other: 256}", frame.VnetHeader{}, IPv4UDP(1, 2, 0, 1400)},
		{"GSO frames", "speed: none, ring: {other: 256}", whole, IPv4UDP(1, 2, 0, 40*1400)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, 2, Setup{Keys: Lossless3, Each: tt.speed})
			s := r.Socket(1)
			h2 := r.Station(2, macctl.ModePFC, 1e9)
			must(t, r.d().runner.Do(func(*dataplane.Switch) error { return flood(s, lossless, tt.vnet, tt.lossy) }))

			eventually(t, "the lossless frames are through", func() bool { return h2.Tally(1, 3).Frames == lossless })
			got := h2.Tally(1, 3)
			assert.True(t, got.Reordered == 0, "%d of them came late", got.Reordered)
			var lost uint64
			eventually(t, "the lost frames are counted", func() bool {
				lost = r.Snapshot(1).Counters.Drops[dataplane.Unknown][dataplane.DropRing]
				return lost > 0
			})
			t.Logf("%d of %d lossy frames were lost in their ring", lost, 20*lossless)
			r.NoLosslessDrops()
		})
	}
}

// A ring that overflows with lossless frames while the switch stands still breaks the promise. An event says how many
// were lost, and blames nobody else.
func TestOverflowingLosslessRing(t *testing.T) {
	r := start(t, 2, Setup{Keys: Lossless3, Each: "speed: 1G, ring: {outage: 1ms}"})
	s := r.Socket(1)
	h2 := r.Station(2, macctl.ModePFC, 1e9)
	const sent = 2000
	r.overflow(s, sent, Stream{To: 2, Prio: 3, Octets: 300})
	eventually(t, "every frame has come or is counted as lost", func() bool {
		c := r.Snapshot(1).Counters
		return c.LosslessDrops[dataplane.Unknown] > 0 &&
			h2.Tally(1, 3).Frames+c.LosslessDrops[dataplane.Unknown] == sent
	})
	var lost uint64
	for _, e := range r.Events(dataplane.EventLosslessDrop, 1) {
		lost += e.Count
		if !strings.Contains(e.Text, "overflowed: this switch did not read it") || strings.Contains(e.Text, "obey") {
			t.Errorf("event %+v, want one that blames this switch, which stood still, and not the peer", e)
		}
	}
	counted := r.Snapshot(1).Counters.LosslessDrops[dataplane.Unknown]
	assert.True(t, lost == counted, "events of %d lost frames, want %d", lost, counted)
}

// A peer that is held because the ring has filled up is freed when what waited has gone, also where it is another
// worker that sends it and nothing comes any more.
func TestRingHoldEnds(t *testing.T) {
	for _, workers := range []string{"auto", "per-port"} {
		t.Run(workers, func(t *testing.T) {
			r := start(t, 2, Setup{Keys: SmallBuffers + "workers: " + workers,
				Each: "speed: 10M, ring: {outage: 400ms}"})
			s := r.Socket(1)
			h2 := r.Station(2, macctl.ModePFC, 10e6)
			const sent = 150
			r.overflow(s, sent, Stream{To: 2, Prio: 3})
			eventually(t, "all frames are through", func() bool { return h2.Tally(1, 3).Frames == sent })
			control := r.Snapshot(1).ControlSent
			assert.True(t, control.XoffSent[3] != 0, "the peer was never told to stop, so nothing is shown")
			eventually(t, "the peer is free", func() bool { return r.Snapshot(1).XoffWanted == 0 })
			r.NoLosslessDrops()
		})
	}
}

// A port has queues until it is in use. It then gets its whole rings while two senders fill a third port and are held
// again and again: no frame is lost or overtaken. Other frames are use too, and a queue holds a burst of them.
func TestRingsGrowWithUse(t *testing.T) {
	r := start(t, 4, Setup{Keys: Lossless3, Each: "speed: 1G"})
	queued := func(n int) bool {
		d := r.d()
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.ports[PortName(n)].opened.Queued
	}
	r.d().mu.Lock()
	held := r.d().ports["p1"].holds()
	r.d().mu.Unlock()
	for n := 1; n <= 4; n++ {
		assert.Equal(t, queued(n), held, "port %d begins with queues", n)
		assert.True(t, r.Snapshot(n).RingSlots.Full >= 4876, "port %d has %d slots", n, r.Snapshot(n).RingSlots.Full)
	}
	station := func(n int) *Station { return r.Station(n, macctl.ModePFC, 1e9) }
	h1, h2, h3 := station(1), station(2), station(3)
	stops := []func(){h1.Send(Stream{To: 3, Prio: 3}), h2.Send(Stream{To: 3, Prio: 3, Octets: 100})}
	for n := 1; n <= 2; n++ {
		eventually(t, "whole rings", func() bool { return !queued(n) })
		assert.True(t, r.Snapshot(n).RingSlots.Full >= 4876, "port %d has %d slots", n, r.Snapshot(n).RingSlots.Full)
	}
	at := [2]uint64{h3.Tally(1, 3).Frames, h3.Tally(2, 3).Frames}
	eventually(t, "frames come through the whole rings", func() bool {
		return h3.Tally(1, 3).Frames > at[0]+1000 && h3.Tally(2, 3).Frames > at[1]+1000
	})
	for _, stop := range stops {
		stop()
	}
	h3.Whole(h1, 3)
	h3.Whole(h2, 3)
	assert.Equal(t, queued(4), held, "a port with no frames has queues")
	s := r.Socket(4)
	must(t, r.d().runner.Do(func(*dataplane.Switch) error {
		for range 1000 {
			if err := s.Send(frame.VnetHeader{}, IPv4UDP(4, 3, 0, 200)); err != nil {
				return err
			}
		}
		return nil
	}))
	eventually(t, "other frames get whole rings", func() bool { return !queued(4) })
	assert.Equal(t, r.Snapshot(4).Counters.Drops[dataplane.Unknown][dataplane.DropRing], 0, "lost in the queue")
	r.NoLosslessDrops()
}

// threadsNamed counts the threads of this process with a name.
func threadsNamed(t testing.TB, name string) (n int) {
	t.Helper()
	for _, file := range assert.Got(filepath.Glob("/proc/self/task/*/comm")).Must(t) {
		comm, err := os.ReadFile(file)
		if err == nil && string(comm) == name+"\n" { // else the thread has ended
			n++
		}
	}
	return n
}

// The program in the kernel alone watches over ports that are not in use, once it is there. The first lossless frame
// starts the Refresher.
func TestRefresherComesWithUse(t *testing.T) {
	const name = "refresher"
	eventually(t, "those of other tests have ended", func() bool { return threadsNamed(t, name) == 0 })
	r := start(t, 2, Setup{Keys: Lossless3, Each: "speed: 1G"})
	r.d().mu.Lock()
	held := r.d().ports["p1"].holds()
	r.d().mu.Unlock()
	eventually(t, "the Refresher runs only where no program holds the peers", func() bool {
		return (threadsNamed(t, name) == 0) == held
	})
	h2 := r.Station(2, macctl.ModePFC, 1e9)
	must(t, r.Socket(1).Send(frame.VnetHeader{}, (&Station{N: 1}).Numbered(Stream{To: 2, Prio: 3, Octets: 300})))
	eventually(t, "the Refresher runs", func() bool { return threadsNamed(t, name) > 0 })
	eventually(t, "the frame arrives", func() bool { return h2.Tally(1, 3).Frames == 1 })
}
