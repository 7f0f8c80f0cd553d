package dataplane

import (
	"pfcswitch/dataplane/assert"
	"testing"
)

// Frames in the line have left the buffer, and are held still; a link that goes down takes them.
func TestDelayedFramesInTheAccounts(t *testing.T) {
	ports := testPorts(2)
	ports[1].Delay = 1_000_000
	r := newRig(t, testConfig(2), ports...)
	r.offer(0, several(0, 1, 0, 5, 100)...)
	r.send(1, 64)
	v := r.snapshot()
	assert.True(t, v.Ports[1].Delayed == 5 && v.Ports[1].Counters.SentFrames == 0 &&
		v.Buffer.Lossy.Used.Shared.Now == 0, "delayed %d, sent %d, buffer %+v", v.Ports[1].Delayed,
		v.Ports[1].Counters.SentFrames, v.Buffer.Lossy.Used)
	r.balanced()
	r.sw.LineSent(1, &LineCall{Sent: 2, Octets: 200, Ended: r.now, Refused: []Refusal{{Origin{Priority: lossless,
		Lossless: true}, DropSend}, {Origin{Priority: 1}, DropSend}}}, r.now)
	c := r.count(1)
	assert.True(t, c.SentFrames == 2 && c.SentBytes == 200, "sent %d, %d octets", c.SentFrames, c.SentBytes)
	c = r.count(0)
	assert.True(t, c.Drops[lossless][DropSend] == 1 && c.LosslessDrops[lossless] == 1 && c.Drops[1][DropSend] == 1 &&
		c.LosslessDrops[1] == 0, "refused where they came in: drops %v, of them lossless %v", c.Drops, c.LosslessDrops)
	r.balanced()
	r.sw.SetUp(1, false, r.now)
	c = r.count(1)
	assert.True(t, c.Drops[Unknown][DropPortDown] == 1, "drops %v, want the one that was on its way", c.Drops[Unknown])
	r.empty()
}

// Where the peer is freed before XOFF has left the line, nothing has come after it.
func TestUseOfAnXoffThatIsOvertaken(t *testing.T) {
	c := testPort(0)
	c.Delay = 100
	r := newRig(t, testConfig(2), c, testPort(1))
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, alone+1, small)...)
	r.now = 1000
	r.wantXoffSent(0, 0xffff) // enters the line, which stands still
	r.offerAt(1200, several(0, 1, lossless, 3, small))
	r.now = 1300
	r.hear(1, lossless, 0)
	r.send(1, 64)
	r.wantXoffSent(0, 0)
	r.sw.LineSent(0, &LineCall{Entered: 1000, Late: 300}, r.now)
	use := r.snapshot().Ports[0].HeadroomUse[lossless]
	assert.True(t, use.Peak == 0 && use.Last == 0 && use.Ring == 3*onWire, "use %+v, want 3 frames before XOFF", use)
}
