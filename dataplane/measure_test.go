package dataplane

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// A prober notes what it is told, and has what it is given to send.
type prober struct {
	urgent   bool
	received []macctl.MeasurementFrame
	stamps   []int64
	send     []macctl.Measurement
	to       [6]byte
	fallback bool
	ups      []bool
	reacted  []int64
	loaded   []bool // likewise, whether the link was busy
	sent     []int64
	streamed uint8
	busy     []bool
	until    int64
	found    int64
}

func (p *prober) Receive(m *macctl.MeasurementFrame, stamp, _, _ int64, busy bool) bool {
	p.busy = append(p.busy, busy)
	p.received, p.stamps = append(p.received, *m), append(p.stamps, stamp)
	return p.urgent
}

func (p *prober) Next() int64 {
	if len(p.send) > 0 {
		return 0
	}
	return math.MaxInt64
}

func (p *prober) Out(int64, int64) (m macctl.Measurement, to [6]byte, fallback, ok bool) {
	if len(p.send) == 0 {
		return m, to, false, false
	}
	m, p.send = p.send[0], p.send[1:]
	return m, p.to, p.fallback, true
}

func (p *prober) Stamped(_ *macctl.Measurement, sent, _, _ int64) { p.sent = append(p.sent, sent) }
func (p *prober) Reacted(ns int64, busy bool) {
	p.reacted, p.loaded = append(p.reacted, ns), append(p.loaded, busy)
}

func (p *prober) SetUp(up bool, _ int64) { p.ups = append(p.ups, up) }
func (p *prober) SetIdle(idle bool, _ int64) {
	if !idle {
		p.send = append(p.send, macctl.Measurement{Operation: macctl.MeasureRequest})
	}
}
func (p *prober) Stream() (uint8, int64) { return p.streamed, p.until }
func (p *prober) Found() int64           { return p.found }

var peerMAC = [6]byte{2, 0, 0, 0, 9, 9}

// measuringRig is a rig of two ports, of which port 0 measures.
func measuringRig(tb reporter) (*rig, *prober) {
	cfg := testConfig(2)
	cfg.Measurement = macctl.DefaultMeasurementFormat
	p := &prober{}
	c := testPort(0)
	c.Prober, c.Follow = p, 1<<lossless
	return newRig(tb, cfg, c, testPort(1)), p
}

func request(to [6]byte, fallback bool) []byte {
	return macctl.DefaultMeasurementFormat.Append(nil, to, peerMAC, fallback,
		macctl.Measurement{Operation: macctl.MeasureRequest, Sequence: 7})
}

func TestMeasurementFramesGoToTheProber(t *testing.T) {
	r, p := measuringRig(t)
	own := r.sw.ports[0].cfg.MAC
	tests := []struct {
		name   string
		port   int
		b      []byte
		taken  bool
		reason macctl.Reason // none: the prober gets it
	}{
		{"to the group", 0, request([6]byte{}, false), true, macctl.ReasonNone},
		{"to the port", 0, request(own, false), true, macctl.ReasonNone},
		{"to another", 0, request(peerMAC, false), true, macctl.ReasonDestination},
		{"cut", 0, request([6]byte{}, false)[:40], true, macctl.ReasonTruncated},
		{"a port that does not measure", 1, request([6]byte{}, false), true, macctl.ReasonDisabled},
		{"a pause", 0, macctl.AppendPause(nil, peerMAC, 1), false, macctl.ReasonNone},
		{"a port that is not there", 9, request([6]byte{}, false), false, macctl.ReasonNone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(p.received)
			taken, urgent := r.sw.Measurement(tt.port, tt.b, false, 5, r.now, 0)
			assert.True(t, taken == tt.taken && !urgent, "taken %v, urgent %v\nwant %v, false", taken, urgent, tt.taken)
			got := len(p.received) > before
			assert.True(t, got == (tt.taken && tt.reason == macctl.ReasonNone), "the prober got it: %v", got)
			assert.True(t, tt.reason == macctl.ReasonNone ||
				r.sw.ports[tt.port].receiver.Counters().Ignored[tt.reason] != 0, "not counted as %v", tt.reason)
		})
	}
	assert.True(t, slices.Equal(p.stamps, []int64{5, 5}) && p.received[0].Sequence == 7 && p.received[0].Group &&
		!p.received[1].Group, "the prober got %+v at %v", p.received, p.stamps)
	p.urgent = true
	_, urgent := r.sw.Measurement(0, request([6]byte{}, false), false, 5, r.now, 0)
	assert.True(t, urgent && r.sw.TakePending(0), "an answer that is to be sent at once does not make the port urgent")
}

