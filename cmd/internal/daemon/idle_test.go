package daemon

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pfcswitch/cmd/internal/api"
	"pfcswitch/dataplane"
	"pfcswitch/dataplane/assert"
	"pfcswitch/dataplane/bridge"
	"pfcswitch/dataplane/port"
	"pfcswitch/dataplane/runner"
	"pfcswitch/headroom"
	"pfcswitch/lldp/dcbx"
)

// mostOf is how often each owner of a time may wake an idle switch up in a minute: that of a port, at each port. rings
// is the worker's look for stopped rings.
var mostOf = map[string]int{"rings": 60, "tick": 6, "samples": 6, "headroom": 18, "LLDP": 4, "sending": 12,
	"receiving": 12}

// mostWakeups is how often all owners together may, in a minute.
const mostWakeups = 5 * 60

// A switch without traffic wakes up rarely, once it has settled: with hosts that are silent, and with a switch as
// neighbour at each port, with which it measures headroom. Its parts run in virtual time, as the daemon runs them.
func TestIdleSwitchSleeps(t *testing.T) {
	for name, neighbours := range map[string]bool{"silent hosts": false, "switches": true} {
		t.Run(name, func(t *testing.T) {
			const minutes = 10
			n := newIdleNetwork(t, 4, neighbours)
			n.run(minutes * time.Minute)
			s, total := n.switches[0], 0
			clear(s.wakeups)
			n.run(minutes * time.Minute)
			for owner, times := range s.wakeups {
				what, _, _ := strings.Cut(owner, " ")
				assert.True(t, times <= mostOf[what]*minutes, "%s wakes up %d times in %d minutes, want %d at most",
					owner, times, minutes, mostOf[what]*minutes)
				total += times
			}
			assert.True(t, total >= mostOf["rings"]*minutes && total <= mostWakeups*minutes,
				"%d wake-ups in %d minutes, want %d at most: %s", total, minutes, mostWakeups*minutes, s.owners())
		})
	}
}

// An idleNetwork is one or two switches in virtual time. Of two, each port leads to the port of the same number.
type idleNetwork struct {
	t        *testing.T
	now      int64
	switches []*idleSwitch
}

type idleSwitch struct {
	sw       *dataplane.Switch
	ports    []*idlePort
	tick     runner.Tick
	due      map[string]int64 // by owner
	wakeups  map[string]int   // likewise
	sample   chan struct{}
	sampleAt chan int64
}

type idlePort struct {
	of      *idleSwitch
	prober  *Prober
	packing headroom.Packing
	x       *dcbx.Exchange
	peer    *idlePort // nil: a silent host

	arriving  [][]byte
	arrivesAt int64
}

func newIdleNetwork(t *testing.T, ports int, neighbours bool) *idleNetwork {
	n := &idleNetwork{t: t, now: int64(time.Second)}
	n.add(ports)
	if neighbours {
		n.add(ports)
		for i := range ports {
			a, b := n.switches[0].ports[i], n.switches[1].ports[i]
			a.peer, b.peer = b, a
		}
	}
	for _, s := range n.switches {
		for i, p := range s.ports {
			s.sw.SetUp(i, true, n.now)
			p.x.SetLink(true, n.now)
		}
	}
	return n
}

// add adds a switch whose links are down.
func (n *idleNetwork) add(ports int) {
	id := byte(len(n.switches) + 1)
	var list strings.Builder
	for i := range ports {
		fmt.Fprintf(&list, "p%d: {speed: 100M}, ", i)
	}
	c := parse(n.t, fmt.Sprintf("name: s%d\npreset: roce\nports: {%s}\n", id, list.String()))
	cfg := assert.Got(switchConfig(c, bridge.Identity{Public: [8]byte{id}})).Must(n.t)
	s := &idleSwitch{sw: assert.Got(dataplane.New(cfg, n.now)).Must(n.t), due: map[string]int64{},
		wakeups: map[string]int{}, sample: make(chan struct{}), sampleAt: make(chan int64)}
	n.t.Cleanup(func() { assert.NoError(n.t, s.sw.Close(), "close the switch") })
	numbers := map[string]int{}
	for i := range c.Ports {
		numbers[c.Ports[i].Name] = i
	}
	all := assert.Got(portConfigs(c, numbers)).Must(n.t)
	for i := range c.Ports {
		p, mac := &c.Ports[i], [6]byte{2, 0, 0, 0, id, byte(i)}
		set := ProbeSettings(c, p, time.Nanosecond)
		set.Session = uint16(id)<<8 | uint16(i)
		prober := NewProber(set, func() { s.due["headroom"] = n.now })
		pc := all[i]
		pc.MAC, pc.Prober = mac, prober
		all[i] = pc
		s.ports = append(s.ports, &idlePort{of: s, prober: prober,
			packing: c.Packing(p), arrivesAt: math.MaxInt64, x: dcbx.NewExchange(
				LLDPConfig(c, p, [6]byte{2, 0, 0, 0, id, 0xff}, mac, i+1), DCBXConfig(c, p, mac, false))})
	}
	must(n.t, s.sw.Reconfigure(cfg, all, nil, n.now))
	n.switches = append(n.switches, s)
	s.tick, s.due["tick"] = runner.NewTick(n.now)
	s.due["rings"], s.due["headroom"] = n.now, n.now
	n.takeSamples(s)
}

// A quietSource is a switch of which api.Server only takes samples.
type quietSource struct {
	api.Source
	snapshot func(v *dataplane.Snapshot)
}

