package runner

import (
	"testing"

	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/port"
)

// An xoffFlood has one more XOFF whenever one was read.
type xoffFlood struct {
	*loopPort
	read int
}

func (p *xoffFlood) Control() ([]byte, int64) { return pfc(lossless, 0xffff), wallClock() }
func (p *xoffFlood) ControlDone()             { p.read++ }

// A victim is flooded at another port. It notes how much of the flood its worker had read when a burst came, and when
// its first XOFF left.
type victim struct {
	*loopPort
	flood       *xoffFlood
	burst, xoff int
}

func (p *victim) Receive(c port.Class, dst []port.Frame, maxBytes int) int {
	if p.xoff == 0 {
		p.burst = p.flood.read
	}
	return p.loopPort.Receive(c, dst, maxBytes)
}

func (p *victim) SendControl(b []byte) error {
	if p.xoff == 0 {
		p.xoff = p.flood.read
	}
	return p.loopPort.SendControl(b)
}

// However long a flood of MAC Control frames at one port: between a burst of another port and the XOFF that the burst
// makes necessary, the worker reads no frame of the flood.
func TestFloodDelaysNoXOFF(t *testing.T) {
	m := newWorkerRig(t, port.Lossless, nil, nil)
	flood := &xoffFlood{loopPort: m.in}
	in := &victim{loopPort: m.out, flood: flood}
	in.class, in.frames = port.Lossless, repeated(data(1, 0, lossless, 0, mtu), burstFrames)
	m.w.r.tasks[0].port, m.w.r.tasks[1].port = flood, in // the flooded port is served first
	for rounds := 0; in.xoff == 0 && rounds < 1000; rounds++ {
		m.w.round(Now())
	}
	assert.True(t, in.xoff != 0 && in.xoff == in.burst,
		"XOFF left when %d frames of the flood were read, want %d, as many as when the burst came", in.xoff, in.burst)
}