// Measurement frames of the fallback come as ordinary frames and go no further. Other frames of that EtherType do.
func TestFallbackMeasurement(t *testing.T) {
	r, p := measuringRig(t)
	r.offer(0, request([6]byte{}, true), data(0, 1, 0, 1, small), ether(host(1), host(0), nil, experimental, 2, small))
	assert.True(t, len(p.received) == 1 && p.received[0].Fallback, "the prober got %+v", p.received)
	assert.Equal(t, r.count(0).ReceivedFrames, 2, "data frames")
	assert.Equal(t, len(r.drain(1, second)), 2, "frames were forwarded")
}

// tagged inserts a tag into a frame.
func tagged(b []byte, tci uint16) []byte {
	head := binary.BigEndian.AppendUint16(slices.Clone(b[:2*frame.AddressOctets]), frame.TypeVLAN)
	return append(binary.BigEndian.AppendUint16(head, tci), b[2*frame.AddressOctets:]...)
}

// A host cannot speak to the neighbour of another port in the name of this switch: measurement frames stay on their
// link, also those with a tag that would be stripped, and no frame from an address of the switch passes. Echo frames,
// which try how bridges pass frames on, do.
func TestNothingInTheNameOfThisSwitch(t *testing.T) {
	r, _ := measuringRig(t)
	f := macctl.DefaultMeasurementFormat
	forged := f.Append(nil, macOf(host(1)), r.sw.ports[1].cfg.MAC, true,
		macctl.Measurement{Operation: macctl.MeasureResult, Area: [2]uint64{1 << 30, 0}})
	other := ether(host(1), address(r.sw.ports[1].cfg.MAC), nil, experimental, 1, small)
	for _, b := range [][]byte{forged, tagged(forged, 1), tagged(forged, 0),
		f.Append(nil, macOf(host(1)), peerMAC, true, macctl.Measurement{Operation: macctl.MeasureAnswer}),
		f.Append(nil, macOf(frame.Broadcast), peerMAC, true, macctl.Measurement{}), other, other} {
		r.offer(0, b)
	}
	if c := r.count(0); c.Drops[0][DropFiltered] != 7 || c.ReceivedFrames != 7 {
		t.Errorf("%d received, dropped %v, want 7 of each", c.ReceivedFrames, c.Drops)
	}
	assert.Equal(t, len(r.drain(1, second)), 0, "frames passed")
	var events []Event
	for _, e := range r.sw.Events(nil, 0) {
		if e.Kind == EventPort {
			events = append(events, e)
		}
	}
	own := address(r.sw.ports[1].cfg.MAC)
	assert.True(t, len(events) == 2 && events[0].Port == "p0" && events[0].Peer == own && events[1].Port == "p0" &&
		events[1].Peer == own && events[0].Text != events[1].Text, "events %+v", events)
	r.offer(0, f.AppendEcho(nil, macOf(host(1)), peerMAC, macctl.PathBridged, 60, false, 0, macctl.Echo{Answer: true}))
	assert.Equal(t, len(r.drain(1, second)), 1, "echo frames passed")
}

// macOf returns the octets of an address.
func macOf(a uint64) (mac [6]byte) {
	frame.PutAddress(mac[:], a)
	return mac
}

