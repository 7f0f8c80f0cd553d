package acceptance

import (
	"testing"
	"time"

	"pfcswitch/dataplane/assert"
	"pfcswitch/macctl"
)

// pause tells the switch to stop priority 3 for quanta: all priorities where the station's mode is PAUSE.
func (s *Station) pause(quanta uint16) {
	s.t.Helper()
	if s.mode != macctl.ModePause {
		s.PFC(1<<3, quanta)
		return
	}
	must(s.t, s.port.SendControl(macctl.AppendPause(nil, [6]byte(HostMAC(s.N)), quanta)))
}

// count returns how many frames of a priority came from a host between two moments.
func (s *Station) count(host int, prio uint8, from, to time.Time) (n int) {
	for _, a := range s.Arrivals(from) {
		if !a.Stamp.Before(to) {
			break
		}
		if a.origin == (origin{host, prio}) {
			n++
		}
	}
	return n
}

// A port at 100 Mbit/s, on which a send call is one frame of these. The pause lasts for more than all but the worst
// time that a thread has to wait for a CPU.
const (
	pauseQuanta = 50_000
	pauseTime   = 256 * time.Millisecond // of pauseQuanta
)

// A paused priority stops within one send call, for its quanta, while the others go on, and nothing of it is lost.
// Where PAUSE is in force it stops all.
func TestPeerPauses(t *testing.T) {
	for _, mode := range []macctl.Mode{macctl.ModePFC, macctl.ModePause} {
		t.Run(mode.String(), func(t *testing.T) {
			r := Start(t, 2, Setup{Keys: Lossless3, Each: At100M + flow(mode)})
			h1, h2 := r.Station(1, mode, 100e6), r.Station(2, mode, 100e6)
			stop := h1.Send(Stream{To: 2, Prio: 3, Rate: 40e6}, Stream{To: 2, Prio: 0, Rate: 40e6})
			eventually(t, "frames arrive", func() bool {
				return h2.Tally(1, 3).Frames > 50 && h2.Tally(1, 0).Frames > 50
			})

			before := time.Now()
			heard := h2.holdPort(r, pauseQuanta)
			end := before.Add(pauseTime)
			eventually(t, "the pause is over", func() bool { return h2.count(1, 3, end, end.Add(time.Hour)) > 50 })
			stop()
			if window := end.Sub(heard); window < pauseTime/4 {
				t.Fatalf("the switch heard of the pause when only %v of it was left", window)
			}
			if n := h2.count(1, 3, heard, end); n > 1 {
				t.Errorf("%d frames of the paused priority came while it was paused, want at most a send call of 1", n)
			}
			others := h2.count(1, 0, heard, end)
			assert.True(t, mode != macctl.ModePFC || others >= 20,
				"%d frames of the other priority came meanwhile, want a stream", others)
			assert.True(t, mode != macctl.ModePause || others <= 1,
				"%d frames of the other priority came meanwhile, want none under PAUSE", others)
			s := r.Snapshot(2)
			got := max(s.PausedNs[3], s.PausedAllNs)
			assert.True(t, got == int64(pauseTime), "paused for %v, want %v", time.Duration(got), pauseTime)
			h2.Whole(h1, 3)
			h2.Whole(h1, 0)
		})
	}
}

// holdPort pauses the switch's port and returns a moment at which the switch knew.
func (s *Station) holdPort(r *Rig, quanta uint16) time.Time {
	s.t.Helper()
	s.pause(quanta)
	eventually(s.t, "the switch has received it", func() bool {
		c := r.Snapshot(s.N).Received
		return s.mode == macctl.ModePause && c.PauseFrames == 1 || s.mode == macctl.ModePFC && c.PFCFrames[3] == 1
	})
	return time.Now()
}

