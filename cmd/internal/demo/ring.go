package demo

import (
	"fmt"
	"net"
	"strings"

	"pfcswitch/cmd/internal/lab"
)

// The ring: three switches, each with a sender and a receiver. What does not end at a switch goes on to the next, so that
// buffers wait for each other in a circle (a cyclic buffer dependency). Static entries are the routes; nothing is flooded
// or learned.
//
//	h1 ─ s1 ─ r1        s1 ──▶ s2 ──▶ s3 ──▶ s1
//	    ╱  ╲             flow of two hops:  h1 > r3, h2 > r1, h3 > r2
//	  s3 ── s2           victim of one hop: h1 > r2, h2 > r3, h3 > r1
const ringSwitches = 3

// Thresholds of the ring. A host is held long before the link of the ring behind it, so that in ordinary life only hosts
// are held, though the ring is full: about as much as a host's threshold waits for the next link. Blocked receivers fill
// the rest. A link of the ring is freed only when it is all but empty: what waits for the next link keeps it held.
const (
	hostXoff = 64 // KiB, as all of them
	hostXon  = 48
	hostRoom = 64 // headroom: three senders share a host, and each has its own burst
	ringXoff = 256
	ringXon  = 8
)

// next is the switch, 0 to 2, that k sends to.
func next(k int) int { return (k + 1) % ringSwitches }

// Addresses of the senders' and receivers' interfaces, and one that no station has: frames for it circle.
func senderMAC(k int) net.HardwareAddr   { return net.HardwareAddr{2, 0, 0, 1, 0, byte(k + 1)} }
func receiverMAC(k int) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 2, 0, byte(k + 1)} }

var nowhereMAC = net.HardwareAddr{2, 0, 0, 3, 0, 1}

// A ring is the network of an act.
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
		if err := g.populate(l, k, s); err != nil {
			return err
		}
	}
	for k, s := range g.switches {
		to := g.switches[next(k)]
		if err := connect(l, s, "out", to.node, "in", g.speed, nil); err != nil {
			return err
		}
		to.ports = append(to.ports, switchPort{name: "in", speed: g.speed, peer: s.node, peerI: "out"})
	}
	for k, s := range g.switches {
		s.text = g.config(k)
	}
	return nil
}

// populate gives switch k its sender and its receiver.
func (g *ring) populate(l *lab.Lab, k int, s *switchNode) error {
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
func connect(l *lab.Lab, s *switchNode, port string, n *lab.Node, nodeInterface string, speed int64, mac net.HardwareAddr) error {
	s.ports = append(s.ports, switchPort{name: port, speed: speed, peer: n, peerI: nodeInterface})
	return l.Link(s.node, port, n, nodeInterface, lab.LinkOptions{MACs: [2]net.HardwareAddr{nil, mac}})
}

// config is the file of switch k, but for the path of its socket.
func (g *ring) config(k int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "preset: roce\nwatchdog: %s\necn: {3: off}\n", g.watchdog)
	fmt.Fprintf(&b, "buffer: {policy: static, xoff: %dKiB, private: 0B, xon_offset: %dKiB}\nports:\n", ringXoff, ringXoff)
	const dull = "learning: off, flood: off, loop: off"
	host := fmt.Sprintf("{3: {xoff: %dKiB, xon: %dKiB, headroom: %dKiB}}", hostXoff, hostXon, hostRoom)
	fmt.Fprintf(&b, "  host: {speed: %d, %s, priorities: %s}\n", g.speed, dull, host)
	fmt.Fprintf(&b, "  sink: {speed: %d, %s, priorities: %s}\n", g.speed, dull, host)
	for _, p := range []string{"in", "out"} {
		fmt.Fprintf(&b, "  %s: {speed: %d, %s, priorities: {3: {xon: %dKiB}}}\n", p, g.speed, dull, ringXon)
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
	entry(nowhereMAC, "out")
	return b.String()
}