// They go no further through a trunk either.
func TestFallbackMeasurementAtATrunk(t *testing.T) {
	probers := map[int]*prober{0: {}, uplinkPort: {}}
	r := trunkRig(t, threeToOne(), func(cfg *Config, ports []PortConfig) {
		cfg.Measurement = macctl.DefaultMeasurementFormat
		for i, p := range probers {
			ports[i].Prober = p
		}
	})
	for i, p := range probers {
		r.offer(i, request([6]byte{}, true), request(r.sw.ports[i].cfg.MAC, true))
		assert.True(t, len(p.received) == 2 && p.received[0].Group && !p.received[1].Group,
			"the prober of port %d got %+v, want one message to the group and one to the port", i, p.received)
		if c := r.count(i); c.ReceivedFrames != 0 || c.Drops != (Counters{}).Drops {
			t.Errorf("port %d: %d data frames, drops %v", i, c.ReceivedFrames, c.Drops)
		}
	}
	r.empty()
	r.offer(0, request(peerMAC, true))
	assert.Equal(t, len(r.drain(uplinkPort, second)), 0, "frames to another station went through")
}

func TestMeasureOut(t *testing.T) {
	r, p := measuringRig(t)
	m := macctl.Measurement{Operation: macctl.MeasureAnswer, Session: 3}
	assert.True(t, r.sw.MeasureDeadline(0) == math.MaxInt64 && r.sw.MeasureDeadline(1) == math.MaxInt64 &&
		r.sw.MeasureDeadline(9) == math.MaxInt64, "something is due")
	p.send, p.to, p.fallback = []macctl.Measurement{m}, peerMAC, true
	assert.Equal(t, r.sw.MeasureDeadline(0), 0, "nothing is due")
	b, got, ok := r.sw.MeasureOut(0, nil, r.now, 0)
	want := macctl.DefaultMeasurementFormat.Append(nil, peerMAC, r.sw.ports[0].cfg.MAC, true, m)
	assert.True(t, ok && got == m && bytes.Equal(b, want), "MeasureOut\n got %x, %v\nwant %x", b, ok, want)
	_, _, ok = r.sw.MeasureOut(0, nil, r.now, 0)
	assert.True(t, !ok, "one more")
	p.send = []macctl.Measurement{m}
	r.sw.SetUp(0, false, r.now)
	_, _, ok = r.sw.MeasureOut(0, nil, r.now, 0)
	assert.True(t, !ok && r.sw.MeasureDeadline(0) == math.MaxInt64, "a port that is down sends")
	last := p.ups[len(p.ups)-1]
	assert.True(t, !last, "the prober does not know that the link is down")
}

// The headroom of a running port grows at once out of the shared segment, and shrinks when it is not in use.
func TestSetHeadroom(t *testing.T) {
	r, _ := measuringRig(t)
	inForce := func() int64 { return r.snapshot().Buffer.Ports[0].Ingress[lossless].Config.Headroom }
	err := r.sw.SetHeadroom(0, 80*cell, r.now)
	assert.True(t, err == nil && inForce() == 80*cell && r.sw.ports[0].cfg.Ingress[lossless].Headroom == 80*cell,
		"raised: %v, in force %d", err, inForce())
	if err := r.sw.SetHeadroom(0, 1000*cell, r.now); !errors.Is(err, buffer.ErrConfig) || inForce() != 80*cell {
		t.Errorf("more than the pool has: %v, in force %d", err, inForce())
	}
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, 60, small)...)
	held := r.snapshot().Buffer.Ports[0].Ingress[lossless].Used.Headroom.Now
	assert.MustBeTrue(t, held != 0, "the headroom is not in use")
	if err := r.sw.SetHeadroom(0, held-cell, r.now); !errors.Is(err, buffer.ErrBusy) || inForce() != 80*cell {
		t.Errorf("lowered below what it holds: %v, in force %d", err, inForce())
	}
	r.hear(1, lossless, 0)
	assert.Equal(t, len(r.drain(1, second)), 60, "frames of 60 that came out")
	err = r.sw.SetHeadroom(0, held-cell, r.now)
	assert.True(t, err == nil && inForce() == held-cell, "lowered: %v, in force %d", err, inForce())
	assert.Equal(t, r.snapshot().Buffer.Ports[1].Ingress[lossless].Config.Headroom, headroomCells*cell, "port 1")
}

