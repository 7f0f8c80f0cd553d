package dataplane

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pfcswitch/buffer"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/sched"
	"pfcswitch/macctl"
)

const worldPorts = 4

// A world is a switch between random peers: receive rings in which frames wait, and delay lines.
type world struct {
	*rig
	rings   [worldPorts][][]byte
	lines   [worldPorts][]Origin // frames in the delay line
	ringSet [worldPorts]bool
	serial  int
	// cut are the frames of lossless priorities that were in the delay line of a port when it went down.
	cut          [worldPorts]uint64
	reconfigured bool
}

var (
	drawPort = rapid.IntRange(0, worldPorts-1)
	drawPrio = rapid.SampledFrom([]uint8{0, 1, lossless, lossless, 4, 7})
	// Of broadcasts, which nobody misses where they have nowhere to go, and of frames to a reserved address.
	drawBroadcastPrio = rapid.SampledFrom([]uint8{4, 5})
	reservedPrio      = uint8(2)
)

func drawPortConfig(t *rapid.T, i int) PortConfig {
	c := testPort(i)
	c.Mode = rapid.SampledFrom([]macctl.Mode{macctl.ModePFC, macctl.ModePFC, macctl.ModePause, macctl.ModeOff}).Draw(t,
		"mode")
	switch c.Mode {
	case macctl.ModePFC:
		c.Lossless = rapid.SampledFrom([]uint8{1 << lossless, 1<<lossless | 1<<4}).Draw(t, "lossless")
	case macctl.ModePause:
		c.Lossless = 0xff
	case macctl.ModeOff:
		c.Lossless = 0
	}
	c.Burst = 4000
	if rapid.Bool().Draw(t, "unshaped") {
		c.Speed = 0
	}
	if rapid.IntRange(0, 3).Draw(t, "delayed") == 0 {
		c.Delay = 10_000
	}
	for q := range c.Ingress {
		c.Ingress[q] = buffer.QueueConfig{
			Private:   cell * rapid.Int64Range(0, 8).Draw(t, "private"),
			Headroom:  cell * rapid.SampledFrom([]int64{0, 6, 30}).Draw(t, "headroom"),
			Xon:       cell * rapid.Int64Range(0, 8).Draw(t, "xon"),
			XonOffset: cell * rapid.Int64Range(0, 8).Draw(t, "xon_offset"),
			Alpha:     rapid.SampledFrom([]float64{0, 0.5, 1, 8}).Draw(t, "alpha"),
		}
		c.Egress[q] = sched.Queue{Weight: rapid.IntRange(1, 5).Draw(t, "weight"), Strict: q == 7}
	}
	return c
}

// drawConfig draws pools of a few bursts. Reserved segments may take up to 400 cells of the lossless one.
func drawConfig(t *rapid.T, least int64) Config {
	cfg := testConfig(0)
	cfg.Demote = rapid.Bool().Draw(t, "demote")
	cfg.Buffer.Lossless.Size = cell * rapid.Int64Range(least, 600).Draw(t, "lossless pool")
	cfg.Buffer.Lossy = buffer.PoolConfig{Size: cell * rapid.Int64Range(10, 400).Draw(t, "lossy pool"),
		Alpha: rapid.SampledFrom([]float64{0.25, 1, 16}).Draw(t, "alpha")}
	return cfg
}

func newWorld(t *rapid.T) *world {
	ports := make([]PortConfig, worldPorts)
	for i := range ports {
		ports[i] = drawPortConfig(t, i)
	}
	w := &world{rig: newRig(t, drawConfig(t, 400), ports...)}
	for i := range ports {
		assert.Must(t, w.sw.SetRoom(i, rapid.SampledFrom([]int{0, 10 * cell, 1000 * cell}).Draw(t, "room")))
	}
	w.sw.SetOwner(3, 1) // worker 0 owns the others
	w.group(t)
	return w
}

