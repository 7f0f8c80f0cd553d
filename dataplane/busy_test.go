package dataplane

import (
	"slices"
	"testing"

	"pfcswitch/macctl"
)

// A link counts as busy that carries a tenth of its speed, in either direction, its own stream included.
func TestBusyLink(t *testing.T) {
	r, p := measuringRig(t)
	measure := func() bool {
		r.sw.Measurement(0, request([6]byte{}, false), r.now, r.now, 0)
		return p.busy[len(p.busy)-1]
	}
	sends := func() {
		for range 4 {
			r.send(0, 64)
		}
	}
	measure()
	for i, tt := range []struct {
		name string
		do   func()
		want bool
	}{
		{"nothing", func() {}, false},
		{"a twentieth", func() { r.offer(0, several(0, 1, 0, 4, mtu)...) }, false},
		{"a fifth comes", func() { r.offer(0, several(0, 1, 0, 17, mtu)...) }, true},
		{"nothing again", func() {}, false},
		{"a fifth leaves", func() {
			r.offer(1, several(1, 0, 0, 17, mtu)...)
			sends()
		}, true},
		{"its own stream", func() {
			r.streams(p, lossless, r.now+second)
			sends()
		}, true},
		{"the stream has ended", func() { r.streams(p, lossless, 0) }, false},
	} {
		tt.do()
		r.now += 1_000_000
		if got := measure(); got != tt.want {
			t.Errorf("%d, %s: busy %v", i, tt.name, got)
		}
		if got := measure(); got != tt.want {
			t.Errorf("%d, %s: right after that: busy %v", i, tt.name, got)
		}
	}
	r.drain(1, r.now+second)
}

// A reaction is that of an idle or of a busy link, as it was when XOFF came. A port that had nothing to send has none, however busy
// its link is with what comes.
func TestReactionKnowsTheLoad(t *testing.T) {
	r, p := measuringRig(t)
	task := portTask{index: 0}
	pause := func(quanta uint16) uint8 {
		var times [NumPriorities]uint16
		times[lossless] = quanta
		return r.sw.Control(0, macctl.AppendPFC(nil, peerMAC, 1<<lossless, times), r.now, r.now)
	}
	xoff := func() {
		task.react(r.sw, pause(0xffff), r.now, r.now)
		pause(0)
	}
	for _, tt := range []struct {
		name       string
		comes      int // frames, in a millisecond
		sends      int // and they are waiting
		want, busy int // reactions so far
	}{
		{"idle, and nothing to send", 0, 0, 0, 0},
		{"busy, and nothing to send", 17, 0, 0, 0},
		{"idle, and a frame waits", 0, 1, 1, 0},
		{"busy, and a frame waits", 17, 1, 2, 1},
		{"idle again", 0, 1, 3, 1},
	} {
		r.sw.Measurement(0, request([6]byte{}, false), r.now, r.now, 0) // from here on the load counts
		r.offer(0, several(0, 1, 0, tt.comes, mtu)...)
		r.offer(1, several(1, 0, lossless, tt.sends, small)...)
		r.now += 1_000_000
		task.lastSent[lossless] = r.now - 1
		xoff()
		r.drain(0, r.now+second)
		r.drain(1, r.now+second)
		xoff()
		busy := len(slices.DeleteFunc(slices.Clone(p.loaded), func(b bool) bool { return !b }))
		if len(p.reacted) != tt.want || busy != tt.busy {
			t.Errorf("%s: %d reactions, %d of them on a busy link, want %d and %d", tt.name, len(p.reacted), busy, tt.want, tt.busy)
		}
	}
}