func (q quietSource) Snapshot(v *dataplane.Snapshot) { q.snapshot(v) }
func (quietSource) KernelBacklogDrops() uint64       { return 0 }

// takeSamples lets an api.Server take samples whenever one is due: at the time that sampleAt says, by sample.
func (n *idleNetwork) takeSamples(s *idleSwitch) {
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	n.t.Cleanup(func() { end(); <-ended })
	server := api.NewServer(quietSource{snapshot: func(v *dataplane.Snapshot) { s.sw.Snapshot(v, n.now) }}, time.Now(),
		n.now)
	go func() {
		defer close(ended)
		server.Run(ctx, func(at int64) <-chan struct{} {
			s.sampleAt <- at
			return s.sample
		})
	}()
	s.due["samples"] = <-s.sampleAt
}

// run lets time pass.
func (n *idleNetwork) run(d time.Duration) {
	for until := n.now + int64(d); ; {
		at := until
		for _, s := range n.switches {
			s.look(n.now)
			for _, due := range s.due {
				at = min(at, due)
			}
		}
		if n.now = max(n.now, at); n.now >= until {
			return
		}
		for _, s := range n.switches {
			for _, owner := range slices.Sorted(maps.Keys(s.due)) {
				if s.due[owner] <= n.now {
					s.wakeups[owner]++
					n.wake(s, owner)
				}
			}
		}
	}
}

// look sets when ports are due.
func (s *idleSwitch) look(now int64) {
	for i, p := range s.ports {
		s.due[fmt.Sprint("LLDP p", i)] = together(p.x.Next(), now)
		s.due[fmt.Sprint("sending p", i)] = min(s.sw.TxDeadline(i, now), s.sw.LoopProbeDeadline(i),
			s.sw.MeasureDeadline(i))
		s.due[fmt.Sprint("receiving p", i)] = p.arrivesAt
	}
}

// wake does what is due for an owner.
func (n *idleNetwork) wake(s *idleSwitch, owner string) {
	what, number, _ := strings.Cut(owner, " p")
	i, _ := strconv.Atoi(number) // 0 of owners that are no ports
	switch what {
	case "rings":
		s.due[owner] = n.now + int64(port.DropPeriod)
	case "samples":
		s.sample <- struct{}{}
		s.due[owner] = <-s.sampleAt
	case "tick":
		s.sw.Age(n.now)
		s.sw.SetIdle(true, n.now)
		s.due[owner], _, _ = s.tick.Next(n.now, false)
	case "headroom":
		n.followHeadroom(s)
	case "LLDP":
		n.speak(s, i)
	case "sending":
		n.send(s, i)
	case "receiving":
		n.receive(s, i)
	}
}

func (n *idleNetwork) followHeadroom(s *idleSwitch) {
	wait := untilHeadroomLook(n.now)
	for i, p := range s.ports {
		a := p.x.Agreement(fmt.Sprint("p", i))
		if own, agreed, _ := p.prober.Agreed(); own != a.Own || agreed != a.Agreed() {
			p.prober.SetNeighbour(a.Address, n.now)
			p.prober.SetAgreed(a.Own, a.Peer, a.Neighbour, n.now)
		}
		p.prober.Advance(n.now)
		p.prober.Notes()
		p.prober.SetInForce(p.packing.Bytes(p.prober.Target()))
		wait = min(wait, time.Duration(p.prober.AdvanceAt()-n.now))
	}
	s.due["headroom"] = n.now + max(int64(wait), int64(headroomRetry))
}

func (n *idleNetwork) speak(s *idleSwitch, i int) {
	p := s.ports[i]
	p.x.Advance(n.now)
	for frame := p.x.Transmit(); frame != nil; frame = p.x.Transmit() {
		if p.peer == nil {
			continue
		}
		p.peer.of.wakeups[fmt.Sprint("LLDP p", i)]++
		p.peer.x.Receive(frame, n.now)
	}
}

// send sends measurement frames and loop probes of a port.
func (n *idleNetwork) send(s *idleSwitch, i int) {
	for {
		b, m, ok := s.sw.MeasureOut(i, nil, n.now, 0)
		if !ok {
			break
		}
		s.sw.MeasurementSent(i, &m, n.now, n.now, 0)
		s.ports[i].carry(b, n.now)
	}
	if b, ok := s.sw.LoopProbe(i, nil, n.now); ok {
		s.ports[i].carry(b, n.now)
	}
	s.sw.Dequeue(i, n.now, nil)
}

// carry puts a frame on the wire, to a neighbour.
func (p *idlePort) carry(b []byte, now int64) {
	if p.peer != nil {
		p.peer.arriving, p.peer.arrivesAt = append(p.peer.arriving, b), now+int64(time.Microsecond)
	}
}

// receive takes the frames that have come, of which those that measure are answered at once.
func (n *idleNetwork) receive(s *idleSwitch, i int) {
	p := s.ports[i]
	all := p.arriving
	p.arriving, p.arrivesAt = nil, math.MaxInt64
	for _, b := range all {
		s.sw.Measurement(i, b, false, n.now, n.now, 0)
	}
	n.send(s, i)
}

// owners are the wake-ups, the most first.
func (s *idleSwitch) owners() string {
	var all []string
	for _, owner := range slices.SortedFunc(maps.Keys(s.wakeups), func(a, b string) int {
		return s.wakeups[b] - s.wakeups[a]
	}) {
		all = append(all, fmt.Sprint(owner, " ", s.wakeups[owner]))
	}
	return strings.Join(all, ", ")
}