// group has a station be behind all ports but the first.
func (w *world) group(t *rapid.T) {
	var all []int
	for i := 1; i < worldPorts; i++ {
		if w.sw.ports[i] != nil {
			all = append(all, i)
		}
	}
	if len(all) > 0 {
		assert.Must(t, w.sw.bridge.AddStaticGroup(behind, 1, all, w.now))
	}
}

func (w *world) drawFrame(t *rapid.T, in int) []byte {
	w.serial++
	dst, prio := host(drawPort.Draw(t, "to")), drawPrio.Draw(t, "priority")
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		dst, prio = frame.Broadcast, drawBroadcastPrio.Draw(t, "priority")
	case 1:
		dst = rapid.SampledFrom([]uint64{0x02_00_00_00_99_99, behind, behind}).Draw(t, "unknown or behind a group")
	case 2:
		dst, prio = 0x0180C2000003, reservedPrio
	}
	n := rapid.SampledFrom([]int{18, 60, small, 700, mtu, mtu, mtu + 4, mtu + 5}).Draw(t, "octets")
	return ether(dst, host(in), tci(prio, rapid.SampledFrom([]uint16{0, 0, 0, 1, 2}).Draw(t,
		"VID")), experimental, w.serial, n)
}

// take serves the ring of a port as a worker does: frames are sent and refused before the rest is settled.
func (w *world) take(t *rapid.T, in int) {
	if w.sw.ports[in] == nil {
		w.rings[in] = nil
		return
	}
	worker := w.sw.ports[in].owner
	w.sw.Begin(worker)
	w.sw.LeaveRoom(in, rapid.IntRange(1, 50).Draw(t, "of the room"), w.now)
	w.check(t)
	burst := w.receive(in, w.rings[in])
	taken, stop := 0, ThresholdCrossed
	for stop == ThresholdCrossed && taken < len(burst) {
		w.sw.Begin(worker)
		taken, stop = w.sw.Ingress(in, burst, taken, w.now, 0)
		w.check(t) // staged copies count as held
		staged := w.sw.Staged(nil)
		w.sw.Store(staged)
		w.sw.Publish(staged, w.now)
	}
	w.burst = burst
	for i := range worldPorts {
		if p := w.sw.ports[i]; p != nil && p.owner == worker && rapid.Bool().Draw(t, "send") {
			w.call(t, i)
		}
	}
	w.settle()
	w.rings[in] = w.rings[in][taken:]
}

// call makes a send call of which the kernel takes a part.
func (w *world) call(t *rapid.T, i int) {
	if rapid.IntRange(0, 20).Draw(t, "refuse") == 0 && w.sw.Dequeue(i, w.now, nil) > 0 {
		w.refuse(i, DropOversize, w.now)
		return
	}
	w.send(i, rapid.IntRange(0, port.BatchFrames).Draw(t, "taken"))
	w.enterLine(i)
}

// enterLine notes which frames have entered the delay line of a port since the last call for any.
func (w *world) enterLine(i int) {
	if w.sw.ports[i].cfg.Delay > 0 {
		w.lines[i] = append(w.lines[i], w.sent...)
	}
	w.sent = w.sent[:0]
}

// passLine lets n frames pass the delay line of a port, of which the kernel refuses the last ones.
func (w *world) passLine(i, n, refused int) {
	c := &LineCall{Sent: n - refused, Octets: 60 * (n - refused), SentLossless: losslessOf(w.lines[i][:n-refused])}
	for _, o := range w.lines[i][n-refused : n] {
		c.Refused = append(c.Refused, Refusal{o, DropOversize})
	}
	w.lines[i] = w.lines[i][n:]
	w.sw.LineSent(i, c, w.now)
}

func losslessOf(frames []Origin) (n int) {
	for _, o := range frames {
		if o.LosslessPriority() {
			n++
		}
	}
	return n
}

func (w *world) setUp(i int, up bool) {
	w.sw.SetUp(i, up, w.now)
	if !up {
		w.cut[i] += uint64(losslessOf(w.lines[i]))
		w.lines[i] = nil
	}
}