// offerAt offers frames to port 0 that arrived at time at.
func (r *rig) offerAt(at int64, frames [][]byte) (taken int) {
	taken, _ = r.arriveAt(at, 0, frames...)
	r.settle()
	return taken
}

const onWire = small + frame.WireExtras

// What counts as used is what arrived after XOFF had left, whenever it is looked at.
func TestUse(t *testing.T) {
	r := full(t, 2)
	r.now = 1000
	r.wantXoffSent(0, 0xffff)
	r.now = 5000
	r.offerAt(900, several(0, 1, lossless, 3, small))
	r.offerAt(1001, several(0, 1, lossless, 5, small))
	r.offerAt(1001, several(0, 1, 0, 5, small)) // another priority
	use := r.snapshot().Ports[0].HeadroomUse[lossless]
	want := HeadroomUse{Xoffs: 1, Peak: 5 * onWire, Last: 5 * onWire, LateXoffs: 1, Ring: 3 * onWire,
		RingTotal: 3 * onWire, LateNs: 100, LeastLeft: XoffUse{Used: 6 * cell, Room: headroomCells * cell}}
	assert.Equal(t, use, want, "use")
	r.hear(1, lossless, 0)
	r.drain(1, 2*second)
	r.tell(0) // XON
	r.offerAt(r.now, several(0, 1, lossless, 7, small))
	assert.Equal(t, r.snapshot().Ports[0].HeadroomUse[lossless].Peak, 5*onWire, "frames after XON count: peak")
}

// A frame that waits in the ring is the headroom's fault where more came after XOFF than it holds. It counts once,
// however often it is offered.
func TestUseWaited(t *testing.T) {
	tests := []struct {
		name                  string
		delay                 int64
		filled                int64 // when the frames came that fill the headroom
		waited, behindEarlier uint64
	}{
		{"more came after XOFF than the headroom holds", 0, 1001, 1, 0},
		{"it is filled with what had come before", 0, 900, 0, 1},
		{"more came, while XOFF is in the delay line", 100, 1001, 1, 0},
		{"what had come before, while XOFF is in the delay line", 100, 900, 0, 1},
	}
	for _, tt := range tests {
		r := full(t, 2)
		r.now, r.sw.ports[0].cfg.Delay = 1000, tt.delay
		r.wantXoffSent(0, 0xffff)
		assert.MustEqual(t, r.offerAt(tt.filled, several(0, 1, lossless, headroomCells-1, small)), headroomCells-1,
			"%s: frames were taken", tt.name)
		r.offerAt(1001, several(0, 1, lossless, 1, small))
		for range 3 {
			assert.MustBeTrue(t, r.sw.RoomWaits(0) && r.leaveRoom(0) == 0, "%s: nothing waits", tt.name)
			r.now += 1000
		}
		r.sw.LineSent(0, &LineCall{Entered: 1000}, r.now)
		use := r.snapshot().Ports[0].HeadroomUse[lossless]
		assert.True(t, use.Waited == tt.waited && use.WaitedBehindEarlier == tt.behindEarlier,
			"%s\n got %d waited, %d behind earlier frames\nwant %d, %d", tt.name, use.Waited, use.WaitedBehindEarlier,
			tt.waited, tt.behindEarlier)
	}
}

// XOFF that a delay line sent late counts as sent that much later.
func TestUseOfALateDelayLine(t *testing.T) {
	c := testPort(0)
	c.Delay = 100
	r := newRig(t, testConfig(2), c, testPort(1))
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, alone+1, small)...)
	r.now = 1000
	r.wantXoffSent(0, 0xffff) // enters the line
	r.offerAt(1040, several(0, 1, lossless, 2, small))
	r.offerAt(1060, several(0, 1, lossless, 3, small))
	if use := r.snapshot().Ports[0].HeadroomUse[lossless]; use.Peak != 0 || use.Ring != 0 {
		t.Errorf("counted before XOFF has left the line: %+v", use)
	}
	r.sw.LineSent(0, &LineCall{Entered: 1000, Late: 50}, r.now) // at 1150 instead of 1100
	r.offerAt(1170, several(0, 1, lossless, 4, small))
	use := r.snapshot().Ports[0].HeadroomUse[lossless]
	assert.True(t, use.Peak == 7*onWire && use.Ring == 2*onWire,
		"use\n got %+v\nwant 7 frames after XOFF and 2 before", use)
}

