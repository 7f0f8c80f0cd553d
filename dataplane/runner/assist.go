package runner

import (
	"fmt"
	"time"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/classify"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/port/assist"
	"pfcswitch/macctl"
)

// An Assist is the pair of programs at a port's interface, and what decides about its fast path.
type Assist struct {
	*assist.Port
	Index int          // of the interface
	Netns port.NetnsID // where the interface is
	Why   string       // why no frame can be handed over to the far end; empty: a veth, with its far end elsewhere
	First bool         // they see all frames: no program of somebody else stands before them
}

// AssistOptions say how the programs help. The zero value is without them.
type AssistOptions struct {
	Maps   *assist.Maps
	Freeze time.Duration // how long the oldest lossless frame waits unseen before the program holds the peer
	Hold   time.Duration // and how long before it stops doing so
}

// fastPort is a port whose frames may be handed over past the switch.
type fastPort interface {
	port.Port
	Empty() bool     // no frame is in the data rings
	Delivered() bool // all that was sent has reached the far end
}

var _ fastPort = (*port.AFPacket)(nil)

// SetAssist tells port number i, which has sockets, what has changed at the programs at its interface.
func (r *Runner) SetAssist(i int, a *Assist) error {
	r.change.Lock()
	defer r.change.Unlock()
	t := r.tasks[i]
	if t == nil {
		return nil
	}
	err := r.do(func(sw *dataplane.Switch) error {
		t.setAssist(sw, r, a)
		t.protect(sw, r)
		return nil
	})
	t.allowXDP(t.port, new(port.PacketSockets))
	return err
}

func (t *portTask) setAssist(sw *dataplane.Switch, r *Runner, a *Assist) {
	r.countForwarded(sw)
	if a == nil {
		t.configureAssist(sw, nil, &r.assist) // a port that is closed holds nobody
		t.assist, t.kernelHolds = nil, false
		sw.SetGates(t.index, nil)
		return
	}
	t.assist = a
	t.lost = [port.NumClasses]uint64{}
	a.Regain()
	if r.forwarded[t.index] == nil {
		counts := r.assist.Maps.Counts(t.index)
		r.forwarded[t.index] = &counts
	}
	if a.Why == "" {
		sw.SetGates(t.index, (*dataplane.Gates)(a.Gates()))
	} else {
		sw.SetGates(t.index, nil)
	}
}

// fast reports whether frames may leave by the port on the fast path, so that the switch has to know when those that it
// sends itself have arrived.
func (t *portTask) fast() bool {
	return t.assist != nil && t.assist.Why == "" && t.cfg.Speed == 0 && t.cfg.Delay == 0
}

// configureAssist tells the program which frames are lossless, and how to hold the peer. hold is an XOFF for all that
// is lossless; nil where the program must not send it.
func (t *portTask) configureAssist(sw *dataplane.Switch, hold []byte, o *AssistOptions) {
	if t.assist == nil {
		return
	}
	t.kernelHolds = hold != nil
	c, lossless := &t.cfg.Classify, t.cfg.LosslessPriorities()
	slots := t.port.Slots(port.Lossless)
	s := assist.Settings{Freeze: o.Freeze, Hold: o.Hold, Xoff: hold, Small: classify.SmallFrame,
		Most: [2]int{slots.Full / 2, slots.Small / 2}, Pause: t.cfg.Mode == macctl.ModePause,
		Lossless: lossless, Obeyed: t.cfg.Obeyed(), Ends: sw.EndsHere(),
		TrustPCP: c.Trust == classify.TrustPCP, TrustDSCP: c.Trust == classify.TrustDSCP, LosslessPCP: lossless,
		LosslessDefault: lossless>>c.Default&1 != 0}
	for dscp, priority := range c.DSCP {
		s.LosslessDSCP |= uint64(lossless>>priority&1) << dscp
	}
	t.assist.Configure(&s)
}