func (w *world) control(t *rapid.T, i int) {
	if w.sw.ports[i] == nil {
		return
	}
	var times [NumPriorities]uint16
	for q := range times {
		times[q] = rapid.SampledFrom([]uint16{0, 1, 1000, 0xffff}).Draw(t, "quanta")
	}
	b := macctl.AppendPFC(nil, [6]byte{2}, rapid.Uint8().Draw(t, "vector"), times)
	if rapid.Bool().Draw(t, "PAUSE") {
		b = macctl.AppendPause(nil, [6]byte{2}, times[0])
	}
	w.sw.Control(i, b[:rapid.SampledFrom([]int{17, 33, 60, 60, 60}).Draw(t, "octets")], w.now, w.now)
}

// reconfigure changes, removes and adds ports.
func (w *world) reconfigure(t *rapid.T) {
	ports := map[int]PortConfig{}
	for i, p := range w.sw.ports[:worldPorts] {
		if p != nil || rapid.Bool().Draw(t, "add") {
			ports[i] = drawPortConfig(t, i)
		}
	}
	removed := -1
	if i := drawPort.Draw(t, "remove"); rapid.IntRange(0, 3).Draw(t, "removed") == 0 {
		delete(ports, i)
		removed = i
	}
	before := *w.snapshot()
	if w.sw.Reconfigure(drawConfig(t, 100), ports, nil, w.now) != nil {
		after := w.snapshot()
		assert.MustBeTrue(t, before.Buffer.Lossless.Used == after.Buffer.Lossless.Used &&
			len(before.Ports) == len(after.Ports), "refused, but changed: %+v, %+v", before, after)
		return
	}
	w.reconfigured = true
	for i := range ports {
		w.station(host(i), 1, i) // Reconfigure replaces the static entries
	}
	w.group(t)
	if removed >= 0 {
		w.lines[removed], w.rings[removed], w.ringSet[removed] = nil, nil, false
	}
}

// everything is a snapshot with the ports that are gone.
func (w *world) everything() *Snapshot {
	v := *w.snapshot()
	v.Ports = slices.Clone(v.Ports)
	for name, old := range w.sw.removedPorts.byName {
		if !slices.ContainsFunc(v.Ports, func(p PortSnapshot) bool { return p.Config.Name == name }) {
			v.Ports = append(v.Ports, old.PortSnapshot)
		}
	}
	return &v
}

// check compares what must be true at every moment.
func (w *world) check(t *rapid.T) {
	v := w.snapshot()
	if l := w.everything().Balance(); l.Received+l.Copies != l.Sent+l.Dropped+l.Held {
		t.Fatalf("received + copies are not sent + dropped + held: %+v", l)
	}
	assert.MustBeTrue(t, v.Buffer.Unbalanced == 0 && faults(v) == 0,
		"%d releases of what was not charged, %d lossless frames lost", v.Buffer.Unbalanced, faults(v))
	for i := range v.Ports {
		w.checkQueues(t, &v.Ports[i])
		p := &v.Ports[i]
		assert.MustEqual(t, p.Counters.Drops[0][DropBufferMemory]+p.Counters.Drops[lossless][DropBufferMemory], 0,
			"%s: packet memory ran out", p.Config.Name)
		wanted := w.sw.buffer.Off(p.Index)
		if p.Config.Mode == macctl.ModePause && wanted != 0 {
			wanted = 0xff
		}
		if w.ringSet[p.Index] {
			wanted |= p.Config.Lossless
		}
		assert.MustEqual(t, p.XoffWanted, wanted, "%s: what the sender holds, want what buffer and ring do",
			p.Config.Name)
	}
}

// checkAccounts is check, where all frames are of drawFrame.
func (w *world) checkAccounts(t *rapid.T) {
	w.check(t)
	v := w.look()
	for i := range v.Ports {
		w.checkDiscarded(t, &v.Ports[i])
	}
}

