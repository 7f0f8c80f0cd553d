package dataplane

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/macctl"
)

// An effect is what a frame did to the switch, in the terms in which a TraceResult tells it.
type effect struct {
	waits, crossed  bool
	drops           [NumDropReasons]uint64
	copies          map[int]uint64 // frames that joined queues: by 8 × port + queue
	private, shared int64
	headroom, lossy int64
	marks           uint64
}

// observe runs do and tells what has changed.
func (w *world) observe(in int, do func() bool) (h effect) {
	before := *w.snapshot()
	held := w.queued()
	h.waits = do()
	after := *w.snapshot()
	h.copies = map[int]uint64{}
	for key, n := range w.queued() {
		if n > held[key] {
			h.copies[key] = n - held[key]
		}
	}
	for i := range after.Ports {
		for q := range NumPriorities {
			h.marks += after.Ports[i].Counters.Marked[q] - before.Ports[i].Counters.Marked[q]
		}
		if after.Ports[i].Index != in {
			continue
		}
		for prio := range after.Ports[i].Counters.Drops {
			for r := range NumDropReasons {
				h.drops[r] += after.Ports[i].Counters.Drops[prio][r] - before.Ports[i].Counters.Drops[prio][r]
			}
		}
	}
	a, b := &after.Buffer, &before.Buffer
	h.private = a.Lossless.Used.Private.Now - b.Lossless.Used.Private.Now
	h.shared = a.Lossless.Used.Shared.Now - b.Lossless.Used.Shared.Now
	h.headroom = a.Lossless.Used.Headroom.Now - b.Lossless.Used.Headroom.Now
	h.lossy = a.Lossy.Used.Shared.Now - b.Lossy.Used.Shared.Now
	return h
}

// queued counts the frames of every egress queue, those on their way into it too.
func (w *world) queued() map[int]uint64 {
	all := map[int]uint64{}
	for i, p := range w.sw.ports[:worldPorts] {
		if p == nil {
			continue
		}
		for q := range p.queues {
			all[8*i+q] = uint64(p.queues[q].frames + p.queues[q].staged)
		}
	}
	return all
}

// traced is what a TraceResult says will happen.
func traced(f *TraceResult) (h effect) {
	h.waits, h.copies = f.Waits, map[int]uint64{}
	h.crossed = f.Ingress != nil && f.Ingress.TurnsOff
	if f.Ingress != nil && !f.Dropped && !f.Waits {
		h.private, h.shared, h.headroom = f.Ingress.Private, f.Ingress.Shared, f.Ingress.Headroom
	}
	for i := range f.Copies {
		c := &f.Copies[i]
		switch {
		case f.Waits || f.Ingress != nil && f.Dropped:
		case c.Dropped:
			h.drops[c.Reason]++
			continue
		default:
			h.copies[8*c.Port+int(c.Queue)]++
			if c.MarkShare == 1 && f.Marks {
				h.marks++
			}
			if c.Lossy != nil {
				h.lossy += c.Lossy.Size
			}
		}
	}
	if f.Dropped && (len(f.Copies) == 0 || f.Ingress != nil) {
		h.drops[f.Reason]++
	}
	return h
}

