package runner

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/capture"
	"pfcswitch/dataplane/port"
	"pfcswitch/macctl"
)

// What a worker carries is captured once where it came in and once where it went out, whichever way it took, and the
// notes say what the counters count.
func TestTapSeesWhatCounts(t *testing.T) {
	for name, m := range loads(t) {
		c := tapped(t, m.w.r.sw, capture.MaxSnap)
		var in, out, dropped, received, sent uint64
		for range 50 {
			m.round()
			for _, s := range read(c) {
				control := strings.Contains(s.note, "XO") || strings.Contains(s.note, "obeyed")
				switch {
				case control && s.out:
					sent++
				case control:
					received++
				case s.out && strings.HasPrefix(s.note, "dropped: "): // in the trunk
				case s.out:
					out++
				default:
					in++
				}
				if strings.HasPrefix(s.note, "dropped: ") {
					dropped++
				}
				assert.MustEqual(t, len(s.data), s.length, "%s: octets", name)
			}
		}
		var v dataplane.Snapshot
		m.w.r.sw.Snapshot(&v, Now())
		var want struct{ in, out, dropped, sent uint64 }
		for i := range v.Ports {
			p := &v.Ports[i]
			// What waits is captured when it goes on. What is in a delay line was captured when it was put in.
			want.in += p.Counters.ReceivedFrames - uint64(p.Waiting)
			want.out += p.Counters.SentFrames + uint64(p.Delayed)
			want.sent += p.ControlSent.PFCFrames[lossless]
			for prio := range p.Counters.Drops {
				for _, n := range p.Counters.Drops[prio] {
					want.dropped += n
				}
			}
		}
		assert.True(t, in == want.in && out == want.out && dropped == want.dropped && sent == want.sent && in != 0,
			"%s: captured %d in, %d out, %d dropped, %d control frames; counted %+v", name, in, out, dropped, sent,
			want)
		assert.True(t, name != "paused" || (received == 50 && sent != 0),
			"%s: %d control frames received of 50, %d sent", name, received, sent)
	}
}

// What a trunk drops is in the capture of its uplink, with the reason, whether it still lies in the ring of its
// worker or was handed over by another one.
func TestTapSeesWhatATrunkDrops(t *testing.T) {
	for _, owner := range []int{0, 1} {
		m := loads(t)["trunk that drops"]
		sw := m.w.r.sw
		c := tapped(t, sw, capture.MaxSnap)
		if owner != 0 { // another worker sends by the uplink
			sw.SetOwner(1, owner)
			m.w.transmitters = m.w.transmitters[:1]
		}
		m.round()
		sw.Dequeue(1, Now(), nil)
		notes := map[string]int{}
		for _, s := range read(c) {
			if s.note == "" || s.port != 1 {
				continue
			}
			notes[s.note]++
			want := m.in.frames[0].Data
			if s.note == "dropped: meter-red" {
				want = m.in.frames[burstFrames-1].Data
			}
			assert.True(t, s.out && s.data == string(want) && s.length == len(want),
				"captured %+v, want the frame, on its way out", s)
		}
		var v dataplane.Snapshot
		sw.Snapshot(&v, Now())
		drops := v.Ports[0].Counters.Drops
		assert.True(t, notes["dropped: meter-red"] == burstFrames/2 &&
			uint64(notes["dropped: red"]) == drops[0][dataplane.DropRED] && drops[0][dataplane.DropRED] != 0,
			"worker %d sends: captured %v, counted %d by RED, %d red", owner, notes, drops[0][dataplane.DropRED],
			drops[1][dataplane.DropMeterRed])
	}
}

