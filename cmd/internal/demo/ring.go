package demo

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"pfcswitch/cmd/internal/lab"
)

// The ring: three switches, each with a sender and a receiver. Frames for another switch go on to the next one, so that
// the buffers wait for each other in a circle (a cyclic buffer dependency). Static FDB entries are the routes; nothing
// is flooded or learned.
//
//	h1 ─ s1 ─ r1        s1 ──▶ s2 ──▶ s3 ──▶ s1
//	    ╱  ╲             flow of two hops:  h1 > r3, h2 > r1, h3 > r2
//	  s3 ── s2           victim of one hop: h1 > r2, h2 > r3, h3 > r1
const ringSwitches = 3

// Thresholds of the ring at ringSpeed. They grow with the speed, but hold some tens of frames at the slowest: of fewer,
// by chance none may wait for the next link. The threshold of a host is far below that of a link of the ring. So
// ordinarily only hosts are paused, though the ring is full: about a host's threshold waits for the next link. Blocked
// receivers fill the rest. A link of the ring is released only when it is almost empty: frames for the next link keep
// it paused.
const (
	ringSpeed         = 200_000_000
	minThresholdSpeed = 50_000_000 // speed below which thresholds do not shrink
	hostXoff          = 64 << 10
	hostXon           = 48 << 10
	minHeadroom       = 32 << 10
	hostHeadroom      = 64 << 10 // headroom: three senders share a host, and each has its own burst
	ringXoff          = 256 << 10
	ringXon           = 8 << 10
)

// size is a threshold, in octets, at the ring's speed.
func (g *ring) size(octets int64) int64 {
	return int64(float64(octets) * float64(max(g.speed, minThresholdSpeed)) / ringSpeed)
}

// next is the switch, 0 to 2, that k sends to.
func next(k int) int { return (k + 1) % ringSwitches }

// Addresses of the senders' and receivers' interfaces, and one that no station has: frames to it circle.
func senderMAC(k int) net.HardwareAddr   { return net.HardwareAddr{2, 0, 0, 1, 0, byte(k + 1)} }
func receiverMAC(k int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 2, 0, byte(k + 1)} }

var unknownMAC = net.HardwareAddr{2, 0, 0, 3, 0, 1}

// A ring is the network of a phase.
type ring struct {
	speed     int64
	watchdog  string // its value in the configuration
	switches  []*switchNode
	senders   []*host // by switch
	receivers []*host
}

// build makes nodes, links and the switches' configurations.
func (g *ring) build(l *lab.Lab) error {
	for k := range ringSwitches {
		s, err := newSwitch(l, fmt.Sprintf("s%d", k+1))
		if err != nil {
			return err
		}
		g.switches = append(g.switches, s)
	}
	for k, s := range g.switches {
		if err := g.addHosts(l, k, s); err != nil {
			return err
		}
	}
	for k, s := range g.switches {
		to := g.switches[next(k)]
		if err := connect(l, s, "out", to.node, "in", g.speed, nil); err != nil {
			return err
		}
		to.ports = append(to.ports, switchPort{name: "in", speed: g.speed, peer: s.node, peerInterface: "out"})
	}
	for k, s := range g.switches {
		s.fixedConfig = g.config(k)
	}
	return nil
}

// ringTopology is the ring for trials, with the load of the phases that lock it up.
func ringTopology(b *testTopology, speed int64) error {
	g := &ring{speed: speed, watchdog: watchSettings(slowWatchCount, watchRecovery, "forward")}
	if err := g.build(b.lab); err != nil {
		return err
	}
	b.switches, b.sinks = g.switches, g.receivers
	for _, h := range g.receivers {
		h.speed = speed
	}
	for k, h := range g.senders {
		for _, l := range ringLoads(k) {
			args := func(speed int64) []string { return append(l.args(speed), "--speed", fmt.Sprint(speed)) }
			b.senders = append(b.senders, &testSender{&host{name: h.name, node: h.node}, args})
		}
	}
	b.set = func(speed int64) {
		g.speed = speed
		for k, s := range g.switches {
			s.fixedConfig = g.config(k)
		}
	}
	return nil
}