// describeAssist says what the programs do, where a says what the switch thinks of it.
func (r *Runner) describeAssist(t *portTask, a *dataplane.Assist) {
	recorder := r.sw.Tap().Recorder()
	switch {
	case t.assist == nil:
		*a = dataplane.Assist{}
		return
	case !t.up:
		a.Why = "link down"
	case a.Why != "":
	case t.assist.Why != "":
		a.Why = t.assist.Why
	case recorder != nil && recorder.Wants(t.index):
		a.Why = "is captured"
	}
	if a.Hold, a.Fast = t.kernelHolds, a.Why == ""; !a.Hold && !a.Fast && t.cfg.LosslessPriorities() == 0 {
		a.Why += "; nothing is lossless"
	}
}

// heldByKernel reports whether the program has held the peer since the last call of takeKernelHold.
func (t *portTask) heldByKernel() bool { return t.assist != nil && t.assist.Held() }

// takeKernelHold makes the task responsible for a hold of the program, which stays until a worker has looked. The
// switch is locked.
func (w *worker) takeKernelHold(t *portTask) {
	if !t.heldByKernel() {
		return
	}
	if n, at := t.assist.TakeXoffs(); n > 0 {
		w.beginKernelHold(t, n, at)
	}
}

// beginKernelHold takes over a hold of the program, which has sent XOFF n times, the last time at time at.
func (w *worker) beginKernelHold(t *portTask, n uint64, at int64) {
	w.r.sw.ControlRefreshed(t.index, n, at, true)
	w.r.sw.HeldByKernel(t.index, n)
	w.r.captureKernelHold(t.index, n, at)
	t.refresh.heldByKernel(at)
	w.r.sw.HoldPeerForRing(t.index, true, at)
}

// emptied lets frames of a port take the fast path if the round has left none in its rings. arrived was read before.
func (t *portTask) emptied(arrived uint64) {
	if t.assist == nil || t.suspended || t.roomWaits || t.blocked[port.Lossless] || t.blocked[port.Other] {
		return
	}
	if p, ok := t.port.(fastPort); ok && p.Empty() {
		t.assist.Emptied(arrived)
	}
}

// suspend makes all frames of a port come to its rings.
func (t *portTask) suspend() {
	if t.suspended = true; t.assist != nil {
		t.assist.Suspend()
	}
}

// arrived is what emptied needs.
func (t *portTask) arrived() uint64 {
	if t.assist == nil {
		return 0
	}
	return t.assist.Arrived()
}

// openGates lets frames leave by a port past its queues, where nothing waits and all has arrived that was sent. The
// switch is locked.
func (w *worker) openGates(t *portTask, now int64) {
	if t.assist == nil || t.assist.Why != "" {
		return
	}
	p, ok := t.port.(fastPort)
	pauses := t.assist.Pauses() // first: see Pauses
	queues := w.r.sw.Openable(t.index, now)
	if !ok || queues == 0 {
		return
	}
	if b, _ := t.port.Control(); b != nil || !p.Delivered() {
		return
	}
	w.r.sw.OpenGates(t.index, queues)
	if t.assist.Pauses() != pauses {
		w.r.sw.CloseGates(t.index, queues)
	}
}

// generation is what offer needs. It is read before the switch decides.
func (w *worker) generation(t *portTask) uint32 {
	if t.assist == nil || t.assist.Why != "" {
		return 0
	}
	return w.r.assist.Maps.Generation()
}

// offer lets frames like those of the burst take the fast path.
func (w *worker) offer(t *portTask, arrivals []dataplane.Arrival, generation uint32) {
	if generation == 0 || w.recorderOf(t) != nil {
		return
	}
	for i := range arrivals {
		a := &arrivals[i]
		out, priority, until, ok := a.FastPath()
		if !ok {
			continue
		}
		o := w.r.tasks[out]
		if o == nil || o.assist == nil || o.assist.Netns != t.assist.Netns || w.recorderOf(o) != nil {
			continue
		}
		way := assist.Way{Out: out, Index: o.assist.Index, Priority: priority, Until: until, Generation: generation,
			Limit: o.cfg.Classify.MTU + frame.HeaderOctets}
		if !t.cfg.Cut {
			way.GSOLimit = port.MaxFrame
		}
		f := flowOf(a.Data)
		if t.assist.Enter(&f, &way, w.now) != nil {
			return // the frames go on to come here
		}
	}
}