// checkDiscarded compares what counts as discarded with all drops. As long as no configuration has changed, each drop
// of a lossless priority that a receiver misses counts, and no other does: there are no faults.
func (w *world) checkDiscarded(t *rapid.T, p *PortSnapshot) {
	for prio := range p.Counters.Drops {
		for r := range NumDropReasons {
			got, drops := p.Counters.LosslessDiscarded[prio][r], p.Counters.Drops[prio][r]
			least, most := drops, drops
			switch {
			case w.reconfigured:
				least = 0
			case prio == Unknown:
				least, most = w.cut[p.Index], w.cut[p.Index]
			case prio == int(reservedPrio) || !w.sw.ports[p.Index].lossless(uint8(prio)):
				least, most = 0, 0
			case (prio == 4 || prio == 5) && (r == DropFiltered || r == DropPortDown):
				least = 0
			}
			if dropReasons[r].class == noLoss || prio == Unknown && r != DropPortDown {
				least, most = 0, 0
			}
			assert.MustBeTrue(t, got >= least && got <= most,
				"%s: of %d drops of priority %d (%v) %d count as discarded, want %d to %d", p.Config.Name, drops, prio,
				r, got, least, most)
		}
	}
}

// checkQueues walks the lists.
func (w *world) checkQueues(t *rapid.T, v *PortSnapshot) {
	p := w.sw.ports[v.Index]
	for q := range p.queues {
		frames, octets, last := 0, int64(0), none
		for d := p.queues[q].head; d != none; d = w.sw.memory.descs[d].next {
			frames++
			octets += int64(w.sw.memory.descs[d].length)
			last = d
		}
		assert.MustBeTrue(t, frames == p.queues[q].frames && octets == p.count.QueueBytes[q] &&
			last == p.queues[q].tail && (frames > 0) == (p.occupied>>q&1 == 1),
			"%s queue %d: %d frames, %d octets in the list, counted %+v, %d, occupied %08b", v.Config.Name, q, frames,
			octets, p.queues[q], p.count.QueueBytes[q], p.occupied)
	}
	assert.MustBeTrue(t, v.Delayed == len(w.lines[v.Index]) && p.delayedLossless == losslessOf(w.lines[v.Index]),
		"%s: %d frames delayed, %d lossless, want %v", v.Config.Name, v.Delayed, p.delayedLossless, w.lines[v.Index])
}

// drainAll lets everybody send until nothing is left anywhere.
func (w *world) drainAll(t *rapid.T) {
	for i, p := range w.sw.ports[:worldPorts] {
		if p != nil {
			w.setUp(i, true)
			w.sw.HoldPeerForRing(i, false, w.now)
			w.ringSet[i] = false
		}
	}
	for range 1000 {
		for i, p := range w.sw.ports[:worldPorts] {
			w.take(t, i)
			if p == nil {
				continue
			}
			w.drain(i, w.now+second) // longer than any pause
			w.enterLine(i)
			w.passLine(i, len(w.lines[i]), 0)
		}
		w.sw.Tick(w.now)
		if w.idle() {
			return
		}
	}
	t.Fatal("frames wait for ever")
}

// idle tells whether nothing waits in a ring or a queue.
func (w *world) idle() bool {
	for i, p := range w.sw.ports[:worldPorts] {
		if len(w.rings[i]) > 0 || p != nil && (p.occupied != 0 || p.room.waiting != 0) {
			return false
		}
	}
	return true
}