// A ringLoad is the load of one sender of the ring, in percent of the ports' speed.
type ringLoad struct {
	to       int           // the receiver
	duration time.Duration // 0: as long as the phase's load
	flows    map[int]int64 // by priority
	noSink   bool          // it asks no sink
}

// ringLoads are those at switch k: the flow of two hops, a surge of it, and the victim of one hop in both priorities.
// The surge alone keeps the ring's links full where senders get half of the CPU that they want.
func ringLoads(k int) []ringLoad {
	far, near := next(next(k)), next(k)
	return []ringLoad{
		{to: far, flows: map[int]int64{3: 30}},
		{to: far, flows: map[int]int64{3: 60}, duration: surgeEnd, noSink: true},
		{to: near, flows: map[int]int64{3: 5, 0: 5}},
	}
}

// args are those of a sender.
func (l ringLoad) args(speed int64) []string {
	args := []string{"--to", receiverMAC(l.to).String()}
	for _, p := range slices.Sorted(maps.Keys(l.flows)) {
		args = append(args, "--flow", fmt.Sprintf("%d:rate=%d", p, speed*l.flows[p]/100))
	}
	if l.noSink {
		args = append(args, "--no-sink")
	}
	return args
}

// addHosts gives switch k its sender and its receiver.
func (g *ring) addHosts(l *lab.Lab, k int, s *switchNode) error {
	for _, h := range []struct {
		name, port string
		mac        net.HardwareAddr
		all        *[]*host
	}{
		{fmt.Sprintf("h%d", k+1), "host", senderMAC(k), &g.senders},
		{fmt.Sprintf("r%d", k+1), "sink", receiverMAC(k), &g.receivers},
	} {
		n, err := l.Node(h.name)
		if err != nil {
			return err
		}
		*h.all = append(*h.all, &host{name: h.name, node: n})
		if err := connect(l, s, h.port, n, hostInterface, g.speed, h.mac); err != nil {
			return err
		}
	}
	return nil
}

func newSwitch(l *lab.Lab, name string) (*switchNode, error) {
	n, err := l.Node(name)
	return &switchNode{name: name, node: n}, err
}

// connect joins a switch with a node, whose end has an address.
func connect(l *lab.Lab, s *switchNode, port string, n *lab.Node, nodeInterface string, speed int64,
	mac net.HardwareAddr) error {
	s.ports = append(s.ports, switchPort{name: port, speed: speed, peer: n, peerInterface: nodeInterface})
	return l.Link(s.node, port, n, nodeInterface, lab.LinkOptions{MACs: [2]net.HardwareAddr{nil, mac}})
}

// config is the file of switch k, but for the path of its socket.
func (g *ring) config(k int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "preset: roce\nwatchdog: %s\necn: {3: off}\n", g.watchdog)
	xoff := g.size(ringXoff)
	fmt.Fprintf(&b, "buffer: {policy: static, xoff: %d, private: 0B, xon_offset: %d}\nports:\n", xoff, xoff)
	const dull = "learning: off, flood: off, loop: off, " + longRing
	host := fmt.Sprintf("{3: {xoff: %d, xon: %d, headroom: %d}}", g.size(hostXoff), g.size(hostXon),
		max(minHeadroom, g.size(hostHeadroom)))
	fmt.Fprintf(&b, "  host: {speed: %d, %s, priorities: %s}\n", g.speed, dull, host)
	fmt.Fprintf(&b, "  sink: {speed: %d, %s, priorities: %s}\n", g.speed, dull, host)
	for _, p := range []string{"in", "out"} {
		fmt.Fprintf(&b, "  %s: {speed: %d, %s, priorities: {3: {xon: %d}}}\n", p, g.speed, dull, g.size(ringXon))
	}
	fmt.Fprintf(&b, "fdb:\n")
	entry := func(mac net.HardwareAddr, port string) {
		fmt.Fprintf(&b, "  - {mac: %q, vlan: 1, port: %s}\n", mac.String(), port)
	}
	for j := range ringSwitches {
		to := [2]string{"out", "out"}
		if j == k {
			to = [2]string{"host", "sink"}
		}
		entry(senderMAC(j), to[0])
		entry(receiverMAC(j), to[1])
	}
	entry(unknownMAC, "out")
	return b.String()
}
