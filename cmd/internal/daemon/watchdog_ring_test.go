package daemon

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/frame"
	"pfcswitch/dataplane/port"
	"pfcswitch/deadlock"
	"pfcswitch/macctl"
)

// Ports of a switch of the simulated ring.
const (
	ringHost = iota
	ringSink
	ringIn
	ringOut
	ringPorts
)

// Times of the simulation, in ns, and its step: a fifth of the time of a frame at 100 Mbit/s.
const (
	ringStep    = 25_000
	ringSpeed   = 100_000_000
	ringFrame   = 1514
	ringTrigger = 200_000_000 // receivers hang for 150 ms
	ringRelease = ringTrigger + 150_000_000
	ringSurge   = 300_000_000 // until then hosts send more than the ring carries
)

// nowhere is a receiver that every switch has behind the next one: frames for it circle.
const nowhere = 9

// A ringNode is one switch of three, its sender and its receiver, under virtual time. What leaves one step arrives with
// the next.
type ringNode struct {
	*watchedSwitch
	rings    [ringPorts][][]byte // frames that have arrived and were not taken yet
	host     *macctl.Receiver    // obeys the switch
	flow     [][]byte            // what the sender sends: of two hops, and of one
	credit   float64
	sent     int
	received int
	batch    *port.Batch
}

func ringYAML(k int, watchdog string) string {
	const dull = "speed: 100M, learning: off, flood: off, loop: off"
	var b strings.Builder
	fmt.Fprintf(&b, "preset: roce\nwatchdog: %s\necn: {3: off}\nbuffer: {policy: static, xoff: 256KiB, private: 0B}\n"+
		"ports:\n", watchdog)
	fmt.Fprintf(&b, "  host: {%s, priorities: {3: {xoff: 64KiB, xon: 48KiB}}}\n  sink: {%s}\n", dull, dull)
	fmt.Fprintf(&b, "  in: {%s, priorities: {3: {xon: 8KiB}}}\n  out: {%s, priorities: {3: {xon: 8KiB}}}\nfdb:\n", dull,
		dull)
	for j := range 3 {
		to := "out"
		if j == k {
			to = "sink"
		}
		fmt.Fprintf(&b, "  - {mac: \"02:00:00:00:00:%02x\", vlan: 1, port: %s}\n", j, to)
	}
	fmt.Fprintf(&b, "  - {mac: \"02:00:00:00:00:%02x\", vlan: 1, port: out}\n", nowhere)
	return b.String()
}

// newRing returns the three switches.
func newRing(t *testing.T, watchdog string) (nodes [3]*ringNode) {
	for k := range nodes {
		n := &ringNode{watchedSwitch: newWatchedSwitch(t, ringYAML(k, watchdog)), batch: port.NewBatch()}
		n.host = macctl.NewReceiver(macctl.ModePFC, 1<<3, ringSpeed, [6]byte{2})
		n.flow = [][]byte{ringData((k + 2) % 3), ringData((k + 1) % 3)}
		nodes[k] = n
	}
	return nodes
}

// ringData is a frame of priority 3 for the receiver at switch k.
func ringData(k int) []byte { return taggedFrame(3, k, ringFrame) }

// offer lets the sender send what it may: five frames of two hops for one of one hop.
func (n *ringNode) offer(rate float64, now int64) {
	const bits = (ringFrame + frame.WireExtras) * 8
	n.credit = min(2, n.credit+rate*ringSpeed*ringStep/1e9/bits)
	for n.credit >= 1 && n.host.Paused(now) == 0 {
		n.rings[ringHost] = append(n.rings[ringHost], n.flow[min(1, n.sent%6/5)])
		n.credit--
		n.sent++
	}
}

// receive takes what has arrived by a port, as far as there is buffer.
func (n *ringNode) receive(i int, now int64) {
	burst := make([]dataplane.Arrival, len(n.rings[i]))
	for k, b := range n.rings[i] {
		burst[k].Data, burst[k].At = b, now
		c := n.ports[i]
		burst[k].Prepare(&c.Classify, c.MaxFrame)
	}
	taken, stop := 0, dataplane.ThresholdCrossed
	for stop == dataplane.ThresholdCrossed && taken < len(burst) {
		taken, stop = n.sw.Ingress(i, burst, taken, now, 0)
	}
	n.sw.Store(n.sw.Settle(burst[:taken], nil))
	n.rings[i] = slices.Clone(n.rings[i][taken:])
	n.sw.LeaveRoom(i, math.MaxInt, now)
}

// transmit lets a port send, and hands over what leaves.
func (n *ringNode) transmit(i int, now int64, data, control func(b []byte)) {
	for {
		b, ok := n.sw.ControlOut(i, nil, now)
		if !ok {
			break
		}
		n.sw.ControlSent(i, now)
		control(b)
	}
	n.batch.Reset()
	if n.sw.Dequeue(i, now, nil) == 0 {
		return
	}
	n.sw.Fill(i, n.batch, nil)
	for k := range n.batch.Len() {
		data(n.batch.Frame(k, nil))
	}
	n.sw.Sent(i, n.batch.Len(), now)
}

// poll is what the daemon's goroutine does.
func (n *ringNode) poll(now int64) (events []deadlock.Event) {
	suspects := n.sw.Suspects()
	for i := range suspects.All() {
		n.dog.Notify(i, now)
	}
	n.dog.Poll(now)
	for _, e := range n.dog.Events() {
		if reportedKinds[e.Kind] != "" {
			events = append(events, e)
		}
	}
	return events
}