// randomFrame draws frames of every sort: tagged or not, IP, to stations, groups and the switch itself, malformed.
func (w *world) randomFrame(t *rapid.T, in int) []byte {
	if rapid.IntRange(0, 2).Draw(t, "plain") == 0 {
		return w.drawFrame(t, in)
	}
	src := rapid.SampledFrom([]uint64{host(in), host(0), 0x02_00_00_00_55_55, 0, frame.Broadcast}).Draw(t, "src")
	dst := rapid.SampledFrom([]uint64{host(0), host(1), host(2), host(3), src, behind, behind, 0x02_00_00_00_99_99,
		0x01_00_5E_00_00_01,
		0x01_80_C2_00_00_01, 0x01_80_C2_00_00_0E, address(w.macOf(in))}).Draw(t, "dst")
	var tag *frame.TCI
	if rapid.Bool().Draw(t, "tagged") {
		tag = tci(drawPrio.Draw(t, "PCP"), rapid.SampledFrom([]uint16{0, 1, 2, 4095}).Draw(t, "VID"))
	}
	kind := rapid.SampledFrom([]uint16{frame.TypeIPv4, frame.TypeIPv6, experimental, frame.TypeMACControl,
		frame.TypeLLDP, bridge.ProbeEtherType}).Draw(t, "type")
	b := ether(dst, src, tag, kind, w.serial, rapid.SampledFrom([]int{10, 14, 17, 18, 60, 200, mtu, mtu + 4,
		4000}).Draw(t, "octets"))
	if at := 14; len(b) > 40 {
		if tag != nil {
			at = 18
		}
		tos := rapid.Byte().Draw(t, "TOS")
		if b[at], b[at+1] = 0x45, tos; kind == frame.TypeIPv6 {
			b[at], b[at+1] = 0x60|tos>>4, tos<<4
		}
	}
	switch rapid.IntRange(0, 9).Draw(t, "special") {
	case 0:
		return bridge.AppendProbe(nil, src, bridge.Probe{Identity: w.sw.cfg.Identity.Public})
	case 1:
		return bridge.AppendProbe(nil, src, bridge.Probe{Identity: [8]byte{9}})
	case 2:
		return w.sw.cfg.Measurement.Append(nil, [6]byte{}, [6]byte{2}, true,
			macctl.Measurement{Operation: macctl.MeasureRequest})
	case 3:
		return w.sw.cfg.Measurement.AppendEcho(nil, [6]byte{}, [6]byte{2}, macctl.EchoPath(rapid.IntRange(0, 2).Draw(t,
			"way")), 60, tag != nil, 0x6001, macctl.Echo{})
	case 4:
		if c := w.sw.ports[in]; c != nil {
			return streamFrame(&c.cfg, drawPrio.Draw(t, "stream"))
		}
	}
	return b
}

func (w *world) macOf(in int) [6]byte {
	if p := w.sw.ports[in]; p != nil {
		return p.cfg.MAC
	}
	return [6]byte{}
}

// checkTrace compares one TraceResult with what Ingress does then.
func (w *world) checkTrace(t *rapid.T) {
	in := drawPort.Draw(t, "in")
	p := w.sw.ports[in]
	if p == nil {
		return
	}
	b := w.randomFrame(t, in)
	w.serial++
	f, ok := w.sw.Trace(in, b, frame.VnetHeader{}, w.now)
	again, _ := w.sw.Trace(in, b, frame.VnetHeader{}, w.now)
	if !ok || fmt.Sprint(f.Decision, f.Reason, f.Dropped, f.Waits) != fmt.Sprint(again.Decision, again.Reason,
		again.Dropped, again.Waits) {
		t.Fatalf("two traces differ: %+v, then %+v", f, again)
	}
	off := w.sw.buffer.OffCount()
	lottery := false
	for i := range f.Copies {
		lottery = lottery || f.Copies[i].MarkShare > 0 && f.Copies[i].MarkShare < 1
	}
	burst := w.receive(in, [][]byte{b})
	got := w.observe(in, func() bool {
		w.sw.Begin(p.owner)
		_, stop := w.sw.Ingress(in, burst, 0, w.now, 0)
		return stop == FrameWaits || burst[0].waits
	})
	got.crossed = w.sw.buffer.OffCount() > off
	staged := w.sw.Staged(nil)
	w.sw.Store(staged)
	w.sw.Publish(staged, w.now)
	w.burst = burst
	w.settle()
	if f.InRing {
		if behind := f.Up && !f.Faulty && f.Trap == NotTrapped; got.waits != behind {
			t.Fatalf("behind a frame that waits, % x waits: %v, want %v", b[:min(len(b), 40)], got.waits, behind)
		}
		return
	}
	want := traced(&f)
	if lottery {
		got.marks, want.marks = 0, 0
	}
	assert.MustBeTrue(t, fmt.Sprint(got) == fmt.Sprint(want),
		"frame % x at port %d:\ntraced   %+v\nhappened %+v\nresult %+v", b[:min(len(b), 40)], in, want, got, f)
	w.checkLeaving(t, &f)
}