// The resume threshold of a running port follows what is found: a peer that is held is freed as soon as it allows.
func TestSetXon(t *testing.T) {
	cfg := testConfig(2)
	c := testPort(0)
	c.FollowXon = 1 << lossless
	r := newRig(t, cfg, c, testPort(1))
	r.hear(1, lossless, 0xffff)
	r.offer(0, several(0, 1, lossless, alone+1, small)...)
	assert.MustBeTrue(t, r.sw.ports[0].sender.XoffWanted() != 0, "the peer is not held")
	r.hear(1, lossless, 0)
	r.send(1, 2)
	assert.MustBeTrue(t, r.sw.ports[0].sender.XoffWanted() != 0,
		"freed with %d frames, without a threshold above %d", alone-1, resumesAt)
	if err := r.sw.SetXon(0, 1<<30, r.now); err != nil || r.sw.ports[0].sender.XoffWanted() != 0 {
		t.Errorf("%v, held %08b, want that it is freed below the threshold where it was held", err,
			r.sw.ports[0].sender.XoffWanted())
	}
	most := r.sw.buffer.MostShared(0, lossless) // and not what was asked for, which is more than the pool
	got := r.snapshot().Buffer.Ports[0].Ingress[lossless].Config.Xon
	assert.True(t, got == most && most > 0 && most <= cfg.Buffer.Lossless.Size/2, "in force %d, want %d", got, most)
	assert.Equal(t, r.snapshot().Buffer.Ports[1].Ingress[lossless].Config.Xon, 0, "port 1")
	assert.NoError(t, r.sw.SetXon(9, 1, r.now), "no port")
	r.drain(1, r.now+second)
	r.empty()
}

// The static policy has no resume threshold above its other one.
func TestSetXonOfTheStaticPolicy(t *testing.T) {
	cfg := testConfig(1)
	cfg.Buffer.Threshold = buffer.StaticThreshold{}
	c := testPort(0)
	c.FollowXon = 1 << lossless
	for q := range c.Ingress {
		c.Ingress[q].Xoff = 20 * cell
	}
	r := newRig(t, cfg, c)
	if err := r.sw.SetXon(0, 1<<40, r.now); err != nil || r.sw.ports[0].cfg.Ingress[lossless].Xon != 20*cell {
		t.Errorf("%v, in force %d", err, r.sw.ports[0].cfg.Ingress[lossless].Xon)
	}
}

// A frame ends an idle time, and gives the port work whose prober measures again. A loop probe of another switch, which
// comes again and again, is no such frame.
func TestIdleTime(t *testing.T) {
	r, p := measuringRig(t)
	r.sw.TakePending(0)
	assert.True(t, !r.sw.SetIdle(true, r.now) && !r.sw.Pending(0), "an idle time gives work")
	before := r.sw.ReceivedFrames()
	r.offer(1, bridge.AppendProbe(nil, host(1), bridge.Probe{Identity: [8]byte{9}}))
	assert.True(t, r.sw.ReceivedFrames() == before && r.count(1).ReceivedFrames == 1,
		"a probe of another switch: %d frames, by the port %d", r.sw.ReceivedFrames()-before, r.count(1).ReceivedFrames)
	r.offer(1, ether(0xFF_FF_FF_FF_FF_FF, host(1), nil, experimental, 0, 60))
	assert.True(t, r.sw.ReceivedFrames() == before+1, "a frame counts as %d", r.sw.ReceivedFrames()-before)
	assert.True(t, r.sw.SetIdle(false, r.now) && r.sw.Pending(0) && p.Next() == 0 && !r.sw.SetIdle(false, r.now),
		"the end of the idle time gives work once")
}