// step lets one step pass for one switch.
func (n *ringNode) step(next, before *ringNode, now int64) []deadlock.Event {
	for i := range ringPorts {
		n.receive(i, now)
	}
	n.sw.Tick(now)
	deaf := func([]byte) {}
	n.transmit(ringHost, now, deaf, func(b []byte) { n.host.Receive(b, now, now) })
	n.transmit(ringSink, now, func([]byte) { n.received++ }, deaf)
	n.transmit(ringIn, now, deaf, func(b []byte) { before.sw.Control(ringOut, b, now, now) })
	n.transmit(ringOut, now, func(b []byte) { next.rings[ringIn] = append(next.rings[ringIn], b) }, deaf)
	return n.poll(now)
}

// hang lets the receiver of a switch pause it, or go on.
func (n *ringNode) hang(quanta uint16, now int64) {
	n.sw.Control(ringSink, macctl.AppendPFC(nil, [6]byte{2}, 1<<3, [8]uint16{3: quanta}), now, now)
}

// A ringRun is what a run of the ring has shown.
type ringRun struct {
	sent, received, dropped, held int
	heldBefore                    int // a second before the end
	events                        []string
}

// runLoop is runRing with senders whose frames circle.
func runLoop(t *testing.T, watchdog string, end int64) ringRun {
	nodes := newRing(t, watchdog)
	for _, n := range nodes {
		n.flow = [][]byte{ringData(nowhere), ringData(nowhere)}
	}
	return runRing(nodes, end)
}

// runRing lets the hosts send until end, and looks again when all has been quiet for as long.
func runRing(nodes [3]*ringNode, end int64) (r ringRun) {
	for now := int64(ringStep); now < 2*end; now += ringStep {
		for k, n := range nodes {
			switch now {
			case ringTrigger:
				n.hang(0xffff, now)
			case ringRelease:
				n.hang(0, now)
			}
			switch {
			case now < ringSurge:
				n.offer(0.60, now)
			case now < end:
				n.offer(0.35, now)
			}
			for _, e := range n.step(nodes[(k+1)%3], nodes[(k+2)%3], now) {
				r.events = append(r.events, fmt.Sprintf("%d s%d:%s %v %s sent %d dropped %d", now, k+1, e.Name, e.Kind,
					e.Reason, e.Sent, e.Dropped))
			}
		}
		if now == end {
			r.heldBefore = heldInRing(nodes)
		}
	}
	for _, n := range nodes {
		r.sent += n.sent
		r.received += n.received
		var s dataplane.Snapshot
		n.sw.Snapshot(&s, 2*end)
		for _, p := range s.Ports {
			r.dropped += int(p.Counters.Drops[3][dataplane.DropWatchdog])
		}
	}
	r.held = heldInRing(nodes)
	return r
}

func heldInRing(nodes [3]*ringNode) (held int) {
	for _, n := range nodes {
		var v dataplane.WatchReading
		n.sw.ReadWatch(ringOut, 3, 0, &v)
		held += v.Held
	}
	return held
}

// Three switches that wait for each other do so for ever, long after their receivers run again and their senders have
// ended. The watchdog frees them: forward without losing a frame, drop by giving up what is counted. Every run of the
// simulation is the same.
func TestRingUnderVirtualTime(t *testing.T) {
	const end = 1_500_000_000
	locked := runRing(newRing(t, "off"), end)
	assert.True(t, locked.held != 0 && locked.held == locked.heldBefore && locked.received+locked.held == locked.sent,
		"without the watchdog the ring is not locked up: %+v", locked)
	const settings = "{period: 100ms, count: 4, recovery: 200ms, action: "
	alert := runRing(newRing(t, settings+"alert}"), end)
	assert.True(t, alert.held == locked.held && len(alert.events) >= 6, "alert only tells: %+v", alert)
	forward := runRing(newRing(t, settings+"forward}"), end)
	assert.True(t, forward.received == forward.sent && forward.held == 0 && forward.dropped == 0 &&
		len(forward.events) >= 6, "forward: %+v", forward)
	drop := runRing(newRing(t, settings+"drop}"), end)
	assert.True(t, drop.received+drop.dropped == drop.sent && drop.dropped != 0 && drop.held == 0, "drop: %+v", drop)
	again := runRing(newRing(t, settings+"forward}"), end)
	assert.True(t, slices.Equal(again.events, forward.events) && again.received == forward.received,
		"two runs differ:\n%s\n%s", strings.Join(forward.events, "\n"), strings.Join(again.events, "\n"))
	t.Logf("sent %d, locked up %d\n%s", locked.sent, locked.held, strings.Join(forward.events, "\n"))
}

// Frames that circle for ever fill the ring for good. To ignore XOFF lets them circle on; only dropping them ends it.
func TestLoopUnderVirtualTime(t *testing.T) {
	const end = 400_000_000
	for _, settings := range []string{"off", "{period: 100ms, count: 4, action: forward}"} {
		if r := runLoop(t, settings, end); r.held == 0 || r.received != 0 || r.dropped != 0 {
			t.Errorf("watchdog %s: frames do not circle: %+v", settings, r)
		}
	}
	drop := runLoop(t, "{period: 100ms, count: 4, action: drop}", 2*end)
	assert.True(t, drop.held == 0 && drop.dropped == drop.sent && drop.sent != 0 && len(drop.events) >= 2,
		"drop: %+v", drop)
	t.Logf("%d frames\n%s", drop.sent, strings.Join(drop.events, "\n"))
}