// Each XOFF is in the file with its reason, also where the Refresher has sent it.
func TestTapSaysWhyThePeerIsHeld(t *testing.T) {
	l := newTestbed(t, executors[0], roomy(2), unshapedPorts(2)...)
	c, f := tapped(t, l.r.sw, capture.MaxSnap), &l.r.refresher.ports[0]
	l.must(l.r.quiesce(func() error {
		l.stations[0].send(several(0, 1, lossless, 1, 60)...)
		eventually(t, "XOFF is sent, and sent again", func() bool { return f.hold.late() && f.sent.Load() > 1 })
		return nil
	}))
	eventually(t, "the frame arrives", func() bool { return len(l.stations[1].received(0, lossless)) == 1 })
	l.empties()
	var control []string
	for _, s := range read(c) {
		if s.port == 0 && s.out {
			control = append(control, s.note)
		}
	}
	want := []string{"XOFF 3: frames wait unread in the receive ring", "XOFF refreshed 3: held as before"}
	if last := len(control) - 1; last < 2 || !slices.Equal(control[:2], want) ||
		!strings.HasPrefix(control[last], "XON 3: ingress queue holds ") {
		t.Errorf("notes of the frames to the peer %q, want first %q, last XON", control, want)
	}
}

// A frame leaves the file as it leaves the port: its tag put in, taken out, or changed.
func TestTapSeesTagsOfEgress(t *testing.T) {
	m := newWorkerRig(t, port.Other, repeated(data(0, 1, 0, 9, 300), 2), func(_ *dataplane.Config,
		ports []dataplane.PortConfig) {
		ports[1].StripZero = true
	})
	c := tapped(t, m.w.r.sw, 100)
	m.round()
	var out []seen
	for _, s := range read(c) {
		if s.out {
			out = append(out, s)
		}
	}
	want := data(0, 1, 0, 9, 300)
	stripped := string(want[:12]) + string(want[16:])
	assert.True(t, len(out) == 2 && out[0].data == stripped[:100] && out[0].length == 296,
		"captured %+v, want two frames without a tag", out)
}

// A tap costs a round no allocation.
func TestTappedRoundsAllocateNothing(t *testing.T) {
	for name, m := range loads(t) {
		tapped(t, m.w.r.sw, 128)
		for range 100 {
			m.round()
		}
		assert.Equal(t, testing.AllocsPerRun(200, m.round), 0, "%s: allocations a round", name)
	}
}

// What a capture adds to a worker's round: nothing where nobody captures (off), else a copy of each frame's first
// octets where it comes in and where it goes out.
func BenchmarkTap(b *testing.B) {
	for _, octets := range []int{60, 1514} {
		for _, snap := range []int{0, 64, capture.MaxSnap} {
			name := fmt.Sprintf("frame=%d/snap=%d", octets, snap)
			if snap == 0 {
				name = fmt.Sprintf("frame=%d/off", octets)
			}
			b.Run(name, func(b *testing.B) {
				m := newWorkerRig(b, port.Lossless, repeated(data(0, 1, lossless, 0, octets), burstFrames), nil)
				if snap > 0 {
					tapped(b, m.w.r.sw, snap)
				}
				for b.Loop() {
					m.round()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(m.out.sent), "ns/frame")
			})
		}
	}
}

// A Refresher waits for no worker that records a burst. What it has sent follows the burst.
func TestRefreshWaitsForNoRecord(t *testing.T) {
	m := loads(t)["paused"]
	c := tapped(t, m.w.r.sw, capture.MaxSnap)
	recorder := m.w.r.sw.Tap().Recorder()
	recorder.Lock()
	m.w.r.captureRefresh(0, bytes.Repeat([]byte{1}, macctl.FrameSize), true, 1)
	recorder.Unlock()
	m.w.r.captureRefresh(0, bytes.Repeat([]byte{2}, macctl.FrameSize), true, 2)
	var got []byte
	for c.Read(func(r *capture.Record) bool {
		got = append(got, r.Data[0])
		assert.True(t, r.Missed == 0, "%+v: %d are missing before it", r, r.Missed)
		return true
	}) {
	}
	assert.Same(t, got, []byte{1, 2}, "frames")
}