// checkLeaving compares the form of a queued frame with its trace.
func (w *world) checkLeaving(t *rapid.T, f *TraceResult) {
	if f.Waits || f.Dropped {
		return
	}
	for i := range f.Copies {
		c := &f.Copies[i]
		if c.Dropped {
			continue
		}
		d := &w.sw.memory.descs[w.sw.ports[c.Port].queues[c.Queue].tail]
		assert.MustEqual(t, d.egressLength(), c.Octets, "octets that it leaves with, want what was traced")
		assert.MustBeTrue(t, ((d.tag != tagInsert && d.tag != tagSet) || frame.TCI(d.tci) == c.Tag) &&
			(d.tag != tagStrip || !c.Tagged) && (d.tag != tagInsert || c.Tagged),
			"tag action %d with TCI %04x, traced %v %04x", d.tag, d.tci, c.Tagged, uint16(c.Tag))
	}
}

// A frame meets what its trace says, whatever the switch holds at that moment, and a trace changes nothing.
func TestTraceIsWhatHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for i, p := range w.sw.ports[:worldPorts] {
			c := p.cfg
			c.Bridge.Tagged = someVLANs(t)
			c.Bridge.Storm = rapid.SampledFrom([]int64{0, 0, 1000}).Draw(t, "storm")
			c.StripZero = rapid.Bool().Draw(t, "strip")
			c.Classify.Trust = rapid.SampledFrom([]classify.Trust{classify.TrustPCP, classify.TrustDSCP,
				classify.TrustPort}).Draw(t, "trust")
			c.ECN[lossless] = ECN{Kmin: rapid.Int64Range(0, 3000).Draw(t, "Kmin"),
				Kmax: rapid.Int64Range(0, 4000).Draw(t, "Kmax"), Pmax: 1}
			assert.MustNoError(t, w.sw.configure(p, c), "port %d", i)
		}
		w.sw.cfg.Measurement = macctl.DefaultMeasurementFormat
		t.Repeat(map[string]func(*rapid.T){
			"trace": w.checkTrace,
			"fill": func(t *rapid.T) {
				in := drawPort.Draw(t, "in")
				for range rapid.SampledFrom([]int{1, 5, 40}).Draw(t, "frames") {
					w.rings[in] = append(w.rings[in], w.drawFrame(t, in))
				}
				w.take(t, in)
			},
			"send": func(t *rapid.T) {
				if i := drawPort.Draw(t, "out"); w.sw.ports[i] != nil {
					w.call(t, i)
				}
			},
			"time": func(t *rapid.T) { w.now += rapid.SampledFrom([]int64{1, 10_000, 100_000_000}).Draw(t, "ns") },
			"stop": func(t *rapid.T) { w.control(t, drawPort.Draw(t, "port")) },
			"link": func(t *rapid.T) { w.setUp(drawPort.Draw(t, "port"), rapid.Bool().Draw(t, "up")) },
			"hold": func(t *rapid.T) { w.sw.cfg.Demote = rapid.Bool().Draw(t, "demote") },
		})
	})
}

func someVLANs(t *rapid.T) bridge.VLANSet {
	if rapid.Bool().Draw(t, "VLAN 2") {
		s, _ := bridge.VLANs(2)
		return s
	}
	return bridge.VLANSet{}
}

// A GSO frame is traced by its first piece, an unknown port is none.
func TestTraceOfGSOFrames(t *testing.T) {
	r := plainRig(t, 2)
	b, v := superTCP(host(1), host(0), 3*1000)
	f, ok := r.sw.Trace(0, b, v, r.now)
	assert.True(t, ok && f.Pieces == 3 && f.Octets == 54+1000 && !f.Dropped && len(f.Copies) == 1,
		"a GSO frame of three segments: %d pieces, the first of %d octets, dropped %v (%v)", f.Pieces, f.Octets,
		f.Dropped, f.Reason)
	v.GSOType = 99
	if f, _ = r.sw.Trace(0, b, v, r.now); !f.Dropped || f.Reason != DropMalformed {
		t.Errorf("a GSO frame of an unknown type: dropped %v (%v), want malformed", f.Dropped, f.Reason)
	}
	_, ok = r.sw.Trace(7, b, v, r.now)
	assert.True(t, !ok, "a port that does not exist has a trace")
	r.offer(0, several(0, 1, lossless, alone, small)...)
	f, _ = r.sw.Trace(0, data(0, 1, lossless, 99, small), frame.VnetHeader{}, r.now)
	assert.True(t, f.Ingress != nil && f.Ingress.Verdict == buffer.AcceptHeadroom && f.Ingress.TurnsOff,
		"the frame that crosses the threshold: %+v", f.Ingress)
}

