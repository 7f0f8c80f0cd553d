package dataplane

import (
	"testing"

	"pfcswitch/dataplane/assert"
)

// A link counts as busy that carries a tenth of its speed, in either direction, its own stream included.
func TestBusyLink(t *testing.T) {
	r, p := measuringRig(t)
	measure := func() bool {
		r.sw.Measurement(0, request([6]byte{}, false), false, r.now, r.now, 0)
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
		assert.Equal(t, measure(), tt.want, "%d, %s: busy", i, tt.name)
		assert.Equal(t, measure(), tt.want, "%d, %s: right after that: busy", i, tt.name)
	}
	r.drain(1, r.now+second)
}