// Frames are neither lost nor doubled, at any moment, whatever happens; no lossless frame is lost while its peer's
// frames may wait in the ring; and in the end every peer is free and nothing is left.
func TestSwitchKeepsItsAccounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"receive": func(t *rapid.T) {
				in := drawPort.Draw(t, "in")
				for range rapid.SampledFrom([]int{1, 5, 40}).Draw(t, "frames") {
					w.rings[in] = append(w.rings[in], w.drawFrame(t, in))
				}
				w.take(t, in)
			},
			"retry": func(t *rapid.T) { w.take(t, drawPort.Draw(t, "in")) },
			"send": func(t *rapid.T) {
				if i := drawPort.Draw(t, "out"); w.sw.ports[i] != nil {
					w.call(t, i)
				}
			},
			"delay line": func(t *rapid.T) {
				i := drawPort.Draw(t, "out")
				if n := rapid.IntRange(0, len(w.lines[i])).Draw(t, "passed"); w.sw.ports[i] != nil {
					w.passLine(i, n, rapid.IntRange(0, n).Draw(t, "refused"))
				}
			},
			"time": func(t *rapid.T) {
				w.now += rapid.SampledFrom([]int64{1, 10_000, 1_000_000, 100_000_000}).Draw(t, "ns")
			},
			"tick":    func(*rapid.T) { w.sw.Tick(w.now) },
			"control": func(t *rapid.T) { w.control(t, drawPort.Draw(t, "port")) },
			"stop": func(t *rapid.T) {
				if i := drawPort.Draw(t, "port"); w.sw.ports[i] != nil {
					w.hear(i, lossless, 0xffff)
				}
			},
			"tell": func(t *rapid.T) { w.wantTheState(t, drawPort.Draw(t, "port")) },
			"link": func(t *rapid.T) { w.setUp(drawPort.Draw(t, "port"), rapid.Bool().Draw(t, "up")) },
			"ring": func(t *rapid.T) {
				i, hold := drawPort.Draw(t, "port"), rapid.Bool().Draw(t, "hold")
				w.sw.HoldPeerForRing(i, hold, w.now)
				w.ringSet[i] = hold && w.sw.ports[i] != nil && w.sw.ports[i].cfg.Mode != macctl.ModeOff
			},
			"reconfigure": func(t *rapid.T) {
				for i := range worldPorts { // as the Runner does
					w.sw.HoldPeerForRing(i, false, w.now)
					w.ringSet[i] = false
				}
				w.reconfigure(t)
			},
			"": w.checkAccounts,
		})
		w.drainAll(t)
		w.checkAccounts(t)
		w.ringSet = [worldPorts]bool{}
		w.wantNothingLeft(t)
	})
}

// wantTheState fails unless the frame that port i sends says exactly what is wanted now.
func (w *world) wantTheState(t *rapid.T, i int) {
	b := w.tell(i)
	if b == nil {
		return
	}
	p := w.sw.ports[i]
	f, reason := macctl.Parse(b, [6]byte{})
	var held uint8
	for q, quanta := range f.Time {
		if quanta > 0 {
			held |= 1 << q
		}
	}
	if f.Pause > 0 {
		held = 0xff
	}
	// After a change of mode the first frame frees the peer in the words of the old one.
	if wanted := p.sender.XoffWanted(); reason != macctl.ReasonNone || held != wanted && held != 0 {
		t.Fatalf("port %d told %+v (%v), wanted is %08b", i, f, reason, wanted)
	}
}

// wantNothingLeft fails unless buffers and memory are empty and every peer is free.
func (w *world) wantNothingLeft(t *rapid.T) {
	v := w.snapshot()
	used := v.Buffer.Lossless.Used
	m := w.sw.memory
	assert.MustBeTrue(t, used.Private.Now+used.Shared.Now+used.Headroom.Now+v.Buffer.Lossy.Used.Shared.Now == 0 &&
		v.Buffer.Off == 0, "left in the buffer: %+v, %+v, %d queues OFF", used, v.Buffer.Lossy.Used, v.Buffer.Off)
	assert.MustBeTrue(t, m.freeCells.left == len(m.next) && m.freeDescs.left == len(m.descs),
		"free: %d of %d cells, %d of %d descriptors", m.freeCells.left, len(m.next), m.freeDescs.left, len(m.descs))
	for i := range v.Ports {
		for w.tell(v.Ports[i].Index) != nil {
		}
		if xoffSent := w.sw.ports[v.Ports[i].Index].sender.XoffSent(); xoffSent != 0 {
			t.Fatalf("%s: the peer is still told to stop: %08b", v.Ports[i].Config.Name, xoffSent)
		}
	}
}