// superTCP returns a TCP GSO frame with segments of 1000 octets.
func superTCP(dst, src uint64, payload int) ([]byte, frame.VnetHeader) {
	b := ether(dst, src, nil, frame.TypeIPv4, 0, 54+payload)
	b[14], b[15], b[16], b[17] = 0x45, 0, byte((40+payload)>>8), byte(40+payload)
	b[20], b[21], b[23] = 0x40, 0, 6
	b[46] = 5 << 4
	return b, frame.VnetHeader{Flags: frame.VnetNeedsCsum, GSOType: frame.GSOTCPv4, HdrLen: 54, GSOSize: 1000,
		CsumStart: 34, CsumOffset: 16}
}

// A frame that the switch itself takes is trapped, and its trace names the trap.
func TestTraceOfWhatIsTaken(t *testing.T) {
	r, _ := measuringRig(t)
	peer := testPort(1)
	almost := streamFrame(&peer, lossless)
	almost[frame.HeaderOctets+frame.TagOctets+9]++ // another protocol
	frame.PutAddress(almost[frame.AddressOctets:], host(1))
	for _, tt := range []struct {
		name string
		b    []byte
		want Trap
	}{
		{"stream", streamFrame(&peer, lossless), TrapStream},
		{"like a stream", almost, NotTrapped},
		{"measurement", request([6]byte{}, true), TrapMeasurement},
		{"probe", bridge.AppendProbe(nil, host(1), bridge.Probe{Identity: r.sw.cfg.Identity.Public}), TrapLoopProbe},
		{"PFC", r.pfcFrame(1, 1<<lossless, nil), TrapMACControl},
		{"measurement of another link", request(peerMAC, true), TrapOfAnotherLink},
		{"tagged measurement of another link", tagged(request(peerMAC, true), 1), TrapOfAnotherLink},
		{"from an own address", ether(host(1), address(peer.MAC), nil, 0x0800, 1, small), TrapOwnSource},
		{"data", data(0, 1, lossless, 1, small), NotTrapped},
	} {
		f, _ := r.sw.Trace(0, tt.b, frame.VnetHeader{}, r.now)
		assert.True(t, f.Trap == tt.want, "%s: taken by %d, want %d (%+v)", tt.name, f.Trap, tt.want, f.Decision)
	}
}

// Through a trunk a frame goes to the uplink, and from there to the member that the trace names, unchanged.
func TestTraceThroughTrunks(t *testing.T) {
	r := trunkRig(t, threeToOne(), nil)
	b := ether(frame.Broadcast, host(0), tci(lossless, 77), experimental, 1, small)
	f, ok := r.sw.Trace(0, b, frame.VnetHeader{}, r.now)
	assert.True(t, ok && f.Trunk == "up" && !f.Dropped && len(f.Copies) == 1 && f.Copies[0].Port == uplinkPort &&
		f.Copies[0].Tagged, "up: %+v", f)
	for range 9 {
		f, _ := r.sw.Trace(uplinkPort, b, frame.VnetHeader{}, r.now)
		r.offer(uplinkPort, b)
		for i := range members {
			if got, want := len(r.send(i, 64)), f.Copies[0].Port == i; (got == 1) != want {
				t.Errorf("down: member %d sent %d frames, the trace names member %d", i, got, f.Copies[0].Port)
			}
		}
	}
	for i := range members {
		r.sw.SetUp(i, false, r.now)
	}
	f, _ = r.sw.Trace(uplinkPort, b, frame.VnetHeader{}, r.now)
	assert.True(t, f.Dropped && f.Reason == DropPortDown, "all members are down: dropped %v (%v)", f.Dropped, f.Reason)
	f, _ = r.sw.Trace(uplinkPort, ether(0x0180C200000E, host(0), nil, experimental, 5, small), frame.VnetHeader{},
		r.now)
	assert.True(t, f.Dropped && f.Reason == DropFiltered, "a reserved address: dropped %v (%v)", f.Dropped, f.Reason)
}