// flowOf returns what the programs read of a frame.
func flowOf(b []byte) assist.Flow {
	f := assist.Flow{Dst: [6]byte(b), Src: [6]byte(b[frame.AddressOctets:]), TCI: assist.Untagged, DSCP: assist.NoDSCP}
	h, ok := frame.Parse(b)
	if ok && h.Tagged {
		f.TCI = uint16(h.TCI)
	}
	if dscp, ip := frame.DSCP(b, h.NetOffset, h.EtherType); ok && ip {
		f.DSCP = dscp
	}
	return f
}

// countForwarded hands on what took the fast path, and what was lost there. Ports whose assist ended are counted too: a
// frame may have been decided about before. Runner.mu is locked.
func (r *Runner) countForwarded(sw *dataplane.Switch) {
	for i, before := range r.forwarded {
		counts := r.assist.Maps.Counts(i)
		for q := range counts {
			c, was := &counts[q], &before[q]
			if *c == *was {
				continue
			}
			sw.CountForwarded(i, uint8(q), &dataplane.Forwarded{
				RxFrames: c.RxFrames - was.RxFrames, RxOctets: c.RxOctets - was.RxOctets,
				TxFrames: c.TxFrames - was.TxFrames, TxOctets: c.TxOctets - was.TxOctets})
			r.forwards = true
		}
		*before = counts
	}
	for t := range r.attached() {
		if t.assist != nil {
			t.countTaken(sw)
		}
	}
}

// countTaken hands on what another program took.
func (t *portTask) countTaken(sw *dataplane.Switch) {
	var lost [port.NumClasses]uint64
	lost[port.Other], lost[port.Lossless] = t.assist.Lost()
	for c, n := range lost {
		sw.TakenByOther(t.index, port.Class(c), int(n-t.lost[c]), Now())
	}
	t.lost = lost
}

// clearFull empties a full map of flows, and tells once who fills it. tasksMu is locked.
func (r *Runner) clearFull() {
	for t := range r.attached() {
		if t.assist != nil && t.assist.Overflows() && !t.toldOverflow {
			t.toldOverflow = true
			r.Note(dataplane.Event{Kind: dataplane.EventStations, Port: t.cfg.Name, Priority: -1, Text: fmt.Sprintf(
				"frames come with more combinations of stations, tags and DSCPs than the fast path holds for a port "+
					"(%d): some pass through the switch instead (assist)", assist.MaxFlows)})
		}
	}
	if r.assist.Maps == nil || !r.assist.Maps.Full() {
		return
	}
	if !r.toldFull {
		r.toldFull = true
		r.Note(dataplane.Event{Kind: dataplane.EventStations, Priority: -1, Text: fmt.Sprintf("the ports' frames come "+
			"with more combinations of stations, tags and DSCPs than the fast path holds (%d): some pass through the "+
			"switch instead (assist)", assist.MaxAllFlows)})
	}
	_ = r.assist.Maps.Clear() // where it cannot be cleared, it stays full
}

// seeStations makes the stations younger whose frames took the fast path since the last call.
func (r *Runner) seeStations() {
	r.tasksMu.Lock()
	defer r.tasksMu.Unlock()
	r.View(r.countForwarded)
	r.clearFull()
	if !r.forwards {
		return
	}
	r.forwards = false
	var offset int64
	for t := range r.attached() {
		if t.assist != nil {
			offset = t.assist.Offset()
		}
	}
	now := Now()
	all, err := r.assist.Maps.Sightings(nil, r.sightedAt-int64(time.Second), offset)
	if r.sightedAt = now; err != nil {
		return
	}
	r.View(func(sw *dataplane.Switch) {
		for i := range all {
			s := &all[i]
			sw.SeeStation(s.Port, frame.Address(s.Src[:]), s.TCI != assist.Untagged, frame.TCI(s.TCI), min(s.At, now))
		}
	})
}