// A port with asymmetric PFC stops a lossy priority, and its own PFC names the lossless one alone.
func TestAsymmetricPFCOnTheWire(t *testing.T) {
	r := Start(t, 2, Setup{Keys: Lossless3, Each: At100M, Ports: map[int]string{2: "asymmetric: on"}})
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	stop := h1.Send(Stream{To: 2, Prio: 3, Rate: 40e6}, Stream{To: 2, Prio: 0, Rate: 40e6})
	eventually(t, "frames arrive", func() bool { return h2.Tally(1, 3).Frames > 50 && h2.Tally(1, 0).Frames > 50 })
	before := time.Now()
	h2.PFC(1<<0, pauseQuanta)
	eventually(t, "the switch has received it", func() bool { return r.Snapshot(2).Received.PFCFrames[0] == 1 })
	heard, end := time.Now(), before.Add(pauseTime)
	eventually(t, "the pause is over", func() bool { return h2.count(1, 0, end, end.Add(time.Hour)) > 50 })
	stop()
	window := end.Sub(heard)
	assert.MustBeTrue(t, window >= pauseTime/4, "the switch heard of the pause when only %v of it was left", window)
	if n := h2.count(1, 0, heard, end); n > 1 {
		t.Errorf("%d frames of the paused lossy priority came while it was paused, want at most a send call of 1", n)
	}
	n := h2.count(1, 3, heard, end)
	assert.True(t, n >= 20, "%d frames of the lossless priority came meanwhile, want a stream", n)
	got := r.Snapshot(2).PausedNs[0]
	assert.True(t, got == int64(pauseTime), "paused for %v, want %v", time.Duration(got), pauseTime)
	h2.Whole(h1, 3)

	h1.PFC(1<<3, 0xffff)
	eventually(t, "the switch has received PFC", func() bool { return r.Snapshot(1).Received.PFCFrames[3] > 0 })
	stop = h2.Send(Stream{To: 1, Prio: 3}, Stream{To: 1, Prio: 0})
	eventually(t, "the switch holds its peer", func() bool {
		h1.PFC(1<<3, 0xffff)
		return r.Snapshot(2).ControlSent.PFCFrames[3] > 0
	})
	stop()
	for prio, n := range r.Snapshot(2).ControlSent.PFCFrames {
		assert.True(t, prio == 3 || n <= 0, "the switch has sent %d PFC frames for lossy priority %d", n, prio)
	}
	h1.PFC(1<<3, 0)
	h1.Whole(h2, 3)
}

// A pause time of 0 ends a pause at once.
func TestPeerResumes(t *testing.T) {
	r := Start(t, 2, Setup{Keys: Lossless3, Each: At100M})
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	h2.PFC(1<<3, 0xffff)
	eventually(t, "the switch has received PFC", func() bool { return r.Snapshot(2).Received.PFCFrames[3] == 1 })
	const frames = 20 // as many as the queue of h1 may have waiting
	h1.Send(Stream{To: 2, Prio: 3, Frames: frames})
	h1.Finish()
	eventually(t, "the frames wait", func() bool {
		return r.Snapshot(2).Held[3] == frames || r.Snapshot(2).Paused == 0
	})
	h2.PFC(1<<3, 0)
	h2.Whole(h1, 3)
	whole := int64(macctl.QuantaDuration(0xffff, 100e6))
	if got := r.Snapshot(2).PausedNs[3]; got <= 0 || got >= whole {
		t.Errorf("paused for %v, want less than the %v that were asked for", time.Duration(got), time.Duration(whole))
	}
}

// A port that its peer has paused in all priorities still tells that peer to stop.
func TestPauseDoesNotStopControlFrames(t *testing.T) {
	r := Start(t, 2, Setup{Keys: "buffer: {lossless: {size: 1MiB}}\npriorities: {lossless: [0, 1, 2, 3, 4, 5, 6, 7]}",
		Each: At100M})
	h1, h2 := r.Station(1, macctl.ModePFC, 100e6), r.Station(2, macctl.ModePFC, 100e6)
	hold := func(quanta uint16) { h1.PFC(1<<3, quanta); h2.PFC(0xff, quanta) }
	hold(0xffff)
	eventually(t, "the switch has received both", func() bool {
		return r.Snapshot(1).Received.PFCFrames[3] > 0 && r.Snapshot(2).Received.PFCFrames[3] > 0
	})
	stop := h2.Send(Stream{To: 1, Prio: 3})
	eventually(t, "the switch tells its peer to stop", func() bool { hold(0xffff); return h2.Controls.Load() > 0 })
	p := r.Snapshot(2).Paused
	assert.True(t, p == 0xff, "the switch told its peer to stop while only %08b was paused, so nothing is shown", p)
	stop()
	hold(0)
	h1.Whole(h2, 3)
	r.NoLosslessDrops()
}
